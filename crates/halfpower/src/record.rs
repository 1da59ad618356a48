//! `halfpower record`: keeps what the counters say, to be diagnosed now or years later.
//!
//! Ctrl-C ends a recording early and keeps it, with exit code 130: a script learns that it is
//! shorter than asked for.

use crate::failure::interrupted;
use crate::observing::{self, ObservingArgs};
use crate::output::{self, Verdict};
use crate::record_requests::record_requests;
use crate::store_args::SaveArgs;
use clap::Args;
use record::Nanos;
use session::StopFlag;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use target::{InUse, OutputFile};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower record --for 10m                  all disks, once a second, into the database\n  \
    halfpower record sda --for 1h --interval 5s\n  \
    halfpower record /srv/db -o slow.json       all disks below a directory, also as a file\n  \
    halfpower record sda --trace-io sda.io --for 30s   each request, to be replayed\n\n\
    Then: halfpower diagnose ID")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) observing: ObservingArgs,
    /// How long.
    #[arg(long = "for", value_name = "TIME", default_value = "1m")]
    pub(crate) length: Nanos,
    /// Write the observation as JSON to a file, too.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Keeps each request of the named disks in this file, in place of their counters: to be made again
    /// (run --replay), or for a load that does the same (twin). As root.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "interval", "trace", "all"])]
    pub(crate) trace_io: Option<PathBuf>,
    /// Of the named disks the requests of processes of this name alone, as ps -o comm prints it. What is
    /// written through the page cache is asked for by the kernel's writers.
    #[arg(long, value_name = "NAME", requires = "trace_io", value_parser = process_name)]
    pub(crate) process: Option<String>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

/// A name that can stand in a filter of the kernel.
fn process_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_graphic() && !"\"'\\*?&|()".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("a name as ps -o comm prints it, without quotes and blanks".to_owned()),
    }
}

pub(crate) fn record(arguments: &RecordArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let sampling = &arguments.observing.sampling;
    if let Some(file) = &arguments.trace_io {
        let (devices, json) = (&arguments.observing.devices, arguments.save.json);
        let process = arguments.process.as_deref();
        let what = (devices.as_slice(), process);
        return record_requests(what, &sampling.roots(), file, arguments.length, json, stop);
    }
    sampling.check_length(arguments.length)?;
    let source = arguments.observing.source()?;
    let mut in_use = Vec::new();
    if !arguments.save.no_save {
        let database = arguments.save.keeping.file().ok();
        in_use.extend(database.map(|file| InUse::new(file, "the database of results")));
    }
    let output = OutputFile::claim(&output::DOCUMENT, arguments.output.as_deref(), &mut in_use)?;
    let (recorder, kept) = observing::recorder(arguments.save.store()?, source.host());
    let recorded = sampling.record(source, recorder, arguments.length, stop)?;
    let observation = &recorded.observation;
    if let Some(output) = output {
        output.finish(&output::json(observation)?)?;
    }
    let (json, saved) = (arguments.save.json, kept.load(Ordering::Relaxed));
    output::document(json, observation, || output::page(&report::observation(observation)))?;
    if saved && !json && !output::is_quiet() {
        let next = output::saved_by(&format!("halfpower diagnose {}", observation.id));
        output::remark(&format!("saved; next: {next}"));
    }
    if !recorded.interrupted {
        return Ok(Verdict::Clean);
    }
    Err(interrupted(match (&arguments.output, saved) {
        (Some(_), _) => "what was recorded by then is in the file",
        (None, true) => "what was recorded by then is saved",
        (None, false) => "what was recorded by then is printed and not saved",
    }))
}
