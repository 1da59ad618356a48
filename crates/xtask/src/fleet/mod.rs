//! Fleets with planted slow drives: how many are found, how many healthy ones are accused, how soon, and
//! how both fall as slow drives become rarer, devices less alike and groups of peers smaller.

mod server;

use crate::arguments::Arguments;
use crate::child::{self, Plant};
use crate::{kept, place};
use anyhow::{Result, ensure};
use fleet::Rules;
use nix::sys::resource::{UsageWho, getrusage};
use record::FleetDiagnosis;
use scenarios::{FleetPlan, FleetScore, FleetTruth, fleet_place, score_fleet, simulate_fleet};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

pub(crate) const SWITCHES: [&str; 3] = ["--no-keep", "--variants", "--read"];
pub(crate) const VALUES: [&str; 6] =
    ["--devices", "--seeds", "--first", "--windows", "--interval", "--binary"];
/// What is asked of the published prevalence.
const PRECISION: f64 = 0.99;
const RECALL: f64 = 0.95;

/// What a variant changes of a fleet.
type Vary = Box<dyn Fn(FleetPlan) -> FleetPlan>;

/// Runs them; whether the published prevalence reaches its goal.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let devices = flags.value("--devices")?.unwrap_or(10_000);
    let seeds = flags.value("--seeds")?.unwrap_or(4u64);
    let first = flags.value("--first")?.unwrap_or(1u64);
    let windows: Option<usize> = flags.value("--windows")?;
    let interval_s: Option<u64> = flags.value("--interval")?;
    let base = |seed: u64| {
        let week = FleetPlan::week(devices, seed);
        FleetPlan {
            windows: windows.unwrap_or(week.windows),
            interval_s: interval_s.unwrap_or(week.interval_s),
            ..week
        }
    };
    if flags.has("--read") {
        return read(&base(first), flags.value("--binary")?);
    }
    let mut variants: Vec<(String, Vary)> =
        vec![("as published".to_owned(), Box::new(|plan| plan))];
    if flags.has("--variants") {
        // Readings every two minutes: what is asked here is not how fast it is.
        let quick = |plan: FleetPlan| FleetPlan { interval_s: 120, ..plan };
        variants.push(("readings 120 s apart".to_owned(), Box::new(quick)));
        for prevalence in [0.03, 0.002, 0.000_5] {
            let name = format!("{} % slow", prevalence * 100.0);
            variants.push((name, Box::new(move |plan| FleetPlan { prevalence, ..quick(plan) })));
        }
        for level_deviation in [0.04, 0.15, 0.25] {
            let name = format!("levels ±{} %", level_deviation * 100.0);
            variants
                .push((name, Box::new(move |plan| FleetPlan { level_deviation, ..quick(plan) })));
        }
        for noise_deviation in [0.05, 0.4] {
            let name = format!("noise ±{} %", noise_deviation * 100.0);
            variants
                .push((name, Box::new(move |plan| FleetPlan { noise_deviation, ..quick(plan) })));
        }
        for devices in [100, 1_000] {
            let name = format!("{devices} devices");
            variants.push((
                name,
                Box::new(move |plan| FleetPlan { devices, slow_racks: 0, ..quick(plan) }),
            ));
        }
    }
    println!(
        "{:24} {:>6} {:>6} {:>8} {:>9} {:>7} {:>9} {:>8}",
        "fleet", "slow", "found", "accused", "precision", "recall", "hours to", "seconds"
    );
    let mut kept: Vec<(&str, Value)> = vec![
        ("devices", json!(devices)),
        ("first_seed", json!(first)),
        ("seeds", json!(seeds)),
        ("windows", json!(base(first).windows)),
        // Of the first row: the variants say theirs.
        ("interval_s", json!(base(first).interval_s)),
    ];
    let mut rows = Vec::new();
    let mut reached = true;
    for (name, change) in &variants {
        let begin = Instant::now();
        let mut sum = FleetScore::default();
        let mut delays = Vec::new();
        let mut missed = Vec::new();
        for seed in first..first + seeds {
            let plan = change(base(seed));
            let (found, truth, times) = one(&plan)?;
            let score = score_fleet(&found, &truth, &plan);
            sum.found += score.found;
            sum.missed += score.missed;
            sum.accused += score.accused;
            delays.extend(times);
            missed.extend(misses(&found, &truth, &plan));
        }
        delays.sort_by(f64::total_cmp);
        let median = delays.get(delays.len() / 2).copied();
        let took = begin.elapsed().as_secs_f64();
        println!(
            "{name:24} {:>6} {:>6} {:>8} {:>9.3} {:>7.3} {:>9} {took:>8.1}",
            sum.found + sum.missed,
            sum.found,
            sum.accused,
            sum.precision(),
            sum.recall(),
            median.map_or("-".to_owned(), |hours| format!("{hours:.0}")),
        );
        for line in missed.iter().take(12) {
            println!("    missed: {line}");
        }
        if name == "as published" {
            reached = sum.precision() >= PRECISION && sum.recall() >= RECALL;
        }
        rows.push(json!({
            "fleet": name, "found": sum.found, "missed": sum.missed, "accused": sum.accused,
            "precision": sum.precision(), "recall": sum.recall(),
            "median_hours_to_detect": median, "seconds": took,
        }));
    }
    kept.push(("rows", Value::Array(rows)));
    if let Some(peak) = peak_kib() {
        println!("largest memory: {:.0} MiB", peak / 1024.0);
        kept.push(("peak_memory_kib", json!(peak)));
    }
    println!(
        "goal: precision {PRECISION}, recall {RECALL}: {}",
        if reached { "reached" } else { "NOT reached" }
    );
    if !flags.has("--no-keep") {
        let name = if flags.has("--variants") { "fleet-variants" } else { "fleet" };
        kept::keep(name, &kept)?;
    }
    Ok(reached)
}

