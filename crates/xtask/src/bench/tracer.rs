//! What the tracer of requests costs, where requests cost least: a loop device over a file in memory.
//!
//! The same reads with the tracer attached and without, in slices that take turns: at depth 32 the
//! rate that is left, at depth 1 what a single request takes longer. The tracer's programs run in
//! the kernel on behalf of whoever issues and completes, so that time and not the processor time of
//! this process shows them. On a disk whose requests take a hundred microseconds the same cost is
//! a hundredth of what it is here. There is no goal: the figure is to be known before `--trace` is
//! left on. Rejected: a null block device, which most kernels come without.

use super::gate::{Gate, Goal, Proof, median_of, numbers, ratio_of, turns};
use super::{Context, Report};
use crate::child::{FIFTH, Plant};
use crate::contest::halfpower::{self, Entry};
use crate::contest::target::Target;
use crate::contest::{Load, Outcome, Via};
use anyhow::Result;
use kernel::Roots;
use nix::sys::stat::{major, minor};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use tracer::Tracer;

const PAIRS: usize = 15;
const SLICE: Duration = Duration::from_millis(500);
const SMOKE_SLICE: Duration = Duration::from_millis(100);
const LOAD: Load = Load { via: Via::IoUring, rw: "randread", bs: "4k", iodepth: 32 };

pub(super) fn run(context: &Context) -> Result<Report> {
    let target = match Target::prepare("loop", context.smoke)? {
        Ok(target) => target,
        Err(why) => return Ok(skip(&why)),
    };
    println!("  {}", target.description);
    let roots = Roots::default();
    let number = std::fs::metadata(&target.path)?.rdev();
    let number = (u32::try_from(major(number))?, u32::try_from(minor(number))?);
    if let Err(error) = Tracer::open(&roots, &[number], false) {
        return Ok(skip(&error.to_string()));
    }
    let slice = if context.smoke { SMOKE_SLICE } else { SLICE };
    let run = |load: &Load, plant: Plant| -> Result<Outcome> {
        let entry = Entry { binary: context.binary()?, core: None, plant };
        Ok(halfpower::run(&entry, &target, load, slice, &[])?.0)
    };
    let traced = |load: &Load| -> Result<Outcome> {
        let tracer = Tracer::open(&roots, &[number], false)?;
        let outcome = run(load, Plant::Nothing);
        drop(tracer);
        outcome
    };
    let iops = |outcome: &Outcome| outcome.iops;
    let pairs = turns(context.pairs(PAIRS), || run(&LOAD, Plant::Nothing), || traced(&LOAD))?;
    let plain = || run(&LOAD, Plant::Nothing);
    let proof = Proof {
        same: ratio_of(&turns(context.pairs(PAIRS), plain, plain)?, iops),
        planted: ratio_of(
            &turns(context.pairs(PAIRS), plain, || run(&LOAD, Plant::Stopped(FIFTH)))?,
            iops,
        ),
        fault: "a fifth of the time stopped",
    };
    let alone = Load { iodepth: 1, ..LOAD };
    let singles = turns(context.pairs(PAIRS), || run(&alone, Plant::Nothing), || traced(&alone))?;
    let without: Vec<f64> = singles.iter().map(|(plain, _)| plain.latency_ns / 1e3).collect();
    let without = median_of(&without);
    let longer = ratio_of(&singles, |outcome| outcome.latency_ns);
    println!(
        "    a single request takes {without} µs, and {longer} times that when it is traced: \
         {:.2} µs more",
        without.value * (longer.value - 1.0)
    );
    let gate = Gate::new(
        format!("rate at depth {} with the tracer over that without", LOAD.iodepth),
        "",
        Goal::Shown,
        ratio_of(&pairs, iops),
        proof,
    );
    let details = json!({
        "pairs": pairs.len(), "single_us": numbers(&without),
        "single_traced_over_plain": numbers(&longer),
    });
    Ok(Report { gates: vec![gate], details })
}

fn skip(why: &str) -> Report {
    println!("SKIP bench tracer: {why}");
    Report::skipped(why)
}
