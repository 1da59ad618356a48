//! `halfpower profile`: what is saved.

use crate::output::{self, Verdict};
use crate::store_args::StoreArgs;
use crate::validate::{ValidateArgs, validate};
use clap::Subcommand;
use record::{HistogramSnapshot, Measured};
use session::StopFlag;

/// What can be done with saved profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileAction {
    /// List the saved profiles.
    List {
        #[command(flatten)]
        keeping: StoreArgs,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Hold one against loads that are no part of it: predicts, measures, compares.
    Validate(ValidateArgs),
    /// Show one.
    Show {
        /// Its id, or the beginning of it; "last" is the newest.
        id: String,
        #[command(flatten)]
        keeping: StoreArgs,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// Print the latency histograms of all cells, too: megabytes of JSON.
        #[arg(long, requires = "json")]
        with_trials: bool,
    },
}

pub(crate) fn profile(action: &ProfileAction, stop: &StopFlag) -> anyhow::Result<Verdict> {
    match action {
        ProfileAction::Validate(arguments) => validate(arguments, stop),
        ProfileAction::List { keeping, json } => {
            keeping.print_all(*json, report::profile_list_text)
        }
        ProfileAction::Show { id, keeping, json, with_trials } => {
            let mut profile = keeping.profile(id)?;
            if *json && !with_trials {
                for cell in profile.cells.iter_mut().chain(&mut profile.mixes) {
                    cell.histogram = HistogramSnapshot::default();
                }
                if let Measured::Value(commits) = &mut profile.commits {
                    for point in &mut commits.points {
                        point.histogram = HistogramSnapshot::default();
                    }
                }
                output::remark(&format!(
                    "latency histograms are left out: --with-trials prints them, `halfpower report \
                     {}` draws the trials",
                    profile.id
                ));
            }
            output::document(*json, &profile, || output::page(&report::profile(&profile, &[])))
        }
    }
}
