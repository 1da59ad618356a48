//! Converts samples to the rows of the screen: keeps the past, finds profiles, and computes verdicts.
//!
//! A verdict on one second would be noise. It is therefore computed over the last half minute, as `halfpower
//! diagnose` would compute it from a recording. The split by the utilization law needs no profile and is
//! computed for every device. A verdict is computed for devices with a matching profile, and for the devices
//! with the highest concurrency. Five hundred disks without a profile thus cost almost nothing.

use diagnose::observe::Sample;
use diagnose::{FittedProfile, ProfileSet};
use host::kernel::{self, Roots};
use record::{
    Context, DeviceDiagnosis, Episode, Interval, Nanos, Observation, ObservedDevice, Profile,
    UtilizationLaw, WakeUp, format_nanos,
};
use report::{PastMoment, VerdictProbability, WatchData, WatchRow, WatchVerdict};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// A device without a profile is judged from this many requests on. At most this many such devices are judged
/// at a time: those with the highest concurrency.
const REQUESTS_MIN: f64 = 50.0;
const WITHOUT_PROFILE: usize = 8;
/// Time that a verdict covers.
const JUDGED: Nanos = Nanos(30_000_000_000);
/// Maximum number of intervals that a verdict covers.
const JUDGED_INTERVALS: usize = 120;
/// Number of past points that are kept; no screen is wider.
const PAST: usize = 400;

/// Maximum number of alternatives on a live screen.
const ALTERNATIVES: usize = 2;

/// A busy share below this many steps of its counter is noise, and so is a split computed from it.
const STEPS_MIN: f64 = 5.0;

/// The state of all devices so far.
pub struct Judge {
    profiles: ProfileSet,
    halfpower_version: String,
    mount_points: BTreeMap<String, PathBuf>,
    host: String,
    known: HashMap<String, SeenDevice>,
    contexts: VecDeque<Context>,
    wake_ups: &'static [WakeUp],
    last: Option<Sample>,
}

/// The state of one device.
#[derive(Default)]
struct SeenDevice {
    recent: VecDeque<Interval>,
    past: VecDeque<PastMoment>,
    profile: Option<Arc<FittedProfile>>,
    row: WatchRow,
}

impl SeenDevice {
    fn find_profile(&mut self, profiles: &ProfileSet) {
        self.profile = profile_of(&self.row.device, profiles);
        self.row.profile = self.profile.as_ref().map(|one| profile_words(one.profile()));
    }
}

impl Judge {
    /// Judges devices below these roots with these profiles. Documents get this version of the program.
    #[must_use]
    pub fn new(
        roots: &Roots,
        profiles: ProfileSet,
        host: Option<String>,
        halfpower_version: &str,
    ) -> Self {
        Self {
            profiles,
            halfpower_version: halfpower_version.to_owned(),
            mount_points: kernel::live::mount_points(roots),
            host: host.unwrap_or_default(),
            known: HashMap::new(),
            contexts: VecDeque::new(),
            wake_ups: &[],
            last: None,
        }
    }

    /// Uses these profiles from the next sample on.
    pub fn compare_with(&mut self, profiles: ProfileSet) {
        self.profiles = profiles;
        for known in self.known.values_mut() {
            known.find_profile(&self.profiles);
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, tick: Sample) {
        self.wake_ups = tick.wake_ups;
        self.contexts.push_back(tick.context.clone());
        keep_latest(&mut self.contexts, JUDGED_INTERVALS);
        if self.known.len() > tick.devices.len() {
            self.known.retain(|name, _| tick.devices.iter().any(|device| device.name == *name));
        }
        let busiest = busiest(&tick.intervals);
        let mut intervals = tick.intervals.iter().peekable();
        for device in &tick.devices {
            // Both are in the kernel's order; a new device has no interval yet.
            let interval = intervals.next_if(|interval| interval.device == device.name);
            self.judge(device, interval, &busiest);
        }
        self.last = Some(tick);
    }

    fn judge(
        &mut self,
        device: &Arc<ObservedDevice>,
        interval: Option<&Interval>,
        busiest: &BTreeSet<&str>,
    ) {
        let known = self.known.entry(device.name.clone()).or_default();
        if !Arc::ptr_eq(&known.row.device, device) {
            known.row.profile_command = command(device, &self.mount_points);
            known.row.device = Arc::clone(device);
            known.find_profile(&self.profiles);
            known.row.unused_profile = None;
        }
        let row = &mut known.row;
        row.interval = interval.cloned();
        (row.utilization_law, row.calibrated, row.verdict) = (None, None, None);
        let Some(interval) = interval else { return };
        known.recent.push_back(interval.clone());
        keep_latest(&mut known.recent, JUDGED_INTERVALS);
        let length_ns = |all: &VecDeque<Interval>| all.iter().map(|it| it.duration_ns).sum::<u64>();
        while known.recent.len() > 1 && length_ns(&known.recent) > JUDGED.0 {
            known.recent.pop_front();
        }
        row.utilization_law = utilization_law(interval);
        let is_judged = known.profile.is_some()
            || busiest.contains(device.name.as_str()) && is_asked(&known.recent);
        if is_judged {
            // What `halfpower diagnose` would find in the last intervals.
            let mut observation = Observation {
                source: "live".to_owned(),
                devices: vec![device.as_ref().clone()],
                intervals: known.recent.iter().cloned().collect(),
                contexts: self.contexts.iter().cloned().collect(),
                wake_ups: self.wake_ups.to_vec(),
                ..Observation::default()
            };
            record::doubt_busy_counters(&mut observation);
            let found = self.profiles.diagnose(&observation, &self.halfpower_version, None);
            if let Some(found) = found.devices.first() {
                let latest = found.series.last();
                row.calibrated = latest.and_then(|moment| moment.calibrated.as_deref().copied());
                row.verdict = verdict(found);
                row.unused_profile.clone_from(&found.unused_profile);
            }
        }
        let latency = interval.all.latency_ns;
        known.past.push_back(PastMoment {
            per_s: interval.all.per_s.map(|rate| rate.value),
            // A mean of 0 is below the resolution of the counters.
            latency_ns: latency.map(|latency| latency.value).filter(|latency| *latency > 0.0),
            expected_ns: row.calibrated.map(|split| split.expected_ns.value),
        });
        keep_latest(&mut known.past, PAST);
    }

    /// The rows of the last sample, each with at most `columns` past points.
    pub fn rows(&self, columns: usize) -> Vec<WatchRow> {
        let devices = self.last.iter().flat_map(|tick| &tick.devices);
        let row = |known: &SeenDevice| {
            let skipped = known.past.len().saturating_sub(columns);
            let past = known.past.iter().skip(skipped).copied().collect();
            WatchRow { past, ..known.row.clone() }
        };
        devices.filter_map(|device| self.known.get(&device.name)).map(row).collect()
    }

    /// All data of a screen, except the profile whose curve is shown.
    pub fn data(&self, columns: usize, interval: Nanos) -> WatchData {
        let Some(tick) = &self.last else { return WatchData::default() };
        WatchData {
            host: self.host.clone(),
            time: jiff::Timestamp::now().strftime("%H:%M:%S UTC").to_string(),
            interval: format_nanos(interval.0 as f64),
            rows: self.rows(columns),
            hidden: tick.hidden,
            context: tick.context.clone(),
            profile: None,
            notes: tick.findings.iter().map(|finding| finding.claim.clone()).collect(),
        }
    }

    /// The latest sample; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<&Sample> {
        self.last.as_ref()
    }

