//! The project's own gates and comparisons, as functions behind `cargo xtask VERB`.
//!
//! The crate is outside the workspace's default members, so a user's `cargo build` and `cargo test` never
//! build it. Comparisons use the release binary, started from outside as by a user. Only the benches of the
//! inner loop call it in-process, in a release build of this program. Rejected: shell scripts (no types, no
//! tests) and a Makefile (a second language for what cargo's alias does).
#![forbid(unsafe_code)]

mod aarch64;
mod arguments;
mod bench;
mod child;
mod ci;
pub mod commands;
mod contest;
mod diagnosis_eval;
mod diagnosis_eval_real;
mod dist;
mod judge;
mod kept;
mod lab;
pub mod lines;
pub mod pairs;
mod place;
mod sanitize;
mod screenshots;
pub mod tidy;
mod truth;
mod validate;
mod ward;
mod wine;

use anyhow::{Result, bail};
use arguments::Arguments;

/// Printed by `cargo xtask` without a verb.
pub const USAGE: &str = "\
usage: cargo xtask VERB [flags]
  ci                      everything that a change must pass
  tidy [--bless]          the project's own lint; --bless rewrites the outputs shown in the docs
  lines                   lines of code of each crate, without comments, blank lines and tests
  bench [--smoke] [--only PART] [--no-keep] [--binary BINARY]
                          speed and truth of the harness, also against fio, with goals
  truth [--folder FOLDER] [--site NAME] [--binary BINARY] [--no-keep]
                          predictions of a check against fio on files that fio, dd and PostgreSQL made
  validate [--only DEVICE] [--seed N] [--binary BINARY]
                          predictions against measurements, over all simulated devices
  diagnosis-eval [--draws N] [--first SEED] [--kind KIND] [--seed N] [--unprofiled]
  diagnosis-eval --real [--medium loop|zram|disk|served|journal] [--draws ROUNDS] [--first SEED]
                 [--kind CASE] [--recordings DIR] [--binary BINARY]
                          the diagnosis against cases with a known truth
  lab [--only CASE] [--binary BINARY]
                          the diagnosis and the engines on layers of a guest machine (qemu)
  ward [--draws N] [--rounds N] [--first SEED] [--no-keep] [--binary BINARY]
                          all three: simulated draws, real devices, the lab; its table is kept
  sanitize                tests of engines, arrays, tracer and trials under AddressSanitizer, after a
                          planted overflow was found
  screenshots [--bless] [--only KIND] [--png FOLDER] [--binary BINARY]
                          every kind of page in a browser, against rules and references
  wine [CARGO WORDS]      the program for Windows under wine: a command of cargo, or without
                          words the tests of what differs there
  aarch64                 the program on 64-bit Arm, by cross build and qemu-user
  dist [--check] [--try] [--target TRIPLE]
                          the static program, packages, manual pages, licences;
                          --check builds twice and compares, --try installs and removes";

/// A verb: its name, its switches, its flags with a value, and its function.
type Verb = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    fn(&Arguments) -> Result<bool>,
);

const VERBS: [Verb; 14] = [
    ("ci", &[], &[], |_| ci::run()),
    ("tidy", &["--bless"], &[], |flags| tidy_all(flags.has("--bless"))),
    ("lines", &[], &[], |_| lines::run()),
    ("bench", &bench::SWITCHES, &bench::VALUES, bench::run),
    ("truth", &truth::SWITCHES, &truth::VALUES, truth::run),
    ("validate", &[], &validate::VALUES, validate::run),
    ("aarch64", &[], &[], |_| aarch64::run()),
    ("dist", &dist::SWITCHES, &dist::VALUES, dist::run),
    ("lab", &[], &lab::VALUES, lab::run),
    ("ward", &ward::SWITCHES, &ward::VALUES, ward::run),
    ("wine", &[arguments::ANY], &[], wine::run),
    ("sanitize", &[], &[], |_| sanitize::run()),
    ("screenshots", &screenshots::SWITCHES, &screenshots::VALUES, screenshots::run),
    ("diagnosis-eval", &diagnosis_eval::SWITCHES, &diagnosis_eval::VALUES, diagnosis_eval::run),
];

/// From now on, a signal removes the devices that a verb has made. Also removes what a killed run left
/// behind.
///
/// # Errors
/// If signals cannot be watched.
pub fn clean_up() -> Result<()> {
    testkit::undo_on_signals()?;
    for what in testkit::undo_left_over() {
        println!("removed what a killed run had left: {what}");
    }
    Ok(())
}

/// Runs one verb; returns whether it passed.
///
/// # Errors
/// If the arguments are wrong or something needed cannot be run.
pub fn run(arguments: &[String]) -> Result<bool> {
    let Some((verb, rest)) = arguments.split_first() else {
        bail!("no verb\n{USAGE}");
    };
    let passed_on = verb == "wine" && rest.len() > 1;
    if verb == "help" || !passed_on && arguments.iter().any(|word| word == "--help" || word == "-h")
    {
        println!("{USAGE}");
        return Ok(true);
    }
    let Some((_, switches, values, work)) = VERBS.iter().find(|(name, ..)| name == verb) else {
        bail!("no verb {verb:?}\n{USAGE}");
    };
    let arguments = Arguments::read(rest, switches, values)?;
    Ok(place::lacked(work(&arguments))?.unwrap_or_else(|lacks| {
        testkit::skip(verb, &lacks);
        true
    }))
}

/// Checks the files, then the commands and outputs of the documentation.
pub(crate) fn tidy_all(bless: bool) -> Result<bool> {
    let root = place::root();
    let mut problems = tidy::check(&root)?;
    problems.extend(commands::check(&root, &place::dev_binary()?, bless)?);
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} problems", problems.len());
    Ok(problems.is_empty())
}
