//! Combines the weights of all hypotheses on a segment into one judgement: see [`super::engine`].

use super::device_states::States;
use super::elsewhere::Elsewhere;
use super::engine::{Explanation, Facts};
use super::facts::Segment;
use super::hypotheses::{ROWS, unlisted};
use super::judgement::{Judgement, Open, RestsOn};
use super::odds::NAMED;
use record::{HypothesisName, Verdict};

/// Minimum weight of a second reason that is reported, as a share of the first one's weight.
const ALSO_TOLD: f64 = 0.25;

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
    if segment.programs_hardly_wait() {
        found.retain(|one| !needs_a_waiter(one));
    }
    found.extend(unlisted(&facts, &found));
    let mut judgement = decided(found);
    judgement.pin = if elsewhere.rate_moves_too { None } else { segment.pin() };
    for sentence in &elsewhere.sentences {
        judgement.claim.push_str(sentence);
    }
    judgement
}

/// Whether a verdict implies that requests wait for each other or for a limit. A throttle is exempt: it holds
/// requests where the device does not count them, and neither does the pressure if they are asynchronous.
fn needs_a_waiter(one: &Explanation) -> bool {
    let throttled = matches!(one.rests_on, RestsOn::Limit(_));
    let queued =
        [Verdict::Capped, Verdict::Overloaded, Verdict::SlowAndOverloaded].contains(&one.verdict);
    queued && !throttled
}

/// The total weight of one verdict and its explanations, the strongest first.
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
    // The sort is stable: among equals the row that comes first in the table wins.
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let Some(heaviest) = all.first().map(|one| one.weight) else {
        return Judgement::new(Verdict::NotEnoughEvidence, "Nothing was seen.".to_owned());
    };
    // The two verdicts for a healthy device count as one: a problem must outweigh both together.
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

/// The row of an explanation, as the document names it.
fn named(one: &Explanation) -> HypothesisName {
    match one.row {
        Some(row) => HypothesisName { name: row.name.to_owned(), layer: Some(row.layer) },
        None => {
            HypothesisName { name: "something that is not in the list".to_owned(), layer: None }
        }
    }
}
