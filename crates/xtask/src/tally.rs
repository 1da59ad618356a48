//! Counts the judgements of many cases, simulated, on real devices and in guests, and compares the counts
//! with the goals.

use crate::judge::Answer;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// Minimum shares of right verdicts and of right first advice: with a profile, and without one.
const RIGHT: [f64; 2] = [0.95, 0.85];
const ADVISED: [f64; 2] = [0.9, 0.8];
/// Maximum shares without a profile: of cases without a verdict, and of false alarms on healthy devices. No
/// false alarm may be stronger than "possible".
const GAVE_UP: f64 = 0.1;
const ALARMS: f64 = 0.02;

/// Number of cases for which a statement holds, and number of cases to which it applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Those for which it holds.
    pub part: usize,
    /// All to which it applies.
    pub of: usize,
}

impl Count {
    /// Adds a case; `None` if the statement does not apply to it.
    pub(crate) fn add(&mut self, holds: Option<bool>) {
        self.of += usize::from(holds.is_some());
        self.part += usize::from(holds == Some(true));
    }

    /// Whether it holds for at least this share.
    pub(crate) fn at_least(self, share: f64) -> bool {
        self.part as f64 >= share * self.of as f64
    }

    /// Whether it holds for at most this share.
    pub(crate) fn at_most(self, share: f64) -> bool {
        self.part as f64 <= share * self.of as f64
    }

    pub(crate) fn percent(self) -> f64 {
        100.0 * self.part as f64 / self.of.max(1) as f64
    }
}

impl Display for Count {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} of {}", self.part, self.of)
    }
}

/// Counts of right and wrong results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Cases with a right verdict.
    pub right: Count,
    /// Cases with right first advice.
    pub advised: Count,
    /// Cases with a wrong verdict and no right one among the alternatives.
    pub unnamed: Count,
    /// Cases without a verdict, although there is enough evidence.
    pub gave_up: Count,
    /// Cases of healthy devices with a false alarm.
    pub alarms: Count,
    /// Those with one stronger than "possible".
    pub loud_alarms: Count,
    /// Cases with a staged cause that name it first.
    pub first: Count,
    /// Cases with a staged cause that name it at all.
    pub named: Count,
    /// Cases of healthy devices that name a harmless fact as a cause.
    pub false_causes: Count,
}

impl Tally {
    pub(crate) fn add(&mut self, answer: &Answer) {
        self.right.add(Some(answer.right));
        self.advised.add(answer.advised);
        self.unnamed.add(Some(!answer.named));
        self.gave_up.add(answer.gave_up);
        self.alarms.add(answer.alarm.map(|(alarm, _)| alarm));
        self.loud_alarms.add(answer.alarm.map(|(_, loud)| loud));
        self.first.add(answer.cause.map(|(first, _)| first));
        self.named.add(answer.cause.map(|(_, named)| named));
        self.false_causes.add(answer.false_cause);
    }

    /// Whether there were cases, and the required shares are reached.
    pub(crate) fn reached(&self) -> bool {
        self.reached_by(0)
    }

    /// The same for cases without a profile.
    pub(crate) fn reached_without_profile(&self) -> bool {
        self.reached_by(1)
            && self.gave_up.at_most(GAVE_UP)
            && self.alarms.at_most(ALARMS)
            && self.loud_alarms.part == 0
    }

    fn reached_by(&self, goal: usize) -> bool {
        self.right.of > 0
            && self.right.at_least(RIGHT[goal])
            && self.advised.at_least(ADVISED[goal])
            && self.unnamed.part == 0
    }

    /// The figures that `line` omits.
    pub(crate) fn more(&self) -> String {
        let Self { gave_up, alarms, loud_alarms, first, named, false_causes, .. } = self;
        format!(
            "{0:12}not enough evidence: {gave_up}; false alarms on healthy devices: {alarms}, \
             {1} of them more than possible\n\
             {0:12}causes: {first} first, {2} named; false causes: {false_causes}",
            "", loud_alarms.part, named.part
        )
    }

    /// A line of a table with the headings of [`Tally::heads`].
    pub(crate) fn line(&self, name: &str) -> String {
        let [right, advised] =
            [self.right, self.advised].map(|it| format!("{it} ({:.1} %)", it.percent()));
        format!("{name:12}{right:>24}{advised:>24}{:>14}", self.unnamed.part)
    }

    /// The headings of the columns.
    pub(crate) fn heads() -> String {
        let (right, advised) = ("right verdict", "right first advice");
        format!("{:12}{right:>24}{advised:>24}{:>14}", "cases", "truth unnamed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(right: bool, named: bool, advised: Option<bool>) -> Answer {
        Answer { right, named, advised, ..Answer::default() }
    }

    #[test]
    fn a_cause_counts_as_first_or_named_and_one_of_a_disk_that_is_fine_as_false() {
        let mut tally = Tally::default();
        for cause in [(true, true), (false, true), (false, false)] {
            tally.add(&Answer { cause: Some(cause), ..answer(true, true, None) });
        }
        for wrong in [false, true] {
            tally.add(&Answer { false_cause: Some(wrong), ..answer(true, true, None) });
        }
        let counts = [tally.first, tally.named, tally.false_causes].map(|it| it.to_string());
        assert_eq!(counts, ["1 of 3", "2 of 3", "1 of 2"]);
    }

    #[test]
    fn a_tally_asks_for_cases_and_takes_no_wrong_verdict_whose_truth_is_not_named() {
        let mut tally = Tally::default();
        assert!(!tally.reached());
        (0..19).for_each(|_| tally.add(&answer(true, true, Some(true))));
        tally.add(&answer(false, true, None));
        let counts = (tally.right.of, tally.right.part, tally.advised.of);
        assert!(tally.reached() && counts == (20, 19, 19));
        let mut unnamed = tally;
        (0..19).for_each(|_| unnamed.add(&answer(true, true, None)));
        unnamed.add(&answer(false, false, None));
        assert!(!unnamed.reached());
        tally.add(&answer(true, true, Some(false)));
        tally.add(&answer(true, true, Some(false)));
        assert!(tally.reached());
        tally.add(&answer(true, true, Some(false)));
        assert!(!tally.reached(), "{}", tally.line("advice"));
    }
}
