//! `halfpower run` in fio's language: job files, or fio's own command line.
//!
//! A job becomes the words of `run` ([`fio`]), which are printed and read as if they had been typed, so
//! that there is one way to a trial. Flags about results and safety may stand beside.

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::run;
use crate::run_args::RunArgs;
use ::record::Trial;
use anyhow::Context;
use fio::{FileKind, FioError, Run, Section, Setting};
use session::StopFlag;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use target::OutputFile;

/// Flags of `run` beside fio's command line, and whether a value follows.
const OURS: &[(&str, bool)] = &[
    ("json", false),
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

/// Runs the jobs, one after the other.
///
/// # Errors
/// Before anything runs, if any of them cannot be run as it is asked for; else as a run.
pub(crate) fn run(mut asked: Asked, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let as_json = match asked.format.as_deref() {
        None | Some("normal") => false,
        Some("json" | "json+") => true,
        Some(_) => return Err(usage("--output-format: use normal, json or json+")),
    };
    let file = if as_json { take_output(&mut asked.ours) } else { None };
    let file = OutputFile::claim(&output::FIO_JSON, file.as_deref(), &mut Vec::new())?;
    let jobs = planned(&asked)?;
    let mut verdict = Verdict::Clean;
    let mut done: Vec<(String, Trial)> = Vec::new();
    let mut failed = None;
    for (job, arguments) in &jobs {
        let words: Vec<String> = job.words.iter().map(|word| quoted(word)).collect();
        output::remark(&format!("job {}: halfpower run {}", job.name, words.join(" ")));
        job.notes.iter().for_each(|note| output::remark(&format!("  {note}")));
        let mut trials = Vec::new();
        let found = run::run_into(arguments, stop, as_json.then_some(&mut trials));
        done.extend(trials.into_iter().map(|trial| (job.name.clone(), trial)));
        match found.with_context(|| format!("the job {:?}", job.name)) {
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
fn planned(asked: &Asked) -> anyhow::Result<Vec<(Run, RunArgs)>> {
    let mut jobs: Vec<(Run, RunArgs)> = Vec::new();
    for section in sections(asked)? {
        let job = fio::run_of(&section, &kind_of).map_err(|error| usage(error.to_string()))?;
        if let Some((before, _)) = jobs.last().filter(|_| !job.waits) {
            return Err(usage(format!(
                "{}: the jobs {:?} and {:?} run at the same time in fio, which is not supported yet; \
                 write stonewall into the second, or run one alone with --section NAME",
                section.place, before.name, job.name
            )));
        }
        let allow = asked.allow.iter().filter(|_| job.writes);
        let words = job.words.iter().chain(&asked.ours).chain(allow).map(String::as_str);
        let arguments = RunArgs::read(words)
            .map_err(|why| usage(format!("{}: the job {:?}: {why}", section.place, job.name)))?;
        jobs.push((job, arguments));
    }
    if let Some(flag) = asked.allow.first().filter(|_| !jobs.iter().any(|(job, _)| job.writes)) {
        return Err(usage(format!("{flag} allows writing, and no job writes; leave it out")));
    }
    Ok(jobs)
}

/// The jobs of all files and of the command line.
fn sections(asked: &Asked) -> anyhow::Result<Vec<Section>> {
    let wrong = |error: FioError| usage(error.to_string());
    let mut found = Vec::new();
    for file in &asked.files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| usage(format!("cannot read the job file {file:?}: {error}")))?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let include = |name: &str| {
            std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())
        };
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

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=%+@".contains(letter);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
