//! `halfpower record`: keeps what the counters say, to be diagnosed now or years later.
//!
//! Ctrl-C ends a recording early and keeps it, with exit code 130: a script learns that it is
//! shorter than asked for.

use crate::failure::{Interruption, UsageError};
use crate::observing::{ObservingArgs, Pace, Tick};
use crate::output::{self, InUse, Kind, OutputFile, Verdict};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::store_args::StoreArgs;
use crate::values::nanos;
use clap::Args;
use record::{Finding, FindingCode, Nanos, Observation, Severity};
use session::Display;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

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
    /// Print the observation as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Write the observation as JSON to a file, too.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Do not save it in the database.
    #[arg(long, help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

/// Records, saves, prints.
pub(crate) fn record(arguments: &RecordArgs, stop: &AtomicBool) -> anyhow::Result<Verdict> {
    if arguments.length < arguments.observing.interval {
        let text = format!(
            "--for {} is shorter than one --interval of {}",
            record::format_nanos(arguments.length.0 as f64),
            record::format_nanos(arguments.observing.interval.0 as f64)
        );
        return Err(UsageError(text).into());
    }
    let mut source = arguments.observing.source()?;
    let output = arguments
        .output
        .as_deref()
        .map(|path| OutputFile::create(Kind::Document, path, &in_use(arguments)?))
        .transpose()?;
    let mut recording =
        Recording::begin(&arguments.keeping, arguments.no_save, source.sampler.host())?;
    let samples = arguments.length.0.div_ceil(arguments.observing.interval.0);
    let mut progress = Progress::new();
    let begin = Instant::now();
    let mut pace = Pace::new(arguments.observing.interval);
    let mut taken = 0;
    while taken < samples && pace.wait(stop) {
        let tick = Tick::take(&mut source)?;
        recording.add(&tick)?;
        taken += 1;
        let spent = Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let what = format!("{} devices", tick.devices.len());
        progress.measuring("record", &what, spent, arguments.length);
    }
    progress.clear();
    if taken < samples {
        recording.note(Finding::new(
            FindingCode::Interrupted,
            Severity::Warning,
            format!("The recording was interrupted after {taken} of {samples} intervals."),
            "",
        ));
    }
    let observation = recording.finish()?;
    if taken == 0 {
        return Err(Interruption("nothing was recorded".to_owned()).into());
    }
    let json = || output::json(&observation);
    if let Some(output) = output {
        output.finish(&json()?)?;
    }
    let text =
        if arguments.json { json()? } else { output::page(&report::observation(&observation)) };
    output::print(&text)?;
    if !arguments.json {
        next_step(arguments, &observation);
    }
    if taken < samples {
        return Err(Interruption(kept(arguments)).into());
    }
    Ok(Verdict::Clean)
}

/// The files of the database, which the result must not replace.
fn in_use(arguments: &RecordArgs) -> anyhow::Result<Vec<InUse>> {
    if arguments.no_save {
        return Ok(Vec::new());
    }
    let path = arguments.keeping.file()?;
    Ok(vec![InUse { path, role: "the database of results" }])
}

fn kept(arguments: &RecordArgs) -> String {
    let what = match (&arguments.output, arguments.no_save) {
        (Some(_), _) => "what was recorded by then is in the file",
        (None, false) => "what was recorded by then is saved",
        (None, true) => "what was recorded by then is printed and not saved",
    };
    what.to_owned()
}

/// What to do with it.
fn next_step(arguments: &RecordArgs, observation: &Observation) {
    if !arguments.no_save {
        output::say(&format!("halfpower: saved; next: halfpower diagnose {}", observation.id));
    }
}
