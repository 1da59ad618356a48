//! Compares a diagnosis with the truth of its case.
//!
//! A verdict is correct on a time segment if correct verdicts cover four fifths of it: an edge that is
//! found a few seconds late is no error. It is confidently wrong if a wrong verdict is stated as likely or
//! certain for a fifth of the time without a correct one beside it: a reader of "slow or capped" is not
//! misled.

use crate::cases::case::{Case, Expect};
use crate::cases::stage::name;
use crate::judge::Answer;
use record::{Confidence, DeviceDiagnosis, Diagnosis, Doubt, Episode, Strategy, Verdict};

const SECOND: f64 = 1e9;
/// Minimum share of the time with correct verdicts.
const COVERED: f64 = 0.8;

/// Assessment of a diagnosis.
#[derive(Clone, Debug)]
pub struct Score {
    /// The judgement of all segments of all disks. Its text says what is wrong; empty if nothing is.
    pub answer: Answer,
    /// The verdict on most of the case's main segment.
    pub verdict: Option<Verdict>,
    /// Confidence of the verdict on most of each segment, except "not enough evidence".
    pub called: Vec<Called>,
    /// Whether the diagnosis has the expected note of the case, if one is expected.
    pub noted: Option<bool>,
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
    let mut answer = Answer { right: true, named: true, ..Answer::default() };
    let (mut verdict, mut called, mut gave_up) = (None, Vec::new(), false);
    for (index, expect) in case.expects.iter().enumerate() {
        let Some(found) = of(expect.disk) else {
            answer.right = false;
            continue;
        };
        let share_where = |holds: fn(&Expect, &Episode) -> bool| -> f64 {
            let episodes = found.episodes.iter().filter(|episode| holds(expect, episode));
            episodes.map(|episode| share(expect, episode)).sum()
        };
        if let Some(episode) = longest(expect, found) {
            if index == 0 {
                verdict = Some(episode.verdict);
            }
            let evident = episode.verdict != Verdict::NotEnoughEvidence;
            called.extend(evident.then(|| calls(expect, episode)));
        }
        answer.right &= share_where(is_right) >= COVERED;
        answer.named &= share_where(leaves_truth_unnamed) <= 1.0 - COVERED;
        gave_up |= share_where(gives_up) > 1.0 - COVERED;
    }
    let unknown = |expect: &Expect| expect.verdicts.contains(&Verdict::NotEnoughEvidence);
    answer.gave_up = (!case.expects.first().is_some_and(unknown)).then_some(gave_up);
    let fine = |expect: &Expect| expect.verdicts.iter().all(|verdict| verdict.is_fine());
    let alarm = verdict.is_some_and(|it| !it.is_fine() && it != Verdict::NotEnoughEvidence);
    let sure = called.first().is_some_and(|it: &Called| it.confidence != Confidence::Possible);
    answer.alarm = case.expects.iter().all(fine).then_some((alarm, alarm && sure));
    let first = of(0).and_then(DeviceDiagnosis::first_remedy).map(|remedy| remedy.strategy);
    answer.advised = Some(match &first {
        None => case.advice.is_empty() || case.may_be_silent,
        Some(first) => case.advice.contains(first),
    });
    let noted = case.expected_note.map(|expected| {
        of(0).is_some_and(|found| found.notes.iter().any(|note| note.code == expected))
    });
    let mut wrong = Vec::new();
    if !answer.right {
        let verdict = verdict.map_or_else(|| "none".to_owned(), Verdict::name);
        let doubt = if answer.named { "" } else { " without the truth beside it" };
        wrong.push(format!("verdict {verdict}{doubt}"));
    }
    if answer.advised == Some(false) {
        let first = first.map_or_else(|| "silence".to_owned(), Strategy::name);
        wrong.push(format!("first advice {first}"));
    }
    if let Some(expected) = case.expected_note.filter(|_| noted == Some(false)) {
        wrong.push(format!("{} not named", expected.name()));
    }
    answer.told = wrong.join("; ");
    Score { answer, verdict, called, noted }
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

fn calls(expect: &Expect, episode: &Episode) -> Called {
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
