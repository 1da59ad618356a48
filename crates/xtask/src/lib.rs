//! The project's own gates and comparisons, as functions behind `cargo xtask VERB`.
//!
//! The crate is outside the workspace's default members, so a user's `cargo build` and `cargo test` never
//! build it. Comparisons use the release binary, started from outside as by a user. Rejected: shell scripts (no types, no
//! tests) and a Makefile (a second language for what cargo's alias does).
#![forbid(unsafe_code)]

mod aarch64;
mod bench;
pub mod cases;
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
mod tally;
pub mod tidy;
mod truth;
mod validate;
mod ward;
mod wine;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The project's own gates and comparisons.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything that a change must pass.
    Ci,
    /// The project's own lint.
    Tidy {
        /// Rewrite the outputs shown in the docs.
        #[arg(long)]
        bless: bool,
    },
    /// Lines of code of each crate, without comments, blank lines and tests.
    Lines,
    /// Speed and truth of the harness, also against fio, with goals.
    Bench(bench::Flags),
    /// Predictions of a check against fio on files that fio, dd and PostgreSQL made.
    Truth(truth::Flags),
    /// Predictions against measurements, over all simulated devices.
    Validate(validate::Flags),
    /// The diagnosis against cases with a known truth.
    DiagnosisEval(diagnosis_eval::Flags),
    /// The diagnosis and the engines on layers of a guest machine (qemu).
    Lab(lab::Flags),
    /// The diagnosis on simulated draws, real devices and the lab; its table is kept.
    Ward(ward::Flags),
    /// Tests of engines, arrays, tracer and trials under AddressSanitizer, after a planted overflow was found.
    Sanitize,
    /// Every kind of page in a browser, against rules and references.
    Screenshots(screenshots::Flags),
    /// The program for Windows under wine.
    Wine {
        /// A command of cargo. Without words: the tests of what differs there.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The program on 64-bit Arm, by cross build and qemu-user.
    Aarch64,
    /// The static program, packages, manual pages, licences.
    Dist(dist::Flags),
}

/// Runs the verb of the command line; returns whether it passed. From now on, a signal removes the devices
/// that a verb has made. Also removes what a killed run left behind.
///
/// # Errors
/// If something needed cannot be run.
pub fn run() -> Result<bool> {
    let verb = CommandLine::parse().verb;
    testkit::undo_on_signals()?;
    for what in testkit::undo_left_over() {
        println!("removed what a killed run had left: {what}");
    }
    let done = match &verb {
        Verb::Ci => ci::run(),
        Verb::Tidy { bless } => tidy_all(*bless),
        Verb::Lines => lines::run(),
        Verb::Bench(flags) => bench::run(flags),
        Verb::Truth(flags) => truth::run(flags),
        Verb::Validate(flags) => validate::run(flags),
        Verb::DiagnosisEval(flags) => diagnosis_eval::run(flags),
        Verb::Lab(flags) => lab::run(flags),
        Verb::Ward(flags) => ward::run(flags),
        Verb::Sanitize => sanitize::run(),
        Verb::Screenshots(flags) => screenshots::run(flags),
        Verb::Wine { words } => wine::run(words),
        Verb::Aarch64 => aarch64::run(),
        Verb::Dist(flags) => dist::run(flags),
    };
    Ok(place::lacked(done)?.unwrap_or_else(|lacks| {
        testkit::skip(&std::env::args().nth(1).unwrap_or_default(), &lacks);
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

#[cfg(test)]
mod tests {
    use super::CommandLine;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_has_no_flag_or_group_twice() {
        CommandLine::command().debug_assert();
    }
}
