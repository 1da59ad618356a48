//! `halfpower profile`: what is saved.

use crate::cli::{ProfileAction, ProfileArgs};
use crate::output::{self, Verdict};
use crate::validate;
use record::{HistogramSnapshot, Profile};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Lists or shows saved profiles.
pub(crate) fn profile(arguments: &ProfileArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let style = output::style();
    let text = match &arguments.action {
        ProfileAction::Validate(arguments) => return validate::validate(arguments, stop),
        ProfileAction::List { keeping, json } => {
            let store = keeping.existing()?;
            let rows = store.list::<Profile>()?;
            let profiles: Vec<Profile> =
                rows.iter().map(|row| store.document(&row.id)).collect::<Result<_, _>>()?;
            match json {
                true => output::json(&profiles)?,
                false => report::profile_list_text(&profiles, &style),
            }
        }
        ProfileAction::Show { id, keeping, json, with_trials } => {
            let store = keeping.existing()?;
            let mut profile: Profile = store.document(id)?;
            if *json && !with_trials {
                leave_histograms_out(&mut profile);
            }
            if *json {
                output::json(&profile)?
            } else {
                output::page(&report::profile(&profile, &[]))
            }
        }
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}

/// Leaves out what a profile holds of single trials, and says where it is.
fn leave_histograms_out(profile: &mut Profile) {
    for cell in profile.cells.iter_mut().chain(&mut profile.mixes) {
        cell.histogram = HistogramSnapshot::default();
    }
    output::say(&format!(
        "halfpower: latency histograms are left out: --with-trials prints them, `halfpower report {}` \
         draws the trials",
        profile.id
    ));
}
