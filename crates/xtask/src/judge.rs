//! Judges diagnoses of real devices, on this machine and in guests: compares what was found with what was
//! staged.

use diagnose::causes;
use record::{Confidence, DeviceDiagnosis, Diagnosis, Episode, Verdict};
use serde::Deserialize;

/// Stands for no advice.
const SILENCE: &str = "silence";
/// Words that stand for several verdicts: on a device that is not to blame, on one in trouble, and all but
/// "not enough evidence".
const GROUPS: [(&str, &[&str]); 5] = [
    ("FINE", &["healthy", "not_the_disk"]),
    ("SLOW", &["slow", "slow_and_overloaded"]),
    ("OVERLOADED", &["overloaded", "slow_and_overloaded"]),
    ("HARMED", &["slow", "slow_and_overloaded", "overloaded", "capped"]),
    ("ANY", &["healthy", "not_the_disk", "slow", "slow_and_overloaded", "overloaded", "capped"]),
];
/// Minimum shares of right verdicts and of right first advice: with a profile, and without one.
const RIGHT: [f64; 2] = [0.95, 0.85];
const ADVISED: [f64; 2] = [0.9, 0.8];
/// Maximum shares without a profile: of cases without a verdict, and of false alarms on healthy devices. No
/// false alarm may be stronger than "possible".
const GAVE_UP: f64 = 0.1;
const ALARMS: f64 = 0.02;

/// Words separated by blanks. One in capitals stands for several.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(from = "String")]
pub(crate) struct Words(Vec<String>);

impl From<String> for Words {
    fn from(text: String) -> Self {
        let group = |word| GROUPS.iter().find(|(name, _)| *name == word).map(|(_, all)| *all);
        let all = text.split_whitespace();
        let all = all.flat_map(|word| group(word).map_or_else(|| vec![word], <[_]>::to_vec));
        Self(all.map(str::to_owned).collect())
    }
}

impl Words {
    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|one| one == word)
    }
}

/// What a diagnosis must find about a device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Expect {
    /// Any of these verdicts is right.
    verdicts: Words,
    /// These verdicts are also right if a right one is among the alternatives, because the staged case allows
    /// both.
    undecided: Words,
    /// Any of these causes. If empty, no cause is required, and a healthy device must have no system fact as
    /// a cause.
    causes: Words,
    /// Causes that must not be named: the fact is there but does no harm.
    harmless: Words,
    /// The first advice must be one of these, or [`SILENCE`] for no advice. If empty, the advice is not
    /// judged.
    advice: Words,
}

impl Expect {
    fn is_fine(&self) -> bool {
        self.verdicts.0 == GROUPS[0].1
    }

    fn has_cause(&self) -> bool {
        !self.causes.0.is_empty()
    }

    fn advises(&self) -> bool {
        !self.advice.0.is_empty()
    }

    /// The answer if nothing was found, and why not: it is wrong, and names nothing.
    pub(crate) fn missing(&self, told: String) -> Answer {
        Answer {
            told,
            right: false,
            named: false,
            advised: self.advises().then_some(false),
            gave_up: true,
            alarm: None,
            naming: self.has_cause().then_some(Naming::Missed),
        }
    }
}

/// For each cause, the doubts of alternatives that name it.
const NAMED_BY: [(&str, &[&str]); 12] = [
    ("many_flushes", &["flushes", "neighbour_flushes"]),
    ("neighbour", &["neighbour", "neighbour_flushes"]),
    ("writes_in_front", &["behind_writes"]),
    ("memory_short", &["read_again"]),
    ("write_back_limit", &["write_back_limit"]),
    ("tags_in_use", &["full_tags"]),
    ("scheduler_holds", &["starved", "scheduler_by_share", "bursts_in_scheduler"]),
    ("read_ahead_off", &["read_ahead_off"]),
    ("kernel_settings", &["conditions_changed", "scheduler_changed"]),
    (
        "pinned_rate",
        &[
            "constant_rate_slow",
            "constant_rate_below_maximum",
            "constant_rate_queued",
            "constant_rate_pressed",
            "constant_rate_unpressed",
            "constant_rate_unseen",
            "constant_rate_at_maximum",
            "one_operation_constant",
            "cap_below",
        ],
    ),
    ("slowest_member", &["slow_below_cap"]),
    ("stolen_time", &["steal"]),
];

/// How well the diagnosis named the staged cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It is the first cause.
    First,
    /// It is another cause, or an alternative.
    Named,
    /// It is neither.
    Missed,
    /// No cause was staged, and none is named.
    Silent,
    /// No cause was staged, but one is named.
    False,
}

