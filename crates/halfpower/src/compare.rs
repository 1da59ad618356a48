//! `halfpower compare`: what differs between two measurements.
//!
//! This file finds the documents that the words of the command line stand for; what they come to is
//! `model::compare`'s. A word is a file (documents as JSON, or a trace) or an id in the database; a
//! file wins, because it can be named otherwise and an id cannot. The database is opened only where it
//! is needed, so that two files can be compared on a machine that has none. Nothing is saved: a
//! comparison follows from its documents, which are.

use crate::failure::UsageError;
use crate::output::{self, Verdict};
use crate::store_args::{LAST, StoreArgs};
use anyhow::{Context, anyhow};
use clap::Args;
use model::{CompareOptions, Side, TraceObservation};
use record::{
    EXPERIMENT_SCHEMA, Experiment, PROFILE_SCHEMA, Profile, TRIAL_SCHEMA, Trial, format_bytes,
    hex_digest,
};
use report::TraceLine;
use serde_json::{Deserializer, Value};
use session::VERSION;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use store::{Store, StoreError};

/// `halfpower compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "A and B are trials, experiments, profiles or trace CSVs: files, or ids in the \
    database\n(\"last\" is the newest profile, \"last~1\" the one before it). Several, separated by \
    commas,\nare put together; three or more profiles or experiments count as one observation \
    each.\n\n\
    Examples:\n  \
    halfpower compare last~1 last                the two newest profiles\n  \
    halfpower compare before.json after.json --fail-on worse:10%\n  \
    halfpower compare 0192a1 0192b7              two experiments\n  \
    halfpower compare 0192a1@cache=all 0192a1@cache=device   two arms of one, block by block\n  \
    halfpower compare old.csv new.csv            traces of run --trace"
)]
pub(crate) struct CompareArgs {
    /// The first: what is held to be usual.
    #[arg(value_name = "A")]
    first: String,
    /// The second: what is judged.
    #[arg(value_name = "B")]
    second: String,
    /// Exit with 1 where any row of B is established to be worse than A by more than this.
    #[arg(long, value_name = "worse:SHARE", value_parser = fail_on)]
    fail_on: Option<f64>,
    /// Print the comparison as JSON.
    #[arg(long, help_heading = "Results")]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// Compares and prints.
pub(crate) fn compare(arguments: &CompareArgs) -> anyhow::Result<Verdict> {
    let mut library = Library { keeping: &arguments.keeping, store: None };
    let first = library.source(&arguments.first)?;
    let second = library.source(&arguments.second)?;
    let (first, second) = sides(first, second)?;
    let options = CompareOptions {
        halfpower_version: VERSION.to_owned(),
        fail_on_worse_rel: arguments.fail_on,
    };
    let comparison = model::compare(&first, &second, &options);
    let text = if arguments.json {
        output::json(&comparison)?
    } else {
        output::page(&report::comparison(&comparison))
    };
    output::print(&text)?;
    Ok(Verdict::of(!comparison.fails()))
}

/// `worse:10%`.
fn fail_on(text: &str) -> Result<f64, String> {
    let help = || "use worse: and a percentage below 100, for example worse:10%".to_owned();
    let share = text.strip_prefix("worse:").ok_or_else(help)?;
    let number = share.strip_suffix('%').ok_or_else(help)?;
    let percent: f64 = number.trim().parse().map_err(|_| help())?;
    if (0.0..100.0).contains(&percent) { Ok(percent / 100.0) } else { Err(help()) }
}

/// What a word stands for.
enum Source {
    /// Documents.
    Side(Box<Side>),
    /// Lines of a trace, with its name and the hash of its text.
    Trace(String, String, Vec<TraceLine>),
}

/// Both sides. Comments tell the cells of traces apart where the traces have any in common: the
/// format says nothing of the pattern, so that only a comment tells random from sequential. Traces
/// with other comments each (of two dates, of two machines) are compared without them.
fn sides(first: Source, second: Source) -> anyhow::Result<(Side, Side)> {
    match (first, second) {
        (Source::Side(first), Source::Side(second)) => Ok((*first, *second)),
        (Source::Trace(name_a, id_a, a), Source::Trace(name_b, id_b, b)) => {
            let comments = |lines: &[TraceLine]| -> BTreeSet<String> {
                lines.iter().map(|line| line.comment.clone()).collect()
            };
            let by_comment = comments(&a).intersection(&comments(&b)).next().is_some();
            let side = |name: &str, id: String, lines: &[TraceLine]| {
                let lines: Vec<TraceObservation> =
                    lines.iter().map(|line| observation(line, by_comment)).collect();
                Side::of_trace(name, id, &lines).with_context(|| format!("{name} has no line"))
            };
            Ok((side(&name_a, id_a, &a)?, side(&name_b, id_b, &b)?))
        }
        _ => {
            let text = "a trace can be held against a trace only: it tells neither pattern nor \
                        latency time; give the documents, or a trace of both";
            Err(UsageError(text.to_owned()).into())
        }
    }
}

/// A line of a trace as an observation of its cell.
fn observation(line: &TraceLine, by_comment: bool) -> TraceObservation {
    let size = format_bytes((line.block_kib * 1024.0) as u64);
    let file = line.file_kib.map_or(String::new(), |kib| format_bytes((kib * 1024.0) as u64));
    let depth = if line.outstanding == 0 {
        "synchronous".to_owned()
    } else {
        format!("depth {}", line.outstanding)
    };
    let threads =
        if line.threads > 1 { format!(", {} threads", line.threads) } else { String::new() };
    let comment = line.comment.trim();
    let comment =
        if by_comment && !comment.is_empty() { format!(", \"{comment}\"") } else { String::new() };
    let label = format!(
        "{} {size}, {depth}{threads}, buffering {}{comment}",
        line.op.name(),
        line.buffering
    );
    TraceObservation {
        key: format!("{label} of {file}"),
        label,
        iops: line.iops,
        requests: line.requests(),
        cpu_us_per_io: line.cpu_us_per_io(),
    }
}

/// Where documents are found.
struct Library<'a> {
    keeping: &'a StoreArgs,
    store: Option<Store>,
}

