//! `halfpower record FILE...`: imports the output of other tools.
//!
//! The crate `import` recognises the content of files and converts it to observations; it opens no files
//! itself. This module reads the files and queries Prometheus servers. An observation is saved and printed in
//! short; `diagnose` explains it.

use crate::failure::usage;
use crate::fio_results;
use crate::output::{self, Verdict};
use crate::recordings::{self, FormArgs};
use crate::server_args::ServerArgs;
use crate::store_args::{SaveArgs, warn_not_saved};
use ::import::{Format, Options, RangeQuery};
use anyhow::Context;
use clap::Args;
use live::prometheus::parse_range;
use plan::session::{StopFlag, VERSION};
use record::{Finding, Nanos, Observation, Trial};

/// Flags for files of other tools, and for a Prometheus server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files of other tools")]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Import a machine's data from this Prometheus server, such as `http://HOST:9090/PREFIX`.
    #[arg(long, value_name = "URL", requires = "query_range", conflicts_with = "devices")]
    pub(crate) prometheus: Option<String>,
    /// Time range to query: `START..END`, optionally `@STEP`, such as `now-2h..now@30s`.
    #[arg(long, value_name = "RANGE", requires = "prometheus", value_parser = parse_range)]
    query_range: Option<RangeQuery>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Saves files, or the responses of a server. `interval` is the interval length of a file without times.
pub(crate) fn keep(
    words: &[String],
    asked: &FilesArgs,
    interval: Option<Nanos>,
    save: &SaveArgs,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    let (form, options) = (asked.form.format, asked.form.options(interval));
    let files = recordings::files(words, form)?;
    if let Some(trials) = of_fio(&files)? {
        return keep_trials(&trials, save);
    }
    if form.is_none() {
        recordings::refuse_others(&files)?;
    }
    let mut store = save.store()?;
    let mut observations = match (&asked.prometheus, &asked.query_range) {
        (Some(address), Some(range)) => from_server(address, range, asked, &options, stop)?,
        _ => {
            // Files of one format and one machine belong together.
            ::import::read_files(&files, form, &options)?
        }
    };
    drop(files);
    observations.iter_mut().for_each(stamp);
    let text = output::documents(save.json, &observations, report::observation)?;
    let saved = store.as_mut().map_or(Ok(()), |store| {
        observations.iter().try_for_each(|observation| store.add_document(observation))
    });
    output::print(&text)?;
    if let Err(error) = saved {
        warn_not_saved(&error);
    }
    Ok(Verdict::of(observations.iter().all(|it| Finding::none_invalid(&it.findings))))
}

/// Prepares the recording of another tool to be saved. Its time is that of its first interval; null if it has no
/// dates. The same recording, imported again, has the same id. A halfpower document stays as it is.
pub(crate) fn stamp(observation: &mut Observation) {
    if observation.halfpower_version.is_empty() {
        observation.time = diagnose::first_date(observation);
        observation.halfpower_version = VERSION.to_owned();
    }
}

/// The trials of files that are all fio results; `None` if none is.
fn of_fio(files: &[(String, Vec<u8>)]) -> anyhow::Result<Option<Vec<Trial>>> {
    let mut all = Vec::new();
    for (name, bytes) in files {
        match std::str::from_utf8(bytes).ok().and_then(fio_results::trials) {
            Some(Ok(trials)) => all.extend(trials),
            Some(Err(why)) => return Err(usage(format!("{name}: {why}"))),
            None if all.is_empty() => return Ok(None),
            None => return Err(usage(format!("{name} is not a fio result"))),
        }
    }
    Ok(Some(all).filter(|all| !all.is_empty()))
}

fn keep_trials(trials: &[Trial], save: &SaveArgs) -> anyhow::Result<Verdict> {
    let mut store = save.store()?;
    let text = output::documents(save.json, trials, report::trial)?;
    let keep = |trial| store.as_mut().map_or(Ok(()), |store| store.add_document(trial));
    let saved = trials.iter().try_for_each(keep);
    output::print(&text)?;
    if let Err(error) = saved {
        warn_not_saved(&error);
    }
    Ok(Verdict::of(trials.iter().all(Trial::clean)))
}

fn from_server(
    address: &str,
    range: &RangeQuery,
    asked: &FilesArgs,
    options: &Options,
    stop: &StopFlag,
) -> anyhow::Result<Vec<Observation>> {
    let client = asked.server.client(address, stop)?;
    let query = RangeQuery { instance: asked.form.instance.clone(), ..range.clone() };
    let answers = client.answers(&query)?;
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let read = ::import::read(&answers, Some(Format::Prometheus), options);
    read.with_context(|| format!("cannot use the responses of {address}"))
}
