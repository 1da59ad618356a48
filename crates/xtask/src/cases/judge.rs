//! Compares a diagnosis with the truth of its case.
//!
//! A verdict is correct on a time segment if correct verdicts cover four fifths of it: an edge that is
//! found a few seconds late is no error. It is confidently wrong if a wrong verdict is stated as likely or
//! certain for a fifth of the time without a correct one beside it: a reader of "slow or capped" is not
//! misled.

use crate::cases::case::{Case, Expect};
use crate::cases::stage::name;
use record::{Confidence, DeviceDiagnosis, Diagnosis, Doubt, Episode, Strategy, Verdict};

const SECOND: f64 = 1e9;
/// Minimum share of the time with correct verdicts.
const COVERED: f64 = 0.8;
/// Lower limit of a probability, so that one draw with an "impossible" truth does not dominate the sum.
const LEAST_PROBABILITY: f64 = 1e-3;

/// Assessment of a diagnosis.
#[derive(Clone, Debug)]
pub struct Score {
    /// The verdict on most of the case's main segment.
    pub verdict: Option<Verdict>,
    /// Confidence of the verdict on most of each segment, except "not enough evidence".
    pub called: Vec<Called>,
    /// How unexpected the truth was: the mean over segments of -ln of the probability that the diagnosis
    /// gives to the correct verdicts.
    pub surprise: f64,
    /// Whether all segments of all disks got a correct verdict.
    pub right: bool,
    /// Whether any got a wrong verdict without a correct one among its alternatives.
    pub truth_unnamed: bool,
    /// Whether the diagnosis reported "not enough evidence" although it had enough.
    pub gave_up: bool,
    /// The first advice.
    pub first: Option<Strategy>,
    /// Whether the first advice is correct.
    pub advice_right: bool,
    /// Whether the diagnosis has the expected note of the case; `true` if none is expected.
    pub expected_note_named: bool,
}

/// Confidence of a verdict.
#[derive(Clone, Debug)]
pub struct Called {
    /// As a word.
    pub confidence: Confidence,
    /// As a number, 0 to 1.
    pub probability: f64,
    /// Whether the verdict was correct.
    pub right: bool,
    /// Alternatives with their probability, and whether each was the correct one.
    pub open: Vec<(Doubt, f64, bool)>,
}

/// Compares a diagnosis with its case.
#[must_use]
pub fn judge(case: &Case, diagnosis: &Diagnosis) -> Score {
    let of = |disk: usize| diagnosis.devices.iter().find(|found| found.device == name(disk));
    let mut score = Score {
        verdict: None,
        called: Vec::new(),
        surprise: 0.0,
        right: true,
        truth_unnamed: false,
        gave_up: false,
        first: None,
        advice_right: true,
        expected_note_named: true,
    };
    for (index, expect) in case.expects.iter().enumerate() {
        let Some(found) = of(expect.disk) else {
            score.right = false;
            continue;
        };
        let share_where = |holds: fn(&Expect, &Episode) -> bool| -> f64 {
            let episodes = found.episodes.iter().filter(|episode| holds(expect, episode));
            episodes.map(|episode| share(expect, episode)).sum()
        };
        if let Some(episode) = longest(expect, found) {
            score.surprise += surprise(expect, episode) / case.expects.len() as f64;
            if index == 0 {
                score.verdict = Some(episode.verdict);
            }
            let evident = episode.verdict != Verdict::NotEnoughEvidence;
            score.called.extend(evident.then(|| called(expect, episode)));
        }
        score.right &= share_where(is_right) >= COVERED;
        score.truth_unnamed |= share_where(leaves_truth_unnamed) > 1.0 - COVERED;
        score.gave_up |= share_where(gives_up) > 1.0 - COVERED;
    }
    score.first = of(0).and_then(DeviceDiagnosis::first_remedy).map(|remedy| remedy.strategy);
    score.expected_note_named = case.expected_note.is_none_or(|expected_note| {
        of(0).is_some_and(|found| found.notes.iter().any(|note| note.code == expected_note))
    });
    score.advice_right = match &score.first {
        None => case.advice.is_empty() || case.may_be_silent,
        Some(first) => case.advice.contains(first),
    };
    score
}

/// The share of a segment that an episode covers.
fn share(expect: &Expect, episode: &Episode) -> f64 {
    let (from, to) = (expect.from_s as f64 * SECOND, expect.to_s as f64 * SECOND);
    let begin = episode.begin_ns as f64;
    let end = begin + episode.duration_ns as f64;
    (end.min(to) - begin.max(from)).max(0.0) / (to - from).max(1.0)
}

/// The episode that covers most of a segment.
fn longest<'a>(expect: &Expect, found: &'a DeviceDiagnosis) -> Option<&'a Episode> {
    let covered = |episode: &&Episode| share(expect, episode) > 0.0;
    let episodes = found.episodes.iter().filter(covered);
    episodes.max_by(|a, b| share(expect, a).total_cmp(&share(expect, b)))
}

/// -ln of the probability that is given to the correct verdicts of a segment.
fn surprise(expect: &Expect, episode: &Episode) -> f64 {
    let alternatives = episode.alternatives.iter().map(|other| (other.verdict, other.probability));
    let all = alternatives.chain([(episode.verdict, episode.probability)]);
    let right: f64 =
        all.filter(|(verdict, _)| expect.verdicts.contains(verdict)).map(|(_, share)| share).sum();
    -right.clamp(LEAST_PROBABILITY, 1.0).ln()
}

fn called(expect: &Expect, episode: &Episode) -> Called {
    let right = expect.verdicts.contains(&episode.verdict);
    let open = episode.alternatives.iter().map(|other| {
        (other.doubt, other.probability, !right && expect.verdicts.contains(&other.verdict))
    });
    Called {
        confidence: episode.confidence,
        probability: episode.probability,
        right,
        open: open.collect(),
    }
}

fn names_a_right_one(expect: &Expect, episode: &Episode) -> bool {
    episode.alternatives.iter().any(|alternative| expect.verdicts.contains(&alternative.verdict))
}

fn is_right(expect: &Expect, episode: &Episode) -> bool {
    let undecided = expect.undecided.contains(&episode.verdict)
        && episode.confidence == Confidence::Possible
        && names_a_right_one(expect, episode);
    let hidden = expect.hidden.contains(&episode.verdict)
        && matches!(episode.confidence, Confidence::Likely | Confidence::Possible)
        && names_a_right_one(expect, episode);
    undecided || hidden || expect.verdicts.contains(&episode.verdict)
}

fn leaves_truth_unnamed(expect: &Expect, episode: &Episode) -> bool {
    !is_right(expect, episode)
        && episode.verdict != Verdict::NotEnoughEvidence
        && !names_a_right_one(expect, episode)
}

fn gives_up(expect: &Expect, episode: &Episode) -> bool {
    episode.verdict == Verdict::NotEnoughEvidence && !is_right(expect, episode)
}
