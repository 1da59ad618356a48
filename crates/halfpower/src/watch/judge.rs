//! From samples to the rows of the screen: the past is kept, profiles are found, verdicts drawn.
//!
//! A verdict on one second is a verdict on noise, so it is drawn over the last half minute, as
//! `halfpower diagnose` would draw it from a recording of that. The split by the utilization law
//! needs no profile and is there for every device; what rests on a profile is computed where one
//! fits. So five hundred disks without a profile cost next to nothing.

use crate::observing::ObservingArgs;
use diagnose::{DiagnoseOptions, FittedProfile};
use observe::Sample;
use record::{
    Context, DeviceDiagnosis, Interval, Nanos, Observation, ObservedDevice, Profile,
    UtilizationLaw, WakeUp, format_nanos,
};
use report::{PastMoment, WatchData, WatchRow, WatchVerdict};
use session::VERSION;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// Time over which a verdict is drawn.
const JUDGED: Nanos = Nanos(30_000_000_000);
/// Intervals of it, at most.
const JUDGED_INTERVALS: usize = 120;
/// Moments of the past that are kept: no screen is wider.
const PAST: usize = 400;

/// A busy share of fewer steps of its counter than this is noise, and the split by it would be.
const STEPS_MIN: f64 = 5.0;

/// What is known of the devices so far.
pub(super) struct Judge {
    profiles: Vec<FittedProfile>,
    /// Whether the user named the profile.
    chosen: bool,
    mount_points: BTreeMap<String, PathBuf>,
    host: String,
    known: HashMap<String, Known>,
    contexts: VecDeque<Context>,
    wake_ups: &'static [WakeUp],
    last: Option<Sample>,
}

/// One device.
#[derive(Default)]
struct Known {
    recent: VecDeque<Interval>,
    past: VecDeque<PastMoment>,
    /// Place of its profile, once looked for; of the device that was then there.
    profile: Option<(Arc<ObservedDevice>, Option<usize>)>,
    row: WatchRow,
}

impl Judge {
    /// Of these profiles, in order of time; `chosen` if the user named the one.
    pub(super) fn new(
        observing: &ObservingArgs,
        profiles: Vec<FittedProfile>,
        chosen: bool,
        host: Option<String>,
    ) -> Self {
        Self {
            profiles,
            chosen,
            mount_points: kernel::live::mount_points(&observing.sampling.roots()),
            host: host.unwrap_or_default(),
            known: HashMap::new(),
            contexts: VecDeque::new(),
            wake_ups: &[],
            last: None,
        }
    }

    /// Takes in a sample.
    pub(super) fn add(&mut self, tick: Sample) {
        self.wake_ups = tick.wake_ups;
        self.contexts.push_back(tick.context.clone());
        while self.contexts.len() > JUDGED_INTERVALS {
            self.contexts.pop_front();
        }
        let present = |name: &String| tick.devices.iter().any(|device| device.name == *name);
        if self.known.len() > tick.devices.len() {
            self.known.retain(|name, _| present(name));
        }
        let mut intervals = tick.intervals.iter().peekable();
        for device in &tick.devices {
            // Both are in the order of the kernel; a device that just came has no interval yet.
            let interval = intervals.next_if(|interval| interval.device == device.name);
            self.judge(device, interval);
        }
        self.last = Some(tick);
    }

    fn judge(&mut self, device: &Arc<ObservedDevice>, interval: Option<&Interval>) {
        let known = self.known.entry(device.name.clone()).or_default();
        let same = known.profile.as_ref().is_some_and(|(seen, _)| Arc::ptr_eq(seen, device));
        if !same {
            let index = profile_of(device, &self.profiles, self.chosen);
            known.profile = Some((Arc::clone(device), index));
            known.row.profile = index.map(|index| profile_words(self.profiles[index].profile()));
            known.row.profile_command = command(device, &self.mount_points);
            known.row.device = Arc::clone(device);
        }
        let row = &mut known.row;
        row.interval = interval.cloned();
        (row.utilization_law, row.calibrated, row.verdict) = (None, None, None);
        let Some(interval) = interval else { return };
        known.recent.push_back(interval.clone());
        while known.recent.len() > 1
            && (known.recent.len() > JUDGED_INTERVALS || length(&known.recent) > JUDGED.0)
        {
            known.recent.pop_front();
        }
        row.utilization_law = utilization_law(interval);
        let profile = known.profile.as_ref().and_then(|(_, index)| *index);
        if let Some(profile) = profile.map(|index| &self.profiles[index]) {
            let around = (&self.contexts, self.wake_ups);
            let found = diagnosis(device, &known.recent, around, profile, self.chosen);
            if let Some(found) = found {
                let latest = found.series.last();
                row.calibrated = latest.and_then(|moment| moment.calibrated);
                row.verdict = verdict(&found);
            }
        }
        known.past.push_back(PastMoment {
            per_s: interval.all.per_s.map(|rate| rate.value),
            latency_ns: interval.all.latency_ns.map(|latency| latency.value),
            expected_ns: row.calibrated.map(|split| split.expected_ns.value),
        });
        while known.past.len() > PAST {
            known.past.pop_front();
        }
    }

