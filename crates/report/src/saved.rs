//! The stories of saved documents.

use crate::comparison::comparison;
use crate::diagnosis::diagnosis;
use crate::limits::limits;
use crate::observation::observation;
use crate::profile::profile;
use crate::set::{experiment, of_trials};
use crate::story::Story;
use crate::trial::trial;
use crate::zones::zones;
use record::{Comparison, Diagnosis, Experiment, LimitsRun, Observation, Profile, Trial, ZoneMap};

/// Trials given one by one, from which on each has no plots of its own.
const TRIALS_APART: usize = 6;

/// A saved document with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// A trial.
    Trial(Box<Trial>),
    /// A profile and the trials that it rests on, as far as they are at hand.
    Profile(Box<Profile>, Vec<Trial>),
    /// An experiment and the trials of [`Experiment::done`], as far as they are at hand.
    Experiment(Box<Experiment>, Vec<Trial>),
    /// Counters over time.
    Observation(Box<Observation>),
    /// The path to a disk.
    Limits(Box<LimitsRun>),
    /// Throughput over position.
    Zones(Box<ZoneMap>),
    /// Two measurements compared with each other.
    Comparison(Box<Comparison>),
    /// What an observation means.
    Diagnosis(Box<Diagnosis>),
}

/// The stories of documents, in their order; trials that were given one by one are also told
/// together, where the first of them stands.
#[must_use]
pub fn stories(saved: &[Saved]) -> Vec<Story> {
    let loose: Vec<&Trial> = saved
        .iter()
        .filter_map(|saved| match saved {
            Saved::Trial(trial) => Some(&**trial),
            _ => None,
        })
        .collect();
    let mut stories = Vec::new();
    let mut together = loose.len() > 1;
    for each in saved {
        let story = match each {
            Saved::Trial(one) => {
                if std::mem::take(&mut together) {
                    stories.push(of_trials(&loose));
                }
                if loose.len() > TRIALS_APART {
                    continue;
                }
                trial(one)
            }
            Saved::Profile(one, trials) => profile(one, trials),
            Saved::Experiment(one, trials) => experiment(one, trials),
            Saved::Observation(one) => observation(one),
            Saved::Limits(run) => limits(run),
            Saved::Zones(map) => zones(map),
            Saved::Comparison(one) => comparison(one),
            Saved::Diagnosis(one) => diagnosis(one),
        };
        stories.push(story);
    }
    stories
}