impl Library<'_> {
    /// The database, opened at its first use.
    fn store(&mut self) -> anyhow::Result<&Store> {
        if self.store.is_none() {
            self.store = Some(Store::open_existing(&self.keeping.file()?)?);
        }
        self.store.as_ref().ok_or_else(|| anyhow!("the database is not open"))
    }

    /// What an argument stands for: one document, or several separated by commas.
    fn source(&mut self, argument: &str) -> anyhow::Result<Source> {
        if Path::new(argument).is_file() {
            return self.file(argument, Path::new(argument), &BTreeMap::new());
        }
        let words: Vec<&str> = argument.split(',').filter(|word| !word.is_empty()).collect();
        let mut sides = Vec::new();
        for word in &words {
            let (name, arm) = arm(word)?;
            let source = match Path::new(name) {
                path if path.is_file() => self.file(word, path, &arm)?,
                _ => Source::Side(Box::new(self.kept(word, name, &arm)?)),
            };
            match source {
                Source::Side(side) => sides.push(*side),
                Source::Trace(..) if words.len() == 1 => return Ok(source),
                Source::Trace(..) => {
                    let text = "put the lines of several traces into one file instead";
                    return Err(UsageError(format!("{argument:?} names several: {text}")).into());
                }
            }
        }
        let side = Side::together(argument, &sides);
        Ok(Source::Side(Box::new(side.map_err(|error| unusable(argument, &error))?)))
    }

    /// A document of the database.
    fn kept(
        &mut self,
        given: &str,
        name: &str,
        arm: &BTreeMap<String, String>,
    ) -> anyhow::Result<Side> {
        let cannot = || format!("{name:?} is no file; as an id");
        let store = self.store().with_context(cannot)?;
        if let Some(id) = latest(store, name)? {
            let profile = store.profile(&id)?;
            return profile_side(given, &profile, &store.trials_of_profile(&id)?, arm);
        }
        if let Some(experiment) = found(store.document::<Experiment>(name))? {
            let trials = store.trials_of_experiment(&experiment.id)?;
            let side = Side::of_experiment(given, &experiment, &trials, arm);
            return side.map_err(|error| unusable(given, &error));
        }
        if let Some(profile) = found(store.profile(name))? {
            let trials = store.trials_of_profile(&profile.id)?;
            return profile_side(given, &profile, &trials, arm);
        }
        match found(store.trial(name))? {
            Some(trial) => trial_side(given, &[trial], arm),
            None => {
                let path = store.path().display();
                let text = format!(
                    "{name:?} is neither a file nor the id of a profile, an experiment or a trial in \
                     {path}; `halfpower profile list` shows profiles"
                );
                Err(UsageError(text).into())
            }
        }
    }

    /// What a file holds.
    fn file(
        &mut self,
        given: &str,
        path: &Path,
        arm: &BTreeMap<String, String>,
    ) -> anyhow::Result<Source> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {path:?}; name a document or a trace"))?;
        if !text.trim_start().starts_with(['{', '[']) {
            let lines = report::read_trace(&text)
                .map_err(|error| UsageError(format!("{path:?} is no document, and {error}")))?;
            return Ok(Source::Trace(given.to_owned(), hex_digest(&text), lines));
        }
        let documents = Documents::read(&text).with_context(|| format!("cannot use {path:?}"))?;
        self.side(given, documents, arm).map(|side| Source::Side(Box::new(side)))
    }

    /// The side that the documents of a file make.
    fn side(
        &mut self,
        given: &str,
        documents: Documents,
        arm: &BTreeMap<String, String>,
    ) -> anyhow::Result<Side> {
        let Documents { experiments, profiles, mut trials } = documents;
        let mut sides = Vec::new();
        for experiment in &experiments {
            let known: BTreeSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
            let absent = experiment.done.iter().any(|done| !known.contains(done.trial_id.as_str()));
            if absent && let Ok(store) = self.store() {
                let more =
                    experiment.done.iter().filter_map(|done| store.trial(&done.trial_id).ok());
                trials.extend(more.collect::<Vec<Trial>>());
            }
            let side = Side::of_experiment(given, experiment, &trials, arm);
            sides.push(side.map_err(|error| unusable(given, &error))?);
        }
        for profile in &profiles {
            sides.push(profile_side(given, profile, &[], arm)?);
        }
        if sides.is_empty() {
            sides.push(trial_side(given, &trials, arm)?);
        }
        Side::together(given, &sides).map_err(|error| unusable(given, &error))
    }
}

