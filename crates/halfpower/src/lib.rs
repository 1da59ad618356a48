//! The program: command line, progress, and the connections between the other crates, which do not depend on
//! it.
//!
//! It is a library so that a custom build can add its own engines ([`main_with`]); the standard binary adds
//! none. Each command is a module with one function that returns whether its document is clean. Errors are
//! `anyhow` errors; the module `failure` alone converts them to exit codes. Results go to standard output,
//! everything else to standard error.
#![forbid(unsafe_code)]

mod advise;
mod agent;
mod changed;
mod check;
mod cli;
mod compare;
mod defect;
mod diagnose;
mod doctor;
mod explain;
mod export;
mod extent;
mod failure;
mod fio_jobs;
mod fio_results;
mod fio_runs;
mod fio_sides;
mod fio_snapshots;
mod fio_words;
mod fleet;
mod fleet_devices;
mod fleet_profiles;
mod fleet_reader;
mod followed_profiles;
mod help;
mod host_args;
mod library;
mod limits;
mod manual;
mod observing;
mod output;
mod papers;
mod past;
mod predict;
mod predict_args;
mod progress;
mod recognise;
mod record;
mod record_files;
mod record_requests;
mod recordings;
mod reports;
mod run;
mod run_args;
mod run_contradictions;
mod run_spec;
mod safety_args;
mod server_args;
mod shared;
mod show;
mod signals;
mod store_args;
mod sweep;
mod validate;
mod values;
mod watch;
mod zones;

use clap::FromArgMatches;
use cli::Verb;
use engine::input;
use fio_words::Language;
use plan::session;
use signals::Signals;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The crates that a build with its own engines needs.
pub use ::engine;
pub use ::record as documents;
pub use manual::{completions, manual_pages};
pub use trial::OwnEngine;

/// Runs the program with additional engines, which are selected by `--ioengine NAME`. Returns the exit code
/// of the process.
#[must_use]
pub fn main_with(own: &'static [OwnEngine]) -> ExitCode {
    defect::end_at_panics();
    if let Err(problem) = trial::add_own_engines(own) {
        output::remark(&problem);
        return ExitCode::from(session::USAGE);
    }
    // Before the command line is parsed, because some of its values are files.
    let outcome = Signals::listen().and_then(|signals| {
        match fio_words::language(std::env::args_os().collect())? {
            Language::Fio(asked) => fio_runs::run(asked, &signals.stop),
            Language::Ours(words) => commanded(words, signals),
        }
    });
    let code = match outcome {
        Ok(output::Verdict::Clean) => ExitCode::SUCCESS,
        Ok(output::Verdict::NotClean) => ExitCode::from(1),
        Err(error) => {
            output::remark(&documents::bounded_message(&format!("{error:#}")));
            ExitCode::from(failure::exit_code(&error))
        }
    };
    if let Some(text) = session::stuck_threads::warning() {
        output::remark(&text);
    }
    code
}

/// Parses the command line and runs its command.
fn commanded(words: Vec<OsString>, signals: Signals) -> anyhow::Result<output::Verdict> {
    let words = help::command().try_get_matches_from(words);
    let read = words.and_then(|words| Ok((cli::Cli::from_arg_matches(&words)?, words)));
    let (arguments, words) = match read {
        Ok(read) => read,
        Err(_) if input::was_interrupted() => {
            return Err(failure::interrupted("a file on the command line was not read completely"));
        }
        Err(error) => match help::meant(&error) {
            Some(meant) => return Err(meant),
            None => output::end_at_usage(&error),
        },
    };
    if let Ok(Some(file)) = extent::innermost(&words).1.try_get_one::<PathBuf>("db") {
        output::set_database(file);
    }
    arguments.extent.set(&words).and_then(|()| outcome(&arguments, signals))
}

/// The table of commands and flags, from which `--help`, manual pages and completions are made.
#[must_use]
pub fn command() -> clap::Command {
    help::command()
}

/// Runs a command.
fn outcome(arguments: &cli::Cli, signals: Signals) -> anyhow::Result<output::Verdict> {
    // The screen must restore the terminal first.
    let stop = match arguments.verb {
        Verb::Watch(_) => signals.with_none_that_ends(),
        _ => signals.stop,
    };
    match &arguments.verb {
        Verb::Check(check) => check::check(check, &stop),
        Verb::Run(run) => run::run(run, &stop),
        Verb::Agent(arguments) => agent::agent(arguments, &stop),
        Verb::Predict(arguments) => predict::predict(arguments, &stop),
        Verb::Advise(arguments) => advise::advise(arguments),
        Verb::Doctor(doctor) => doctor::doctor(doctor),
        Verb::Diagnose(arguments) => diagnose::diagnose(arguments, &stop),
        Verb::Compare(arguments) => compare::compare(arguments),
        Verb::Show(arguments) => show::show(arguments, &stop),
        Verb::Report(report) => reports::report(report),
        Verb::Export(arguments) => export::export(arguments),
        Verb::Limits(limits) => limits::limits(limits, &stop),
        Verb::Zones(zones) => zones::zones(zones, &stop),
        Verb::Sweep(arguments) => sweep::sweep(arguments, &stop),
        Verb::Watch(arguments) => watch::watch(arguments, &stop),
        Verb::Record(arguments) => record::record(arguments, &stop),
        Verb::Papers(papers) => papers::papers(papers, &stop),
        Verb::Lab => help::lab(),
        Verb::Explain(arguments) => explain::explain(arguments),
        Verb::Completions(arguments) => manual::print_completions(arguments),
        Verb::Man(arguments) => manual::man(arguments),
    }
}
