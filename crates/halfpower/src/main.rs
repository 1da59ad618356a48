//! The one binary: command line, progress, wiring. What it wires knows nothing of it.
//!
//! Each verb is a module with one function that returns whether the document is clean. Errors
//! travel as `anyhow` and become an exit code in one place, [`failure`]; results go to standard
//! output, everything else to standard error.
#![forbid(unsafe_code)]

mod check;
mod cli;
mod doctor;
mod failure;
mod help;
mod output;
mod profile;
mod progress;
mod run;
mod session;
mod signals;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    let outcome = signals::stop_flag().and_then(|stop| match &arguments.verb {
        cli::Verb::Check(check) => check::check(check, &stop),
        cli::Verb::Run(run) => run::run(run, &stop),
        cli::Verb::Profile(profile) => profile::profile(profile),
        cli::Verb::Doctor(doctor) => doctor::doctor(doctor),
    });
    match outcome {
        Ok(output::Verdict::Clean) => ExitCode::SUCCESS,
        Ok(output::Verdict::NotClean) => ExitCode::from(1),
        Err(error) => {
            let code = failure::exit_code(&error);
            output::say(&format!("halfpower: {}", report::escape(&format!("{error:#}"))));
            ExitCode::from(code)
        }
    }
}
