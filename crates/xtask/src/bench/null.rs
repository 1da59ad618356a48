//! Measures the harness' own cost per request: the null engine at depth 128, 4 KiB random reads.
//!
//! The figure is the product's own: `halfpower run --ioengine null` with everything enabled, bound to one
//! CPU; 10^9 divided by its IOPS. Shown next to it is fio's null engine, with its defaults and with its best batches.

use super::gate::{Gate, Goal, Proof};
use super::{Context, Report};
use crate::child::Plant;
use crate::contest::fio::Settings;
use crate::contest::target::Target;
use crate::contest::{Bout, Load};
use crate::pairs::Ratio;
use anyhow::Result;
use record::EngineName;
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum cost of the harness in nanoseconds per request.
const GOAL_NS: f64 = 25.0;
const DEPTH: u32 = 128;
pub(super) fn run(context: &Context) -> Result<Report> {
    let target = Target::prepare("null", context.smoke)?;
    let load = Load::new(EngineName::Null, "randread", "4k", DEPTH);
    let bout = Bout::new(&context.binary, &target, load, context.core);
    let runtime = Duration::from_millis(if context.smoke { 100 } else { 1_000 });
    let product = product(context, &bout, runtime)?;
    let details = json!({
        "unit": "ns per request", "fio": peers(context, &bout, runtime)?,
    });
    Ok(Report { gates: vec![product], details })
}

/// The product as a user runs it.
fn product(context: &Context, bout: &Bout<'_>, runtime: Duration) -> Result<Gate> {
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
    Ok(Gate::new(name, "ns per request", Goal::AtMost(GOAL_NS), figure, proof))
}

/// fio's null engine for comparison: with its defaults, and in batches.
fn peers(context: &Context, bout: &Bout<'_>, runtime: Duration) -> Result<Value> {
    if let Some(why) = testkit::Capability::Fio.missing() {
        println!("  fio: not measured: {why}");
        return Ok(json!({ "not_measured": why }));
    }
    let mut ways = vec![("default".to_owned(), Settings { by_default: true, ..bout.settings })];
    for (submit, complete_min) in [(DEPTH, 1), (DEPTH, DEPTH), (32, 32)] {
        let settings = Settings { submit, complete_min, ..bout.settings };
        ways.push((format!("batched ({})", settings.words(bout.load.iodepth)), settings));
    }
    let mut kept = json!({});
    for (name, settings) in ways {
        let cost = |_| Ok(1e9 / Bout { settings, ..*bout }.fio(runtime)?.iops);
        let cost = Ratio::median_of((0..context.pairs(7)).map(cost).collect::<Result<_>>()?);
        println!("  fio null, {name}: {cost} ns per request");
        kept[name] = json!(cost);
    }
    Ok(kept)
}
