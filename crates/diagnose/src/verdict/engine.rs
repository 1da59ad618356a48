//! The one way from facts to a verdict.
//!
//! A hypothesis is a row of [`super::hypotheses::ROWS`]: a name, the layer of the path that it is about, and a
//! function that looks at the facts and says how well it explains them. The answers are weights on one scale:
//! those of the device's own states (fine, slow, overloaded) sum to one, and every other row says how many times
//! as well as the states that look like it ([`States`]) it explains the same figures. A row that is proven
//! weighs [`PROOF`]. [`super::weighing`] adds the weights by verdict, takes the heaviest, and keeps the rest as
//! alternatives.
//!
//! It runs twice: once on each segment by itself, and once more from the beginning, when what the first run
//! found at other times and at sibling devices has become a fact. A judgement is never changed after that. A new
//! hypothesis is a file and a row; leaving one out changes no other. Rejected: questions in a fixed order that
//! replace each other's answers, because a layer that no question asked about was declared healthy.

use super::device_states::States;
use super::elsewhere::Elsewhere;
use super::facts::Segment;
use super::judgement::RestsOn;
use super::odds;
use record::{Doubt, Evidence, LayerKind, Verdict};

/// Weight of what is proven, beside states that sum to one.
pub(crate) const PROOF: f64 = 1e4;

/// A row of the table of hypotheses.
#[derive(Debug)]
pub(crate) struct Hypothesis {
    /// What it claims, in a few words.
    pub(crate) name: &'static str,
    /// Where on the path it lies.
    pub(crate) layer: LayerKind,
    /// What it explains; nothing where the facts do not speak of it.
    pub(crate) weigh: fn(&Facts<'_, '_>, &mut Vec<Explanation>),
}

/// All that a hypothesis may look at.
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
    /// What leaves it open where it is an alternative.
    pub(crate) doubt: Doubt,
    /// As a verdict; `because` where there is none.
    pub(crate) claim: Option<String>,
    /// As an alternative.
    pub(crate) because: String,
    pub(crate) decided_by: &'static str,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) rests_on: RestsOn,
    /// Whose it is; none of what is in no list.
    pub(crate) row: Option<&'static Hypothesis>,
    /// Why the device's own states stay possible beside it, where it is the verdict.
    pub(crate) leaves: Option<(Doubt, &'static str, &'static str)>,
}

impl Explanation {
    /// One that only ever is an alternative, at the odds of its doubt over what it looks like.
    pub(crate) fn beside(
        verdict: Verdict,
        doubt: Doubt,
        looks_like: f64,
        because: impl Into<String>,
        decided_by: &'static str,
    ) -> Self {
        Self::weighed(verdict, doubt, odds::of(doubt) * looks_like, because, decided_by)
    }

    /// The same at a weight of its own.
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

    /// One that displaces the states that look like it, which keep the odds of its doubt.
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
