//! Evaluates the diagnosis on cases with a known truth, drawn from seeds.
//!
//! It calls the library in-process: the judged code is a pure function, and a simulated case takes less time
//! than starting a program. `--seed` shows one case with its diagnosis, to analyse a failure.

use crate::cases::{
    self, Case, Drawn, Kind, Profiles, Scores, draw, draw_of, stage, without_profile,
};
use crate::diagnosis_eval_real;
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use std::ops::Range;

/// Default number of draws.
const DRAWS: u64 = 500;

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Number of draws, or of rounds over the real cases.
    #[arg(long)]
    draws: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// One kind of case, or the real cases whose name contains this.
    #[arg(long)]
    kind: Option<String>,
    /// Show the case of one seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Without a profile of the device.
    #[arg(long)]
    unprofiled: bool,
    /// On real devices.
    #[arg(long)]
    real: bool,
    #[command(flatten)]
    staging: diagnosis_eval_real::Staging,
}

/// Draws, judges and prints; returns whether the goals are reached.
pub(crate) fn run(flags: &Flags) -> Result<bool> {
    if flags.real {
        let seeds = flags.first..flags.first + flags.draws.unwrap_or(1);
        return diagnosis_eval_real::run(&flags.staging, &seeds, flags.kind.as_deref());
    }
    let named = |name: &String| {
        Kind::from_str(name, false).map_err(|_| {
            let known: Vec<String> =
                Kind::value_variants().iter().map(|kind| kind.name()).collect();
            anyhow!("no kind {name:?}; known are {}", known.join(", "))
        })
    };
    let kind = flags.kind.as_ref().map(named).transpose()?;
    let case = |seed| {
        let case = kind.map_or_else(|| draw(seed), |kind| draw_of(kind, seed));
        if flags.unprofiled { without_profile(case) } else { case }
    };
    if let Some(seed) = flags.seed {
        return show(&case(seed));
    }
    let seeds = flags.first..flags.first + flags.draws.unwrap_or(DRAWS);
    Ok(scores(case, seeds)?.reached())
}

/// Simulates the cases of these seeds; prints and returns their scores.
pub(crate) fn scores(case: impl Fn(u64) -> Case, seeds: Range<u64>) -> Result<Scores> {
    let cases: Vec<Case> = seeds.map(case).collect();
    let drawn = cases::run(&cases, &mut Profiles::default())?;
    let scores = Scores::of(&drawn);
    println!("{}\n\n{}", scores.text(), scores.reliability());
    for one in drawn.iter().filter(|one| failed(one)) {
        println!("{}", words(one));
    }
    Ok(scores)
}

fn failed(one: &Drawn) -> bool {
    !one.score.answer.told.is_empty() || one.outcome.as_ref().is_some_and(|outcome| !outcome.inside)
}

/// One failed draw as text.
fn words(Drawn { case, score, outcome }: &Drawn) -> String {
    let mut what = score.answer.told.clone();
    if let Some(outcome) = outcome.as_ref().filter(|outcome| !outcome.inside) {
        let (unit, factor) = if outcome.by_rate { ("/s", 1.0) } else { ("us", 1e-3) };
        what += &format!(
            "; {} gave {:.0} {unit}, not {:.0} to {:.0}",
            outcome.strategy.name(),
            outcome.found * factor,
            outcome.predicted.low * factor,
            outcome.predicted.high * factor
        );
    }
    let device = case.disks.first().map_or("", |disk| disk.is.as_str());
    let side = if case.opposite { ", opposite" } else { "" };
    let what = what.trim_start_matches("; ");
    format!("--kind {} --seed {}{side} ({device}): {what}", case.kind.name(), case.seed)
}

/// Prints a case with its truth, its diagnosis, and what is wrong with it.
fn show(case: &Case) -> Result<bool> {
    let profiles = &mut Profiles::default();
    let diagnosis = stage(case, profiles)?.diagnosed();
    println!("{case:#?}");
    println!("{}", report::terminal(&report::diagnosis(&diagnosis), &report::Style::default()));
    let drawn = cases::run(std::slice::from_ref(case), profiles)?;
    let mut fine = true;
    for one in drawn.iter().filter(|one| failed(one)) {
        println!("{}", words(one));
        fine = false;
    }
    Ok(fine)
}
