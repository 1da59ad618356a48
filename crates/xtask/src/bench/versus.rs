//! Compares halfpower with fio where the device costs least: on a cached file in memory, and on a RAM block
//! device filled with incompressible data.
//!
//! At depth 128, it compares the rate and the CPU time per request with fio's fastest settings here
//! ([`crate::contest::fio::best`]). For each load of [`LOADS`], it compares the mean latency, with fio
//! submitting as many requests per call as halfpower. The sides alternate in slices of half a second (ABBA).
//! Each slice is a separate process. All are bound to one CPU, except the kernel's workers. CPU time is
//! what the kernel charges to each child.

use super::gate::{Gate, Goal, Proof, medians, turns, values};
use super::{Context, Report};
use crate::child::Plant;
use crate::contest::target::Target;
use crate::contest::{Bout, Load, Outcome, SHORT, fio};
use crate::pairs::Ratio;
use crate::place;
use anyhow::{Result, ensure};
use record::EngineName;
use serde_json::{Value, json};
use std::time::Duration;

/// Slices per side, twenty seconds in total. The placement of a kernel worker differs between processes but
/// rarely within one, so many short slices are better.
const PAIRS: usize = 40;
const PROOF_PAIRS: usize = 18;
/// The planted fault burns CPU time for the length of a slice divided by this.
const BURNT: u32 = 5;
/// Number of short runs that measure the cost of start and end.
const SHORT_RUNS: u32 = 5;

/// Ratio to fio that counts as equal for loads other than the harness' best case.
const EQUAL: f64 = 1.05;
/// Loads of all engines, each with its goal for the mean latency relative to fio.
const LOADS: [(Load, Goal); 7] = [
    (Load::new(EngineName::Sync, "randread", "4k", 1), Goal::AtMost(1.0)),
    (Load::new(EngineName::IoUring, "randread", "4k", 1), Goal::AtMost(1.0)),
    (Load::new(EngineName::IoUring, "randwrite", "4k", 32), Goal::AtMost(EQUAL)),
    (Load::new(EngineName::IoUring, "read", "64k", 8), Goal::AtMost(EQUAL)),
    (Load::new(EngineName::IoUring, "write", "64k", 1), Goal::AtMost(EQUAL)),
    (Load::new(EngineName::Libaio, "randread", "4k", 32), Goal::AtMost(EQUAL)),
    (Load::new(EngineName::Mmap, "randread", "4k", 1), Goal::AtMost(EQUAL)),
];
/// Maximum relative difference between the device's request count and halfpower's; shows that halfpower does
/// not claim more requests than it made.
const COUNT_TOLERANCE: f64 = 0.02;

const DEEP: Load = Load::new(EngineName::IoUring, "randread", "4k", 128);

pub(super) fn run(context: &Context, name: &'static str) -> Result<Report> {
    place::needs(testkit::Capability::Fio.lack())?;
    let target = Target::prepare(name, context.smoke)?;
    let mut report = deep(context, &target)?;
    for (load, goal) in LOADS {
        if load.via == EngineName::Mmap && target.direct {
            continue;
        }
        let more = latency(context, &target, load, goal)?;
        report.gates.extend(more.gates);
        report.details[load.label()] = more.details;
    }
    Ok(report)
}

impl Context {
    /// Runs fio and halfpower alternately.
    fn contest(&self, bout: &Bout<'_>) -> Result<Vec<(Outcome, Outcome)>> {
        let fio = || bout.fio(self.slice());
        turns(self.pairs(PAIRS), fio, || bout.halfpower(self.slice(), Plant::Nothing))
    }

    /// Compares halfpower with itself, and with itself with a fault.
    fn proof(
        &self,
        bout: &Bout<'_>,
        plant: Plant,
        fault: &'static str,
        value: impl Fn(&Outcome) -> f64,
    ) -> Result<Proof> {
        let run = |plant| Ok(value(&bout.halfpower(self.slice(), plant)?));
        let count = self.pairs(PROOF_PAIRS);
        Ok(Proof::of(count, fault, || run(Plant::Nothing), || run(plant))?.0)
    }

