//! Measures the harness' own cost per request: the null engine at depth 128, 4 KiB random reads.
//!
//! The figure is the product's own: `halfpower run --ioengine null` with everything enabled, bound to one
//! CPU; 10^9 divided by its IOPS.

use super::gate::{Gate, Goal, Proof};
use super::{Context, Report};
use crate::child::Plant;
use crate::contest::target::Target;
use crate::contest::{Bout, Load};
use anyhow::Result;
use record::EngineName;
use serde_json::json;
use std::time::Duration;

/// Maximum cost of the harness in nanoseconds per request.
const GOAL_NS: f64 = 25.0;
const LOAD: Load = Load::new(EngineName::Null, "randread", "4k", 128);

pub(super) fn run(context: &Context) -> Result<Report> {
    let target = Target::prepare("null", context.smoke)?;
    let bout = Bout::new(&context.binary, &target, LOAD, context.core);
    let runtime = Duration::from_millis(if context.smoke { 100 } else { 1_000 });
    let cost = |plant| Ok(1e9 / bout.halfpower(runtime, plant)?.iops);
    // Not counted: it warms up the caches and the CPU's clock.
    cost(Plant::Nothing)?;
    let (proof, figure) = Proof::of(
        context.pairs(15),
        "a fifth of the time stopped",
        || cost(Plant::Nothing),
        || cost(Plant::Stopped),
    )?;
    let name = "halfpower run, null engine, depth 128, all accounting";
    let gate = Gate::new(name, "ns per request", Goal::AtMost(GOAL_NS), figure, proof);
    Ok(Report { gates: vec![gate], details: json!({ "unit": "ns per request" }) })
}
