//! Measures the harness' own cost per request: the null engine at depth 128, 4 KiB random reads.
//!
//! The figure is the product's own: `halfpower run --ioengine null` with everything enabled, bound to one
//! CPU; 10^9 divided by its IOPS. Shown next to it are the costs of its parts, measured in this process in
//! alternating rounds, and fio's null engine, with its defaults and with its best batches.

use super::gate::{Gate, Goal, Proof, numbers};
use super::loops::{self, Bare, FreeClock};
use super::machine::Pinned;
use super::{Context, Report};
use crate::child::{FIFTH, Plant};
use crate::contest::fio::Settings;
use crate::contest::target::Target;
use crate::contest::{Bout, Load};
use crate::pairs::Ratio;
use anyhow::{Result, ensure};
use engine::{JobClock, NullEngine, OpenEngine, Setup, clock_cost_ns};
use record::{EngineName, Nanos};
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum cost of the harness in nanoseconds per request.
const GOAL_NS: f64 = 25.0;
const DEPTH: u32 = 128;
/// Length of one measurement of a part. It is long compared with a scheduler tick and with the milliseconds
/// that a thread may wait on a busy machine (a part without a request has no cost). It is short enough that
/// all parts of a round see the same state of the machine.
const PART: Nanos = Nanos(50_000_000);
const ROUNDS: usize = 25;

pub(super) fn run(context: &Context) -> Result<Report> {
    let target = Target::prepare("null", context.options.smoke)?;
    let Ok(target) = target else { anyhow::bail!("there is no temporary folder") };
    let load = Load::new(EngineName::Null, "randread", "4k", DEPTH);
    let bout = Bout::new(&context.binary, &target, load, Some(context.core));
    let runtime = Duration::from_millis(if context.options.smoke { 100 } else { 1_000 });
    let product = product(context, &bout, runtime)?;
    let details = json!({
        "unit": "ns per request", "parts": parts(context)?, "fio": peers(context, &bout, runtime)?,
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
        || cost(Plant::Stopped(FIFTH)),
    )?;
    let name = "halfpower run, null engine, depth 128, all accounting";
    Ok(Gate::new(name, "ns per request", Goal::AtMost(GOAL_NS), figure, proof))
}

/// The parts, and the conclusions from them.
fn parts(context: &Context) -> Result<Value> {
    let clock = JobClock::new();
    let pinned = Pinned::to(context.core)?;
    let open = || NullEngine::open(&Setup::reading(Vec::new(), DEPTH, 4_096));
    let count = loops::worker(open()?, clock, DEPTH, PART)?.ios;
    let free = FreeClock::default();
    let probe = loops::worker(open()?, &free, DEPTH, FreeClock::time_of(10_000))?;
    let readings = free.readings() as f64 / probe.ios as f64;
    let window = FreeClock::time_of((count as f64 * readings) as u64);
    let names = [
        "the worker, all of it",
        "the worker with a clock that costs nothing",
        "bare loop: generator, slots, engine",
        "generator alone",
        "histogram alone",
    ];
    let mut rounds: [Vec<f64>; 5] = Default::default();
    for _ in 0..context.pairs(ROUNDS) {
        let round = [
            loops::worker(open()?, clock, DEPTH, PART)?.ns_per_request(),
            loops::worker(open()?, &FreeClock::default(), DEPTH, window)?.ns_per_request(),
            Bare::new(open()?, DEPTH).run(count)?,
            loops::generator(DEPTH, count),
            loops::histogram(count),
        ];
        rounds.iter_mut().zip(round).for_each(|(all, ns)| all.push(ns));
    }
    let reading_ns = clock_cost_ns(&clock);
    drop(pinned);
    let ratios = rounds.map(Ratio::median_of);
    let [full, untimed, bare, generator, histogram] = ratios.map(|ratio: Ratio| ratio.value);
    ensure!(full > 0.0, "no parts were measured");
    let derived = [
        ("slots and engine (bare loop less generator)", bare - generator),
        ("clock (worker less the one without)", full - untimed),
        ("accounting (the rest)", untimed - bare - histogram),
    ];
    println!("  parts, ns per request, in this process:");
    let mut kept = json!({});
    for (name, ratio) in names.into_iter().zip(&ratios) {
        println!("    {name:<46} {ratio}");
        kept[name] = numbers(ratio);
    }
    for (name, value) in derived {
        println!("    {name:<46} {value:.3}");
        kept[name] = json!({ "median": value });
    }
    println!(
        "    {} readings of {} at {reading_ns:.1} ns serve {DEPTH} requests",
        (readings * f64::from(DEPTH)).round(),
        clock.name()
    );
    kept["clock_reading_ns"] = json!(reading_ns);
    kept["clock_readings_per_request"] = json!(readings);
    kept["clock"] = json!(clock.name());
    Ok(kept)
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
        kept[name] = numbers(&cost);
    }
    Ok(kept)
}
