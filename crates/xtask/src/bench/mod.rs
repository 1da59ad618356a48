//! Measures speed and accuracy of the program itself, as figures with goals.
//!
//! Each part is measured in alternating runs (see [`crate::pairs`]), bound to one CPU, and judged by gates
//! that have proved what they can detect ([`gate`]). A full run saves all figures under `benches/results`,
//! with the machine and the versions, one file per part and day. The figures are those of the release build;
//! a debug build of this program starts it. Rejected: a bench library with saved baselines, which compares
//! the states of the machine on two occasions.

mod delay;
mod gate;
mod loops;
mod machine;
mod nops;
mod null;
mod simulated;
mod truth;
mod versus;

use crate::arguments::Arguments;
use crate::{kept, place};
use anyhow::{Context as _, Result, ensure};
use gate::Gate;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Pairs of a smoke run: each order once.
const SMOKE_PAIRS: usize = 2;

/// A part of the measurement: name, description, function.
type Part = (&'static str, &'static str, fn(&Context) -> Result<Report>);
const PARTS: [Part; 6] = [
    ("null", "what the harness costs per request", null::run),
    ("truth", "whether fast times are true", truth::run),
    ("nops", "full accounting on a real ring", nops::run),
    ("tmpfs", "against fio on a cached file", |context| versus::run(context, "tmpfs")),
    ("zram", "against fio on a RAM block device", |context| versus::run(context, "zram")),
    ("simulated", "how fast the simulator steps", simulated::run),
];

pub(crate) struct Options {
    /// Only test that everything runs and is parsed, regardless of the figures.
    smoke: bool,
    keep: bool,
    verbose: bool,
    pairs: Option<usize>,
    only: Option<String>,
    against: Option<PathBuf>,
    /// The halfpower binary to measure. By default, it is the release build of this tree.
    binary: Option<PathBuf>,
}

impl Options {
    pub(crate) const SWITCHES: [&'static str; 3] = ["--smoke", "--no-keep", "--verbose"];
    pub(crate) const VALUES: [&'static str; 4] = ["--pairs", "--only", "--against", "--binary"];

    fn read(flags: &Arguments) -> Result<Self> {
        let pairs = flags.value("--pairs")?;
        ensure!(pairs != Some(0), "--pairs must be at least 1");
        let only: Option<String> = flags.value("--only")?;
        let names: Vec<&str> = PARTS.iter().map(|(name, ..)| *name).collect();
        if let Some(only) = &only {
            ensure!(names.contains(&only.as_str()), "--only is one of {}", names.join(", "));
        }
        let smoke = flags.has("--smoke");
        let binary: Option<PathBuf> = flags.value("--binary")?;
        // A smoke run and a run with fewer pairs have no figures worth saving. Figures of another binary do
        // not belong to this version.
        let worth_keeping = !smoke && pairs.is_none() && binary.is_none();
        Ok(Self {
            smoke,
            keep: worth_keeping && !flags.has("--no-keep"),
            verbose: flags.has("--verbose"),
            pairs,
            only,
            against: flags.value("--against")?,
            binary,
        })
    }
}

struct Context {
    options: Options,
    /// The CPU that everything is bound to.
    core: usize,
    /// The halfpower to measure.
    binary: PathBuf,
}

impl Context {
    /// Number of pairs or rounds, if `rule` is the default.
    fn pairs(&self, rule: usize) -> usize {
        self.options.pairs.unwrap_or(if self.options.smoke { SMOKE_PAIRS } else { rule })
    }

    /// Length of one run of a program.
    fn slice(&self) -> Duration {
        Duration::from_millis(if self.options.smoke { 100 } else { 500 })
    }
}

struct Report {
    gates: Vec<Gate>,
    details: Value,
}

impl Report {
    fn skipped(part: &str, why: &str) -> Self {
        println!("SKIP bench {part}: {why}");
        Self { gates: Vec::new(), details: json!({ "not_measured": why }) }
    }
}

/// Runs the release build of this program with the same arguments.
fn run_released() -> Result<bool> {
    let program = place::release_xtask()?;
    let status = Command::new(&program)
        .args(std::env::args_os().skip(1))
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(status.code().is_some_and(|code| code <= 1), "{} failed", program.display());
    Ok(status.success())
}

/// Runs the selected parts; returns whether all figures were reached.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let options = Options::read(flags)?;
    if cfg!(debug_assertions) && !options.smoke {
        return run_released();
    }
    let binary = place::binary(options.binary.clone(), options.smoke)?;
    let context = Context { options, core: crate::child::core()?, binary };
    let options = &context.options;
    let mut missed = Vec::new();
    for (name, about, part) in PARTS {
        if options.only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        println!("\n{name}: {about} (processor {})", context.core);
        let begin = Instant::now();
        let report = part(&context).with_context(|| format!("bench {name}"))?;
        for gate in &report.gates {
            gate.print(!options.smoke);
            if !gate.reached() {
                missed.push(format!("{} ({} {})", gate.name, gate.figure, gate.unit));
            }
        }
        println!("  in {:.1} s", begin.elapsed().as_secs_f64());
        if options.keep {
            let gates = report.gates.iter().map(Gate::json).collect();
            let parts = [("bench", json!(name)), ("gates", gates), ("details", report.details)];
            kept::keep(name, &parts)?;
        }
    }
    if options.smoke {
        println!("\na smoke run: everything runs and is understood; its figures mean nothing");
        return Ok(true);
    }
    for figure in &missed {
        println!("not reached: {figure}");
    }
    Ok(missed.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_narrow_what_is_run_and_refuse_what_is_not_there() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Arguments::read(&words, &Options::SWITCHES, &Options::VALUES)
                .and_then(|flags| Options::read(&flags))
        };
        assert_eq!(read(&["--only", "nops"]).unwrap().only.as_deref(), Some("nops"));
        assert!(read(&["--only", "nothing"]).is_err());
        assert!(read(&["--pairs", "0"]).is_err());
        assert!(read(&[]).unwrap().keep, "full runs are kept");
        for words in [&["--smoke"][..], &["--no-keep"], &["--pairs", "3"], &["--binary", "b"]] {
            assert!(!read(words).unwrap().keep, "{words:?}");
        }
    }
}