/// The judgement of one diagnosis.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Verdict, probability, alternatives, causes and first advice, as text.
    pub(crate) told: String,
    /// Whether the verdict is right, and the cause if one is required.
    pub(crate) right: bool,
    /// Whether the verdict or an alternative is a right one.
    pub(crate) named: bool,
    /// Whether the advice is right; `None` if it is not judged.
    pub(crate) advised: Option<bool>,
    /// Whether the verdict is "not enough evidence".
    pub(crate) gave_up: bool,
    /// For a healthy device: whether there is a false alarm, and whether it is stronger than "possible".
    pub(crate) alarm: Option<(bool, bool)>,
    /// How well the cause was named; `None` if the case requires none and its device is not healthy.
    pub(crate) naming: Option<Naming>,
}

impl Answer {
    /// A line with a mark for the result.
    pub(crate) fn line(&self, case: &str, name: &str) -> String {
        let mark = match (self.right, self.named, self.advised) {
            (true, ..) if matches!(self.naming, Some(Naming::Missed | Naming::False)) => "CAUSE",
            (true, _, Some(false)) => "ADVICE",
            (true, ..) => "ok",
            (false, true, _) => "WRONG",
            (false, false, _) => "WRONG!",
        };
        format!("{mark:6} {case:26} {name:10} {}", self.told)
    }
}

/// Compares the diagnosis of a device with what was staged.
///
/// # Errors
/// With a message, if the diagnosis does not contain the device.
pub(crate) fn judge(found: &Diagnosis, device: &str, expect: &Expect) -> Result<Answer, String> {
    let device = found.devices.iter().find(|one| one.device == device);
    let device = device.ok_or_else(|| format!("nothing was seen of {device:?}"))?;
    let shown = device.shown_episode();
    let shown = shown.ok_or_else(|| format!("{} has no episode", device.device))?;
    let allowed = |name: &String| expect.verdicts.has(name);
    let verdict = shown.verdict.name();
    let open: Vec<String> = shown.alternatives.iter().map(|one| one.verdict.name()).collect();
    let causes: Vec<String> = shown.causes.iter().map(record::Cause::name).collect();
    let caused = causes.iter().any(|code| expect.causes.has(code));
    let undecided = expect.undecided.has(&verdict) && open.iter().any(allowed);
    let right = (allowed(&verdict) || undecided) && (caused || !expect.has_cause());
    let naming = naming(shown, expect);
    let first = first_advice(device, shown);
    let sure = shown.probability;
    let fine = expect.is_fine() && expect.undecided.0.is_empty();
    let gave_up = shown.verdict == Verdict::NotEnoughEvidence;
    let alarm = !shown.verdict.is_fine() && !gave_up;
    Ok(Answer {
        naming,
        gave_up,
        alarm: fine.then_some((alarm, alarm && shown.confidence != Confidence::Possible)),
        told: format!(
            "{verdict} ({sure:.3}) or [{}]; {}; {first}; {}",
            open.join(" "),
            causes.join(" "),
            shown.claim
        ),
        right,
        named: right || open.iter().any(allowed),
        advised: expect.advises().then(|| expect.advice.has(&first)),
    })
}

fn naming(shown: &Episode, expect: &Expect) -> Option<Naming> {
    let is_one = |cause: &record::Cause| expect.causes.has(&cause.name());
    if expect.has_cause() {
        let by_doubt = |doubt: &str| {
            NAMED_BY.iter().any(|(cause, by)| expect.causes.has(cause) && by.contains(&doubt))
        };
        // Whether one of the required causes is a system fact that a check finds.
        let fact = expect.causes.0.iter().any(|cause| causes::check(cause).is_some());
        let mut open = shown.alternatives.iter().map(|one| one.doubt.name());
        return Some(if shown.causes.first().is_some_and(is_one) {
            Naming::First
        } else if shown.causes.iter().any(is_one)
            || open.any(|doubt| by_doubt(&doubt) || fact && doubt == "system_fact")
        {
            Naming::Named
        } else {
            Naming::Missed
        });
    }
    if !expect.is_fine() {
        return None;
    }
    let wrong = |cause: &record::Cause| cause.check.is_some() || expect.harmless.has(&cause.name());
    Some(if shown.causes.iter().any(wrong) { Naming::False } else { Naming::Silent })
}

/// The first advice on any episode with this verdict. (A disk with other users is also slow at other times,
/// which leads to advice of its own.)
fn first_advice(device: &DeviceDiagnosis, episode: &Episode) -> String {
    let same =
        |at: usize| device.episodes.get(at).is_some_and(|one| one.verdict == episode.verdict);
    let first = device.advice.iter().find(|advice| same(advice.episode as usize));
    first.map_or_else(|| SILENCE.to_owned(), |advice| advice.strategy.name())
}

