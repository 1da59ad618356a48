//! `halfpower diagnose --shared A.json B.json`: diagnoses one disk that several hosts share.

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::recordings;
use crate::store_args::SaveArgs;
use clap::Args;
use plan::session::VERSION;
use record::{Observation, SHARED_SCHEMA, SharedDiagnosis};

#[derive(Debug, Args)]
pub(crate) struct SharedArgs {
    /// Find the host that overloads a shared disk; name one recording of each host.
    #[arg(long, help_heading = "Fleet", requires = "sources",
        conflicts_with_all = ["prometheus", "load", "recorded", "csv", "for_ticket"])]
    pub(crate) shared: bool,
    /// Name of the shared disk, if a recording contains several disks: NAME on all hosts, or
    /// HOST:NAME on one host.
    #[arg(long, value_name = "DISK", requires = "shared", help_heading = "Fleet")]
    disk: Vec<String>,
}

/// Diagnoses the disk of these recordings with the chosen profile, or with the saved one that fits.
pub(crate) fn diagnose(
    asked: &SharedArgs,
    sources: &[String],
    profile: Option<&str>,
    save: &SaveArgs,
) -> anyhow::Result<Verdict> {
    let profiles = save.keeping.profiles_for_devices(profile)?;
    let (mut observations, mut names): (Vec<Observation>, _) = (Vec::new(), Vec::new());
    for (name, bytes) in recordings::files(sources, None)? {
        let read =
            import::read_recordings(&[(name.clone(), bytes)], None, &import::Options::default());
        for observation in read.map_err(|error| usage(error.to_string()))? {
            observations.push(observation);
            names.push(name.clone());
        }
    }
    let all = ::model::fleet::together(&observations, &names, &asked.disk)
        .map_err(|error| usage(error.to_string()))?;
    let found = SharedDiagnosis {
        schema: SHARED_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        hosts: all.hosts,
        filled_by: all.filled_by,
        intervals: all.intervals,
        left_out: all.left_out,
        whole: profiles.diagnose(&all.whole, VERSION, Some(0)),
    };
    output::document(save.json, &found, || output::page(&report::shared(&found).unsaved("")))
}
