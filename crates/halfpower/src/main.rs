//! The one binary: command line, progress, wiring. What it wires knows nothing of it.
//!
//! Each verb is a module with one function that returns whether the document is clean. Errors
//! travel as `anyhow` and become an exit code in one place, [`failure`]; results go to standard
//! output, everything else to standard error.
#![forbid(unsafe_code)]

mod check;
mod cli;
mod cost_fit;
mod cpu_pass;
mod doctor;
mod failure;
mod help;
mod keeping;
mod leaving;
mod output;
mod papers;
mod precondition;
mod profile;
mod progress;
mod run;
mod run_args;
mod run_spec;
mod session;
mod signals;
mod trace;
mod values;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    let outcome = signals::stop_flag().and_then(|stop| match &arguments.verb {
        cli::Verb::Check(check) => check::check(check, &stop),
        cli::Verb::Run(run) => run::run(run, &stop),
        cli::Verb::Profile(profile) => profile::profile(profile),
        cli::Verb::Doctor(doctor) => doctor::doctor(doctor),
        cli::Verb::Papers(papers) => papers::papers(papers, &stop),
    });
    let code = match outcome {
        Ok(output::Verdict::Clean) => ExitCode::SUCCESS,
        Ok(output::Verdict::NotClean) => ExitCode::from(1),
        Err(error) => {
            let code = failure::exit_code(&error);
            output::say(&format!("halfpower: {}", report::escape(&format!("{error:#}"))));
            ExitCode::from(code)
        }
    };
    if let Some(text) = leaving::kept() {
        output::say(&format!("halfpower: {}", report::escape(&text)));
    }
    code
}
