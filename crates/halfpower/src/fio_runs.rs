//! `halfpower run` with fio's job files or fio's own command line.
//!
//! Jobs that run at the same time are translated into the words of one `run` ([`workload::fio`]). The words
//! are printed and parsed as if typed, so all trials take one path. Flags about results and safety can be
//! added.

use crate::extent;
use crate::failure::usage;
use crate::fio_jobs::{Names, refused, sections};
use crate::fio_words::FioWords;
use crate::output::{self, Verdict};
use crate::run::{self, Keep};
use crate::run_args::RunArgs;
use ::record::{Nanos, Trial, shell_word, time_word};
use anyhow::Context;
use host::target::OutputFile;
use plan::session::StopFlag;
use report::FioRun;
use std::path::PathBuf;
use workload::fio::{self, FioError, Log, LogKind, Run, Section, Wait};

const OUTPUT: &str = "--output";
const INTERVAL: &str = "--interval";

/// Jobs that run at the same time, and their combined run.
struct Planned {
    jobs: Vec<(Run, u64)>,
    words: Vec<String>,
    arguments: RunArgs,
}

/// Runs the jobs. Jobs with no stonewall between them run at the same time.
///
/// # Errors
/// If any job cannot be run as written (before any job starts), or as for a run.
pub(crate) fn run(mut asked: FioWords, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let as_json = as_json(asked.format.as_deref())?;
    let whole = as_json || asked.ours.iter().any(|word| word == "--json");
    extent::take(&mut asked.ours, whole)?;
    let file = if as_json { take_output(&mut asked.ours) } else { None };
    let file = OutputFile::claim(&output::FIO_JSON, file.as_deref(), &mut Vec::new())?;
    let all = planned(&asked)?;
    if asked.parse_only {
        all.iter().for_each(Planned::say);
        return Ok(Verdict::Clean);
    }
    let mut verdict = Verdict::Clean;
    let mut done: Vec<FioRun> = Vec::new();
    let mut failed = None;
    let logs = all.iter().map(|planned| LogFile::claim_all(&planned.jobs));
    let logs: Vec<Vec<LogFile>> = logs.collect::<anyhow::Result<_>>()?;
    for (planned, logs) in all.iter().zip(logs) {
        planned.say();
        let mut trials = Vec::new();
        let keep = Keep { trials: &mut trials, print: !as_json };
        let found = run::run_into(&planned.arguments, stop, Some(keep));
        let written = trials.first().map(|trial| LogFile::finish_all(logs, trial));
        done.extend(trials.into_iter().map(|trial| planned.done(trial)));
        match found.with_context(|| planned.title()) {
            Ok(Verdict::NotClean) => verdict = Verdict::NotClean,
            Ok(Verdict::Clean) => {}
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        written.transpose()?;
    }
    // Also for the jobs before one that failed.
    if as_json && !done.is_empty() {
        let text = output::json(&report::fio_json(&done))?;
        if let Some(file) = file {
            file.finish(text)?;
        } else {
            output::print(&text)?;
        }
    }
    failed.map_or(Ok(verdict), Err)
}

/// Whether the user wants the results as fio's JSON. Terse lines are omitted with a remark.
fn as_json(format: Option<&str>) -> anyhow::Result<bool> {
    let mut json = false;
    for format in format.into_iter().flat_map(|formats| formats.split(',')) {
        match format {
            "json" | "json+" => json = true,
            "normal" => {}
            "terse" => output::remark(
                "--output-format: terse output is not supported; json contains the same numbers",
            ),
            _ => return Err(usage("--output-format: use normal, json or json+")),
        }
    }
    Ok(json)
}

impl Planned {
    fn names(&self) -> String {
        let names: Vec<&str> = self.jobs.iter().map(|(job, _)| job.name.as_str()).collect();
        names.join(", ")
    }

    /// Its result, for fio's JSON.
    fn done(&self, trial: Trial) -> FioRun {
        let percentiles = self.jobs.iter().map(|(job, _)| job.percentiles.clone()).collect();
        FioRun { name: self.names(), percentiles, trial }
    }

    fn title(&self) -> String {
        format!("the {} {}", if self.jobs.len() > 1 { "jobs" } else { "job" }, self.names())
    }

    /// Prints the equivalent `halfpower run` command and the notes on the jobs.
    fn say(&self) {
        let word = if self.jobs.len() > 1 { "jobs" } else { "job" };
        let words: Vec<String> = self.words.iter().map(|word| shell_word(word)).collect();
        if !output::is_quiet() {
            output::remark(&format!("{word} {}: halfpower run {}", self.names(), words.join(" ")));
        }
        for (job, _) in &self.jobs {
            let of = if self.jobs.len() > 1 { format!("{}: ", job.name) } else { String::new() };
            job.notes.iter().for_each(|note| output::remark(&format!("  {of}{note}")));
        }
    }
}

/// A log of a job over time, in fio's format.
struct LogFile {
    /// Index among the jobs that run at the same time.
    job: usize,
    kind: LogKind,
    file: OutputFile,
}

impl LogFile {
    /// Opens the files of all logs, and fails if one cannot be created.
    fn claim_all(jobs: &[(Run, u64)]) -> anyhow::Result<Vec<Self>> {
        let mut claimed = Vec::new();
        let mut in_use = Vec::new();
        for (job, (run, number)) in jobs.iter().enumerate() {
            for log in &run.logs {
                for path in log_paths(log, run, *number) {
                    let file = OutputFile::claim(&output::FIO_LOG, Some(&path), &mut in_use)?;
                    claimed.extend(file.map(|file| Self { job, kind: log.kind, file }));
                }
            }
        }
        Ok(claimed)
    }

    fn finish_all(logs: Vec<Self>, trial: &Trial) -> anyhow::Result<()> {
        for log in logs {
            let Some(job) = trial.job(log.job) else { continue };
            let column = match log.kind {
                LogKind::Bandwidth => report::FioLogColumn::KibPerSecond,
                LogKind::Latency => report::FioLogColumn::LatencyNs,
                LogKind::Iops => report::FioLogColumn::Iops,
            };
            log.file.finish(report::fio_log(&job, column))?;
        }
        Ok(())
    }
}

/// fio's file names of a log. A latency log has two.
fn log_paths(log: &Log, run: &Run, number: u64) -> Vec<PathBuf> {
    let prefix = log.prefix.as_deref().unwrap_or(&run.name);
    let kinds: &[&str] = match log.kind {
        LogKind::Bandwidth => &["bw"],
        LogKind::Latency => &["lat", "clat"],
        LogKind::Iops => &["iops"],
    };
    let number = if log.numbered { format!(".{number}") } else { String::new() };
    kinds.iter().map(|kind| PathBuf::from(format!("{prefix}_{kind}{number}.log"))).collect()
}

/// Removes the flag for the result file from halfpower's flags, and returns the file.
fn take_output(ours: &mut Vec<String>) -> Option<PathBuf> {
    let at = ours.iter().position(|word| word == OUTPUT || word.starts_with("--output="))?;
    let word = ours.remove(at);
    let value = word.split_once('=').map(|(_, value)| value.to_owned());
    value.or_else(|| (at < ours.len()).then(|| ours.remove(at))).map(PathBuf::from)
}

/// A section with its run and the number of its first job, which fio counts from 1.
type Job = (Section, Run, u64);

/// Plans the runs of all jobs before any of them starts.
fn planned(asked: &FioWords) -> anyhow::Result<Vec<Planned>> {
    let names = Names { dry: asked.parse_only };
    let mut faults = Vec::new();
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let mut number = 1;
    for section in sections(asked)? {
        let mut job = match fio::run_of(&section, &names) {
            Ok(job) => job,
            Err(found) => {
                faults.extend(found);
                continue;
            }
        };
        // Errors in the words themselves are reported with the position of the job.
        if let Err(why) = RunArgs::read(typed(&job).iter().map(String::as_str)) {
            let what = format!("the job {:?}: {why}", section.name);
            faults.push(FioError { place: section.place.clone(), what });
        }
        let waits = waits(&mut job, &groups);
        let first = number;
        number += job.jobs;
        match groups.last_mut().filter(|_| !waits) {
            Some(group) => group.push((section, job, first)),
            None => groups.push(vec![(section, job, first)]),
        }
    }
    refused(asked, &faults)?;
    let jobs = || groups.iter().flatten();
    let writes = jobs().any(|(_, job, _)| job.writes);
    if let Some(flag) = asked.allow.iter().find(|it| *it != "--overwrite").filter(|_| !writes) {
        return Err(usage(format!("{flag} allows writing, but no job writes; omit it")));
    }
    if let Some((section, ..)) = jobs().find(|(_, job, _)| job.writes && asked.readonly) {
        return Err(usage(format!(
            "--readonly: the job {:?} writes; omit the flag or the job",
            section.name
        )));
    }
    groups.into_iter().map(|group| together(asked, group)).collect()
}

/// Whether a job starts only after all earlier jobs have ended.
fn waits(job: &mut Run, groups: &[Vec<Job>]) -> bool {
    let name = match &job.waits {
        Wait::No => return false,
        Wait::All => return true,
        Wait::For(name) => name.clone(),
    };
    let group = groups.last().map_or(&[][..], Vec::as_slice);
    let among = group.iter().any(|(section, ..)| section.name == name);
    if among && group.len() > 1 {
        job.notes.push("wait_for: the job waits for all jobs before it".to_owned());
    }
    among
}

/// The words of a job that runs alone.
fn typed(job: &Run) -> Vec<String> {
    job.targets.iter().chain(&job.words).cloned().collect()
}

/// Combines jobs that run at the same time into one run.
fn together(asked: &FioWords, mut group: Vec<Job>) -> anyhow::Result<Planned> {
    // The first job must start first, because the delays of the others count from its start.
    group.sort_by_key(|(_, job, _)| job.delay_ns);
    let begin = group[0].1.delay_ns;
    if begin > 0 {
        let note = "startdelay: the first job of a run starts without a delay";
        group[0].1.notes.push(note.to_owned());
    }
    let seed = group.iter().find_map(|(_, job, _)| job.seed);
    for (_, job, _) in &mut group {
        if job.seed.is_some() && job.seed != seed {
            job.notes.push("randseed: concurrent jobs use the seed of the first job".to_owned());
        }
    }
    if let Some(length) = named_interval(&asked.ours) {
        group.iter_mut().for_each(|(_, job, _)| job.end_for_intervals(length.0));
    }
    let several = group.len() > 1;
    if several && group.iter().any(|(_, job, _)| job.exit_all) {
        end_together(&mut group);
    }
    let flags = |job: &Run| -> Vec<String> {
        let name = ["--job-name".to_owned(), job.name.clone()];
        let mut words = job.words.clone();
        words.extend(name.into_iter().filter(|_| several));
        words.extend(intervals(asked, job));
        words
    };
    let writes = group.iter().any(|(_, job, _)| job.writes);
    let allow = asked.allow.iter().filter(|_| writes).cloned();
    let (_, first, _) = &group[0];
    let mut words = first.targets.clone();
    words.extend(flags(first));
    words.extend(seed.into_iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
    words.extend(asked.ours.iter().cloned().chain(allow));
    for (_, job, _) in &group[1..] {
        // Jobs on the same missing file share the first job's test file.
        let mut beside = if shares(first, job) { Vec::new() } else { job.targets.clone() };
        beside.extend(flags(job));
        let delay = job.delay_ns - begin;
        if delay > 0 {
            beside.extend(["--start-delay".to_owned(), time_word(delay)]);
        }
        beside.extend(of_each_job(&asked.ours));
        let text = shlex::try_join(beside.iter().map(String::as_str))
            .map_err(|_| usage("an argument of a job contains a NUL character; remove it"))?;
        words.extend(["--beside".to_owned(), text]);
    }
    let mut arguments = RunArgs::read(words.iter().map(String::as_str)).map_err(|why| {
        let (section, job, _) = &group[0];
        usage(format!("{}: the job {:?}: {why}", section.place, job.name))
    })?;
    arguments.reserve = !group.iter().any(|(_, job, _)| job.fills);
    arguments.inputs = asked.files.iter().map(PathBuf::from).collect();
    let jobs = group.into_iter().map(|(_, job, number)| (job, number)).collect();
    Ok(Planned { jobs, words, arguments })
}

/// Ends all jobs with the first one that ends (`exitall`), if that time is known.
fn end_together(group: &mut [Job]) {
    let end = |(_, job, _): &Job| Some(job.delay_ns.saturating_add(job.ends_after_ns?));
    let ends: Option<Vec<u64>> = group.iter().map(end).collect();
    let first = ends.and_then(|ends| ends.into_iter().min());
    for (_, job, _) in group {
        match first.and_then(|first| first.checked_sub(job.delay_ns)).filter(|left| *left > 0) {
            Some(left) => job.end_after(left),
            None if job.exit_all => job.notes.push(
                "exitall: each job runs until it is finished, because at least one job has no \
                 time limit"
                    .to_owned(),
            ),
            None => {}
        }
    }
}

/// Whether a job uses another job's test file, as both would use one file in fio.
fn shares(first: &Run, job: &Run) -> bool {
    let area = |run: &Run| {
        let of = |flag: &str| {
            let at = run.words.iter().position(|word| word == flag)?;
            run.words.get(at + 1).cloned()
        };
        ["--size", "--raid", "--chunk"].map(of)
    };
    !first.stands_for.is_empty() && first.stands_for == job.stands_for && area(first) == area(job)
}

/// The value of `--interval`. A wrong one is reported when the run's flags are parsed.
fn named_interval(ours: &[String]) -> Option<Nanos> {
    let at = ours.iter().position(|word| word.split('=').next() == Some(INTERVAL))?;
    let value = ours[at].split_once('=').map(|(_, value)| value);
    value.or_else(|| ours.get(at + 1).map(String::as_str))?.parse().ok()
}

/// The interval of a job's logs, unless the user set `--interval`.
fn intervals(asked: &FioWords, job: &Run) -> Vec<String> {
    let named = asked.ours.iter().any(|word| word.starts_with(INTERVAL));
    let every = job.logs.iter().map(|log| log.every_ms).min().filter(|_| !named);
    every.into_iter().flat_map(|ms| [INTERVAL.to_owned(), format!("{ms}ms")]).collect()
}

/// The halfpower flags that apply to each job separately.
fn of_each_job(ours: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = ours.iter().peekable();
    while let Some(word) = left.next() {
        let name = word.split('=').next().unwrap_or_default();
        if [INTERVAL, "--io-timeout"].contains(&name) {
            found.push(word.clone());
            found.extend(left.next_if(|_| !word.contains('=')).cloned());
        }
    }
    found
}
