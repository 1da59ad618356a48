//! What the tracer of requests costs, where requests cost least: a loop device over a file in
//! memory.
//!
//! The same reads with the tracer attached and without, in slices that take turns: at depth 32 the
//! rate that is left, at depth 1 what a single request takes longer. The goal is the rate at which
//! the tracer may be left on as a matter of course. Rejected: a null block device, which most kernels
//! come without.

use super::gate::{Gate, Goal, Proof, numbers, turns, values};
use super::{Context, Report};
use crate::child::{FIFTH, Plant};
use crate::contest::target::Target;
use crate::contest::{Bout, Load, Outcome};
use crate::pairs::Ratio;
use anyhow::Result;
use kernel::Roots;
use record::EngineName;
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use tracer::Tracer;

const PAIRS: usize = 15;
const LOAD: Load = Load::new(EngineName::IoUring, "randread", "4k", 32);

pub(super) fn run(context: &Context) -> Result<Report> {
    let target = match Target::prepare("loop", context.options.smoke)? {
        Ok(target) => target,
        Err(why) => return Ok(Report::skipped("tracer", &why)),
    };
    println!("  {}", target.description);
    let roots = Roots::default();
    let number = kernel::device::numbers(std::fs::metadata(&target.path)?.rdev());
    if let Err(error) = Tracer::open(&roots, &[number]) {
        return Ok(Report::skipped("tracer", &error.to_string()));
    }
    let binary = context.binary.as_path();
    let run = |load: Load, plant: Plant| {
        Bout::new(binary, &target, load, None).halfpower(context.slice(), plant)
    };
    let plain = |load: Load| run(load, Plant::Nothing);
    let traced = |load: Load| {
        let _tracer = Tracer::open(&roots, &[number])?;
        plain(load)
    };
    let count = context.pairs(PAIRS);
    let pairs = values(&turns(count, || plain(LOAD), || traced(LOAD))?, |outcome| outcome.iops);
    let rate = |outcome: Outcome| outcome.iops;
    let stopped = || Ok(rate(run(LOAD, Plant::Stopped(FIFTH))?));
    let (proof, _) =
        Proof::of(count, "a fifth of the time stopped", || Ok(rate(plain(LOAD)?)), stopped)?;
    let alone = Load { iodepth: 1, ..LOAD };
    let singles = turns(count, || plain(alone), || traced(alone))?;
    let singles = values(&singles, |outcome| outcome.latency_ns / 1e3);
    let without = Ratio::median_of(singles.iter().map(|pair| pair.0).collect());
    let longer = Ratio::median_of_pairs(&singles);
    println!(
        "    a single request takes {without} µs, and {longer} times that when it is traced: \
         {:.2} µs more",
        without.value * (longer.value - 1.0)
    );
    let name = format!("rate at depth {} with the tracer over that without", LOAD.iodepth);
    let gate = Gate::new(name, "", Goal::AtLeast(0.97), Ratio::median_of_pairs(&pairs), proof);
    let details = json!({
        "pairs": pairs.len(), "single_us": numbers(&without),
        "single_traced_over_plain": numbers(&longer),
    });
    Ok(Report { gates: vec![gate], details })
}
