//! Turns facts into a verdict; no other path does.
//!
//! A hypothesis is a row of [`super::hypotheses::ROWS`]: a name, the layer of the path that it concerns, and
//! a function that weighs how well it explains the facts. All weights are on one scale. Those of the device's
//! own states (healthy, slow, overloaded) sum to one. Every other row returns how many times better it
//! explains the same figures than the states that resemble it ([`States`]). A proven row weighs [`PROOF`].
//! [`super::weighing`] adds the weights by verdict, takes the largest, and keeps the others as alternatives.
//!
//! The engine runs twice: first on each segment alone, and then again from the start, with the results of the
//! first run for other times and sibling devices as facts. A judgement never changes after that. A new
//! hypothesis is a file and a row, and removing one changes no other. Rejected: questions in a fixed order
//! that replace each other's answers, because a layer without a question was reported healthy.

use super::device_states::States;
use super::elsewhere::Elsewhere;
use super::facts::Segment;
use super::judgement::RestsOn;
use super::odds;
use record::{Doubt, Evidence, LayerKind, Verdict};

/// Weight of a proven hypothesis, compared with states that sum to one.
pub(crate) const PROOF: f64 = 1e4;

/// A row of the table of hypotheses.
#[derive(Debug)]
pub(crate) struct Hypothesis {
    /// Its claim, in a few words.
    pub(crate) name: &'static str,
    /// The layer of the path that it concerns.
    pub(crate) layer: LayerKind,
    pub(crate) weigh: Weigh,
}

/// How a hypothesis explains the facts.
#[derive(Debug)]
pub(crate) enum Weigh {
    /// Returns its explanation; `None` if the facts do not bear on it.
    One(fn(&Facts<'_, '_>) -> Option<Explanation>),
    /// Adds its explanations; none if the facts do not bear on it.
    Several(fn(&Facts<'_, '_>, &mut Vec<Explanation>)),
}

/// All facts that a hypothesis may use.
pub(crate) struct Facts<'a, 's> {
    pub(crate) segment: &'a Segment<'s>,
    pub(crate) states: &'a States,
    pub(crate) elsewhere: &'a Elsewhere,
}

/// How well a hypothesis explains the facts.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    pub(crate) verdict: Verdict,
    pub(crate) weight: f64,
    /// What leaves it open as an alternative.
    pub(crate) doubt: Doubt,
    /// The text as a verdict; `because` is used if there is none.
    pub(crate) claim: Option<String>,
    /// The text as an alternative.
    pub(crate) because: String,
    pub(crate) decided_by: &'static str,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) rests_on: RestsOn,
    /// The row that made it; `None` for one outside the table.
    pub(crate) row: Option<&'static Hypothesis>,
    /// If it is the verdict: why the device's own states remain possible.
    pub(crate) leaves: Option<(Doubt, &'static str, &'static str)>,
}

impl Explanation {
    /// An explanation that is only ever an alternative, at the odds of its doubt over the states
    /// that resemble it.
    pub(crate) fn beside(
        verdict: Verdict,
        doubt: Doubt,
        looks_like: f64,
        because: impl Into<String>,
        decided_by: &'static str,
    ) -> Self {
        Self::weighed(verdict, doubt, odds::of(doubt) * looks_like, because, decided_by)
    }

    /// The same with a weight of its own.
    pub(crate) fn weighed(
        verdict: Verdict,
        doubt: Doubt,
        weight: f64,
        because: impl Into<String>,
        decided_by: &'static str,
    ) -> Self {
        Self {
            verdict,
            weight,
            doubt,
            claim: None,
            because: because.into(),
            decided_by,
            evidence: Vec::new(),
            rests_on: RestsOn::Means,
            row: None,
            leaves: None,
        }
    }

    /// An explanation that displaces the states that resemble it. They keep the odds of its doubt.
    pub(crate) fn instead(
        verdict: Verdict,
        doubt: Doubt,
        looks_like: f64,
        claim: String,
        (because, decided_by): (&'static str, &'static str),
    ) -> Self {
        let weight = looks_like / odds::of(doubt);
        let leaves = Some((doubt, because, decided_by));
        Self { leaves, ..Self::weighed(verdict, doubt, weight, claim, decided_by) }
    }

    pub(crate) fn resting_on(mut self, rests_on: RestsOn) -> Self {
        self.rests_on = rests_on;
        self
    }

    pub(crate) fn with(mut self, numbers: &[super::judgement::Number]) -> Self {
        self.evidence.extend(super::judgement::numbers(numbers));
        self
    }
}
