//! The one way from facts to a verdict.
//!
//! A hypothesis is a row of [`super::hypotheses::ROWS`]: a name, the layer of the path that it is about, and a
//! function that looks at the facts and says how well it explains them. The answers are weights on one scale:
//! those of the device's own states (fine, slow, overloaded) sum to one, and every other row says how many times
//! as well as the states that look like it ([`States`]) it explains the same figures. A row that is proven
//! weighs [`PROOF`]. [`weigh`] adds the weights by verdict, takes the heaviest, and keeps the rest as
//! alternatives.
//!
//! It runs twice: once on each segment by itself, and once more from the beginning, when what the first run
//! found at other times and at sibling devices has become a fact. A judgement is never changed after that. A new
//! hypothesis is a file and a row; leaving one out changes no other. Rejected: questions in a fixed order that
//! replace each other's answers, because a layer that no question asked about was declared healthy.

use super::device_states::States;
use super::elsewhere::Elsewhere;
use super::facts::Segment;
use super::hypotheses::{ROWS, unlisted};
use super::judgement::{Judgement, Open, RestsOn};
use super::odds::{self, NAMED};
use record::{Doubt, Evidence, HypothesisName, LayerKind, Verdict};

/// Weight of what is proven, beside states that sum to one.
pub(crate) const PROOF: f64 = 1e4;
/// A second reason for an alternative is told from this share of the first one's weight on.
const ALSO_TOLD: f64 = 0.25;

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

/// The verdict on a segment.
pub(crate) fn weigh(segment: &Segment<'_>, elsewhere: &Elsewhere) -> Judgement {
    let states = States::of(segment);
    let facts = Facts { segment, states: &states, elsewhere };
    let mut found: Vec<Explanation> = Vec::new();
    for row in &ROWS {
        let before = found.len();
        (row.weigh)(&facts, &mut found);
        found[before..].iter_mut().for_each(|one| one.row = Some(row));
    }
    found.retain(|one| one.weight > 0.0 && one.weight.is_finite());
    found.extend(unlisted(&facts, &found));
    let mut judgement = decided(found);
    judgement.pin = if elsewhere.rate_moves_too { None } else { segment.pin() };
    for sentence in &elsewhere.sentences {
        judgement.claim.push_str(sentence);
    }
    judgement
}

/// What one verdict has for it: the sum, and its explanations, the strongest first.
struct ByVerdict {
    verdict: Verdict,
    weight: f64,
    explanations: Vec<Explanation>,
}

fn decided(found: Vec<Explanation>) -> Judgement {
    let mut all: Vec<ByVerdict> = Vec::new();
    for one in found {
        match all.iter_mut().find(|known| known.verdict == one.verdict) {
            Some(known) => {
                known.weight += one.weight;
                known.explanations.push(one);
            }
            None => all.push(ByVerdict {
                verdict: one.verdict,
                weight: one.weight,
                explanations: vec![one],
            }),
        }
    }
    for one in &mut all {
        one.explanations.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }
    // A stable sort: of equals the row that comes first in the table wins.
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let Some(heaviest) = all.first().map(|one| one.weight) else {
        return Judgement::new(Verdict::NotEnoughEvidence, "Nothing was seen.".to_owned());
    };
    // Both words for a device that is fine are one answer, which a trouble has to outweigh.
    let by_state = |one: &ByVerdict| -> f64 {
        let states = one.explanations.iter().filter(|it| it.rests_on == RestsOn::State);
        states.map(|it| it.weight).sum()
    };
    let fine: f64 = all.iter().filter(|one| one.verdict.is_fine()).map(by_state).sum();
    let first_fine = all.iter().position(|one| one.verdict.is_fine());
    let best = all.remove(first_fine.filter(|_| fine > heaviest).unwrap_or(0));
    let rest = all;
    let strongest = &best.explanations[0];
    let claim = strongest.claim.clone().unwrap_or_else(|| strongest.because.clone());
    let leaves = strongest.leaves;
    let open = |one: &ByVerdict| {
        let first = &one.explanations[0];
        let also = one.explanations[1..].iter().filter(|other| {
            other.weight >= ALSO_TOLD * first.weight && other.because != first.because
        });
        let mut because = first.because.clone();
        also.for_each(|other| because = format!("{because} {}", other.because));
        let (doubt, because, decided_by) = match leaves.filter(|_| first.rests_on == RestsOn::State)
        {
            Some((doubt, because, decided_by)) => (doubt, because.to_owned(), decided_by),
            None => (first.doubt, because, first.decided_by),
        };
        Open {
            verdict: one.verdict,
            doubt,
            odds: one.weight / best.weight,
            hypothesis: named(first),
            because,
            decided_by: decided_by.to_owned(),
        }
    };
    Judgement {
        verdict: best.verdict,
        claim,
        evidence: strongest.evidence.clone(),
        open: rest.iter().map(open).filter(|open| open.odds >= NAMED).collect(),
        rests_on: strongest.rests_on.clone(),
        hypothesis: Some(named(strongest)),
        pin: None,
    }
}

/// The row of an explanation, for the document.
fn named(one: &Explanation) -> HypothesisName {
    match one.row {
        Some(row) => HypothesisName { name: row.name.to_owned(), layer: Some(row.layer) },
        None => {
            HypothesisName { name: "something that is not in the list".to_owned(), layer: None }
        }
    }
}
