//! Converts a fio job into a run.

use crate::fio::area::area;
use crate::fio::data::data;
use crate::fio::device::{caches, priority, processors};
use crate::fio::load::load;
use crate::fio::logs::{Log, logs};
use crate::fio::pace::{flushes, pace};
use crate::fio::parts::{FileNames, Words, end_for_intervals};
use crate::fio::replayed::replayed;
use crate::fio::settings::Settings;
use crate::fio::values::{SECOND_NS, time};
use crate::fio::{FioError, Section};
use record::time_word;

/// What a job waits for before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: it runs together with the jobs before it.
    No,
    /// The end of all jobs before it.
    All,
    /// The end of one job, by its name.
    For(String),
}

/// A run in the flags of `halfpower run`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The job's name.
    pub name: String,
    /// Files, devices, or directories for test files.
    pub targets: Vec<String>,
    /// fio's names of the files that test files replace; empty if all targets exist.
    pub stands_for: Vec<String>,
    /// Flags.
    pub words: Vec<String>,
    /// Notes on what differs from fio, and on options that are always in effect.
    pub notes: Vec<String>,
    /// Whether the job writes.
    pub writes: bool,
    /// Whether its files are written completely before it runs, even if it only writes.
    pub fills: bool,
    /// What the job waits for.
    pub waits: Wait,
    /// Delay of its start after the other jobs that run at the same time.
    pub delay_ns: u64,
    /// Whether all jobs that run at the same time end with the first of them.
    pub exit_all: bool,
    /// When it ends, if only time ends it.
    pub ends_after_ns: Option<u64>,
    /// Its random seed, if it specifies one.
    pub seed: Option<u64>,
    /// Number of its processes or threads in fio.
    pub jobs: u64,
    /// The logs that it must write.
    pub logs: Vec<Log>,
    /// The percentiles of the latency that fio's JSON contains, in percent; empty for fio's own.
    pub percentiles: Vec<f64>,
}

impl Run {
    /// Limits its run time.
    pub fn end_after(&mut self, ns: u64) {
        if let Some(at) = self.words.iter().position(|word| word == "--runtime") {
            self.words[at + 1] = time_word(ns);
        }
    }

    /// Limits the number of intervals of this length, if the run has no time limit.
    pub fn end_for_intervals(&mut self, every_ns: u64) {
        end_for_intervals(&mut self.words, every_ns);
    }
}

/// Converts a job into a run. `known` describes files by their names.
///
/// # Errors
/// All options that are unknown or unsupported, with their places.
pub fn run_of(section: &Section, known: &dyn FileNames) -> Result<Run, Vec<FioError>> {
    let settings = Settings::new(section);
    let mut out = Words::default();
    let kb_base = settings.number("kb_base").unwrap_or(1024);
    if kb_base != 1024 && kb_base != 1000 {
        settings.refuse("kb_base", "use 1000 or 1024");
    }
    let jobs = settings.number("numjobs").unwrap_or(1).max(1);
    not_at_all(&settings);
    let writes = if let Some(log) = settings.text("read_iolog") {
        replayed(&settings, &mut out, log);
        caches(&settings, &mut out);
        data(&settings, &mut out, None);
        // The content of the recording becomes known when it is read.
        true
    } else {
        let load = load(&settings, &mut out, kb_base);
        let engine = caches(&settings, &mut out);
        let verified = data(&settings, &mut out, Some(&load));
        area(&settings, &mut out, known, &load, (kb_base, jobs, engine, verified));
        pace(&settings, &mut out, jobs, &load, kb_base);
        flushes(&settings, &mut out, &load);
        load.writes
    };
    if jobs > 1 {
        out.flag("numjobs", &jobs);
    }
    processors(&settings, &mut out, known, jobs);
    priority(&settings, &mut out);
    let waits = match settings.text("wait_for") {
        _ if settings.on("stonewall") => Wait::All,
        Some(name) => Wait::For(name.to_owned()),
        None => Wait::No,
    };
    let delay_ns = settings.value("startdelay", |text| time(text, SECOND_NS)).unwrap_or(0);
    let (seed, exit_all) = (settings.number("randseed"), settings.on("exitall"));
    let fills = settings.on("overwrite");
    let percentiles = settings.value("percentile_list", percentiles).unwrap_or_default();
    if !percentiles.is_empty() {
        out.note("percentile_list: applies to fio's JSON; the page has its own percentiles");
    }
    let (logs, log_notes) = logs(&settings);
    if let Some(log) = logs.first() {
        end_for_intervals(&mut out.words, log.every_ms.saturating_mul(1_000_000));
    }
    let Words { targets, stands_for, words, mut notes, ends_after_ns } = out;
    notes.extend(log_notes);
    notes.extend(settings.finish()?);
    let name = section.name.clone();
    Ok(Run {
        name,
        targets,
        stands_for,
        words,
        notes,
        writes,
        fills,
        waits,
        delay_ns,
        exit_all,
        ends_after_ns,
        seed,
        jobs,
        logs,
        percentiles,
    })
}

/// Parses percentiles, separated by colons.
fn percentiles(text: &str) -> Result<Vec<f64>, String> {
    let in_percent = |text: &str| {
        let percent = text.trim().parse::<f64>().ok();
        percent.filter(|percent| *percent > 0.0 && *percent <= 100.0)
    };
    let all: Option<Vec<f64>> = text.split(':').map(in_percent).collect();
    all.ok_or_else(|| "use percentages above 0 and up to 100, separated by colons".to_owned())
}

/// Refuses options that define a load which halfpower does not support.
fn not_at_all(settings: &Settings<'_>) {
    if settings.on("create_only") {
        settings.refuse(
            "create_only",
            "nothing would run, because a run creates its test files itself",
        );
    }
    if settings.text("flow").is_some_and(|flow| flow != "0") {
        settings.refuse("flow", "the rates of jobs cannot depend on each other");
    }
    if let Some(mode) = settings.text("zonemode").filter(|mode| *mode != "none") {
        settings.refuse(
            "zonemode",
            match mode {
                "strided" => {
                    "a run cannot skip zones; `halfpower zones` measures throughput by \
                          position, and --pattern strided skips after each request"
                }
                _ => {
                    "halfpower does not support the write pointers of zoned devices; use a device \
                  without zones"
                }
            },
        );
    }
}