    /// The rows of the last sample; the past of each no longer than `columns`.
    pub(super) fn rows(&self, columns: usize) -> Vec<WatchRow> {
        let devices = self.last.iter().flat_map(|tick| &tick.devices);
        devices
            .filter_map(|device| self.known.get(&device.name))
            .map(|known| {
                let skipped = known.past.len().saturating_sub(columns);
                let past = known.past.iter().skip(skipped).copied().collect();
                WatchRow { past, ..known.row.clone() }
            })
            .collect()
    }

    /// All that a screen needs; `picked` is the device whose curve is shown, where one is.
    pub(super) fn data(&self, columns: usize, interval: Nanos, picked: Option<&str>) -> WatchData {
        let Some(tick) = &self.last else { return WatchData::default() };
        let profile = picked
            .and_then(|name| self.known.get(name))
            .and_then(|known| known.profile.as_ref()?.1)
            .map(|index| self.profiles[index].profile().clone());
        WatchData {
            host: self.host.clone(),
            time: jiff::Timestamp::now().strftime("%H:%M:%S UTC").to_string(),
            interval: format_nanos(interval.0 as f64),
            rows: self.rows(columns),
            hidden: tick.hidden,
            context: tick.context.clone(),
            profile,
            notes: tick.findings.iter().map(|finding| finding.claim.clone()).collect(),
        }
    }

    /// Id of the profile that stands for a device.
    pub(super) fn profile_id(&self, name: &str) -> Option<&str> {
        let index = self.known.get(name)?.profile.as_ref()?.1?;
        Some(&self.profiles[index].profile().id)
    }
}

fn length(intervals: &VecDeque<Interval>) -> u64 {
    intervals.iter().map(|interval| interval.duration_ns).sum()
}

/// The split of one interval by the utilization law; none where service would take longer than
/// latency, as where requests are in the device that have not ended.
fn utilization_law(interval: &Interval) -> Option<UtilizationLaw> {
    let (rate, latency) = (interval.all.per_s?.value, interval.all.latency_ns?.value);
    let busy = interval.busy_share?;
    let utilization = busy.value;
    let (service_ns, step_ns) = (utilization / rate * 1e9, busy.resolution / rate * 1e9);
    let known = rate > 0.0 && utilization >= STEPS_MIN * busy.resolution;
    (known && service_ns - step_ns <= latency).then(|| UtilizationLaw {
        utilization,
        service_ns: service_ns.min(latency),
        queue_ns: (latency - service_ns).max(0.0),
    })
}

/// The place of the profile that stands for a device.
fn profile_of(device: &ObservedDevice, profiles: &[FittedProfile], chosen: bool) -> Option<usize> {
    if chosen {
        let fits = |prepared: &FittedProfile| {
            !matches!(diagnose::fit(device, prepared.profile(), true), diagnose::Fit::Not(_))
        };
        return profiles.iter().position(fits);
    }
    let best = diagnose::best_fit(device, profiles)?;
    profiles.iter().position(|profile| std::ptr::eq(profile, best))
}

fn profile_words(profile: &Profile) -> String {
    let id: String = profile.id.chars().take(8).collect();
    let of = match &profile.time {
        Some(time) => format!(" of {}", time.get(..10).unwrap_or(time)),
        None => String::new(),
    };
    format!("{id}{of}")
}

/// The command that would make a profile of a device.
fn command(device: &ObservedDevice, mount_points: &BTreeMap<String, PathBuf>) -> String {
    match mount_points.get(&device.name) {
        Some(path) => format!("halfpower check {}", path.display()),
        None => format!("halfpower check /dev/{}", device.name),
    }
}

/// What `halfpower diagnose` would say of the last intervals.
fn diagnosis(
    device: &Arc<ObservedDevice>,
    recent: &VecDeque<Interval>,
    (contexts, wake_ups): (&VecDeque<Context>, &[WakeUp]),
    profile: &FittedProfile,
    chosen: bool,
) -> Option<DeviceDiagnosis> {
    let mut observation = Observation {
        source: "live".to_owned(),
        devices: vec![device.as_ref().clone()],
        intervals: recent.iter().cloned().collect(),
        contexts: contexts.iter().cloned().collect(),
        wake_ups: wake_ups.to_vec(),
        ..Observation::default()
    };
    record::doubt_busy_counters(&mut observation);
    let options = DiagnoseOptions {
        halfpower_version: VERSION.to_owned(),
        chosen,
        ..DiagnoseOptions::default()
    };
    let found = diagnose::diagnose(&observation, &|_| Some(profile), &options);
    found.devices.into_iter().find(|one| one.profile.value().is_some())
}

/// The verdict on the latest stretch.
fn verdict(found: &DeviceDiagnosis) -> Option<WatchVerdict> {
    let episode = found.episodes.last()?;
    let place = u32::try_from(found.episodes.len() - 1).ok()?;
    let advice = found.advice.iter().filter(|advice| advice.episode == place);
    Some(WatchVerdict {
        verdict: episode.verdict,
        confidence: episode.confidence,
        claim: episode.claim.clone(),
        alternatives: episode
            .alternatives
            .iter()
            .map(|alternative| alternative.because.clone())
            .collect(),
        advice: advice.map(|advice| advice.action.clone()).collect(),
    })
}
