//! What a report says of a kept document, before it becomes a page, a ticket or a table.
//!
//! A [`Story`] has the order of a reader's questions: what was found, what to do, on which plots
//! that rests, under which conditions it holds, how to repeat it. Each kind of document has one
//! function that tells its story; the page, the Markdown, the CSV and the drawings are renderings
//! of stories, so that a new kind of document is one function more. Rejected: a template per kind
//! and rendering, which would be kinds times renderings.

mod markdown;
mod observation;
mod path;
mod verdicts;

pub use markdown::{report_csv, report_csv_header, report_markdown};

use crate::chart::Chart;
use crate::{finding, number, profile, set, target, trial};
use record::{
    Advice, Comparison, Diagnosis, Environment, Experiment, Finding, LimitsRun, Observation,
    Profile, Severity, Target, Trial, ZoneMap,
};

/// Trials given one by one, from which on each has no plots of its own.
const TRIALS_APART: usize = 6;

/// A kept document with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
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
    /// Two measurements held against each other.
    Comparison(Box<Comparison>),
    /// What an observation means.
    Diagnosis(Box<Diagnosis>),
}

/// A number that answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// The number with its interval and unit.
    pub value: String,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it is about; may be empty.
    pub subject: String,
    /// What to do.
    pub what: String,
    /// Why, and at what price.
    pub why: String,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// What it holds.
    pub title: String,
    /// Titles of its columns.
    pub columns: Vec<String>,
    /// Its rows, as long as the titles; the first column is text, the others numbers.
    pub rows: Vec<Vec<String>>,
}

/// What a report says of one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// What it is: `Profile`, `Trial`, ….
    pub kind: String,
    /// What it is of.
    pub subject: String,
    /// Its id; empty for several documents together.
    pub id: String,
    /// Whether it was measured on a simulated target.
    pub simulated: bool,
    /// The answer in a sentence.
    pub headline: String,
    /// The numbers of the answer.
    pub facts: Vec<Fact>,
    /// What to do.
    pub actions: Vec<Action>,
    /// The plots.
    pub charts: Vec<Chart>,
    /// What is not drawn and why, a sentence each.
    pub left_out: Vec<String>,
    /// Tables.
    pub sheets: Vec<Sheet>,
    /// Conclusions of the document.
    pub findings: Vec<Finding>,
    /// Conditions, by name.
    pub conditions: Vec<(String, String)>,
    /// Commands that repeat it.
    pub commands: Vec<String>,
    /// Longer texts, by name: a design.
    pub texts: Vec<(String, String)>,
}

impl Story {
    /// Whether a finding says that the numbers are not what was asked for.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Invalid)
    }

    /// The first finding that says so.
    pub(crate) fn not_valid(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.severity == Severity::Invalid)
    }

    /// Findings, the worst first, each with its label and its claim with the numbers behind it.
    pub(crate) fn sorted_findings(&self) -> Vec<(&Finding, &'static str, String)> {
        let mut sorted: Vec<&Finding> = self.findings.iter().collect();
        sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let label = |finding: &Finding| match finding.severity {
            Severity::Invalid => "not valid",
            Severity::Warning => "warning",
            Severity::Info => "note",
        };
        let told = sorted.into_iter();
        told.map(|finding| (finding, label(finding), finding::supported(finding))).collect()
    }

    pub(crate) fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.facts.push(Fact { name: name.into(), value: value.into() });
    }

    pub(crate) fn condition(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.conditions.push((name.to_owned(), text));
        }
    }

    /// Advice as what to do: why, what else there is, and what speaks against the usual rule.
    pub(crate) fn advise(&mut self, advice: &[Advice]) {
        for each in advice {
            let mut why = vec![each.because.clone()];
            why.push(match each.next_best.as_str() {
                "" => String::new(),
                other => format!("else: {other}"),
            });
            why.push(each.against_rule.clone().unwrap_or_default());
            why.retain(|text| !text.is_empty());
            self.actions.push(Action {
                subject: each.subject.clone(),
                what: each.recommendation.clone(),
                why: why.join(". "),
            });
        }
    }

    /// Target, machine, version, time and seed.
    pub(crate) fn usual_conditions(
        &mut self,
        targets: &[Target],
        environment: Option<&Environment>,
        (version, time, seed): (&str, Option<&str>, u64),
    ) {
        for each in targets {
            let what = format!("{}, {}", each.path, target::what_it_is(each));
            self.condition("target", what);
            for (name, text) in target::facts(each, environment, true) {
                self.condition(name, text);
            }
        }
        let machine = profile::environment_parts(environment);
        self.condition("machine", machine.join("; "));
        if self.simulated {
            self.condition("time", "virtual: a simulated device, no real disk");
        }
        self.condition("measured", time.map(number::when).unwrap_or_default());
        self.condition("seed", seed.to_string());
        self.condition("version", format!("halfpower {version}"));
        self.condition("id", self.id.clone());
    }
}

/// The stories of documents, in their order; trials that were given one by one are also told
/// together, where the first of them stands.
#[must_use]
pub fn stories(kept: &[Kept]) -> Vec<Story> {
    let loose: Vec<&Trial> = kept
        .iter()
        .filter_map(|kept| match kept {
            Kept::Trial(trial) => Some(&**trial),
            _ => None,
        })
        .collect();
    let mut stories = Vec::new();
    let mut together = loose.len() > 1;
    for each in kept {
        match each {
            Kept::Trial(one) => {
                if std::mem::take(&mut together) {
                    stories.push(set::story_of_trials(&loose));
                }
                if loose.len() <= TRIALS_APART {
                    stories.push(trial::story(one));
                }
            }
            Kept::Profile(profile, trials) => stories.push(profile::story(profile, trials)),
            Kept::Experiment(experiment, trials) => {
                stories.push(set::story_of_experiment(experiment, trials));
            }
            Kept::Observation(observation) => stories.push(observation::story(observation)),
            Kept::Limits(run) => stories.push(path::of_limits(run)),
            Kept::Zones(map) => stories.push(path::of_zones(map)),
            Kept::Comparison(comparison) => stories.push(verdicts::of_comparison(comparison)),
            Kept::Diagnosis(diagnosis) => stories.push(verdicts::of_diagnosis(diagnosis)),
        }
    }
    stories
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_survives_the_shell() {
        assert_eq!(quoted("/mnt/data"), "/mnt/data");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
    }
}
