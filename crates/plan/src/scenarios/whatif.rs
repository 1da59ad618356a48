//! Simulates what-if cases: the load and its device before and after each change.
//!
//! A setup becomes a simulated device with loads, observed as a kernel would show it. A change without a
//! counterpart is not simulated, and the case states why.

use crate::scenarios::counterpart::SimulatedDevice;
use crate::scenarios::scenario::{Scenario, ScenarioLoad, means, observe};
use crate::session;
use crate::{Amount, LoadSpec};
use model::Predictor;
use model::whatif::Setup;
use record::{
    Bytes, Change, EngineName, LoadState, Locality, Measured, Mix, MixClass, Nanos, Offered,
    OpKind, RaidLevel, SimulatedState, WhatIf, Workload,
};
use simdisk::SimSpec;
use std::sync::atomic::AtomicBool;
use trial::TrialError;

/// Target number of requests for a mean.
const REQUESTS: f64 = 30_000.0;
/// Minimum and maximum virtual time, in seconds.
const SECONDS: (f64, f64) = (2.0, 3_000.0);
/// Number of intervals, and how many of them are warm-up.
const INTERVALS: u64 = 20;
const WARM_UP: usize = 2;
/// Computed and simulated values agree within this share.
const AGREES: f64 = 0.10;
/// Maximum rounding error of a share in a simulated load, in per cent. Beyond it the load counts as
/// different.
const ROUNDS: f64 = 0.75;

/// A simulated device for what-if cases.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// The device before any change.
    pub device: &'a SimSpec,
    /// The part of it that loads use.
    pub area: Bytes,
    /// Seed of service times and requests.
    pub seed: u64,
    /// Ends it early.
    pub stop: &'a AtomicBool,
}

impl Simulation<'_> {
    /// Simulates the load of a what-if document before and after its changes.
    ///
    /// # Errors
    /// If an engine failed, or `stop` was set.
    pub fn add_to(
        &self,
        document: &mut WhatIf,
        setup: &Setup,
        predictor: &Predictor,
    ) -> Result<(), TrialError> {
        if let Some(before) = &document.before {
            document.before_simulated = Some(self.state(setup, before, &[])?);
        }
        for case in &mut document.cases {
            let changed = setup.with_all(&case.changes, predictor);
            if let (Some(computed), Ok(changed)) = (case.after.value(), changed) {
                case.simulated = Some(self.state(&changed, computed, &case.changes)?);
            }
        }
        Ok(())
    }

    /// The simulated state of a setup, or why it cannot be simulated.
    fn state(
        &self,
        setup: &Setup,
        computed: &LoadState,
        changes: &[Change],
    ) -> Result<Measured<SimulatedState>, TrialError> {
        let (behind, left) = setup.behind_host();
        let built = device(self.device, setup).and_then(|device| {
            let area = self.area.min(device.spec.size());
            Ok((workloads(&behind.mix, behind.offered, area)?, device))
        });
        let (workloads, device) = match built {
            Ok(built) => built,
            Err(why) => return Ok(Measured::not(why)),
        };
        let rate = (computed.iops.value * left).max(1e-3);
        let seconds = (REQUESTS / rate).clamp(SECONDS.0, SECONDS.1);
        let duration = Nanos((seconds * 1e9) as u64);
        let load = |(workload, number): (Workload, u32)| ScenarioLoad {
            name: format!("load-{number}"),
            workload,
            begin: Nanos(0),
            end: duration,
            limits: Vec::new(),
            write_back: false,
            uncounted: false,
        };
        let scenario = Scenario {
            device: &device.spec,
            array: device.array,
            loads: workloads.into_iter().zip(1..).map(load).collect(),
            duration,
            interval: Nanos(duration.0 / INTERVALS),
            seed: self.seed,
            traced: false,
            steal_share: 0.0,
        };
        let observation = observe(&scenario, session::VERSION, self.stop)?;
        let Some(found) = means(observation.intervals.iter().skip(WARM_UP)) else {
            return Ok(Measured::not("no request completed in the simulation"));
        };
        let latency_ns = found.latency_ns * left;
        let difference_rel = computed.latency_ns.value / latency_ns - 1.0;
        let breaks = (difference_rel.abs() > AGREES)
            .then(|| assumption(changes, difference_rel > 0.0, setup.offered).to_owned());
        Ok(Measured::Value(SimulatedState {
            device: device.to_string(),
            latency_ns,
            iops: found.per_s / left,
            requests: found.requests.round() as u64,
            difference_rel,
            breaks,
        }))
    }
}

/// The simulated device of a setup.
fn device(base: &SimSpec, setup: &Setup) -> Result<SimulatedDevice, String> {
    let slower = (setup.time_factor - 1.0).abs() > 1e-9;
    let array = setup.array.map(|array| Change::Array {
        disks: array.disks,
        raid: array.raid,
        chunk_bytes: array.chunk_bytes,
    });
    let cache = setup.cache.map(|(share, ns)| Change::CacheHit { share, hit_ns: Some(ns) });
    let changes = [
        cache,
        slower.then_some(Change::Faster(1.0 - setup.time_factor)),
        array,
        setup.cap.map(Change::Cap),
    ];
    changes.into_iter().flatten().try_fold(SimulatedDevice::one(base), SimulatedDevice::with)
}

/// The loads of a mix. Open arrivals get one per operation, because these may differ. A closed loop gets
/// one for both.
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
                return Err("the queue depth of a simulated loop must be a whole number".to_owned());
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
            return Err(
                "the rate of a simulated load must be a whole number of requests per second"
                    .to_owned(),
            );
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
    let bs = Mix { classes: classes.to_vec() }.size_shares();
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
    Err("in a simulated load, reads and writes must have the same shares of positions and sizes, \
         in whole percentages"
        .to_owned())
}

/// The assumption of the computation that fails, by the changes and by the sign of the difference.
fn assumption(changes: &[Change], computed_slower: bool, offered: Offered) -> &'static str {
    for change in changes {
        match (change, computed_slower) {
            (Change::Array { raid: RaidLevel::Raid1, .. }, true) => {
                return "reads go to the copy with the shorter queue, not to a random copy";
            }
            (Change::Array { raid: RaidLevel::Raid5, .. }, false) => {
                return "a write to a block that was just read waits for a whole revolution, \
                        longer than a write to a random position; and writes to the same stripe \
                        wait for each other";
            }
            (Change::Array { .. }, true) => {
                return "each disk holds only a part of the area, so its seeks are shorter";
            }
            (Change::Array { .. }, false) => {
                return "requests are not spread evenly over the disks, or the bus and adapter add \
                        latency";
            }
            (Change::Sequential(_), _) => {
                return "sequential requests mixed with random ones are slower than alone";
            }
            (Change::CacheHit { .. }, _) => {
                return "re-reads mixed with other requests are slower than alone";
            }
            (Change::Cap(_), true) => return "a limit accumulates credit while it is idle",
            _ => {}
        }
    }
    match offered {
        Offered::Depth(_) => {
            "the depth curve of the profile is not valid for this mix (see the line \"as it is\")"
        }
        _ => {
            "the profile's model of open loads is wrong for this load (see the line \"as it \
             is\"); to calibrate the model, use `check --for-diagnosis`"
        }
    }
}
