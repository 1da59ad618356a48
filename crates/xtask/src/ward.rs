//! Runs all evaluations of the diagnosis: simulated cases, real devices of this machine, and layers in
//! guests. All are judged in the same way, and one table of the results is saved.

use crate::cases::{Case, Kind, draw, draw_of, without_profile};
use crate::tally::Tally;
use crate::{diagnosis_eval, diagnosis_eval_real, kept, lab, place};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Number of simulated draws.
    #[arg(long, default_value_t = 1_000)]
    draws: u64,
    /// Number of rounds over the real cases.
    #[arg(long, default_value_t = 4)]
    rounds: u64,
    /// The first seed. The current time gives seeds that have not been used before.
    #[arg(long)]
    first: Option<u64>,
    #[arg(long)]
    no_keep: bool,
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Draws the case of a seed.
type Draw = fn(u64) -> Case;

/// The simulated parts: all kinds in turn, with a profile from before the fault; the same without a profile,
/// live or from a recording; and programs that load the device below its maximum, every other one without a
/// profile.
const SIMULATED: [(&str, Draw); 3] = [
    ("simulated", draw),
    ("unprofiled", |seed| without_profile(draw(seed))),
    ("paced", |seed| {
        let case = draw_of(Kind::Paced, seed);
        if seed.is_multiple_of(2) { case } else { without_profile(case) }
    }),
];

/// Runs all three; returns whether each reaches its goal and none was skipped.
pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let Flags { draws, rounds, first, .. } = *flags;
    let now = u64::try_from(jiff::Timestamp::now().as_second())?;
    let first = first.unwrap_or(now);
    let binary = place::binary(flags.binary.as_deref(), false)?;
    let mut simulated = Vec::new();
    for (name, case) in SIMULATED {
        println!("\n{name}: {draws} draws from seed {first}");
        simulated.push((name, diagnosis_eval::scores(case, first..first + draws)?.tally));
    }
    println!("\nreal: {rounds} rounds from seed {first}");
    let staging = diagnosis_eval_real::Staging::default();
    let real = diagnosis_eval_real::tally(&staging, &binary, &(first..first + rounds), None);
    let real = place::lacked(real)?;
    println!("\nlab");
    let lab = place::lacked(lab::tally(binary, |_| true))?;

    let mut parts: Vec<(&str, Value)> = vec![("first_seed", json!(first))];
    println!("\n{}", Tally::heads());
    let mut reached = true;
    for (name, tally) in simulated {
        println!("{}", tally.line(name));
        parts.push((name, json!(tally)));
        reached &= tally.reached();
    }
    let staged = lab.as_ref().map(|lab| lab.tally).map_err(Clone::clone);
    let [with, without] = [0, 1].map(|at| real.as_ref().map(|real| real[at]).map_err(Clone::clone));
    reached &= without.as_ref().is_ok_and(Tally::reached_without_profile);
    let [profiled, none] = diagnosis_eval_real::NAMES;
    for (name, tally) in [(profiled, &with), (none, &without), ("lab", &staged)] {
        match tally {
            Ok(tally) => println!("{}\n{}", tally.line(name), tally.more()),
            Err(lacks) => println!("{name:12} SKIP: {lacks}"),
        }
        reached &= name == none || tally.as_ref().is_ok_and(Tally::reached);
        let told =
            tally.as_ref().map_or_else(|lacks| json!({ "skipped": lacks }), |tally| json!(tally));
        parts.push((name, told));
    }
    if let Ok(lab) = &lab {
        reached &= lab.ended_well();
        parts.push(("faults", json!(lab.faults)));
    }
    if !flags.no_keep {
        kept::keep("ward", &parts)?;
    }
    Ok(reached)
}
