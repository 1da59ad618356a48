//! What the harness itself costs per request: the null engine at depth 128, 4 KiB random reads.
//!
//! The figure is the product's own: `halfpower run --ioengine null` with everything on, bound to
//! one processor, a thousand million over its rate. Beside it stand its parts, measured in this
//! process in rounds that take turns, and fio's null engine, as it comes and with its best
//! batches.

use super::gate::{Gate, Goal, Proof, median_of, numbers, ratio_of, turns};
use super::loops::{self, Bare, FreeClock};
use super::machine::Pinned;
use super::{Context, Report};
use crate::child::{FIFTH, Plant};
use crate::contest::fio::{self, Registered, Settings};
use crate::contest::halfpower::{self, Entry};
use crate::contest::target::Target;
use crate::contest::{Load, Via};
use crate::pairs::Ratio;
use anyhow::{Result, ensure};
use engine::{JobClock, NullEngine, OpenEngine, Setup, clock_cost_ns};
use record::Nanos;
use serde_json::json;
use std::time::Duration;

/// Nanoseconds per request that the harness may cost.
const GOAL_NS: f64 = 25.0;
const DEPTH: u32 = 128;
/// Length of one measurement of a part: long against a tick of the scheduler, short enough that a
/// round of all parts sees one state of the machine.
const PART: Duration = Duration::from_millis(50);
const ROUNDS: usize = 25;

const LOAD: Load = Load { via: Via::Null, rw: "randread", bs: "4k", iodepth: DEPTH };

pub(super) fn run(context: &Context) -> Result<Report> {
    let target = Target::prepare("null", context.smoke)?;
    let Ok(target) = target else { anyhow::bail!("there is no temporary folder") };
    let product = product(context, &target)?;
    let parts = parts(context)?;
    let peers = peers(context, &target)?;
    Ok(Report {
        gates: vec![product],
        details: json!({ "unit": "ns per request", "parts": parts, "fio": peers }),
    })
}

/// The product as a user runs it.
fn product(context: &Context, target: &Target) -> Result<Gate> {
    let runtime = if context.smoke { Duration::from_millis(100) } else { Duration::from_secs(1) };
    let core = Some(context.core);
    let cost = |plant| {
        let entry = Entry { binary: context.binary()?, core, plant };
        let (outcome, _) = halfpower::run(&entry, target, &LOAD, runtime, &[])?;
        Ok(1e9 / outcome.iops)
    };
    // Not counted: it warms caches and the processor's clock.
    cost(Plant::Nothing)?;
    let pairs = context.pairs(15);
    let same = turns(pairs, || cost(Plant::Nothing), || cost(Plant::Nothing))?;
    let planted = turns(pairs, || cost(Plant::Nothing), || cost(Plant::Stopped(FIFTH)))?;
    let all: Vec<f64> = same.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let value = |ns: &f64| *ns;
    let proof = Proof {
        same: ratio_of(&same, value),
        planted: ratio_of(&planted, value),
        fault: "a fifth of the time stopped",
    };
    let name = "halfpower run, null engine, depth 128, all accounting";
    Ok(Gate::new(name, "ns per request", Goal::AtMost(GOAL_NS), median_of(&all), proof))
}

/// One part per entry: its name and what it costs per request.
struct Parts {
    names: Vec<&'static str>,
    rounds: Vec<Vec<f64>>,
}

impl Parts {
    fn median(&self, name: &str) -> f64 {
        self.ratio(name).value
    }

    fn ratio(&self, name: &str) -> Ratio {
        let Some(index) = self.names.iter().position(|known| *known == name) else {
            return median_of(&[]);
        };
        let values: Vec<f64> = self.rounds.iter().map(|round| round[index]).collect();
        median_of(&values)
    }
}

const FULL: &str = "the worker, all of it";
const UNTIMED: &str = "the worker with a clock that costs nothing";
const BARE: &str = "bare loop: generator, slots, engine";
const GENERATOR: &str = "generator alone";
const HISTOGRAM: &str = "histogram alone";

