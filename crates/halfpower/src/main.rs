//! The one binary: command line, progress, wiring. What it wires knows nothing of it.
//!
//! Each verb is a module with one function that returns whether the document is clean. Errors
//! travel as `anyhow` and become an exit code in one place, [`failure`]; results go to standard
//! output, everything else to standard error.
#![forbid(unsafe_code)]

mod advise;
mod check;
mod cli;
mod compare;
mod cost;
mod diagnose;
mod doctor;
mod failure;
mod import;
mod limits;
mod observing;
mod output;
mod papers;
mod predict;
mod profile;
mod profiles;
mod progress;
mod record;
mod recordings;
mod reports;
mod run;
mod run_args;
mod run_spec;
mod signals;
mod store_args;
mod sweep;
mod validate;
mod values;
mod watch;
mod whatif;
mod zones;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    undo_left_settings();
    // A screen gives the terminal back first.
    let second_ends = !matches!(arguments.verb, cli::Verb::Watch(_));
    let outcome = signals::stop_flag(second_ends).and_then(|stop| match &arguments.verb {
        cli::Verb::Check(check) => check::check(check, &stop),
        cli::Verb::Run(run) => run::run(run, &stop),
        cli::Verb::Profile(profile) => profile::profile(profile, &stop),
        cli::Verb::Predict(arguments) => predict::predict(arguments, &stop),
        cli::Verb::WhatIf(arguments) => whatif::whatif(arguments, &stop),
        cli::Verb::Advise(arguments) => advise::advise(arguments),
        cli::Verb::Doctor(doctor) => doctor::doctor(doctor),
        cli::Verb::Diagnose(arguments) => diagnose::diagnose(arguments, &stop),
        cli::Verb::Compare(arguments) => compare::compare(arguments),
        cli::Verb::Import(arguments) => import::import(arguments, &stop),
        cli::Verb::Report(report) => reports::report(report),
        cli::Verb::Limits(limits) => limits::limits(limits, &stop),
        cli::Verb::Zones(zones) => zones::zones(zones, &stop),
        cli::Verb::Cost(cost) => cost::cost(cost),
        cli::Verb::Sweep(arguments) => sweep::sweep(arguments, &stop),
        cli::Verb::Watch(arguments) => watch::watch(arguments, &stop),
        cli::Verb::Record(arguments) => record::record(arguments, &stop),
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
    if let Some(text) = session::stuck_threads::warning() {
        output::say(&format!("halfpower: {}", report::escape(&text)));
    }
    code
}

/// Puts back the settings that a killed run of this program left changed, and says so.
fn undo_left_settings() {
    let Some(folder) = kernel::changed_setting::state_folder() else { return };
    for (path, value) in kernel::changed_setting::undo_left(&kernel::Roots::default(), &folder) {
        let path = path.display();
        output::say(&format!(
            "halfpower: {path} was left changed by a run that was killed; it is {value} again"
        ));
    }
}
