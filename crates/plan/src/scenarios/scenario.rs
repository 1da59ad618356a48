//! Defines scenarios: a device under several concurrent loads.
//!
//! A limit of a control group (those of `io.max`) delays a request before any disk counter starts. The
//! requests that pass it are simulated as a stream at constant intervals. A program that both reads and
//! writes waits for the limited operation, so a limit on one limits both in proportion. Rejected: a token
//! bucket ahead of the counters, which would pass the same stream.

use record::{Arrival, Change, LimitedIo, Nanos, OpKind, RaidLevel, Workload, hex_digest};
use simdisk::{AnyDevice, SimSpec};
use workload::derive_seed;
use workload::volume::{Raid, VolumeSpec};

/// A limit of a control group, as in `io.max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// The limited quantity.
    pub limited: LimitedIo,
    /// Requests or bytes per second.
    pub per_s: u64,
}

impl GroupLimit {
    /// The limit from this key of `io.max` and its value; `None` for an unknown key.
    #[must_use]
    pub fn of(key: &str, per_s: u64) -> Option<Self> {
        Some(Self { limited: LimitedIo::from_key(key)?, per_s })
    }

    /// The requests per second of a load that the limit allows; `None` if it does not apply to the load.
    #[must_use]
    pub fn lets_through(&self, workload: &Workload) -> Option<u64> {
        let reads = u64::from(workload.read_percent);
        let percent = if self.limited.op() == OpKind::Read { reads } else { 100 - reads };
        let size: u64 = workload.bs.iter().map(|size| size.bytes.0 * u64::from(size.percent)).sum();
        let each = if self.limited.is_bytes() { percent * size } else { percent * 100 };
        (each > 0).then(|| (self.per_s.saturating_mul(10_000) / each).max(1))
    }
}

/// One load of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioLoad {
    /// Name of the program.
    pub name: String,
    /// Its requests; the run time is ignored.
    pub workload: Workload,
    /// Start.
    pub begin: Nanos,
    /// End.
    pub end: Nanos,
    /// The limits of its control group.
    pub limits: Vec<GroupLimit>,
    /// Whether it is the page cache writing back.
    pub write_back: bool,
    /// Whether pressure figures exclude its waits at a limit, as for asynchronous I/O.
    pub uncounted: bool,
}

/// How devices are combined into an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Number of devices, including copies and parity.
    pub disks: u32,
    /// RAID level of the members.
    pub raid: Raid,
    /// Number of devices with the same data; each such group is one member.
    pub copies: u64,
    /// Chunk size: contiguous bytes on a member.
    pub chunk_bytes: u64,
}

impl Array {
    /// The array of a change; `None` for another change, and for levels that are not simulated.
    #[must_use]
    pub fn of(change: Change) -> Option<Self> {
        let Change::Array { disks, raid, chunk_bytes } = change else { return None };
        let (raid, copies) = match raid {
            RaidLevel::Raid0 => (Raid::Raid0, 1),
            RaidLevel::Raid1 => (Raid::Raid1, 1),
            RaidLevel::Raid5 => (Raid::Raid5, 1),
            RaidLevel::Raid10 => (Raid::Raid0, 2),
            RaidLevel::Raid6 => return None,
        };
        Some(Self { disks, raid, copies, chunk_bytes })
    }
}

/// A device with its loads.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// The device.
    pub device: &'a SimSpec,
    /// Array of such devices in place of one, if any.
    pub array: Option<Array>,
    /// The loads.
    pub loads: Vec<ScenarioLoad>,
    /// Length of the observation.
    pub duration: Nanos,
    /// Sampling interval.
    pub interval: Nanos,
    /// Seed of service times and requests.
    pub seed: u64,
    /// Whether a tracer runs.
    pub traced: bool,
    /// Share of the processors' time taken by the host.
    pub steal_share: f64,
}

/// The device, or the array of such devices.
pub(crate) fn built(scenario: &Scenario<'_>) -> AnyDevice {
    let seed = |member: u64| derive_seed(scenario.seed, u64::from(u32::MAX) + member);
    let Some(Array { disks, raid, copies, chunk_bytes }) = scenario.array else {
        return scenario.device.build(scenario.seed);
    };
    let bound = |raid: Raid, members: Vec<AnyDevice>| {
        let spec = VolumeSpec { raid, chunk_bytes, ..VolumeSpec::default() };
        AnyDevice::Array(Box::new(simdisk::Array::new(&spec, members)))
    };
    let member = |at: u64| {
        let one = |copy: u64| scenario.device.build(seed(at * copies + copy));
        if copies > 1 { bound(Raid::Raid1, (0..copies).map(one).collect()) } else { one(0) }
    };
    bound(raid, (0..u64::from(disks) / copies).map(member).collect())
}

/// A hash of everything that determines the observation.
pub(crate) fn identity(scenario: &Scenario<'_>) -> String {
    let limit = |limit: &GroupLimit| format!("{}={}", limit.limited.name(), limit.per_s);
    let load = |load: &ScenarioLoad| {
        let (cell, begin, end) = (load.workload.cell(), load.begin.0, load.end.0);
        let limits = load.limits.iter().map(limit).collect::<Vec<_>>().join(",");
        let (from_cache, uncounted) = (load.write_back, load.uncounted);
        format!("{} {cell} {begin} {end} {limits} {from_cache} {uncounted}", load.name)
    };
    let loads: Vec<String> = scenario.loads.iter().map(load).collect();
    let file = scenario.device.file_hash.iter().map(|hash| format!(" {hash}")).collect::<String>();
    hex_digest(&format!(
        "observation {}{file} {:?} {} {} {} {} {} {}",
        scenario.device.text,
        scenario.array,
        scenario.seed,
        scenario.duration.0,
        scenario.interval.0,
        scenario.traced,
        scenario.steal_share,
        loads.join("; ")
    ))
}

/// The load as it reaches the device, and whether its limit holds it.
pub(crate) fn limited(load: &ScenarioLoad) -> (Workload, bool) {
    let mut workload = load.workload.clone();
    let through = load.limits.iter().filter_map(|limit| limit.lets_through(&workload));
    let Some(limit) = through.min() else { return (workload, false) };
    if workload.arrival != Arrival::Closed && workload.rate_iops.is_some_and(|rate| rate <= limit) {
        return (workload, false);
    }
    workload.arrival = Arrival::Constant;
    workload.rate_iops = Some(limit);
    workload.write_rate_iops = None;
    (workload, true)
}
