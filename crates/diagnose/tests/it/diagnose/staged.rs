//! Provides a profile and observations of simulated devices with known properties.

use diagnose::{DiagnoseOptions, FittedProfile, diagnose};
use plan::scenarios::{Scenario, ScenarioLoad, observe};
use plan::session;
use plan::{CheckPlan, CheckSettings, DiagnosisPlan, Plan};
use record::{
    Bytes, CauseCode, DeviceDiagnosis, Doubt, EngineName, Episode, Nanos, NoteCode, Observation,
    Rung, Strategy, Target, TargetKind, Verdict,
};
use simdisk::SimSpec;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use workload::Spec;

const SECOND: u64 = 1_000_000_000;
/// The area that is profiled and loaded.
const AREA: Bytes = Bytes(2 << 30);

/// Eight servers of 1 ms.
pub(crate) const EIGHT: &str = "mmc,servers=8,service=1ms";
pub(crate) static EIGHT_PROFILE: LazyLock<FittedProfile> = LazyLock::new(|| profiled(EIGHT));

/// The same with open loads among its trials.
pub(crate) static EIGHT_FOR_DIAGNOSIS: LazyLock<FittedProfile> =
    LazyLock::new(|| profiled_by(EIGHT, DiagnosisPlan::new, 600, true));
/// The same without any write, as on a device that holds data.
pub(crate) static EIGHT_READS: LazyLock<FittedProfile> =
    LazyLock::new(|| profiled_by(EIGHT, CheckPlan::new, 60, false));

/// The profile of a device from a one-minute `check`.
pub(crate) fn profiled(device: &str) -> FittedProfile {
    profiled_by(device, CheckPlan::new, 60, true)
}

fn profiled_by<P: Plan>(
    device: &str,
    plan: fn(CheckSettings) -> Option<P>,
    seconds: u64,
    write: bool,
) -> FittedProfile {
    let spec = SimSpec::parse(device).unwrap();
    let area = AREA.min(spec.size());
    let target = Target {
        path: format!("sim:{device}"),
        kind: TargetKind::Simulated,
        size_bytes: area,
        device: None,
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    };
    let mut plan = plan(CheckSettings {
        area,
        areas: Vec::new(),
        read_areas: Vec::new(),
        engine: EngineName::Sim,
        alignment: 1,
        budget: Nanos(seconds * SECOND),
        write,
        full: false,
        target_rel: 0.05,
        seed: 1,
    })
    .unwrap();
    let trials = session::simulate(&spec, area, 1, &mut plan).unwrap().trials;
    let mut profile = crate::diagnose::profile_of(target, &trials);
    profile.simulated = true;
    FittedProfile::new(profile)
}

/// A load and its time range.
pub(crate) fn load(from: u64, to: u64, change: impl FnOnce(&mut Spec)) -> ScenarioLoad {
    let mut spec = Spec { size: Some(AREA), ..Spec::default() };
    spec.asked.engine = EngineName::Sim;
    change(&mut spec);
    if spec.asked.rate_iops.is_some() {
        spec.arrival = Some(record::Arrival::Poisson);
        spec.asked.iodepth = spec.asked.iodepth.max(128);
    }
    ScenarioLoad {
        name: format!("program-{from}"),
        workload: spec.build(Bytes(1 << 40)).unwrap(),
        begin: Nanos(from * SECOND),
        end: Nanos(to * SECOND),
        limits: Vec::new(),
        write_back: false,
        uncounted: false,
    }
}

/// Random reads of 4 KiB at a rate.
pub(crate) fn reads(from: u64, to: u64, rate: u64) -> ScenarioLoad {
    load(from, to, |spec| spec.asked.rate_iops = Some(rate))
}

/// Random reads of 4 KiB at a constant queue depth.
pub(crate) fn closed(from: u64, to: u64, depth: u32) -> ScenarioLoad {
    load(from, to, |spec| spec.asked.iodepth = depth)
}

/// A minute of observation of these loads.
pub(crate) fn seen(device: &str, loads: Vec<ScenarioLoad>, traced: bool) -> Observation {
    let device = SimSpec::parse(device).unwrap();
    let scenario = Scenario {
        device: &device,
        array: None,
        loads,
        duration: Nanos(60 * SECOND),
        interval: Nanos(SECOND),
        seed: 7,
        traced,
        steal_share: 0.0,
    };
    observe(&scenario, "0", &AtomicBool::new(false)).unwrap()
}

/// The diagnosis of the single device.
pub(crate) fn diagnosed(
    observation: &Observation,
    profile: Option<&FittedProfile>,
) -> DeviceDiagnosis {
    let options = DiagnoseOptions { chosen: true, ..DiagnoseOptions::default() };
    let mut diagnosis = diagnose(observation, &|_| profile, &options);
    assert_eq!(diagnosis.devices.len(), 1);
    diagnosis.devices.remove(0)
}

/// The longest episode.
pub(crate) fn longest(device: &DeviceDiagnosis) -> &Episode {
    device.episodes.iter().max_by_key(|episode| episode.duration_ns).unwrap()
}

/// The episode at a second.
pub(crate) fn at(device: &DeviceDiagnosis, second: u64) -> &Episode {
    let time = second * SECOND;
    device
        .episodes
        .iter()
        .find(|it| it.begin_ns <= time && time < it.begin_ns + it.duration_ns)
        .unwrap()
}

pub(crate) fn has_note(device: &DeviceDiagnosis, code: NoteCode) -> bool {
    device.notes.iter().any(|note| note.code == code)
}

pub(crate) fn has_cause(episode: &Episode, code: CauseCode) -> bool {
    episode.causes.iter().any(|cause| cause.code == code)
}

/// Whether a page shows this verdict as an alternative.
pub(crate) fn may_be(episode: &Episode, verdict: Verdict) -> bool {
    episode.told().any(|alternative| alternative.verdict == verdict)
}

/// Whether no profile was used, but the observation and the device's class.
pub(crate) fn by_no_profile(episode: &Episode) -> bool {
    episode.baseline.as_ref().is_some_and(|baseline| baseline.rung != Rung::Profile)
}

/// Whether this doubt leaves an alternative open.
pub(crate) fn has_doubt(episode: &Episode, doubt: Doubt) -> bool {
    episode.alternatives.iter().any(|alternative| alternative.doubt == doubt)
}

pub(crate) fn first_advice(device: &DeviceDiagnosis) -> Option<Strategy> {
    device.advice.first().map(|remedy| remedy.strategy)
}
