//! Builds the reports on saved documents.

use crate::comparison::comparison;
use crate::cost_fit::cost_fit;
use crate::diagnosis::diagnosis;
use crate::fleet::fleet;
use crate::limits::limits;
use crate::observation::observation;
use crate::prediction::prediction;
use crate::profile::profile;
use crate::requests::requests;
use crate::set::{experiment, of_trials};
use crate::settings::settings;
use crate::shared::shared;
use crate::story::Story;
use crate::trial::trial;
use crate::validation::validation;
use crate::whatif::whatif;
use crate::zones::zones;
use record::{SavedDocument, Trial};

/// Number of separately given trials from which on they have no plots of their own.
const TRIALS_APART: usize = 6;

/// The stories of documents, in their order. Trials that were given one by one also have a common
/// story, at the position of the first.
#[must_use]
pub fn stories(saved: &[SavedDocument]) -> Vec<Story> {
    let loose = saved.iter().filter_map(|saved| match saved {
        SavedDocument::Trial(trial) => Some(&**trial),
        _ => None,
    });
    let loose: Vec<&Trial> = loose.collect();
    let mut stories = Vec::new();
    let mut together = loose.len() > 1;
    for each in saved {
        let story = match each {
            SavedDocument::Trial(one) => {
                if std::mem::take(&mut together) {
                    stories.push(of_trials(&loose));
                }
                if loose.len() > TRIALS_APART {
                    continue;
                }
                trial(one)
            }
            SavedDocument::Profile(one, trials) => profile(one, trials),
            SavedDocument::Experiment(one, trials) => experiment(one, trials),
            SavedDocument::Observation(one) => observation(one),
            SavedDocument::Limits(run) => limits(run),
            SavedDocument::Zones(map) => zones(map),
            SavedDocument::Comparison(one) => comparison(one),
            SavedDocument::Diagnosis(one) => diagnosis(one),
            SavedDocument::WhatIf(one) => whatif(one),
            SavedDocument::Prediction(one) => prediction(one),
            SavedDocument::Validation(one) => validation(one),
            SavedDocument::CostFit(one) => cost_fit(one),
            SavedDocument::Settings(one) => settings(one),
            SavedDocument::Requests(one) => requests(one),
            SavedDocument::Fleet(one) => fleet(one),
            // No database contains the inner diagnosis, so its id is useless in commands.
            SavedDocument::Shared(one) => shared(one).unsaved(""),
        };
        stories.push(story);
    }
    stories
}