/// How long the program takes to read a fleet from a server and to judge it, and how much memory: the
/// server stands for Prometheus and runs on the same processors.
fn read(plan: &FleetPlan, binary: Option<PathBuf>) -> Result<bool> {
    let begin_s = 1_700_006_400;
    let server = server::Server::start(*plan, begin_s)?;
    let samples = (plan.devices * plan.windows) as f64
        * (plan.window_s / plan.interval_s) as f64
        * fleet::COUNTERS.len() as f64;
    let end_s = begin_s + plan.windows as u64 * plan.window_s;
    let mut command = Command::new(place::binary(binary, false)?);
    command
        .args(["diagnose", "--json", "--all", "--query-range", &format!("{begin_s}..{end_s}")])
        .args(["--prometheus", &format!("http://{}", server.address)]);
    let begin = Instant::now();
    let child = child::run(&mut command, Plant::Nothing)?;
    let took = begin.elapsed().as_secs_f64();
    ensure!(child.status.success(), "{command:?} ended with {}: {}", child.status, child.stderr);
    let found: FleetDiagnosis = serde_json::from_str(&child.stdout)?;
    ensure!(found.devices as usize == plan.devices, "it read {} devices", found.devices);
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    println!(
        "{} devices, {} windows, {samples:.3e} samples: {took:.1} s (its own processor time {:.1} s), \
         {:.1} M samples/s, {:.0} MiB",
        plan.devices,
        plan.windows,
        child.cpu.as_secs_f64(),
        samples / took / 1e6,
        peak as f64 / 1024.0
    );
    Ok(true)
}

/// A fleet to its end: what is said of it, its truth, and the hours from the beginning of each slowness
/// until it is named.
fn one(plan: &FleetPlan) -> Result<(FleetDiagnosis, FleetTruth, Vec<f64>)> {
    let threads = std::thread::available_parallelism()?.get();
    let (fleet, truth) = simulate_fleet(plan, threads, |_, _| {})?;
    // Looked at every six windows, as a nightly job would not but an hourly one does.
    let rules = Rules::default();
    let mut named = vec![None; plan.devices];
    for windows in (6..=plan.windows).step_by(6) {
        let found = fleet.conclude(&rules, windows);
        for device in &found.slow {
            let place = fleet_place(&device.labels, plan);
            if let Some(first) = place.and_then(|place| named.get_mut(place)) {
                first.get_or_insert(windows);
            }
        }
    }
    let hours = plan.window_s as f64 / 3600.0;
    let delays = named.iter().zip(&truth.devices).filter_map(|(named, planted)| {
        Some(((*named)? as f64 - planted.as_ref()?.begin as f64).max(0.0) * hours)
    });
    let delays = delays.collect();
    Ok((fleet.conclude(&rules, usize::MAX), truth, delays))
}

/// What was missed, for who improves it.
fn misses(found: &FleetDiagnosis, truth: &FleetTruth, plan: &FleetPlan) -> Vec<String> {
    let named: Vec<usize> =
        found.slow.iter().filter_map(|device| fleet_place(&device.labels, plan)).collect();
    let mut lines: Vec<String> = truth
        .devices
        .iter()
        .enumerate()
        .filter_map(|(device, planted)| Some((device, (*planted)?)))
        .filter(|(device, _)| !named.contains(device))
        .map(|(device, planted)| {
            format!(
                "{device}: x{:.2} for {} of {} windows, {:.0} % of the time",
                planted.factor,
                planted.end - planted.begin,
                plan.windows,
                100.0 * planted.duty
            )
        })
        .collect();
    for device in &found.slow {
        let place = fleet_place(&device.labels, plan);
        if place.is_none_or(|place| truth.devices[place].is_none()) {
            lines.push(format!("(accused {:?}: {:?})", device.labels, device.slow));
        }
    }
    for (rack, planted) in &truth.racks {
        if !found.common.iter().any(|one| one.value == *rack) {
            lines.push(format!("{rack}: {planted:?}"));
        }
    }
    for one in &found.common {
        if !truth.racks.iter().any(|(rack, _)| *rack == one.value) {
            lines.push(format!("(accused {} {}: {:?})", one.label, one.value, one.slow));
        }
    }
    lines
}

/// The most memory that this process had, in KiB.
fn peak_kib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
