//! `halfpower record`: saves counters, or the output of another tool, for a diagnosis now or years later.
//!
//! Ctrl-C ends a recording early and saves it. The exit code 130 shows a script that the recording is shorter
//! than requested.

use crate::failure::{interrupted, refuse_given};
use crate::observing::{self, ObservingArgs};
use crate::output::{self, Verdict};
use crate::record_files::{self, FilesArgs};
use crate::record_requests::record_requests;
use crate::recordings::Sources;
use crate::store_args::SaveArgs;
use clap::Args;
use host::target::OutputFile;
use plan::session::StopFlag;
use record::Nanos;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(Debug, Args)]
#[command(mut_arg("devices", |devices| devices.value_name("DEVICE|FILE").help(
        "Devices: kernel names (sda), device nodes, or paths on a file system; each includes all \
         devices below it [default: all whole devices that have completed I/O since boot]. Or \
         files of another tool, which are saved; - is standard input")),
    after_help = "Examples:\n  \
    halfpower record --for 10m           all disks, once a second\n  \
    halfpower record /srv/db -o slow.json   disks below a directory, to a file too\n  \
    halfpower record night.json          save output of iostat, sar or others\n  \
    halfpower record sda --trace-io sda.io --for 30s   each request\n\n\
    Then: halfpower diagnose last",
    after_long_help = "Examples:\n  \
    halfpower record --for 10m           all disks, once a second\n  \
    halfpower record sda --for 1h --interval 5s\n  \
    halfpower record /srv/db -o slow.json   disks below a directory, to a file too\n\n\
    Files of other tools:\n  \
    iostat -o JSON -x -t 1 60 > night.json; halfpower record night.json\n  \
    sadf -j /var/log/sysstat/sa12 -- -d | halfpower record -\n  \
    halfpower record fio.json     results of fio (--output-format=json+)\n  \
    halfpower record --prometheus http://host:9090 --instance db1:9100 \\\n    \
      --query-range now-2h..now@30s\n\n\
    Requests:\n  \
    halfpower record sda --trace-io sda.io --for 30s   each request\n\n\
    Then: halfpower diagnose last")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    observing: ObservingArgs,
    /// How long to record [default: 1m].
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Nanos>,
    /// Also write the observation as JSON to a file.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Record each request to the named disks in this file, instead of counters. run --replay
    /// replays the file. Needs root.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "interval", "trace", "all"])]
    trace_io: Option<PathBuf>,
    /// Record only requests of processes with this name (as ps -o comm prints it). This excludes
    /// writes through the page cache, because kernel threads issue them.
    #[arg(long, value_name = "NAME", requires = "trace_io", value_parser = process_name)]
    process: Option<String>,
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    save: SaveArgs,
}

/// Default duration.
const USUAL_LENGTH: Nanos = Nanos(60_000_000_000);

/// Accepts a process name that a kernel filter can contain.
fn process_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_graphic() && !"\"'\\*?&|()".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("use the name that ps -o comm prints, without quotes or spaces".to_owned()),
    }
}

pub(crate) fn record(arguments: &RecordArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let sampling = &arguments.observing.sampling;
    let words = &arguments.observing.devices;
    if arguments.files.prometheus.is_some() || Sources::of(words)?.are_files() {
        let live = [
            ("--for", arguments.length.is_some()),
            ("--all", arguments.observing.all),
            ("--trace", sampling.trace.is_some()),
            ("--trace-io", arguments.trace_io.is_some()),
            ("--output", arguments.output.is_some()),
        ];
        refuse_given(&live, |flag| {
            format!("{flag} applies to live counters, but you named files; omit one of them")
        })?;
        let interval = sampling.named_interval();
        return record_files::keep(words, &arguments.files, interval, &arguments.save, stop);
    }
    arguments.files.form.refuse_without_files(words)?;
    let length = arguments.length.unwrap_or(USUAL_LENGTH);
    if let Some(file) = &arguments.trace_io {
        let (process, json) = (arguments.process.as_deref(), arguments.save.json);
        let what = (words.as_slice(), process);
        return record_requests(what, &sampling.roots(), file, length, json, stop);
    }
    sampling.check_length(length)?;
    let source = arguments.observing.source()?;
    let keeping = &arguments.save.keeping;
    let mut in_use = if arguments.save.no_save { Vec::new() } else { keeping.kept() };
    let output = OutputFile::claim(&output::OBSERVATION, arguments.output.as_deref(), &mut in_use)?;
    let (recorder, kept) = observing::recorder(arguments.save.store()?, source.host());
    let recorded = sampling.record(source, recorder, length, stop)?;
    let observation = &recorded.observation;
    if let Some(output) = output {
        output.finish(&output::json(observation)?)?;
    }
    let (json, saved) = (arguments.save.json, kept.load(Ordering::Relaxed));
    output::document(json, observation, || output::page(&report::observation(observation)))?;
    if saved && !json && !output::is_quiet() {
        let next = output::saved_by(&format!("halfpower diagnose {}", observation.id));
        output::remark(&format!("saved; to diagnose it: {next}"));
    }
    if !recorded.interrupted {
        return Ok(Verdict::Clean);
    }
    Err(interrupted(match (&arguments.output, saved) {
        (Some(_), _) => "the recording up to the interruption is in the file",
        (None, true) => "the recording up to the interruption is saved",
        (None, false) => "the recording up to the interruption is printed, but not saved",
    }))
}
