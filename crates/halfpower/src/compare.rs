//! `halfpower compare`: finds what differs between two measurements.
//!
//! `store` finds the documents, `model` compares them; this module reads traces. Nothing is saved, because a
//! comparison can be repeated from its saved documents.

use crate::failure::usage;
use crate::output::Verdict;
use crate::recognise::{self, FileForm};
use crate::store_args::ViewArgs;
use clap::Args;
use engine::input;
use model::{CompareOptions, Side, SideError, TraceObservation};
use plan::session::VERSION;
use record::{DocumentKind, format_bytes, hex_digest, quoted};
use report::TraceLine;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use store::{LAST, Library, StoreError};

#[derive(Debug, Args)]
#[command(
    after_help = "A and B are files, or ids in the database (\"last\" is the newest profile,\n\
    \"last~1\" the profile before it). Each is a trial, an experiment, a profile or a\n\
    CSV of trials (--sqlio-csv). Results separated by commas are combined; each of\n\
    three or more profiles or experiments counts as one observation.\n\n\
    Examples:\n  \
    halfpower compare last~1 last                the two newest profiles\n  \
    halfpower compare before.json after.json --fail-on worse:10%\n  \
    halfpower compare 0192a1 0192b7              two experiments\n  \
    halfpower compare fio.json 0192b7            a result of fio and a trial\n  \
    halfpower compare 0192a1@cache=all 0192a1@cache=device   block by block\n  \
    halfpower compare old.csv new.csv            trials as CSV"
)]
pub(crate) struct CompareArgs {
    /// The baseline result.
    #[arg(value_name = "A")]
    first: String,
    /// The result to compare with the baseline.
    #[arg(value_name = "B")]
    second: String,
    /// Exit with 1 if the whole error bar of any row shows B worse than A by more than this share.
    #[arg(long, value_name = "worse:SHARE", value_parser = fail_on)]
    fail_on: Option<f64>,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn compare(arguments: &CompareArgs) -> anyhow::Result<Verdict> {
    let library = arguments.view.keeping.library()?;
    let first = source(&library, &arguments.first)?;
    let second = source(&library, &arguments.second)?;
    let (first, second) = sides(first, second)?;
    let options = CompareOptions {
        halfpower_version: VERSION.to_owned(),
        fail_on_worse_rel: arguments.fail_on,
    };
    let comparison = model::compare(&first, &second, &options);
    arguments.view.show(&comparison, &report::comparison(&comparison).unsaved(""))?;
    Ok(Verdict::of(!comparison.fails() && !comparison.is_nothing()))
}

/// Parses `worse:10%`.
fn fail_on(text: &str) -> Result<f64, String> {
    let percent = text.strip_prefix("worse:").and_then(|share| share.strip_suffix('%'));
    let percent = percent.and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.filter(|it| (0.0..100.0).contains(it)).map(|percent| percent / 100.0);
    share.ok_or_else(|| "use worse: and a percentage below 100, for example worse:10%".to_owned())
}

enum Source {
    Side(Box<Side>),
    /// Lines of a trace, with its name and the hash of its text.
    Trace(String, String, Vec<TraceLine>),
}

/// What an argument names: a file, a document, or several documents separated by commas.
fn source(library: &Library, argument: &str) -> anyhow::Result<Source> {
    let words: Vec<&str> = match Path::new(argument).is_file() {
        true => vec![argument],
        false => argument.split(',').filter(|word| !word.is_empty()).collect(),
    };
    let mut sides = Vec::new();
    for word in &words {
        let (name, arm) = arm(word)?;
        if let Some(trace) = trace(name)? {
            if words.len() == 1 {
                return Ok(trace);
            }
            let text = "combine their lines into one file";
            return Err(usage(format!("{argument:?} names several traces: {text}")));
        }
        let kinds: &[DocumentKind] = match name.starts_with(LAST) {
            true => &[DocumentKind::Profile],
            false => &[DocumentKind::Experiment, DocumentKind::Profile, DocumentKind::Trial],
        };
        let documents = library.named(name, kinds).map_err(|error| match error {
            StoreError::NotFound { .. } | StoreError::NoFile(_) => not_found(library, name, &error),
            other => other.into(),
        })?;
        let side = Side::of_documents(word, &documents, &arm);
        sides.push(side.map_err(|error| unusable(word, &error))?);
    }
    let side = Side::together(argument, &sides).map_err(|error| unusable(argument, &error))?;
    Ok(Source::Side(Box::new(side)))
}

/// Why no document that can be compared has this name: perhaps a document of another kind has it.
fn not_found(library: &Library, name: &str, error: &StoreError) -> anyhow::Error {
    // `last` is the newest profile.
    let other = (!name.starts_with(LAST)).then(|| library.named(name, &DocumentKind::ALL));
    let kind = other.and_then(Result::ok).and_then(|found| found.first()?.kind());
    let name = quoted(name);
    usage(match kind {
        Some(kind) => format!(
            "{name} is a document of kind {}, but compare takes only trials, experiments and \
             profiles; to see whether a change helped, compare a check or run before it with one \
             after it, or print both documents with `halfpower show`",
            kind.name()
        ),
        None => format!("{name} is neither a file nor the id of a document: {error}"),
    })
}

/// The trace in a file, if it is one; no document begins like a trace.
fn trace(name: &str) -> anyhow::Result<Option<Source>> {
    let path = Path::new(name);
    if !path.is_file() {
        return Ok(None);
    }
    match FileForm::of_file(path) {
        Some(form) if recognise::has_documents(form) => return Ok(None),
        Some(form) if form != FileForm::TrialLines => {
            if let Some(why) = form.refusal(name) {
                return Err(usage(why));
            }
        }
        _ => {}
    }
    let text = input::text(path, input::TRIAL_LINES)?;
    let lines = report::read_trace(&text).map_err(|error| {
        usage(format!("{} is not a halfpower document, and {error}", quoted(name)))
    })?;
    if lines.is_empty() {
        return Err(usage(format!(
            "{} is empty; name a document or a CSV of trials",
            quoted(name)
        )));
    }
    Ok(Some(Source::Trace(name.to_owned(), hex_digest(&text), lines)))
}

/// Both sides of the comparison. The trace format does not record the pattern. If two traces share any
/// comment, comments therefore distinguish their cells. Otherwise the comments are dates or machines, for
/// example, and are ignored.
fn sides(first: Source, second: Source) -> anyhow::Result<(Side, Side)> {
    match (first, second) {
        (Source::Side(first), Source::Side(second)) => Ok((*first, *second)),
        (Source::Trace(name_a, id_a, a), Source::Trace(name_b, id_b, b)) => {
            let of_b: BTreeSet<&str> = b.iter().map(|line| line.comment.as_str()).collect();
            let by_comment = a.iter().any(|line| of_b.contains(line.comment.as_str()));
            let side = |name: &str, id: String, lines: &[TraceLine]| {
                let lines = lines.iter().map(|line| observation(line, by_comment));
                let side = Side::of_trace(name, id, &lines.collect::<Vec<_>>());
                side.map_err(|error| unusable(name, &error))
            };
            Ok((side(&name_a, id_a, &a)?, side(&name_b, id_b, &b)?))
        }
        _ => Err(usage(
            "a trace has no pattern and no latency, so it can be compared only with another \
             trace; name two documents or two traces",
        )),
    }
}

fn observation(line: &TraceLine, by_comment: bool) -> TraceObservation {
    let file = line.file_kib.map_or(String::new(), |kib| format_bytes((kib * 1024.0) as u64));
    let label = line.cell(by_comment);
    TraceObservation {
        key: format!("{label} of {file}"),
        label,
        iops: line.iops,
        requests: line.requests(),
        cpu_us_per_io: line.cpu_us_per_io(),
    }
}

/// Parses `NAME@axis=level@axis=level`.
fn arm(word: &str) -> anyhow::Result<(&str, BTreeMap<String, String>)> {
    if Path::new(word).is_file() {
        return Ok((word, BTreeMap::new()));
    }
    let mut parts = word.split('@');
    let name = parts.next().unwrap_or_default();
    let levels = parts.map(|part| {
        let (axis, level) = part.split_once('=').ok_or_else(|| {
            usage(format!("{}: use NAME@AXIS=LEVEL, for example 0192a1@cache=all", quoted(word)))
        })?;
        Ok((axis.to_owned(), level.to_owned()))
    });
    Ok((name, levels.collect::<anyhow::Result<_>>()?))
}

fn unusable(given: &str, error: &SideError) -> anyhow::Error {
    usage(format!("{} cannot be compared: {error}", quoted(given)))
}
