//! The same change in the simulator.
//!
//! A setup becomes a simulated device (with more disks, faster servers, a cap) and loads on it, and
//! is observed as a kernel would show it. Not everything has a dial there: no cache whose share of
//! hits can be set, no drive with another mechanism, no RAID 6 or 10. Such a case is not simulated,
//! and says why, rather than being simulated as something else.

use model::whatif::Setup;
use plan::{Amount, LoadSpec};
use record::{
    Bytes, Change, EngineName, LoadState, Locality, Measured, Mix, MixClass, Nanos, Offered,
    OpKind, RaidLevel, SimulatedState, SizeShare, Workload,
};
use scenarios::{Scenario, ScenarioLoad, observe};
use simdisk::{SimKind, SimSpec};
use std::sync::atomic::AtomicBool;

/// Requests that a mean rests on.
const REQUESTS: f64 = 30_000.0;
/// Shortest and longest virtual time.
const SECONDS: (f64, f64) = (2.0, 3_000.0);
/// Intervals, of which the first are warm-up.
const INTERVALS: u64 = 20;
const WARM_UP: usize = 2;
/// Computed and simulated agree within this share.
const AGREES: f64 = 0.10;
/// A share that a simulated load rounds by more than this is another load, in per cent.
const ROUNDS: f64 = 0.75;

/// What the simulator says of a setup, or why it says nothing.
pub(super) fn state(
    base: &SimSpec,
    setup: &Setup,
    computed: &LoadState,
    changes: &[Change],
    area: Bytes,
    seed: u64,
    stop: &AtomicBool,
) -> anyhow::Result<Measured<SimulatedState>> {
    let built = device(base, setup)
        .and_then(|text| SimSpec::parse(&text).map_err(|error| error.to_string()));
    let device = match built {
        Ok(device) => device,
        Err(why) => return Ok(Measured::not(why)),
    };
    let (behind, left) = setup.behind_host();
    let area = area.min(device.size());
    let workloads = match workloads(&behind.mix, behind.offered, area) {
        Ok(workloads) => workloads,
        Err(why) => return Ok(Measured::not(why)),
    };
    let rate = (computed.iops.value * left).max(1e-3);
    let seconds = (REQUESTS / rate).clamp(SECONDS.0, SECONDS.1);
    let duration = Nanos((seconds * 1e9) as u64);
    let loads = workloads
        .into_iter()
        .enumerate()
        .map(|(at, workload)| ScenarioLoad {
            name: format!("load-{}", at + 1),
            workload,
            begin: Nanos(0),
            end: duration,
            limits: Vec::new(),
            write_back: false,
        })
        .collect();
    let scenario = Scenario {
        device: &device,
        array: None,
        loads,
        duration,
        interval: Nanos(duration.0 / INTERVALS),
        seed,
        traced: false,
        steal_share: 0.0,
    };
    let observation = observe(&scenario, session::VERSION, stop)?;
    let warm = observation.intervals.get(WARM_UP..).unwrap_or_default();
    let (mut requests, mut time_ns, mut seconds) = (0.0, 0.0, 0.0);
    for interval in warm {
        let length = interval.duration_ns as f64 / 1e9;
        let count = interval.all.per_s.map_or(0.0, |rate| rate.value * length);
        requests += count;
        time_ns += count * interval.all.latency_ns.map_or(0.0, |time| time.value);
        seconds += length;
    }
    if requests <= 0.0 || seconds <= 0.0 {
        return Ok(Measured::not("no request was completed in it"));
    }
    let latency_ns = time_ns / requests * left;
    let difference_rel = computed.latency_ns.value / latency_ns - 1.0;
    let breaks = (difference_rel.abs() > AGREES)
        .then(|| assumption(changes, difference_rel > 0.0, setup.offered).to_owned());
    Ok(Measured::Value(SimulatedState {
        device: format!("sim:{}", device.text),
        latency_ns,
        iops: requests / seconds / left,
        requests: requests.round() as u64,
        difference_rel,
        breaks,
    }))
}

