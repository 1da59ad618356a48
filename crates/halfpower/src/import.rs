//! `halfpower import`: counters that other tools kept.
//!
//! Files are read, told apart and turned into observations by the crate of that name, which knows
//! no files; a Prometheus server is asked here and its answers go the same way. An observation is
//! kept and printed in short; what it means is `diagnose`'s to say.

use crate::failure::usage;
use crate::fio_results;
use crate::output::{self, Verdict};
use crate::recordings;
use crate::server_args::ServerArgs;
use crate::store_args::{SaveArgs, warn_not_saved};
use crate::values::{one_of, unit};
use ::import::{Format, Options, RangeQuery, parse_moment, parse_utc_offset};
use anyhow::Context;
use clap::Args;
use prometheus::parse_range;
use record::{Finding, Nanos, Observation, Trial};
use session::{self, StopFlag, VERSION};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostat -o JSON -x -t 1 60 > night.json; halfpower import night.json\n  \
    halfpower import ticket.txt                  tables of iostat or sar that were pasted\n  \
    sadf -j /var/log/sysstat/sa12 -- -d | halfpower import -\n  \
    halfpower import first.prom second.prom      two scrapes of node_exporter\n  \
    halfpower import disks.csv                   typeperf, relog or perfmon\n  \
    halfpower import fio.json                    results of fio (--output-format=json+), as trials\n  \
    halfpower import --prometheus http://host:9090 --query-range now-2h..now@30s \\\n    \
      --instance db1:9100\n\n\
    What each form holds and lacks: docs/importing.md.")]
pub(crate) struct ImportArgs {
    /// Files; - is standard input.
    #[arg(required_unless_present = "prometheus", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the files are: iostat (JSON), iostat-text, sadf-json, sadf-lines, sadf-pairs, sadf-xml, sar,
    /// diskstats, node-exporter, prometheus, telegraf, collectd, windows or observation [default: by their content].
    #[arg(long, value_name = "FORM", value_parser = one_of(&Format::ALL, Format::name))]
    format: Option<Format>,
    /// Zone of times that name none, such as +02:00 [default: UTC].
    #[arg(long, value_name = "OFFSET", value_parser = utc_offset, allow_hyphen_values = true)]
    utc_offset: Option<i64>,
    /// Length of the intervals of a file without times.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Nanos>,
    /// When a scrape was made that does not say so itself; once for each, in their order.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    timestamp: Vec<u64>,
    /// Address of a Prometheus server, such as `http://HOST:9090/PREFIX`.
    #[arg(long, value_name = "URL", requires = "query_range", conflicts_with = "files")]
    prometheus: Option<String>,
    /// Span of time to ask the server for: `START..END` and perhaps `@STEP`, such as `now-2h..now@30s`.
    #[arg(long, value_name = "RANGE", requires = "prometheus", value_parser = parse_range)]
    query_range: Option<RangeQuery>,
    #[command(flatten)]
    server: ServerArgs,
    /// The machine to take, where there are several: Prometheus' label instance.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    #[command(flatten)]
    save: SaveArgs,
}

pub(crate) fn import(arguments: &ImportArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let files = recordings::files(&arguments.files, arguments.format)?;
    if let Some(trials) = of_fio(&files)? {
        return keep_trials(&trials, arguments);
    }
    if arguments.format.is_none() {
        recordings::refuse_others(&files)?;
    }
    let mut store = arguments.save.store()?;
    let mut observations = match (&arguments.prometheus, &arguments.query_range) {
        (Some(address), Some(range)) => from_server(address, range, arguments, stop)?,
        _ => {
            // Those of one form and one machine belong together.
            ::import::read_files(&files, arguments.format, &options(arguments))?
        }
    };
    drop(files);
    // A document of ours keeps what it is; others get the time of their import. The same recording, imported
    // again, has the same id and takes the place of the earlier one.
    for observation in observations.iter_mut().filter(|it| it.halfpower_version.is_empty()) {
        observation.time = session::identity(None).1;
        observation.halfpower_version = VERSION.to_owned();
    }
    let text = output::documents(arguments.save.json, &observations, report::observation)?;
    let saved = store.as_mut().map_or(Ok(()), |store| {
        observations.iter().try_for_each(|observation| store.add_document(observation))
    });
    output::print(&text)?;
    if let Err(error) = saved {
        warn_not_saved(&error);
    }
    Ok(Verdict::of(observations.iter().all(|it| Finding::none_invalid(&it.findings))))
}

/// The trials of files that are all results of fio; `None` where none is.
fn of_fio(files: &[(String, Vec<u8>)]) -> anyhow::Result<Option<Vec<Trial>>> {
    let mut all = Vec::new();
    for (name, bytes) in files {
        match std::str::from_utf8(bytes).ok().and_then(fio_results::trials) {
            Some(Ok(trials)) => all.extend(trials),
            Some(Err(why)) => return Err(usage(format!("{name}: {why}"))),
            None if all.is_empty() => return Ok(None),
            None => return Err(usage(format!("{name} is no result of fio"))),
        }
    }
    Ok(Some(all).filter(|all| !all.is_empty()))
}

fn keep_trials(trials: &[Trial], arguments: &ImportArgs) -> anyhow::Result<Verdict> {
    let mut store = arguments.save.store()?;
    let text = output::documents(arguments.save.json, trials, report::trial)?;
    let keep = |trial| store.as_mut().map_or(Ok(()), |store| store.add_document(trial));
    let saved = trials.iter().try_for_each(keep);
    output::print(&text)?;
    if let Err(error) = saved {
        warn_not_saved(&error);
    }
    Ok(Verdict::of(trials.iter().all(Trial::clean)))
}

fn options(arguments: &ImportArgs) -> Options {
    Options {
        utc_offset_s: arguments.utc_offset,
        interval_ns: arguments.interval.map(|interval| interval.0),
        scrape_times_ns: arguments.timestamp.clone(),
        instance: arguments.instance.clone(),
    }
}

fn from_server(
    address: &str,
    range: &RangeQuery,
    arguments: &ImportArgs,
    stop: &StopFlag,
) -> anyhow::Result<Vec<Observation>> {
    let client = arguments.server.client(address, stop)?;
    let query = RangeQuery { instance: arguments.instance.clone(), ..range.clone() };
    let answers = client.answers(&query)?;
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let read = ::import::read(&answers, Some(Format::Prometheus), &options(arguments));
    read.with_context(|| format!("cannot import from {address}"))
}

/// `+02:00`, `-0330`, `Z`, in seconds.
fn utc_offset(text: &str) -> Result<i64, String> {
    parse_utc_offset(text).ok_or_else(|| "use +HH:MM or -HH:MM".to_owned())
}

fn interval(text: &str) -> Result<Nanos, String> {
    match unit(text)? {
        Nanos(0) => Err("it must be more than 0, for example 1s".to_owned()),
        length => Ok(length),
    }
}

fn moment(text: &str) -> Result<u64, String> {
    parse_moment(text)
        .ok_or_else(|| "use a time such as 2026-05-01T10:00:00Z, or seconds since 1970".to_owned())
}
