//! `halfpower diagnose`: what is the matter with a disk.
//!
//! Counters come from the live machine, from a recording in the database or in a file of any tool,
//! or from a simulated device under stated loads; profiles come from the database. Both go to the
//! `diagnose` crate, which knows neither place. What was looked at live or simulated is kept with the
//! diagnosis, so that it can be diagnosed again.

mod load;
mod source;

use crate::failure::Interruption;
use crate::observing::SamplingArgs;
use crate::output::{self, Kind, OutputFile, Verdict};
use crate::profiles::Profiles;
use crate::store_args::{NOT_SAVED, StoreArgs, open_store};
use crate::values::{nanos, percent};
use anyhow::Context;
use clap::Args;
use record::{Diagnosis, Nanos, Observation};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Store, StoreError};

/// `halfpower diagnose`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower diagnose                      all disks, watched for 30 s\n  \
    halfpower diagnose /srv/db --for 5m     the disk below a directory\n  \
    halfpower diagnose night.json           a recording: iostat -o JSON, sadf, Prometheus, ...\n  \
    halfpower diagnose last --csv split.csv the newest recording of `halfpower record`\n  \
    halfpower diagnose sim:mmc,servers=8 --load \"rw=randread rate-iops=900 arrival=poisson\" \\\n      \
      --profile last                        a simulated device under a load\n\n\
    --load takes the flags of `halfpower run` as KEY=VALUE, and from=, for= (when it is there),\n\
    limit= (of its control group, requests per second), write-back=yes (the page cache's own),\n\
    name= (of the program). What the verdicts rest on: docs/diagnosis.md.")]
pub(crate) struct DiagnoseArgs {
    /// Devices or directories to watch, a saved observation (its id, the beginning of it, or last),
    /// recordings of one machine in files, or sim:NAME [default: all disks].
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Profile to hold it against: an id, its beginning, or last [default: the saved one that fits].
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// How long to watch, or to simulate.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = nanos)]
    pub(crate) length: Nanos,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
    /// A load on a simulated device, KEY=VALUE ...; once for each.
    #[arg(long, value_name = "LOAD", help_heading = "Simulation")]
    pub(crate) load: Vec<String>,
    /// Share of the processors that the host takes from the simulated machine.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0",
        help_heading = "Simulation")]
    pub(crate) steal: u8,
    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Simulation")]
    pub(crate) seed: u64,
    /// Writes both splits of the response time, interval by interval, to a CSV file.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,
    /// Print the diagnosis as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Do not save what was watched and the diagnosis.
    #[arg(long, help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
}

/// Observes or reads, diagnoses, saves, prints.
pub(crate) fn diagnose(
    arguments: &DiagnoseArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Verdict> {
    let csv = arguments.csv.as_deref();
    let csv = csv.map(|path| OutputFile::create(Kind::Moments, path, &[])).transpose()?;
    let profiles = Profiles::open(arguments.keeping.file(), arguments.profile.as_deref())?;
    let mut store = open_store(&arguments.keeping, arguments.no_save)?;
    let observed = source::observations(arguments, stop)?;
    let mut text = String::new();
    let mut rows = format!("{}\n", report::DIAGNOSIS_CSV_HEADER);
    for observation in &observed.observations {
        let diagnosis = profiles.diagnose(observation, false);
        if let Some(store) = &mut store {
            let unsaved = observed.unsaved.then_some(observation);
            keep(store, unsaved, &diagnosis).context(NOT_SAVED)?;
        }
        let table = report::diagnosis_csv(&diagnosis);
        rows.extend(table.lines().skip(1).flat_map(|line| [line, "\n"]));
        if arguments.json {
            text.push_str(&output::json(&diagnosis)?);
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&output::page(&report::diagnosis(&diagnosis)));
        }
    }
    let written = csv.map(|file| file.finish(&rows));
    output::print(&text)?;
    written.transpose()?;
    if observed.interrupted {
        let text = "the diagnosis is of what was seen by then";
        return Err(Interruption(text.to_owned()).into());
    }
    Ok(Verdict::Clean)
}

fn keep(
    store: &mut Store,
    observation: Option<&Observation>,
    diagnosis: &Diagnosis,
) -> Result<(), StoreError> {
    if let Some(observation) = observation {
        store.add_document(observation)?;
    }
    store.add_document(diagnosis)
}