    /// The cost of start and end: the mean of short runs.
    fn short(&self, run: impl Fn(Duration) -> Result<Outcome>) -> Result<Outcome> {
        let count = if self.smoke { 1 } else { SHORT_RUNS };
        let runs: Result<Vec<Outcome>> = (0..count).map(|_| run(SHORT)).collect();
        let all = Outcome::together(&runs?);
        Ok(Outcome { cpu: all.cpu / count, runtime: all.runtime / count, ..all })
    }
}

/// Depth 128: rate and CPU time.
fn deep(context: &Context, target: &Target) -> Result<Report> {
    let mut bout = Bout::new(&context.binary, target, DEEP, context.core);
    let (settings, tried) = fio::best(&bout, context.smoke)?;
    for (settings, iops) in &tried {
        println!("    fio with {}: {iops:.0} IOPS", settings.words(DEEP.iodepth));
    }
    println!("    fio's best here: {}", settings.words(DEEP.iodepth));
    bout.settings = settings;
    let pairs = context.contest(&bout)?;
    let short_fio = context.short(|runtime| bout.fio(runtime))?;
    let short = context.short(|runtime| bout.halfpower(runtime, Plant::Nothing))?;
    let iops = |outcome: &Outcome| outcome.iops;
    let stopped = Plant::Stopped;
    let rate_proof = context.proof(&bout, stopped, "a fifth of the time stopped", iops)?;
    let burns = Plant::Burns(context.slice() / BURNT);
    let charged = |outcome: &Outcome| outcome.us_per_io(&short);
    let cpu_proof = context.proof(&bout, burns, "a fifth of the slice burnt", charged)?;
    let rates = values(&pairs, iops);
    let cost = |(a, b): &(Outcome, Outcome)| (a.us_per_io(&short_fio), b.us_per_io(&short));
    let costs: Vec<(f64, f64)> = pairs.iter().map(cost).collect();
    let (rate, cost) = (medians(&rates), medians(&costs));
    println!("    IOPS: fio {:.0}, halfpower {:.0}", rate.0, rate.1);
    println!("    charged µs per request: fio {:.3}, halfpower {:.3}", cost.0, cost.1);
    let gate = |what: &str, goal, pairs: &[(f64, f64)], proof| {
        let name = format!("{} {}, {what} over fio", target.name, DEEP.label());
        Gate::new(name, "", goal, Ratio::median_of_pairs(pairs), proof)
    };
    let gates = vec![
        gate("IOPS", Goal::AtLeast(1.0), &rates, rate_proof),
        gate("CPU time per request", Goal::AtMost(1.0), &costs, cpu_proof),
    ];
    let each = |values: (f64, f64)| json!({ "fio": values.0, "halfpower": values.1 });
    let words = |settings: &fio::Settings| settings.words(DEEP.iodepth);
    let tried = tried.iter().map(|(it, iops)| json!({ "settings": words(it), "iops": iops }));
    let details = json!({
        "slices_a_side": pairs.len(), "slice_s": context.slice().as_secs_f64(),
        "fio_settings": words(&settings), "fio_tried": tried.collect::<Vec<Value>>(),
        "iops": each(rate), "charged_us_per_request": each(cost),
    });
    Ok(Report { gates, details })
}

/// Mean latency of a load.
fn latency(context: &Context, target: &Target, load: Load, goal: Goal) -> Result<Report> {
    let bout = Bout::new(&context.binary, target, load, context.core);
    let (_, trial) = bout.told(SHORT, Plant::Nothing)?;
    if let Some(ratio) = trial.device_counters.value().and_then(|it| it.ratio_ios) {
        let label = load.label();
        ensure!((ratio - 1.0).abs() < COUNT_TOLERANCE, "{label}: the device counted {ratio:.3}");
    }
    let latency = |outcome: &Outcome| outcome.latency_ns;
    let pairs = values(&context.contest(&bout)?, latency);
    let stopped = Plant::Stopped;
    let proof = context.proof(&bout, stopped, "a fifth of the time stopped", latency)?;
    let each = medians(&pairs);
    println!("    {}: mean latency, ns: fio {:.0}, halfpower {:.0}", load.label(), each.0, each.1);
    let name = format!("{} {}, mean latency over fio", target.name, load.label());
    let gate = Gate::new(name, "", goal, Ratio::median_of_pairs(&pairs), proof);
    let details = json!({ "mean_latency_ns": { "fio": each.0, "halfpower": each.1 } });
    Ok(Report { gates: vec![gate], details })
}
