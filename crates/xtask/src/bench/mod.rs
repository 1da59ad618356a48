//! Measures speed and accuracy of the program itself, as figures with goals.
//!
//! Each part is measured in alternating runs (see [`crate::pairs`]), bound to one CPU, and judged by gates
//! that have proved what they can detect ([`gate`]). A full run saves all figures under `benches/results`,
//! with the machine and the versions, one file per part and day. The figures are those of the release build,
//! which is started as by a user. Rejected: a bench library with saved baselines, which compares
//! the states of the machine on two occasions.

mod gate;
mod null;
mod simulated;
mod versus;

use crate::{kept, place};
use anyhow::{Context as _, Result, ensure};
use gate::Gate;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A part of the measurement: name, description, function.
type Part = (&'static str, &'static str, fn(&Context) -> Result<Report>);
const PARTS: [Part; 4] = [
    ("null", "what the harness costs per request", null::run),
    ("tmpfs", "against fio on a cached file", |context| versus::run(context, "tmpfs")),
    ("zram", "against fio on a RAM block device", |context| versus::run(context, "zram")),
    ("simulated", "how fast the simulator steps", simulated::run),
];

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// A tiny run of everything, to test that it works.
    #[arg(long)]
    smoke: bool,
    /// One part.
    #[arg(long)]
    only: Option<String>,
    #[arg(long)]
    no_keep: bool,
    #[arg(long)]
    binary: Option<PathBuf>,
}

struct Context {
    /// Only test that everything runs and is parsed, regardless of the figures.
    smoke: bool,
    /// The CPU that everything is bound to.
    core: usize,
    /// The halfpower to measure.
    binary: PathBuf,
}

impl Context {
    /// Number of pairs or rounds; each order once in a smoke run.
    fn pairs(&self, count: usize) -> usize {
        if self.smoke { 2 } else { count }
    }

    /// Length of one run of a program.
    fn slice(&self) -> Duration {
        Duration::from_millis(if self.smoke { 100 } else { 500 })
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

/// Runs the selected parts; returns whether all figures were reached.
pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let named = |name: &str| flags.only.as_ref().is_none_or(|only| only == name);
    let names = PARTS.map(|(name, ..)| name);
    ensure!(names.into_iter().any(named), "--only is one of {}", names.join(", "));
    let smoke = flags.smoke;
    // A smoke run has no figures worth saving. Figures of another binary do not belong to this version.
    let keep = !smoke && flags.binary.is_none() && !flags.no_keep;
    let binary = place::binary(flags.binary.as_deref(), smoke)?;
    let context = Context { smoke, core: crate::child::core()?, binary };
    let mut missed = Vec::new();
    for (name, about, part) in PARTS.into_iter().filter(|(name, ..)| named(name)) {
        println!("\n{name}: {about} (processor {})", context.core);
        let begin = Instant::now();
        let report = place::lacked(part(&context)).with_context(|| format!("bench {name}"))?;
        let report = report.unwrap_or_else(|why| Report::skipped(name, &why));
        for gate in &report.gates {
            gate.print(!smoke);
            if !gate.reached() {
                missed.push(format!("{} ({} {})", gate.name, gate.figure, gate.unit));
            }
        }
        println!("  in {:.1} s", begin.elapsed().as_secs_f64());
        if keep {
            let gates = report.gates.iter().map(Gate::json).collect();
            let parts = [("bench", json!(name)), ("gates", gates), ("details", report.details)];
            kept::keep(name, &parts)?;
        }
    }
    if smoke {
        println!("\na smoke run: everything runs and is understood; its figures mean nothing");
        return Ok(true);
    }
    for figure in &missed {
        println!("not reached: {figure}");
    }
    Ok(missed.is_empty())
}