/// Counts of right and wrong results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Tally {
    /// Number of cases.
    pub(crate) draws: usize,
    /// Cases with a right verdict.
    pub(crate) right: usize,
    /// Cases whose advice is judged, and those of them with right advice.
    pub(crate) asked: usize,
    pub(crate) advised: usize,
    /// Cases with a wrong verdict and no right one among the alternatives.
    pub(crate) unnamed: usize,
    /// Cases without a verdict.
    pub(crate) gave_up: usize,
    /// Cases of healthy devices, those of them with a false alarm, and those with one stronger than
    /// "possible".
    pub(crate) fine: usize,
    pub(crate) alarms: usize,
    pub(crate) loud_alarms: usize,
    /// Cases with a staged cause, those that name it first, and those that name it at all.
    pub(crate) caused: usize,
    pub(crate) first: usize,
    pub(crate) among: usize,
    /// Cases of healthy devices with a harmless fact, and those that name it as a cause.
    pub(crate) causeless: usize,
    pub(crate) false_causes: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, answer: &Answer) {
        self.draws += 1;
        self.right += usize::from(answer.right);
        self.asked += usize::from(answer.advised.is_some());
        self.advised += usize::from(answer.advised == Some(true));
        self.unnamed += usize::from(!answer.named);
        self.gave_up += usize::from(answer.gave_up);
        let (alarm, loud) = answer.alarm.unwrap_or_default();
        self.fine += usize::from(answer.alarm.is_some());
        self.alarms += usize::from(alarm);
        self.loud_alarms += usize::from(loud);
        let is = |all: &[Naming]| usize::from(answer.naming.is_some_and(|one| all.contains(&one)));
        self.caused += is(&[Naming::First, Naming::Named, Naming::Missed]);
        self.first += is(&[Naming::First]);
        self.among += is(&[Naming::First, Naming::Named]);
        self.causeless += is(&[Naming::Silent, Naming::False]);
        self.false_causes += is(&[Naming::False]);
    }

    /// Whether there were cases, and the required shares are reached.
    pub(crate) fn reached(&self) -> bool {
        self.reached_by(0)
    }

    /// The same for cases without a profile.
    pub(crate) fn reached_without_profile(&self) -> bool {
        let most = |part: usize, of: usize, most: f64| part as f64 <= most * of as f64;
        self.reached_by(1)
            && most(self.gave_up, self.draws, GAVE_UP)
            && most(self.alarms, self.fine, ALARMS)
            && self.loud_alarms == 0
    }

    fn reached_by(&self, goal: usize) -> bool {
        let share = |part: usize, of: usize, least: f64| part as f64 >= least * of as f64;
        self.draws > 0
            && share(self.right, self.draws, RIGHT[goal])
            && share(self.advised, self.asked, ADVISED[goal])
            && self.unnamed == 0
    }

    /// The figures that `line` omits.
    pub(crate) fn more(&self) -> String {
        let Self { gave_up, draws, fine, alarms, loud_alarms, .. } = *self;
        let Self { caused, first, among, causeless, false_causes, .. } = *self;
        format!(
            "{0:12}not enough evidence: {gave_up} of {draws}; false alarms on healthy devices: {alarms} of {fine}, \
             {loud_alarms} of them more than possible\n\
             {0:12}causes: {first} of {caused} first, {among} named; false causes: {false_causes} of {causeless}",
            ""
        )
    }

    /// A line of a table with the headings of [`Tally::heads`].
    pub(crate) fn line(&self, name: &str) -> String {
        let share = |part: usize, of: usize| {
            let percent = 100.0 * part as f64 / of.max(1) as f64;
            format!("{part} of {of} ({percent:.1} %)")
        };
        let (right, advised) = (share(self.right, self.draws), share(self.advised, self.asked));
        format!("{name:12}{right:>24}{advised:>24}{:>14}", self.unnamed)
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
        Answer {
            told: String::new(),
            right,
            named,
            advised,
            gave_up: false,
            alarm: None,
            naming: None,
        }
    }

    #[test]
    fn a_cause_counts_as_first_or_named_and_one_of_a_disk_that_is_fine_as_false() {
        let mut tally = Tally::default();
        let named = |naming| Answer { naming: Some(naming), ..answer(true, true, None) };
        for naming in [Naming::First, Naming::Named, Naming::Missed, Naming::Silent, Naming::False]
        {
            tally.add(&named(naming));
        }
        tally.add(&answer(true, true, None));
        let Tally { caused, first, among, causeless, false_causes, .. } = tally;
        assert_eq!((caused, first, among, causeless, false_causes), (3, 1, 2, 2, 1));
    }

    #[test]
    fn a_tally_asks_for_cases_and_takes_no_wrong_verdict_whose_truth_is_not_named() {
        let mut tally = Tally::default();
        assert!(!tally.reached());
        (0..19).for_each(|_| tally.add(&answer(true, true, Some(true))));
        tally.add(&answer(false, true, None));
        assert!(tally.reached() && (tally.draws, tally.right, tally.asked) == (20, 19, 19));
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
