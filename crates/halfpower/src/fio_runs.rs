//! `halfpower run` in fio's language: job files, or fio's own command line.
//!
//! Jobs at the same time become the words of one `run` ([`fio`]), which are printed and read as if they
//! had been typed, so that there is one way to a trial. Flags about results and safety may stand beside.

use crate::extent;
use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::run;
use crate::run_args::RunArgs;
use ::record::{Trial, quoted, shell_word};
use anyhow::Context;
use fio::{FileKind, FioError, Run, Section, Setting};
use session::StopFlag;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use target::OutputFile;

/// Flags of `run` beside fio's command line, and whether a value follows.
const OURS: &[(&str, bool)] = &[
    ("json", false),
    ("verbose", false),
    ("quiet", false),
    ("no-save", false),
    ("db", true),
    ("output", true),
    ("interval", true),
    ("csv", true),
    ("sqlio-csv", true),
    ("comment", true),
    ("io-timeout", true),
    ("keep-warm-up", false),
    ("precondition", false),
    ("cpu-upper", false),
];
/// The same that allow jobs to write.
const ALLOW: &[(&str, bool)] = &[("overwrite", false), ("destroy-data-on", true)];
/// The job of a file that is run alone, as in fio.
const SECTION: &str = "section";

/// fio's word for the form of the results.
const FORMAT: &str = "output-format";
const OUTPUT: &str = "--output";

/// What was asked for in fio's language.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    format: Option<String>,
    files: Vec<String>,
    /// Options of fio.
    options: Vec<String>,
    /// Names of jobs of which no other is run.
    only: Vec<String>,
    /// Flags of `run`.
    ours: Vec<String>,
    /// The same for those that write.
    allow: Vec<String>,
}

/// The words behind `halfpower`, where they are a `run` in fio's language: they name a job file
/// (`*.fio`), or a job by `--name`.
pub(crate) fn asked(words: impl Iterator<Item = OsString>) -> Option<Asked> {
    let words: Vec<String> = words.map(|word| word.into_string().ok()).collect::<Option<_>>()?;
    let (verb, words) = words.split_first()?;
    let is_file = |word: &String| !word.starts_with('-') && word.ends_with(".fio");
    let by_name = words.iter().any(|word| word == "--name" || word.starts_with("--name="));
    if verb != "run" || !(by_name || words.iter().any(is_file)) {
        return None;
    }
    let mut asked = Asked::default();
    let mut left = words.iter().peekable();
    while let Some(word) = left.next() {
        let option = word.strip_prefix("--");
        let (name, has_value) = match option.and_then(|option| option.split_once('=')) {
            Some((name, _)) => (name, true),
            None => (option.unwrap_or_default(), false),
        };
        let is = |(own, takes): &&(&str, bool)| *own == name && (*takes || !has_value);
        let (own, allow) = (OURS.iter().find(is), ALLOW.iter().find(is));
        if is_file(word) {
            asked.files.push(word.clone());
        } else if name == SECTION || name == FORMAT {
            let value = word.split_once('=').map(|(_, value)| value.to_owned());
            let value = value.or_else(|| left.next().cloned());
            if name == SECTION {
                asked.only.extend(value);
            } else {
                asked.format = value;
            }
        } else if let Some((_, takes)) = own.or(allow) {
            let flags = if own.is_some() { &mut asked.ours } else { &mut asked.allow };
            flags.push(word.clone());
            flags.extend(left.next_if(|_| *takes && !has_value).cloned());
        } else if by_name {
            asked.options.push(word.clone());
        } else {
            // The parser of `run` says what is wrong with it.
            asked.ours.push(word.clone());
        }
    }
    Some(asked)
}

/// Jobs that run at the same time, and the run that they are.
struct Planned {
    jobs: Vec<Run>,
    words: Vec<String>,
    arguments: RunArgs,
}