/// The documents of a file: one, an array, or one after the other.
#[derive(Default)]
struct Documents {
    experiments: Vec<Experiment>,
    profiles: Vec<Profile>,
    trials: Vec<Trial>,
}

impl Documents {
    fn read(text: &str) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for value in Deserializer::from_str(text).into_iter::<Value>() {
            all.add(value.context("it is no JSON of this program")?)?;
        }
        Ok(all)
    }

    fn add(&mut self, value: Value) -> anyhow::Result<()> {
        if let Value::Array(values) = value {
            return values.into_iter().try_for_each(|value| self.add(value));
        }
        let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default().to_owned();
        let unreadable = || format!("its document {schema} does not fit this program");
        match schema.as_str() {
            TRIAL_SCHEMA => {
                self.trials.push(serde_json::from_value(value).with_context(unreadable)?);
            }
            PROFILE_SCHEMA => {
                self.profiles.push(serde_json::from_value(value).with_context(unreadable)?);
            }
            EXPERIMENT_SCHEMA => {
                self.experiments.push(serde_json::from_value(value).with_context(unreadable)?);
            }
            _ => {
                let text = format!(
                    "it holds {schema:?}, which is none of {TRIAL_SCHEMA}, {PROFILE_SCHEMA} and \
                     {EXPERIMENT_SCHEMA}"
                );
                return Err(UsageError(text).into());
            }
        }
        Ok(())
    }
}

/// `NAME@axis=level@axis=level`.
fn arm(word: &str) -> anyhow::Result<(&str, BTreeMap<String, String>)> {
    if Path::new(word).is_file() {
        return Ok((word, BTreeMap::new()));
    }
    let mut parts = word.split('@');
    let name = parts.next().unwrap_or_default();
    let levels = parts.map(|part| {
        let (axis, level) = part.split_once('=').ok_or_else(|| {
            UsageError(format!("{word:?}: use NAME@AXIS=LEVEL, for example 0192a1@cache=all"))
        })?;
        Ok((axis.to_owned(), level.to_owned()))
    });
    Ok((name, levels.collect::<Result<_, UsageError>>()?))
}

/// The id of the newest profile, or of one before it, where a name says so.
fn latest(store: &Store, name: &str) -> anyhow::Result<Option<String>> {
    let Some(rest) = name.strip_prefix(LAST) else { return Ok(None) };
    let back = match rest.strip_prefix('~') {
        None if rest.is_empty() => Some(0),
        None => None,
        Some(number) => number.parse::<usize>().ok(),
    };
    let Some(back) = back else { return Ok(None) };
    let rows = store.profiles()?;
    let row = rows.iter().rev().nth(back).ok_or_else(|| {
        UsageError(format!("{name:?}: there are {} profiles in the database", rows.len()))
    })?;
    Ok(Some(row.id.clone()))
}

/// A document, or `None` where there is none of this kind.
fn found<D>(result: Result<D, StoreError>) -> anyhow::Result<Option<D>> {
    match result {
        Ok(document) => Ok(Some(document)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn profile_side(
    given: &str,
    profile: &Profile,
    trials: &[Trial],
    arm: &BTreeMap<String, String>,
) -> anyhow::Result<Side> {
    refuse_arm(given, arm)?;
    Side::of_profile(given, profile, trials).map_err(|error| unusable(given, &error))
}

fn trial_side(
    given: &str,
    trials: &[Trial],
    arm: &BTreeMap<String, String>,
) -> anyhow::Result<Side> {
    refuse_arm(given, arm)?;
    Side::of_trials(given, trials).map_err(|error| unusable(given, &error))
}

fn refuse_arm(given: &str, arm: &BTreeMap<String, String>) -> anyhow::Result<()> {
    if arm.is_empty() {
        return Ok(());
    }
    Err(UsageError(format!("{given:?}: only an experiment has axes to pick by")).into())
}

fn unusable(given: &str, error: &model::SideError) -> anyhow::Error {
    UsageError(format!("{given:?} cannot be compared: {error}")).into()
}
