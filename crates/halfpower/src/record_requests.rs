//! `halfpower record --trace-io`: records every request of some disks for a replay.
//!
//! Requests stay in memory until the end. Writing them during the recording would add requests to the
//! recorded disk.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use anyhow::Context;
use host::kernel::{self, Roots};
use host::target::OutputFile;
use host::tracer::{Drained, Recorder};
use plan::session::{Display, Shown, StopFlag, VERSION};
use record::{Nanos, RecordedRequest};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use workload::replay::{self, Found};

/// How often the trace buffers are emptied; they hold about ten thousand events.
const EMPTIED_EVERY: Duration = Duration::from_millis(5);
/// Maximum number of requests: about 15 GB of memory, including the text to be written.
const MOST: usize = 100_000_000;

/// Records the requests of devices for `length` into a file, optionally of one process only.
pub(crate) fn record_requests(
    (devices, process): (&[String], Option<&str>),
    roots: &Roots,
    file: &Path,
    length: Nanos,
    json: bool,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    if devices.is_empty() {
        return Err(usage("--trace-io needs a disk; name at least one"));
    }
    let disks: Vec<String> =
        devices.iter().map(|name| disk(roots, name)).collect::<anyhow::Result<_>>()?;
    let output = OutputFile::claim(&output::REQUESTS, Some(file), &mut Vec::new())?;
    let mut recorder = Recorder::open(roots, &disks, process)?;
    let mut all = Drained::default();
    let mut progress = Progress::new();
    let (begin, length) = (Instant::now(), Duration::from_nanos(length.0));
    while begin.elapsed() < length && !stop.load(Ordering::Relaxed) && all.requests.len() < MOST {
        thread::sleep(EMPTIED_EVERY.min(length.saturating_sub(begin.elapsed())));
        take(&mut recorder, &mut all);
        let share = begin.elapsed().as_secs_f64() / length.as_secs_f64().max(1e-9);
        let left = length.saturating_sub(begin.elapsed()).as_nanos();
        progress.show(&Shown {
            phase: "record",
            share: share.min(1.0),
            left: Some(Nanos(u64::try_from(left).unwrap_or(u64::MAX))),
            what: &format!("{} requests", all.requests.len()),
            ..Shown::default()
        });
    }
    progress.clear();
    let Drained { requests, flushes, discards, lost } = all;
    if requests.len() >= MOST {
        let many = requests.len();
        output::remark(&format!("stopped at the maximum of {many} requests"));
    }
    let names = used(&requests, &disks);
    let mut replay = Found { requests, flushes, discards }.replay();
    let text = replay::write_iolog(&replay, &names);
    replay.source = file.display().to_string();
    if let Some(output) = output {
        output.finish(text).context("cannot write the recorded requests")?;
    }
    if replay.requests == 0 {
        return Err(interrupted("no request arrived in that time; the file is empty"));
    }
    let summary = replay::summary(&replay, VERSION, Some(lost));
    output::document(json, &summary, || output::page(&report::requests(&summary)))?;
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted("the recording up to the interruption is in the file"));
    }
    let file = record::shell_word(&replay.source);
    output::remark(&format!("to replay it: halfpower run TARGET --replay {file}"));
    Ok(if lost > 0 { Verdict::NotClean } else { Verdict::Clean })
}

fn take(recorder: &mut Recorder, all: &mut Drained) {
    let mut drained = recorder.drain();
    all.requests.append(&mut drained.requests);
    all.flushes.append(&mut drained.flushes);
    all.discards.append(&mut drained.discards);
    all.lost += drained.lost;
}

/// Device nodes of the disks that have requests, in order of their numbers.
fn used(all: &[RecordedRequest], disks: &[String]) -> Vec<String> {
    let has = |number: usize| all.iter().any(|request| usize::from(request.device) == number);
    let used = disks.iter().enumerate().filter(|(number, _)| has(*number));
    used.map(|(_, disk)| format!("/dev/{disk}")).collect()
}

/// The kernel's name of a whole disk, from its name, its node, or a directory on it.
fn disk(roots: &Roots, name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.is_dir() {
        let found = kernel::disk_of(roots, path).map(|facts| facts.disk);
        return found.ok_or_else(|| usage(format!("{name} is not on a known disk")));
    }
    let node = std::fs::canonicalize(path).ok();
    let node = node.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let kernel_name = node.unwrap_or(name).to_owned();
    let known = roots.sys.join("class/block").join(kernel_name.replace('/', "!"));
    if !known.exists() {
        return Err(usage(format!("{name} is not a block device; name one, such as sda")));
    }
    if known.join("partition").exists() {
        let text = format!(
            "{name} is a partition; name its disk, because positions are relative to the disk"
        );
        return Err(usage(text));
    }
    Ok(kernel_name)
}
