//! The project's own gates and comparisons, as plain functions behind `cargo xtask VERB`.
//!
//! It stands outside the workspace's default members, so that a user's `cargo build` and
//! `cargo test` never build it. Whatever runs here runs the release binary from outside, as a
//! user would; no library of the program is called but `record` (to read its documents) and
//! `stats` (quantiles). Rejected: shell scripts (no types, no tests) and a Makefile (a second
//! language for what cargo's alias does).
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod child;
mod ci;
mod commands;
mod pairs;
mod peers;
mod place;
pub mod tidy;

use anyhow::{Result, bail};
use arguments::Arguments;

/// What `cargo xtask` prints without a verb.
pub const USAGE: &str = "\
usage: cargo xtask VERB [flags]
  ci                      everything that a change must pass
  tidy [--bless]          the project's own lint; --bless rewrites the outputs shown in the docs
  bench [--smoke] [--keep] [--pairs N] [--against BINARY]
                          speed of the harness and of the simulator; against another binary
  peers [--smoke] [--pairs N] [--runtime SECONDS] [--target tmpfs|zram|disk|all]
        [--binary BINARY]
                          halfpower against fio, pair by pair";

/// The verbs, for the check of documented commands.
pub const VERBS: [&str; 4] = ["ci", "tidy", "bench", "peers"];

/// Runs one verb; whether it passed.
///
/// # Errors
/// If the arguments are wrong or something needed cannot be run.
pub fn run(arguments: &[String]) -> Result<bool> {
    let Some((verb, rest)) = arguments.split_first() else {
        bail!("no verb\n{USAGE}");
    };
    match verb.as_str() {
        "ci" => {
            Arguments::read(rest, &[], &[])?;
            ci::run()
        }
        "tidy" => {
            let flags = Arguments::read(rest, &["--bless"], &[])?;
            tidy_all(flags.has("--bless"))
        }
        "bench" => {
            let flags = Arguments::read(rest, &["--smoke", "--keep"], &["--pairs", "--against"])?;
            bench::run(&bench::Options::read(&flags)?)
        }
        "peers" => {
            let values = ["--pairs", "--runtime", "--target", "--binary"];
            let flags = Arguments::read(rest, &["--smoke"], &values)?;
            peers::run(&peers::Options::read(&flags)?)
        }
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(true)
        }
        other => bail!("no verb {other:?}\n{USAGE}"),
    }
}

/// The lint of files, then the commands and outputs of the documentation.
pub(crate) fn tidy_all(bless: bool) -> Result<bool> {
    let root = place::root();
    let mut problems = tidy::check(&root)?;
    problems.extend(commands::check(&root, &place::release_binary()?, bless)?);
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} problems", problems.len());
    Ok(problems.is_empty())
}
