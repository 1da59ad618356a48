//! Combines the weights of all hypotheses on a segment into one judgement: see [`super::engine`].

use super::device_states::States;
use super::elsewhere::Elsewhere;
use super::engine::{Explanation, Facts, Weigh};
use super::facts::Segment;
use super::hypotheses::{ROWS, unlisted};
use super::judgement::{Judgement, RestsOn};
use super::odds::NAMED;
use record::{Alternative, HypothesisName, Verdict};
use stats::grouped;

/// Minimum weight of a second reason that is reported, as a share of the first one's weight.
const ALSO_TOLD: f64 = 0.25;

/// The verdict on a segment.
pub(crate) fn weigh(segment: &Segment<'_>, elsewhere: &Elsewhere) -> Judgement {
    let states = States::of(segment);
    let facts = Facts { segment, states: &states, elsewhere };
    let mut found: Vec<Explanation> = Vec::new();
    for row in &ROWS {
        let before = found.len();
        match row.weigh {
            Weigh::One(weigh) => found.extend(weigh(&facts)),
            Weigh::Several(weigh) => weigh(&facts, &mut found),
        }
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
    let throttled = matches!(one.rests_on, RestsOn::Limits(_));
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
    let by_verdict = |(verdict, mut explanations): (Verdict, Vec<Explanation>)| {
        let weight = explanations.iter().map(|one| one.weight).sum();
        explanations.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        ByVerdict { verdict, weight, explanations }
    };
    let groups = grouped(found.into_iter().map(|one| (one.verdict, one)));
    let mut all: Vec<ByVerdict> = groups.into_iter().map(by_verdict).collect();
    // The sort is stable: among equals the row that comes first in the table wins.
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let Some(heaviest) = all.first().map(|one| one.weight) else {
        return Judgement {
            verdict: Verdict::NotEnoughEvidence,
            claim: "No hypothesis fits these counters.".to_owned(),
            evidence: Vec::new(),
            probability: 1.0,
            open: Vec::new(),
            rests_on: RestsOn::Means,
            hypothesis: None,
            pin: None,
        };
    };
    // The two verdicts for a healthy device count as one: a problem must outweigh both together.
    let by_state = |one: &ByVerdict| -> f64 {
        let states = one.explanations.iter().filter(|it| it.rests_on == RestsOn::State);
        states.map(|it| it.weight).sum()
    };
    let fine: f64 = all.iter().filter(|one| one.verdict.is_fine()).map(by_state).sum();
    let first_fine = all.iter().position(|one| one.verdict.is_fine());
    let best = all.remove(first_fine.filter(|_| fine > heaviest).unwrap_or(0));
    let strongest = &best.explanations[0];
    let claim = strongest.claim.clone().unwrap_or_else(|| strongest.because.clone());
    let leaves = strongest.leaves;
    let alternative = |one: &ByVerdict| {
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
        Alternative {
            verdict: one.verdict,
            hypothesis: Some(named(first)),
            doubt,
            probability: one.weight / best.weight,
            because,
            decided_by: decided_by.to_owned(),
        }
    };
    let mut open: Vec<Alternative> = all.iter().map(alternative).collect();
    open.retain(|one| one.probability >= NAMED);
    // So far these are odds relative to the verdict.
    let probability = 1.0 / (1.0 + open.iter().map(|one| one.probability).sum::<f64>());
    open.iter_mut().for_each(|one| one.probability *= probability);
    Judgement {
        verdict: best.verdict,
        claim,
        evidence: strongest.evidence.clone(),
        probability,
        open,
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
