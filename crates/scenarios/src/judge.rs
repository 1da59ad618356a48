//! A diagnosis held against the truth of its case.
//!
//! A verdict is right on a stretch of time if right verdicts cover four fifths of it: an edge that
//! is found a few seconds late is no error. It is confidently wrong if a wrong one is stated as
//! likely or certain for a fifth of the time and no right one is named beside it: who reads "slow
//! or capped" is not misled.

use crate::case::{Case, Expect};
use crate::stage::name;
use record::{Confidence, DeviceDiagnosis, Diagnosis, Episode, Strategy, Verdict};
use std::collections::BTreeMap;

const SECOND: f64 = 1e9;
/// Share of the time that right verdicts have to cover.
const COVERED: f64 = 0.8;

/// How a diagnosis did.
#[derive(Clone, Debug)]
pub struct Score {
    /// The verdict on most of the stretch that the case is about.
    pub verdict: Option<Verdict>,
    /// Whether all stretches of all disks got a right one.
    pub right: bool,
    /// Whether some got a wrong one without doubt.
    pub confidently_wrong: bool,
    /// Whether "not enough evidence" was said where there was enough.
    pub gave_up: bool,
    /// The first advice.
    pub first: Option<Strategy>,
    /// Whether it is right.
    pub advice_right: bool,
    /// Whether the expected note of the case is there; `true` where none is expected.
    pub expected_note_named: bool,
}

/// Holds a diagnosis against its case.
#[must_use]
pub fn judge(case: &Case, diagnosis: &Diagnosis) -> Score {
    let of = |disk: usize| diagnosis.devices.iter().find(|found| found.device == name(disk));
    let mut score = Score {
        verdict: None,
        right: true,
        confidently_wrong: false,
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
        let seen = Seen::of(expect, found);
        if index == 0 {
            score.verdict = seen.most;
        }
        score.right &= seen.right >= COVERED;
        score.confidently_wrong |= seen.confidently_wrong > 1.0 - COVERED;
        score.gave_up |= seen.gave_up > 1.0 - COVERED;
    }
    score.first = of(0).and_then(|found| found.advice.first()).map(|remedy| remedy.strategy);
    score.expected_note_named = case.expected_note.is_none_or(|expected_note| {
        of(0).is_some_and(|found| found.notes.iter().any(|note| note.code == expected_note))
    });
    score.advice_right = match &score.first {
        None => case.advice.is_empty(),
        Some(first) => case.advice.contains(first),
    };
    score
}

/// Shares of a stretch.
#[derive(Debug, Default)]
struct Seen {
    most: Option<Verdict>,
    right: f64,
    confidently_wrong: f64,
    gave_up: f64,
}

impl Seen {
    fn of(expect: &Expect, found: &DeviceDiagnosis) -> Self {
        let (from, to) = (expect.from_s as f64 * SECOND, expect.to_s as f64 * SECOND);
        let mut seen = Self::default();
        let mut times: BTreeMap<Verdict, f64> = BTreeMap::new();
        for episode in &found.episodes {
            let begin = episode.begin_ns as f64;
            let end = begin + episode.duration_ns as f64;
            let share = (end.min(to) - begin.max(from)).max(0.0) / (to - from).max(1.0);
            *times.entry(episode.verdict).or_default() += share;
            if is_right(expect, episode) {
                seen.right += share;
                continue;
            }
            if is_confidently_wrong(expect, episode) {
                seen.confidently_wrong += share;
            }
            if episode.verdict == Verdict::NotEnoughEvidence {
                seen.gave_up += share;
            }
        }
        let most = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        seen.most = most.map(|(verdict, _)| verdict);
        seen
    }
}

fn names_a_right_one(expect: &Expect, episode: &Episode) -> bool {
    episode.alternatives.iter().any(|alternative| expect.verdicts.contains(&alternative.verdict))
}

fn is_right(expect: &Expect, episode: &Episode) -> bool {
    let undecided = expect.undecided.contains(&episode.verdict)
        && episode.confidence == Confidence::Possible
        && names_a_right_one(expect, episode);
    undecided || expect.verdicts.contains(&episode.verdict)
}

fn is_confidently_wrong(expect: &Expect, episode: &Episode) -> bool {
    episode.verdict != Verdict::NotEnoughEvidence
        && episode.confidence != Confidence::Possible
        && !names_a_right_one(expect, episode)
}