/// The simulated device of a setup.
fn device(base: &SimSpec, setup: &Setup) -> Result<String, String> {
    let mut text = base.text.clone();
    if setup.cache.is_some() {
        return Err("simulated devices have no cache whose share of hits can be set".to_owned());
    }
    let factor = setup.time_factor;
    let slower = (factor - 1.0).abs() > 1e-9;
    match &base.kind {
        SimKind::Queue(spec) => {
            if setup.array.is_some() {
                return Err("arrays are simulated in machines of drives only".to_owned());
            }
            if slower {
                let time = |nanos: Nanos| format!("{}ns", (nanos.0 as f64 * factor).round() as u64);
                text.push_str(&format!(",service={},hit={}", time(spec.service), time(spec.hit)));
                let faster = |rate: u64| (rate as f64 / factor).round() as u64;
                let keys = [
                    ("rate", spec.rate_bytes_per_s),
                    ("iops", spec.iops),
                    ("throughput", spec.throughput_bytes_per_s),
                ];
                for (key, rate) in keys.into_iter().filter(|(_, rate)| *rate > 0) {
                    let unit = if key == "iops" { "" } else { "B" };
                    text.push_str(&format!(",{key}={}{unit}", faster(rate)));
                }
            }
            if let Some(cap) = setup.cap {
                if spec.iops > 0 && (spec.iops as f64) < cap {
                    return Err("the simulated device has a lower cap of its own".to_owned());
                }
                text.push_str(&format!(",iops={},burst=1", cap.round()));
            }
            Ok(text)
        }
        SimKind::Machine(_) | SimKind::Flash(_) if slower => {
            Err("a simulated drive has no dial for the speed of its parts".to_owned())
        }
        SimKind::Machine(_) | SimKind::Flash(_) if setup.cap.is_some() => {
            Err("a cap is simulated ahead of queues only (sim:mmc and the like)".to_owned())
        }
        SimKind::Flash(_) if setup.array.is_some() => {
            Err("arrays are simulated in machines of disk drives only".to_owned())
        }
        SimKind::Flash(_) => Ok(text),
        SimKind::Machine(spec) => {
            let Some(array) = &setup.array else { return Ok(text) };
            if spec.disks > 1 {
                return Err("the simulated device has several disks already".to_owned());
            }
            if !matches!(array.raid, RaidLevel::Raid0 | RaidLevel::Raid1 | RaidLevel::Raid5) {
                return Err("simulated are RAID 0, 1 and 5".to_owned());
            }
            let chunk = array.chunk_bytes;
            text.push_str(&format!(
                ",disks={},raid={},chunk={chunk}B",
                array.disks,
                array.raid.number()
            ));
            Ok(text)
        }
    }
}

/// The loads of a mix: one for each operation where they arrive by themselves, because then they
/// need not be alike; one for both in a closed loop.
fn workloads(mix: &Mix, offered: Offered, area: Bytes) -> Result<Vec<Workload>, String> {
    let build = |load: &LoadSpec, amount: Amount| {
        load.workload(amount, area, EngineName::Sim, 1).map_err(|error| error.to_string())
    };
    let parts = |op: OpKind| -> Vec<MixClass> {
        mix.classes.iter().filter(|class| class.op == op).copied().collect()
    };
    let rate = match offered {
        Offered::Depth(depth) => {
            let (load, _) = load_of(&mix.classes)?;
            if depth.fract() != 0.0 {
                return Err(
                    "a simulated loop has a whole number of requests outstanding".to_owned()
                );
            }
            return Ok(vec![build(&load, Amount::Depth(depth as u32))?]);
        }
        Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => rate,
    };
    let mut loads = Vec::new();
    for classes in [parts(OpKind::Read), parts(OpKind::Write)] {
        if classes.is_empty() {
            continue;
        }
        let (load, share) = load_of(&classes)?;
        let per_s = (rate * share).round().max(1.0);
        if (per_s / (rate * share) - 1.0).abs() > ROUNDS / 100.0 {
            return Err("a simulated load has a whole number of requests per second".to_owned());
        }
        let amount = match offered {
            Offered::ConstantPerS(_) => Amount::Constant(per_s as u64),
            _ => Amount::Poisson(per_s as u64),
        };
        loads.push(build(&load, amount)?);
    }
    Ok(loads)
}