/// Runs the jobs, those without a stonewall between them at the same time.
///
/// # Errors
/// Before anything runs, if any of them cannot be run as it is asked for; else as a run.
pub(crate) fn run(mut asked: Asked, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let as_json = match asked.format.as_deref() {
        None | Some("normal") => false,
        Some("json" | "json+") => true,
        Some(_) => return Err(usage("--output-format: use normal, json or json+")),
    };
    let whole = as_json || asked.ours.iter().any(|word| word == "--json");
    extent::take(&mut asked.ours, whole)?;
    let file = if as_json { take_output(&mut asked.ours) } else { None };
    let file = OutputFile::claim(&output::FIO_JSON, file.as_deref(), &mut Vec::new())?;
    let all = planned(&asked)?;
    let mut verdict = Verdict::Clean;
    let mut done: Vec<(String, Trial)> = Vec::new();
    let mut failed = None;
    for Planned { jobs, words, arguments } in &all {
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let names = names.join(", ");
        let word = if jobs.len() > 1 { "jobs" } else { "job" };
        let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        if !output::is_quiet() {
            output::remark(&format!("{word} {names}: halfpower run {}", words.join(" ")));
        }
        for job in jobs {
            let of = if jobs.len() > 1 { format!("{}: ", job.name) } else { String::new() };
            job.notes.iter().for_each(|note| output::remark(&format!("  {of}{note}")));
        }
        let mut trials = Vec::new();
        let found = run::run_into(arguments, stop, as_json.then_some(&mut trials));
        done.extend(trials.into_iter().map(|trial| (names.clone(), trial)));
        match found.with_context(|| format!("the {word} {names}")) {
            Ok(Verdict::NotClean) => verdict = Verdict::NotClean,
            Ok(Verdict::Clean) => {}
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    // Also of the jobs before one that failed.
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

/// Takes the file of the results out of our flags.
fn take_output(ours: &mut Vec<String>) -> Option<PathBuf> {
    let at = ours.iter().position(|word| word == OUTPUT || word.starts_with("--output="))?;
    let word = ours.remove(at);
    let value = word.split_once('=').map(|(_, value)| value.to_owned());
    value.or_else(|| (at < ours.len()).then(|| ours.remove(at))).map(PathBuf::from)
}

/// All jobs as runs, none of which has begun.
fn planned(asked: &Asked) -> anyhow::Result<Vec<Planned>> {
    let mut groups: Vec<Vec<(Section, Run)>> = Vec::new();
    for section in sections(asked)? {
        let job = fio::run_of(&section, &kind_of).map_err(|error| usage(error.to_string()))?;
        match groups.last_mut().filter(|_| !job.waits) {
            Some(group) => group.push((section, job)),
            None => groups.push(vec![(section, job)]),
        }
    }
    let writes = groups.iter().flatten().any(|(_, job)| job.writes);
    if let Some(flag) = asked.allow.first().filter(|_| !writes) {
        return Err(usage(format!("{flag} allows writing, and no job writes; leave it out")));
    }
    groups.into_iter().map(|group| together(asked, group)).collect()
}

/// Jobs at the same time as one run.
fn together(asked: &Asked, mut group: Vec<(Section, Run)>) -> anyhow::Result<Planned> {
    // The first is one that begins first: the others are later than it.
    group.sort_by_key(|(_, job)| job.delay_ns);
    let begin = group[0].1.delay_ns;
    if begin > 0 {
        let note = "startdelay: nothing is waited for before the first job of a run begins";
        group[0].1.notes.push(note.to_owned());
    }
    let several = group.len() > 1;
    let named = |job: &Run| -> Vec<String> {
        let name = ["--job-name".to_owned(), job.name.clone()];
        job.words.iter().cloned().chain(name.into_iter().filter(|_| several)).collect()
    };
    // What is wrong with a job is told with its place.
    for (section, job) in &group {
        RunArgs::read(job.words.iter().map(String::as_str))
            .map_err(|why| usage(format!("{}: the job {:?}: {why}", section.place, job.name)))?;
    }
    let writes = group.iter().any(|(_, job)| job.writes);
    let allow = asked.allow.iter().filter(|_| writes).cloned();
    let mut words: Vec<String> =
        named(&group[0].1).into_iter().chain(asked.ours.iter().cloned()).chain(allow).collect();
    for (_, job) in &group[1..] {
        let mut beside = named(job);
        let delay = job.delay_ns - begin;
        if delay > 0 {
            beside.extend(["--start-delay".to_owned(), format!("{delay}ns")]);
        }
        beside.extend(of_each_job(&asked.ours));
        let text = shlex::try_join(beside.iter().map(String::as_str))
            .map_err(|_| usage("a word of a job has a NUL in it; leave that out"))?;
        words.extend(["--beside".to_owned(), text]);
    }
    let mut arguments = RunArgs::read(words.iter().map(String::as_str)).map_err(|why| {
        let (section, job) = &group[0];
        usage(format!("{}: the job {:?}: {why}", section.place, job.name))
    })?;
    arguments.inputs = asked.files.iter().map(PathBuf::from).collect();
    Ok(Planned { jobs: group.into_iter().map(|(_, job)| job).collect(), words, arguments })
}

/// Those of our flags that each job has for itself.
fn of_each_job(ours: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = ours.iter().peekable();
    while let Some(word) = left.next() {
        let name = word.split('=').next().unwrap_or_default();
        if ["--interval", "--io-timeout"].contains(&name) {
            found.push(word.clone());
            found.extend(left.next_if(|_| !word.contains('=')).cloned());
        }
    }
    found
}

/// The jobs of all files and of the command line.
fn sections(asked: &Asked) -> anyhow::Result<Vec<Section>> {
    let wrong = |error: FioError| usage(error.to_string());
    let mut found = Vec::new();
    for file in &asked.files {
        let room = Cell::new(input::JOB_FILE.bytes_max());
        let read = |path: &Path| {
            let text =
                input::text(path, input::JOB_FILE).map_err(|error| error.reason.to_string())?;
            let left = room.get().checked_sub(text.len() as u64);
            room.set(left.ok_or("the job file and all that it includes are larger than 1 MiB")?);
            Ok::<_, String>(text)
        };
        let text = read(file.as_ref())
            .map_err(|why| usage(format!("cannot read the job file {}: {why}", quoted(file))))?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let include = |name: &str| read(&folder.join(name));
        let environment = |name: &str| std::env::var(name).ok();
        let mut jobs = fio::read_file(file, &text, &include, &environment).map_err(wrong)?;
        if !found.is_empty() {
            // The jobs of one file wait for those of the file before.
            let place = jobs[0].place.clone();
            let name = "stonewall".to_owned();
            jobs[0].settings.push(Setting { name, value: None, place });
        }
        found.extend(jobs);
    }
    if !asked.options.is_empty() {
        found.extend(fio::read_words(&asked.options).map_err(wrong)?);
    }
    let names: Vec<String> = found.iter().map(|section| section.name.clone()).collect();
    if let Some(missing) = asked.only.iter().find(|name| !names.contains(name)) {
        let names = names.join(", ");
        return Err(usage(format!("--{SECTION}: no job {missing:?}; there are {names}")));
    }
    found.retain(|section| asked.only.is_empty() || asked.only.contains(&section.name));
    Ok(found)
}

fn kind_of(name: &str) -> FileKind {
    match std::fs::metadata(name) {
        Ok(found) if found.is_dir() => FileKind::Folder,
        Ok(_) => FileKind::File,
        Err(_) => FileKind::Missing,
    }
}