    /// The profile used for a device.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        Some(self.known.get(name)?.profile.as_ref()?.profile())
    }
}

/// Whether there are enough requests to judge a device without a profile.
fn is_asked(recent: &VecDeque<Interval>) -> bool {
    let requests =
        |it: &Interval| it.all.per_s.map_or(0.0, |per_s| per_s.value * it.duration_ns as f64 / 1e9);
    recent.iter().map(requests).sum::<f64>() >= REQUESTS_MIN
}

/// The devices with the highest concurrency, by Little's law.
fn busiest(intervals: &[Interval]) -> BTreeSet<&str> {
    let present = |it: &Interval| Some(it.all.per_s?.value * it.all.latency_ns?.value);
    let mut all: Vec<(f64, &str)> =
        intervals.iter().filter_map(|it| Some((present(it)?, it.device.as_str()))).collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    all.into_iter().take(WITHOUT_PROFILE).map(|(_, name)| name).collect()
}

fn keep_latest<T>(all: &mut VecDeque<T>, most: usize) {
    all.drain(..all.len().saturating_sub(most));
}

/// The split of one interval by the utilization law. `None` if service would take longer than the latency,
/// for example because requests in the device have not completed.
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

/// The profile of a device, unless the device contradicts it.
fn profile_of(device: &ObservedDevice, profiles: &ProfileSet) -> Option<Arc<FittedProfile>> {
    let fitted = profiles.of(device)?;
    let fit = diagnose::fit(device, fitted.profile(), profiles.is_chosen());
    (!matches!(fit, diagnose::Fit::Not(_))).then(|| Arc::clone(fitted))
}

fn profile_words(profile: &Profile) -> String {
    let day = profile.time.as_deref().map(|time| time.get(..10).unwrap_or(time));
    let mut words = record::short_id(&profile.id).to_owned();
    words.extend(day.map(|day| format!(" of {day}")));
    words.extend(profile.partial().map(|_| ", partial".to_owned()));
    words
}

/// The command that makes a profile of a device.
fn command(device: &ObservedDevice, mount_points: &BTreeMap<String, PathBuf>) -> String {
    let device_node = || format!("/dev/{}", device.name);
    let mounted = mount_points.get(&device.name).map(|path| path.display().to_string());
    format!("halfpower check {}", mounted.unwrap_or_else(device_node))
}

/// The verdict on the latest segment.
fn verdict(found: &DeviceDiagnosis) -> Option<WatchVerdict> {
    let episode = found.episodes.last()?;
    let place = u32::try_from(found.episodes.len() - 1).ok()?;
    let advice = found.advice.iter().filter(|advice| advice.episode == place);
    let mut alternatives: Vec<String> = Vec::new();
    for other in episode.told() {
        if alternatives.len() < ALTERNATIVES && !alternatives.contains(&other.because) {
            alternatives.push(other.because.clone());
        }
    }
    Some(WatchVerdict {
        verdict: episode.verdict,
        confidence: episode.confidence,
        claim: episode.claim.clone(),
        alternatives,
        advice: advice.map(|advice| advice.action.clone()).collect(),
        observed_ns: found.duration_ns,
        probabilities: probabilities(episode),
    })
}

/// The verdict and its alternatives. Alternatives with the same verdict are added up.
fn probabilities(episode: &Episode) -> Vec<VerdictProbability> {
    let first = VerdictProbability { verdict: episode.verdict, probability: episode.probability };
    let mut all = vec![first];
    for other in &episode.alternatives {
        match all.iter_mut().find(|one| one.verdict == other.verdict) {
            Some(same) => same.probability += other.probability,
            None => {
                let (verdict, probability) = (other.verdict, other.probability);
                all.push(VerdictProbability { verdict, probability });
            }
        }
    }
    all
}
