//! `halfpower record`: keeps what the counters say, to be diagnosed now or years later.
//!
//! Ctrl-C ends a recording early and keeps it, with exit code 130: a script learns that it is
//! shorter than asked for.

use crate::failure::interrupted;
use crate::observing::{self, ObservingArgs};
use crate::output::{self, Verdict};
use crate::store_args::SaveArgs;
use crate::values::nanos;
use clap::Args;
use record::Nanos;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use target::{InUse, OutputFile};

/// `halfpower record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower record --for 10m                  all disks, once a second, into the database\n  \
    halfpower record sda --for 1h --interval 5s\n  \
    halfpower record /srv/db -o slow.json       the disk below a directory, also as a file\n\n\
    Then: halfpower diagnose ID")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) observing: ObservingArgs,
    /// How long.
    #[arg(long = "for", value_name = "TIME", default_value = "1m", value_parser = nanos)]
    pub(crate) length: Nanos,
    /// Write the observation as JSON to a file, too.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

/// Records, saves, prints.
pub(crate) fn record(arguments: &RecordArgs, stop: &AtomicBool) -> anyhow::Result<Verdict> {
    let sampling = &arguments.observing.sampling;
    sampling.check_length(arguments.length)?;
    let source = arguments.observing.source()?;
    let mut in_use = Vec::new();
    if !arguments.save.no_save {
        in_use.push(InUse::new(arguments.save.keeping.file()?, "the database of results"));
    }
    let output = OutputFile::claim(&output::DOCUMENT, arguments.output.as_deref(), &mut in_use)?;
    let recorder = observing::recorder(arguments.save.store()?, source.host());
    let recorded = sampling.record(source, recorder, arguments.length, stop)?;
    let observation = &recorded.observation;
    if let Some(output) = output {
        output.finish(&output::json(observation)?)?;
    }
    if arguments.save.json {
        output::print(&output::json(observation)?)?;
    } else {
        output::print(&output::page(&report::observation(observation)))?;
        if !arguments.save.no_save {
            let id = &observation.id;
            output::say(&format!("halfpower: saved; next: halfpower diagnose {id}"));
        }
    }
    if recorded.interrupted {
        return Err(interrupted(kept(arguments)));
    }
    Ok(Verdict::Clean)
}

/// Where an interrupted recording is.
fn kept(arguments: &RecordArgs) -> &'static str {
    match (&arguments.output, arguments.save.no_save) {
        (Some(_), _) => "what was recorded by then is in the file",
        (None, false) => "what was recorded by then is saved",
        (None, true) => "what was recorded by then is printed and not saved",
    }
}
