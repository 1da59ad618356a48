//! halfpower against fio where the device costs least: a cached file in memory, and a RAM block
//! device written full with data that does not compress.
//!
//! At depth 128 the rate and the processor time per request, against the fastest settings that fio
//! has here (found by trying, see [`crate::contest::fio::best`]); at depth 1 the mean response
//! time. The sides take turns in slices of half a second (ABBA), twenty seconds a side, each slice
//! a process of its own as a user starts it, all bound to one processor. Kernel workers are bound
//! by nobody: the same for both.
//!
//! Processor time is judged by what the kernel charges to each child, its workers included.
//! The time that the whole machine was busy stands beside it: it would show work that one of the
//! two has done elsewhere.

use super::gate::{Gate, Goal, Proof, median_of, numbers, ratio_of, turns};
use super::{Context, Report};
use crate::child::{FIFTH, Plant};
use crate::contest::fio::{self, Registered, Settings};
use crate::contest::halfpower::{self, Entry};
use crate::contest::target::Target;
use crate::contest::{Load, Outcome, SHORT, Via};
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// Slices a side: twenty seconds in all. Where a kernel worker comes to sit differs between
/// processes and hardly within one, so that more and shorter slices say more.
const PAIRS: usize = 40;
const PROOF_PAIRS: usize = 18;
const SLICE: Duration = Duration::from_millis(500);
const SMOKE_SLICE: Duration = Duration::from_millis(100);
/// The planted fault burns the length of a slice over this.
const BURNT: u32 = 5;
/// Runs from which the cost of start and end is taken.
const SHORT_RUNS: u32 = 5;

const DEEP: Load = Load { via: Via::IoUring, rw: "randread", bs: "4k", iodepth: 128 };

pub(super) fn tmpfs(context: &Context) -> Result<Report> {
    run(context, "tmpfs")
}

pub(super) fn zram(context: &Context) -> Result<Report> {
    run(context, "zram")
}

fn run(context: &Context, name: &str) -> Result<Report> {
    if let Some(why) = testkit::Capability::Fio.missing() {
        println!("SKIP bench {name}: needs Fio: {why}");
        return Ok(Report::skipped(&why));
    }
    let target = match Target::prepare(name, context.smoke)? {
        Ok(target) => target,
        Err(why) => {
            println!("SKIP bench {name}: {why}");
            return Ok(Report::skipped(&why));
        }
    };
    println!("  {}", target.description);
    let mut report = deep(context, &target)?;
    for via in [Via::Sync, Via::IoUring] {
        let load = Load { via, iodepth: 1, ..DEEP };
        let more = shallow(context, &target, load)?;
        report.gates.extend(more.gates);
        report.details[load.label()] = more.details;
    }
    Ok(report)
}

/// One contest: a load on a target, with fio's settings.
struct Bout<'a> {
    context: &'a Context,
    target: &'a Target,
    load: Load,
    settings: Settings,
}

impl Bout<'_> {
    fn slice(&self) -> Duration {
        if self.context.smoke { SMOKE_SLICE } else { SLICE }
    }

    fn fio(&self, runtime: Duration) -> Result<Outcome> {
        fio::run(self.target, &self.load, &self.settings, runtime)
    }

    fn halfpower(&self, runtime: Duration, plant: Plant) -> Result<Outcome> {
        let entry = Entry { binary: self.context.binary()?, core: self.settings.core, plant };
        let (outcome, notes) = halfpower::run(&entry, self.target, &self.load, runtime, &[])?;
        for finding in notes.findings.iter().filter(|_| self.context.verbose) {
            println!("    halfpower says: {finding}");
        }
        Ok(outcome)
    }

    fn short(&self, run: impl Fn(Duration) -> Result<Outcome>) -> Result<Outcome> {
        let count = if self.context.smoke { 1 } else { SHORT_RUNS };
        let runs: Result<Vec<Outcome>> = (0..count).map(|_| run(SHORT)).collect();
        let mut mean = Outcome::together(&runs?);
        mean.cpu /= count;
        mean.busy /= count;
        mean.runtime /= count;
        Ok(mean)
    }

    /// halfpower against itself, and against itself with a fault.
    fn proof(
        &self,
        plant: Plant,
        fault: &'static str,
        value: impl Fn(&Outcome) -> f64,
    ) -> Result<Proof> {
        let count = self.context.pairs(PROOF_PAIRS);
        let free = || self.halfpower(self.slice(), Plant::Nothing);
        let same = turns(count, free, free)?;
        let planted = turns(count, free, || self.halfpower(self.slice(), plant))?;
        Ok(Proof { same: ratio_of(&same, &value), planted: ratio_of(&planted, &value), fault })
    }

    /// fio and halfpower in turn.
    fn contest(&self) -> Result<Vec<(Outcome, Outcome)>> {
        turns(
            self.context.pairs(PAIRS),
            || self.fio(self.slice()),
            || self.halfpower(self.slice(), Plant::Nothing),
        )
    }
}

