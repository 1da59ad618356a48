//! Judges diagnoses of real devices, on this machine and in guests: compares what was found with what was
//! staged.

use diagnose::causes;
use record::{Cause, Confidence, DeviceDiagnosis, Diagnosis, Episode, Verdict};
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
            advised: self.advises().then_some(false),
            gave_up: Some(true),
            cause: self.has_cause().then_some((false, false)),
            ..Answer::default()
        }
    }
}

/// For each cause, the doubts of alternatives that name it.
const NAMED_BY: [(&str, &str); 12] = [
    ("many_flushes", "flushes neighbour_flushes"),
    ("neighbour", "neighbour neighbour_flushes"),
    ("writes_in_front", "behind_writes"),
    ("memory_short", "read_again"),
    ("write_back_limit", "write_back_limit"),
    ("tags_in_use", "full_tags"),
    ("scheduler_holds", "starved scheduler_by_share bursts_in_scheduler"),
    ("read_ahead_off", "read_ahead_off"),
    ("kernel_settings", "conditions_changed scheduler_changed"),
    (
        "pinned_rate",
        "constant_rate_slow constant_rate_below_maximum constant_rate_queued constant_rate_pressed \
         constant_rate_unpressed constant_rate_unseen constant_rate_at_maximum \
         one_operation_constant cap_below",
    ),
    ("slowest_member", "slow_below_cap"),
    ("stolen_time", "steal"),
];

/// The judgement of one diagnosis.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What was found, or what is wrong with it, as text.
    pub told: String,
    /// Whether the verdict is right, and the cause if one is required.
    pub right: bool,
    /// Whether the verdict or an alternative is a right one.
    pub named: bool,
    /// Whether the advice is right; `None` if it is not judged.
    pub advised: Option<bool>,
    /// Whether the verdict is "not enough evidence"; `None` if that is right.
    pub gave_up: Option<bool>,
    /// For a healthy device: whether there is a false alarm, and whether it is stronger than "possible".
    pub alarm: Option<(bool, bool)>,
    /// For a staged cause: whether it is the first cause, and whether it is a cause or an alternative.
    pub cause: Option<(bool, bool)>,
    /// For a healthy device without a staged cause: whether one is named.
    pub false_cause: Option<bool>,
}

impl Answer {
    /// A line with a mark for the result.
    pub(crate) fn line(&self, case: &str, name: &str) -> String {
        let mark = match (self.right, self.named, self.advised) {
            (true, ..) if self.cause.is_some_and(|(_, named)| !named) => "CAUSE",
            (true, ..) if self.false_cause == Some(true) => "CAUSE",
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
    let causes: Vec<String> = shown.causes.iter().map(Cause::name).collect();
    let caused = causes.iter().any(|code| expect.causes.has(code));
    let undecided = expect.undecided.has(&verdict) && open.iter().any(allowed);
    let right = (allowed(&verdict) || undecided) && (caused || !expect.has_cause());
    let first = first_advice(device, shown);
    let sure = shown.probability;
    let fine = expect.is_fine() && expect.undecided.0.is_empty();
    let gave_up = shown.verdict == Verdict::NotEnoughEvidence;
    let alarm = !shown.verdict.is_fine() && !gave_up;
    let wrong = |cause: &Cause| cause.check.is_some() || expect.harmless.has(&cause.name());
    Ok(Answer {
        gave_up: Some(gave_up),
        cause: expect.has_cause().then(|| naming(shown, expect)),
        false_cause: (!expect.has_cause() && expect.is_fine())
            .then(|| shown.causes.iter().any(wrong)),
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

/// Whether a required cause is the first cause, and whether one is a cause or an alternative.
fn naming(shown: &Episode, expect: &Expect) -> (bool, bool) {
    let is_one = |cause: &Cause| expect.causes.has(&cause.name());
    let by_doubt = |doubt: &str| {
        NAMED_BY
            .iter()
            .any(|(cause, by)| expect.causes.has(cause) && by.split(' ').any(|one| one == doubt))
    };
    // Whether one of the required causes is a system fact that a check finds.
    let fact = expect.causes.0.iter().any(|cause| causes::check(cause).is_some());
    let mut open = shown.alternatives.iter().map(|one| one.doubt.name());
    let named = shown.causes.iter().any(is_one)
        || open.any(|doubt| by_doubt(&doubt) || fact && doubt == "system_fact");
    (shown.causes.first().is_some_and(is_one), named)
}

/// The first advice on any episode with this verdict. (A disk with other users is also slow at other times,
/// which leads to advice of its own.)
fn first_advice(device: &DeviceDiagnosis, episode: &Episode) -> String {
    let same =
        |at: usize| device.episodes.get(at).is_some_and(|one| one.verdict == episode.verdict);
    let first = device.advice.iter().find(|advice| same(advice.episode as usize));
    first.map_or_else(|| SILENCE.to_owned(), |advice| advice.strategy.name())
}
