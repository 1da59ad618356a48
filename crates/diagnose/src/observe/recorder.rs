//! Records samples as an observation, and saves it repeatedly while it grows.

use crate::causes::{self, Round};
use crate::observe::probe::Probe;
use crate::observe::{Pace, Sample, Source};
use host::kernel::KernelError;
use record::{
    Figure, Finding, FindingCode, Interval, Nanos, OBSERVATION_SCHEMA, Observation, ObservedDevice,
    Traced,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Recorded time between two saves of the observation.
const SAVED_EVERY: Nanos = Nanos(60_000_000_000);
/// Longest joined interval. A diagnosis can divide time only at interval boundaries.
const JOINED: Nanos = Nanos(60_000_000_000);

/// Saves an observation. It is called again with the same observation as that grows.
type Save<E> = Box<dyn FnMut(&Observation) -> Result<(), E>>;

/// A recording in progress.
pub struct Recorder<E> {
    observation: Observation,
    /// Index of each device in the observation, and its last description.
    devices: HashMap<String, (usize, Arc<ObservedDevice>)>,
    /// Index of each device's last interval.
    last: HashMap<String, usize>,
    save: Save<E>,
    length_ns: u64,
    unsaved_ns: u64,
}

impl<E> Recorder<E> {
    /// Begins a recording of `host`. `version` is that of the program. `save` is called once a
    /// minute and at the end.
    #[must_use]
    pub fn new(
        version: &str,
        host: Option<String>,
        save: impl FnMut(&Observation) -> Result<(), E> + 'static,
    ) -> Self {
        let observation = Observation {
            schema: OBSERVATION_SCHEMA.to_owned(),
            halfpower_version: version.to_owned(),
            id: uuid::Uuid::now_v7().to_string(),
            time: Some(jiff::Timestamp::now().to_string()),
            source: "live".to_owned(),
            host,
            ..Observation::default()
        };
        let (devices, last) = (HashMap::new(), HashMap::new());
        Self { observation, devices, last, save: Box::new(save), length_ns: 0, unsaved_ns: 0 }
    }

    /// Recorded time so far.
    #[must_use]
    pub fn length(&self) -> Nanos {
        Nanos(self.length_ns)
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// If the observation was due to be saved and could not be.
    pub fn add(&mut self, sample: &Sample) -> Result<(), E> {
        for interval in &sample.intervals {
            self.add_interval(interval);
        }
        if self.observation.wake_ups.is_empty() {
            self.observation.wake_ups = sample.wake_ups.to_vec();
        }
        if self.observation.paths.is_empty() {
            self.observation.paths = sample.paths.to_vec();
        }
        if self.observation.kernel.is_none() {
            self.observation.kernel = sample.kernel.as_deref().map(str::to_owned);
        }
        self.add_devices(&sample.devices);
        self.observation.findings.clone_from(&sample.findings);
        self.length_ns += sample.context.duration_ns;
        self.unsaved_ns += sample.context.duration_ns;
        self.observation.contexts.push(sample.context.clone());
        if self.unsaved_ns >= SAVED_EVERY.0 {
            self.save()?;
        }
        Ok(())
    }

    /// Stores the latest description of each device. A device that disappears stays in the
    /// observation, as its intervals do.
    fn add_devices(&mut self, seen: &[Arc<ObservedDevice>]) {
        let devices = &mut self.observation.devices;
        for device in seen {
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
    }

    fn add_interval(&mut self, interval: &Interval) {
        let intervals = &mut self.observation.intervals;
        if let Some(&place) = self.last.get(&interval.device) {
            let last = &mut intervals[place];
            let length = last.duration_ns + interval.duration_ns;
            if is_idle(last) && is_idle(interval) && length <= JOINED.0 {
                last.duration_ns = length;
                return;
            }
        }
        self.last.insert(interval.device.clone(), intervals.len());
        intervals.push(interval.clone());
    }

    /// Saves the observation with its intervals in order of time: a joined interval begins before
    /// others that were added earlier.
    fn save(&mut self) -> Result<(), E> {
        self.observation.intervals.sort_by_cached_key(|interval| interval.begin_ns);
        self.last.clear();
        self.unsaved_ns = 0;
        (self.save)(&self.observation)
    }

    /// Ends the recording and saves it, unless no device has an interval.
    ///
    /// # Errors
    /// If it cannot be saved.
    pub fn finish(mut self) -> Result<Observation, E> {
        if !self.observation.intervals.is_empty() {
            record::doubt_busy_counters(&mut self.observation);
            self.save()?;
        }
        Ok(self.observation)
    }
}

/// The sampling interval and the length of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Time between two samples, more than 0.
    pub interval: Nanos,
    /// Time to record.
    pub length: Nanos,
}

/// A finished recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The observation.
    pub observation: Observation,
    /// Number of samples; 0 if the user stopped before the first one.
    pub taken: u64,
    /// Whether the user stopped it early.
    pub interrupted: bool,
}

impl Source {
    /// Records until the schedule ends or `stop` is set. Calls `progress` after each sample with
    /// the recorded time and the number of devices.
    ///
    /// # Errors
    /// If the counters cannot be read, or the observation cannot be saved.
    pub fn record<E: From<KernelError>>(
        mut self,
        mut recorder: Recorder<E>,
        schedule: Schedule,
        stop: &AtomicBool,
        mut progress: impl FnMut(Nanos, usize),
    ) -> Result<Recorded, E> {
        // A device that disappears within the first interval was present.
        recorder.add_devices(&self.devices());
        let samples = schedule.length.0.div_ceil(schedule.interval.0.max(1));
        let mut pace = Pace::new(schedule.interval);
        let mut probes: Vec<Probe> = Vec::new();
        let mut taken = 0;
        // Disks that served requests. Other disks may sleep, and are sent no commands that the
        // drive itself answers.
        let mut used: BTreeSet<String> = BTreeSet::new();
        let roots = self.roots().clone();
        // Read once: finding the devices takes most of the time of the checks.
        let mut host = self.looked_at(&roots);
        let mut facts = causes::read(&host, Round::Begin);
        while taken < samples && pace.wait(stop) {
            let sample = self.sample()?;
            recorder.add(&sample)?;
            taken += 1;
            let first_use = used.is_empty();
            let busy = sample.intervals.iter().filter(|interval| !is_idle(interval));
            used.extend(busy.map(|interval| interval.device.clone()));
            if first_use && !used.is_empty() {
                host.mark_used(&|disk| used.contains(disk));
                facts.since_begin(causes::read(&host, Round::FirstUse));
            }
            probes.extend(self.begin_probes(&sample));
            progress(recorder.length(), sample.devices.len());
        }
        host.mark_used(&|disk| used.contains(disk));
        let at_end = causes::between(facts, causes::read(&host, Round::End));
        recorder.observation.facts = at_end.facts;
        recorder.observation.facts_not_read = at_end.not_read;
        let interrupted = taken < samples;
        if interrupted {
            let claim =
                format!("The recording was interrupted after {taken} of {samples} intervals.");
            let finding = Finding::warning(FindingCode::Interrupted, claim, "");
            recorder.observation.findings.push(finding);
        }
        for probe in probes {
            let mut devices = recorder.observation.devices.iter_mut();
            if let Some(device) = devices.find(|it| it.name == probe.device) {
                device.lone_reads = probe.finish();
            }
        }
        Ok(Recorded { observation: recorder.finish()?, taken, interrupted })
    }

    /// Starts test reads on devices that are awake: the user named them, or they have just served requests.
    fn begin_probes(&mut self, sample: &Sample) -> Vec<Probe> {
        let serves = |name: &String| {
            let of = sample.intervals.iter().find(|it| it.device == *name);
            of.is_some_and(|it| !is_idle(it))
        };
        let named = self.named;
        let (now, later): (Vec<String>, _) =
            self.probed.drain(..).partition(|name| named || serves(name));
        self.probed = later;
        now.iter().filter_map(|name| Probe::start(name)).collect()
    }
}

/// Whether the device was idle, as far as the kernel's counters show.
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
        && interval.traced.as_deref().is_none_or(|traced| *traced == Traced::default())
        && interval.processes.as_ref().is_none_or(Vec::is_empty)
}
