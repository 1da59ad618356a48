//! Speed of the program itself: what the harness can issue, and what the simulator can step.
//!
//! Each bench first runs against itself (A/A), which shows what this machine can tell apart, then
//! against itself with a tenth of its time taken away, which it must see, and only then, with
//! `--against`, another binary: the one of an earlier commit. Ratios come pair by pair and with
//! intervals; the rates beside them are this machine's and compare with nothing. Rejected: a
//! bench library with saved baselines, whose comparison of today with last week is a comparison
//! of two machines' moods.

use crate::arguments::Arguments;
use crate::child::{self, Plant};
use crate::pairs::Ratio;
use crate::place;
use anyhow::{Context, Result, ensure};
use record::Trial;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pairs where none are asked for: enough for a sign-test interval without its three extremes.
const PAIRS: usize = 15;
/// Pairs of a smoke run: both orders once.
const SMOKE_PAIRS: usize = 2;
/// Size of the file that the null engine pretends to read.
const FILE_BYTES: u64 = 16 << 20;

/// What `bench` was asked.
pub(crate) struct Options {
    smoke: bool,
    keep: bool,
    pairs: usize,
    against: Option<PathBuf>,
}

impl Options {
    pub(crate) fn read(flags: &Arguments) -> Result<Self> {
        let smoke = flags.has("--smoke");
        let pairs = flags.value("--pairs")?.unwrap_or(if smoke { SMOKE_PAIRS } else { PAIRS });
        ensure!(pairs > 0, "--pairs must be at least 1");
        Ok(Self { smoke, keep: flags.has("--keep"), pairs, against: flags.value("--against")? })
    }

    /// The least that shows that the benches still run.
    pub(crate) fn smoke() -> Self {
        Self { smoke: true, keep: false, pairs: SMOKE_PAIRS, against: None }
    }
}

/// One bench: how the binary is run, and the rate that is read from its answer.
struct Bench {
    name: &'static str,
    unit: &'static str,
    /// Arguments; `FILE` stands for the path of a scratch file.
    arguments: &'static [&'static str],
    /// Run times of a full and of a smoke run.
    runtime: (&'static str, &'static str),
    rate: fn(&Trial, f64) -> f64,
}

const BENCHES: [Bench; 2] = [
    Bench {
        name: "null ceiling",
        unit: "requests/s",
        arguments: &["run", "FILE", "--ioengine", "null", "--iodepth", "32"],
        runtime: ("1s", "100ms"),
        rate: |trial, _| trial.result.read.as_ref().map_or(f64::NAN, |read| read.iops),
    },
    Bench {
        name: "simulated requests",
        unit: "requests/s of real time",
        arguments: &["run", "sim:mm1,service=5ms", "--iodepth", "4"],
        runtime: ("5000s", "100s"),
        rate: |trial, wall_s| {
            trial.result.read.as_ref().map_or(f64::NAN, |read| read.ios as f64 / wall_s)
        },
    },
];

/// Runs all benches; whether each could tell a planted fault from nothing.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let binary = place::release_binary()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    std::fs::write(&file, vec![0x5a; FILE_BYTES as usize])?;
    let mut good = true;
    let mut kept = Vec::new();
    for bench in &BENCHES {
        let side = |binary: &Path, plant| measure(bench, binary, &file, options.smoke, plant);
        let a = || side(&binary, Plant::Nothing);
        // Not counted: it warms caches and the processor's clock.
        let first = a()?;
        let same = pairs(options.pairs, a, a)?;
        let planted = pairs(options.pairs, a, || side(&binary, Plant::TenthStopped))?;
        println!("{}: {first:.3e} {}", bench.name, bench.unit);
        println!("  against itself                    {same}");
        println!("  against itself, a tenth stopped   {planted}");
        let mut entry = json!({
            "bench": bench.name, "unit": bench.unit, "rate": first,
            "itself": numbers(&same), "tenth_stopped": numbers(&planted),
        });
        if let Some(other) = &options.against {
            let ratio = pairs(options.pairs, || side(other, Plant::Nothing), a)?;
            println!("  this over {}   {ratio}", other.display());
            entry["this_over_other"] = numbers(&ratio);
        }
        kept.push(entry);
        if !options.smoke && !tells_apart(&same, &planted) {
            println!("  this machine is too restless now: the fault does not stand out");
            good = false;
        }
    }
    if options.keep {
        keep(&json!({ "pairs": options.pairs, "benches": kept }))?;
    }
    Ok(good)
}

/// Whether the planted fault lies outside what the bench says of two equal sides.
fn tells_apart(same: &Ratio, planted: &Ratio) -> bool {
    planted.high < same.low.min(1.0)
}

/// The median ratio B/A of so many pairs, every second one in reverse order.
fn pairs(count: usize, a: impl Fn() -> Result<f64>, b: impl Fn() -> Result<f64>) -> Result<Ratio> {
    let mut results = Vec::with_capacity(count);
    for pair in 0..count {
        results.push(if pair.is_multiple_of(2) {
            let first = a()?;
            (first, b()?)
        } else {
            let first = b()?;
            (a()?, first)
        });
    }
    Ok(Ratio::median_of_pairs(&results))
}

/// One run of one side: its rate.
fn measure(bench: &Bench, binary: &Path, file: &Path, smoke: bool, plant: Plant) -> Result<f64> {
    let runtime = if smoke { bench.runtime.1 } else { bench.runtime.0 };
    let mut command = Command::new(binary);
    for argument in bench.arguments {
        if *argument == "FILE" {
            command.arg(file);
        } else {
            command.arg(argument);
        }
    }
    command.args(["--runtime", runtime, "--no-save", "--json"]);
    let child = child::run(&mut command, plant)?;
    let trial: Trial = serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })?;
    let rate = (bench.rate)(&trial, child.wall.as_secs_f64());
    ensure!(rate.is_finite() && rate > 0.0, "{command:?} completed no reads");
    Ok(rate)
}

/// A ratio for the kept file; JSON has no infinity, so a missing end is null.
fn numbers(ratio: &Ratio) -> serde_json::Value {
    let end = |value: f64| value.is_finite().then_some(value);
    json!({ "ratio": ratio.value, "low": ratio.low, "high": end(ratio.high) })
}

/// Writes the results where they are committed, under the name of the commit they belong to.
fn keep(results: &serde_json::Value) -> Result<()> {
    let root = place::root();
    let commit = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .current_dir(&root)
        .output()
        .context("cannot run git")?;
    let name = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
    ensure!(!name.is_empty(), "this is no git checkout, so the results have no name");
    let folder = root.join("benches/results");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, format!("{results:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("kept in {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_tells_a_fault_apart_only_if_it_lies_outside_its_own_noise() {
        let ratio = |low, value, high| Ratio { value, low, high };
        assert!(tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(0.88, 0.9, 0.92)));
        assert!(!tells_apart(&ratio(0.90, 1.0, 1.10), &ratio(0.88, 0.9, 0.92)));
        assert!(!tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(0.80, 0.9, 1.00)));
    }

    #[test]
    fn every_second_pair_is_run_in_reverse_order() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name, value| {
            order.borrow_mut().push(name);
            Ok(value)
        };
        let ratio = pairs(4, || side('a', 2.0), || side('b', 1.0)).unwrap();
        assert_eq!((order.into_inner().as_str(), ratio.value), ("abbaabba", 0.5));
    }
}