/// The load of some classes, and their share of all.
fn load_of(classes: &[MixClass]) -> Result<(LoadSpec, f64), String> {
    let all: f64 = classes.iter().map(|class| class.share).sum();
    let of = |is: &dyn Fn(&MixClass) -> bool| -> f64 {
        classes.iter().filter(|class| is(class)).map(|class| class.share / all * 100.0).sum()
    };
    let mut sizes: Vec<u64> = classes.iter().map(|class| class.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut bs: Vec<SizeShare> = sizes
        .iter()
        .map(|&bytes| SizeShare {
            bytes: Bytes(bytes),
            percent: of(&|class| class.bytes == bytes).round() as u8,
        })
        .collect();
    let sum: u32 = bs.iter().map(|size| u32::from(size.percent)).sum();
    if let Some(first) = bs.first_mut() {
        first.percent = (u32::from(first.percent) + 100).saturating_sub(sum) as u8;
    }
    let load = LoadSpec {
        read_percent: of(&|class| class.op == OpKind::Read).round() as u8,
        bs,
        sequential_percent: of(&|class| class.locality == Locality::Sequential).round() as u8,
        hit_percent: of(&|class| class.locality == Locality::Hit).round() as u8,
    };
    let built = load.mix();
    let alike = classes.iter().all(|class| {
        let same = built.classes.iter().find(|other| {
            (other.op, other.locality, other.bytes) == (class.op, class.locality, class.bytes)
        });
        let share = same.map_or(0.0, |other| other.share);
        (share - class.share / all).abs() * 100.0 <= ROUNDS
    });
    if alike && built.classes.len() == classes.len() {
        return Ok((load, all));
    }
    Err("a simulated load has the same shares of places and sizes for reads and writes, in whole \
         per cent"
        .to_owned())
}

/// Which assumption of the arithmetic breaks, by what was changed and who is slower.
fn assumption(changes: &[Change], computed_slower: bool, offered: Offered) -> &'static str {
    for change in changes {
        match (change, computed_slower) {
            (Change::Array { raid: RaidLevel::Raid1, .. }, true) => {
                return "reads go to the copy with the shorter queue, not to one at random";
            }
            (Change::Array { raid: RaidLevel::Raid5, .. }, false) => {
                return "a write of what was just read waits for a whole revolution, longer than \
                        for a place at random; and writes to one stripe wait for each other";
            }
            (Change::Array { .. }, true) => {
                return "each disk holds a part of the area, so that its arm has shorter ways";
            }
            (Change::Array { .. }, false) => {
                return "requests do not fall on all disks alike, or the bus and adapter between add \
                        time of their own";
            }
            (Change::Sequential(_), _) => {
                return "sequential requests between random ones do not keep the speed that they \
                        had alone";
            }
            (Change::CacheHit { .. }, _) => {
                return "re-reads between other requests do not keep the speed that they had alone";
            }
            (Change::Cap(_), true) => return "a limit saves credit while nothing is asked of it",
            _ => {}
        }
    }
    match offered {
        Offered::Depth(_) => {
            "the depth curve of the profile does not hold for this mix (see the line \"as it is\")"
        }
        _ => {
            "the profile's model of open loads is off at this one (see the line \"as it is\"); \
             `check --for-diagnosis` calibrates it"
        }
    }
}