/// The parts, and what follows from them.
fn parts(context: &Context) -> Result<serde_json::Value> {
    let clock = JobClock::new();
    let pinned = Pinned::to(context.core)?;
    let length = if context.smoke { Duration::from_millis(2) } else { PART };
    let open = || NullEngine::open(&Setup::reading(Vec::new(), DEPTH, 4_096));
    let first = loops::worker(open()?, clock, DEPTH, Nanos(length.as_nanos() as u64))?;
    let count = first.ios;
    let free = FreeClock::default();
    let probe = loops::worker(open()?, &free, DEPTH, FreeClock::time_of(10_000))?;
    let readings = free.readings() as f64 / probe.ios as f64;
    let mut parts =
        Parts { names: vec![FULL, UNTIMED, BARE, GENERATOR, HISTOGRAM], rounds: Vec::new() };
    for _ in 0..context.pairs(ROUNDS) {
        let full = loops::worker(open()?, clock, DEPTH, Nanos(length.as_nanos() as u64))?;
        let free = FreeClock::default();
        let window = FreeClock::time_of((count as f64 * readings) as u64);
        let untimed = loops::worker(open()?, &free, DEPTH, window)?;
        parts.rounds.push(vec![
            full.ns_per_request(),
            untimed.ns_per_request(),
            Bare::new(open()?, DEPTH).run(count)?,
            loops::generator(DEPTH, count),
            loops::histogram(count),
        ]);
    }
    let reading_ns = clock_cost_ns(&clock);
    drop(pinned);
    ensure!(parts.median(FULL) > 0.0, "no parts were measured");
    let derived = [
        ("slots and engine (bare loop less generator)", BARE, GENERATOR, 0.0),
        ("clock (worker less the one without)", FULL, UNTIMED, 0.0),
        ("accounting (the rest)", UNTIMED, BARE, parts.median(HISTOGRAM)),
    ];
    println!("  parts, ns per request, in this process:");
    let mut kept = serde_json::Map::new();
    for name in &parts.names {
        let ratio = parts.ratio(name);
        println!("    {name:<46} {ratio}");
        kept.insert((*name).to_owned(), numbers(&ratio));
    }
    for (name, whole, part, less) in derived {
        let value = parts.median(whole) - parts.median(part) - less;
        println!("    {name:<46} {value:.3}");
        kept.insert(name.to_owned(), json!({ "median": value }));
    }
    println!(
        "    {} readings of {} at {reading_ns:.1} ns serve {DEPTH} requests",
        (readings * f64::from(DEPTH)).round(),
        clock.name()
    );
    kept.insert("clock_reading_ns".to_owned(), json!(reading_ns));
    kept.insert("clock_readings_per_request".to_owned(), json!(readings));
    kept.insert("clock".to_owned(), json!(clock.name()));
    Ok(kept.into())
}

/// fio's null engine, beside which the figure is read.
fn peers(context: &Context, target: &Target) -> Result<serde_json::Value> {
    if let Some(why) = testkit::Capability::Fio.missing() {
        println!("  fio: not measured: {why}");
        return Ok(json!({ "not_measured": why }));
    }
    let runtime = if context.smoke { Duration::from_millis(100) } else { Duration::from_secs(1) };
    let alike = Settings::alike(&LOAD, Registered::ALL, Some(context.core));
    let mut kept = serde_json::Map::new();
    let mut measure = |name: &str, settings: &Settings, by_default| -> Result<()> {
        let mut costs = Vec::new();
        for _ in 0..context.pairs(7) {
            let size = target.size_bytes;
            let outcome = fio::run_null(&LOAD, settings, size, by_default, runtime)?;
            costs.push(1e9 / outcome.iops);
        }
        let cost = median_of(&costs);
        println!("  fio null, {name}: {cost} ns per request");
        kept.insert(name.to_owned(), numbers(&cost));
        Ok(())
    };
    measure("default", &alike, true)?;
    for (submit, complete_min) in [(DEPTH, 1), (DEPTH, DEPTH), (32, 32)] {
        let settings = Settings { submit, complete_min, ..alike };
        measure(&format!("batched ({})", settings.words()), &settings, false)?;
    }
    Ok(kept.into())
}
