//! An observation as it grows, and where it is kept.
//!
//! A recording is kept while it goes on, once a minute, so that an end without warning loses the
//! last minute and not the night. Intervals in which a device did nothing at all are joined into
//! longer ones: they say the same, and a machine with hundreds of idle disks would otherwise fill
//! the file with zeros. Rejected: a line per interval in a file beside the database, which would be
//! a second format to read.

use crate::observing::Tick;
use crate::store_args::StoreArgs;
use crate::store_args::open_store;
use record::{Figure, Finding, Interval, OBSERVATION_SCHEMA, Observation, ObservedDevice, Traced};
use session::VERSION;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Store;

/// How often what was recorded so far is saved.
const SAVED_EVERY: Duration = Duration::from_secs(60);
/// Joined intervals are not longer than this: what follows cuts by them.
const JOINED_NS: u64 = 60_000_000_000;

/// A recording in progress.
#[derive(Debug)]
pub(crate) struct Recording {
    observation: Observation,
    /// Place of each device in the observation, and what was known of it last.
    devices: HashMap<String, (usize, Arc<ObservedDevice>)>,
    /// Place of the last interval of each device.
    last: HashMap<String, usize>,
    store: Option<Store>,
    saved: Instant,
    began: Instant,
}

impl Recording {
    /// Begins one; fails at once where it could not be saved.
    pub(crate) fn begin(
        keeping: &StoreArgs,
        no_save: bool,
        host: Option<String>,
    ) -> anyhow::Result<Self> {
        let observation = Observation {
            schema: OBSERVATION_SCHEMA.to_owned(),
            halfpower_version: VERSION.to_owned(),
            id: uuid::Uuid::now_v7().to_string(),
            time: Some(jiff::Timestamp::now().to_string()),
            source: "live".to_owned(),
            host,
            ..Observation::default()
        };
        let store = open_store(keeping, no_save)?;
        let now = Instant::now();
        let (devices, last) = (HashMap::new(), HashMap::new());
        Ok(Self { observation, devices, last, store, saved: now, began: now })
    }

    /// How long it goes on already.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes in a sample.
    pub(crate) fn add(&mut self, tick: &Tick) -> anyhow::Result<()> {
        for interval in &tick.intervals {
            self.add_interval(interval);
        }
        if self.observation.wake_ups.is_empty() {
            self.observation.wake_ups = tick.wake_ups.to_vec();
        }
        self.observation.contexts.push(tick.context.clone());
        for device in &tick.devices {
            self.add_device(device);
        }
        self.observation.findings.clone_from(&tick.findings);
        if self.saved.elapsed() >= SAVED_EVERY {
            self.saved = Instant::now();
            self.save()?;
        }
        Ok(())
    }

    /// Keeps what is known of a device, the latest where that changed.
    fn add_device(&mut self, device: &Arc<ObservedDevice>) {
        let devices = &mut self.observation.devices;
        match self.devices.get_mut(&device.name) {
            Some((_, known)) if Arc::ptr_eq(known, device) => {}
            Some((place, known)) => {
                devices[*place].clone_from(device);
                known.clone_from(device);
            }
            None => {
                self.devices.insert(device.name.clone(), (devices.len(), Arc::clone(device)));
                devices.push(device.as_ref().clone());
            }
        }
    }

    fn add_interval(&mut self, interval: &Interval) {
        let intervals = &mut self.observation.intervals;
        if let Some(&index) = self.last.get(&interval.device) {
            let last = &mut intervals[index];
            let length = last.duration_ns + interval.duration_ns;
            if is_idle(last) && is_idle(interval) && length <= JOINED_NS {
                last.duration_ns = length;
                return;
            }
        }
        self.last.insert(interval.device.clone(), intervals.len());
        intervals.push(interval.clone());
    }

    /// Saves what there is, in order of time: joined intervals began before others that were added
    /// earlier.
    fn save(&mut self) -> anyhow::Result<()> {
        self.observation.intervals.sort_by_key(|interval| interval.begin_ns);
        self.last.clear();
        if let Some(store) = &mut self.store {
            store.add_document(&self.observation)?;
        }
        Ok(())
    }

    /// Says something of the recording as a whole.
    pub(crate) fn note(&mut self, finding: Finding) {
        self.observation.findings.push(finding);
    }

    /// Ends it. Without a single interval there is nothing to save.
    pub(crate) fn finish(mut self) -> anyhow::Result<Observation> {
        if !self.observation.intervals.is_empty() {
            self.save()?;
        }
        Ok(self.observation)
    }
}

/// Whether nothing at all happened, as far as the kernel counts it.
fn is_idle(interval: &Interval) -> bool {
    let zero = |figure: Option<Figure>| figure.is_some_and(|figure| figure.value == 0.0);
    let none = |figure: Option<Figure>| figure.is_none_or(|figure| figure.value == 0.0);
    zero(interval.all.per_s)
        && none(interval.all.merged_per_s)
        && none(interval.busy_share)
        && none(interval.concurrency)
        && none(interval.in_flight)
        && none(interval.discards_per_s)
        && none(interval.flushes_per_s)
        && interval.traced.as_ref().is_none_or(|traced| *traced == Traced::default())
}