/// Depth 128: rate and processor time.
fn deep(context: &Context, target: &Target) -> Result<Report> {
    let (settings, tried) = fio::best(target, &DEEP, Some(context.core), context.smoke)?;
    for (settings, iops) in &tried {
        println!("    fio with {}: {iops:.0} IOPS", settings.words());
    }
    println!("    fio's best here: {}", settings.words());
    let bout = Bout { context, target, load: DEEP, settings };
    let pairs = bout.contest()?;
    let shorts = (
        bout.short(|runtime| bout.fio(runtime))?,
        bout.short(|runtime| bout.halfpower(runtime, Plant::Nothing))?,
    );
    let costs: Vec<(f64, f64)> = pairs
        .iter()
        .map(|(a, b)| (a.cpu_us_per_io(&shorts.0, 1), b.cpu_us_per_io(&shorts.1, 1)))
        .collect();
    let busy: Vec<(f64, f64)> = pairs
        .iter()
        .map(|(a, b)| (a.busy_us_per_io(&shorts.0, 1), b.busy_us_per_io(&shorts.1, 1)))
        .collect();
    let iops = |outcome: &Outcome| outcome.iops;
    let rate_proof = bout.proof(Plant::Stopped(FIFTH), "a fifth of the time stopped", iops)?;
    let burns = Plant::Burns(bout.slice() / BURNT);
    let charged = |outcome: &Outcome| outcome.cpu_us_per_io(&shorts.1, 1);
    let cpu_proof = bout.proof(burns, "a fifth of the slice burnt", charged)?;
    let cost = |cost: &f64| *cost;
    let busy_ratio = ratio_of(&busy, cost);
    let side = |values: &[(f64, f64)]| {
        let median = |value: fn(&(f64, f64)) -> f64| {
            median_of(&values.iter().map(value).collect::<Vec<f64>>()).value
        };
        (median(|pair| pair.0), median(|pair| pair.1))
    };
    let rates: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.iops, b.iops)).collect();
    let (rates, costs_each, busy_each) = (side(&rates), side(&costs), side(&busy));
    println!("    IOPS: fio {:.0}, halfpower {:.0}", rates.0, rates.1);
    println!("    charged µs per request: fio {:.3}, halfpower {:.3}", costs_each.0, costs_each.1);
    println!(
        "    whole machine, µs per request: fio {:.3}, halfpower {:.3}, ratio {busy_ratio}",
        busy_each.0, busy_each.1
    );
    let name = |what: &str| format!("{} {}, {what} over fio", target.name, DEEP.label());
    let gates = vec![
        Gate::new(name("IOPS"), "", Goal::AtLeast(1.0), ratio_of(&pairs, iops), rate_proof),
        Gate::new(
            name("processor time per request"),
            "",
            Goal::AtMost(1.0),
            ratio_of(&costs, cost),
            cpu_proof,
        ),
    ];
    let each = |values: (f64, f64)| json!({ "fio": values.0, "halfpower": values.1 });
    let tried: Vec<Value> = tried
        .iter()
        .map(|(settings, iops)| json!({ "settings": settings.words(), "iops": iops }))
        .collect();
    let details = json!({
        "slices_a_side": pairs.len(), "slice_s": bout.slice().as_secs_f64(),
        "fio_settings": settings.words(), "fio_tried": tried, "iops": each(rates),
        "charged_us_per_request": each(costs_each),
        "whole_machine_us_per_request": each(busy_each),
        "whole_machine_ratio": numbers(&busy_ratio),
    });
    Ok(Report { gates, details })
}

/// Depth 1: mean response time.
fn shallow(context: &Context, target: &Target, load: Load) -> Result<Report> {
    let settings = Settings::alike(&load, Registered::ALL, Some(context.core));
    let bout = Bout { context, target, load, settings };
    let latency = |outcome: &Outcome| outcome.latency_ns;
    let pairs = bout.contest()?;
    let proof = bout.proof(Plant::Stopped(FIFTH), "a fifth of the time stopped", latency)?;
    let figure = ratio_of(&pairs, latency);
    let median = |value: fn(&(Outcome, Outcome)) -> f64| {
        median_of(&pairs.iter().map(value).collect::<Vec<f64>>()).value
    };
    let each = (median(|pair| pair.0.latency_ns), median(|pair| pair.1.latency_ns));
    println!("    {}: mean response, ns: fio {:.0}, halfpower {:.0}", load.label(), each.0, each.1);
    let name = format!("{} {}, mean response time over fio", target.name, load.label());
    let gate = Gate::new(name, "", Goal::AtMost(1.0), figure, proof);
    let details = json!({ "mean_latency_ns": { "fio": each.0, "halfpower": each.1 } });
    Ok(Report { gates: vec![gate], details })
}
