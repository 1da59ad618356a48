//! Recommends remedies for causes, with their effects. A remedy addresses causes and nothing else. Its change
//! is data, and [`model::whatif`] predicts the effect on the episode's load, as `halfpower predict` does.
//!
//! Order: fix the device, fix the load, reorder requests, buy; within each, by the share of the time per byte
//! that it saves; a remedy with an unknown gain comes after those with a known one. Remedies for short-lived
//! causes come last. (Rejected: order by gain alone. New disks would
//! almost always come first, because near saturation almost every change gains a lot.)

use super::facts::Judged;
use super::fitted_profile::FittedProfile;
use super::remedies::{Case, Fixes, Row, rows};
use model::PredictError;
use model::whatif::{Setup, WhatIfError, words};
use record::{Cause, Change, Confidence, Effect, Measured, Remedy, Strategy, Verdict};

/// Minimum duration of a cause as a share of the longest one; shorter causes come last.
const PASSING: f64 = 0.2;
const GAIN_MIN: f64 = 0.05;
/// Least share of the rate that a faster device or another depth must keep by its own prediction. With less,
/// the profile's maximum is below the present rate.
const KEEPS_RATE: f64 = 0.75;
const BELOW_PRESENT: &str = "the profile predicts less than the present rate for this mix";
/// Width of an interval, as a multiple of its value, above which a prediction supports no gain.
const WIDEST: f64 = 10.0;
const TOO_WIDE: &str = "the error is too large";
const NO_PROFILE: &str = "no profile fits this load";

/// A remedy with its sort keys.
struct Ranked {
    remedy: Remedy,
    fixes: Fixes,
    seconds: f64,
}

impl Ranked {
    fn gain(&self) -> f64 {
        self.remedy.gain.unwrap_or(0.0)
    }

    /// Whether its gain is large enough or unknown.
    fn is_worth_it(&self) -> bool {
        self.remedy.gain.is_none_or(|gain| gain >= GAIN_MIN)
    }
}

/// The advice for all episodes. `shown` is the episode that a page shows.
pub(crate) fn advice(
    judged: &[Judged<'_>],
    reference: Option<&FittedProfile>,
    shown: Option<usize>,
) -> Vec<Remedy> {
    let mut all: Vec<Ranked> = Vec::new();
    let preference = |one: &Ranked| {
        (one.is_worth_it() && shown == Some(one.remedy.episode as usize), one.gain())
    };
    for (episode, one) in (0..).zip(judged) {
        let case = Case::new(one, reference);
        // The kernel's report on an array needs no other evidence.
        let evident = one.judgement.verdict != Verdict::NotEnoughEvidence;
        let open = rows().filter(|row| evident || row.fixes == Fixes::Array);
        let rows = one.causes.iter().flat_map(|cause| open.clone().map(move |row| (row, cause)));
        let by_rows = rows.filter_map(|(row, cause)| case.remedy(row, cause, episode));
        let by_facts = one.causes.iter().filter_map(|cause| put_right(one, cause, episode));
        for found in by_facts.chain(by_rows) {
            // A strategy for several episodes is listed once: for the shown one if it gains there,
            // otherwise where it gains most. A remedy for an array differs from one for its disks.
            let same = |known: &&mut Ranked| {
                let of_arrays = [known.fixes, found.fixes].map(|fixes| fixes == Fixes::Array);
                known.remedy.strategy == found.remedy.strategy
                    && known.remedy.check == found.remedy.check
                    && (of_arrays == [false; 2] || known.remedy.cause == found.remedy.cause)
            };
            match all.iter_mut().find(same) {
                Some(known) => {
                    known.seconds += found.seconds;
                    if preference(known) < preference(&found) {
                        known.remedy = found.remedy;
                    }
                }
                None => all.push(found),
            }
        }
    }
    all.retain(Ranked::is_worth_it);
    let longest = all.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let rank = |one: &Ranked| (one.seconds < PASSING * longest, one.fixes);
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.gain().total_cmp(&a.gain())));
    all.into_iter().map(|one| one.remedy).collect()
}

/// The action of the check that found a cause.
fn put_right(one: &Judged<'_>, cause: &Cause, episode: u32) -> Option<Ranked> {
    let name = cause.check.as_deref()?;
    let claim = &one.claims.iter().find(|claim| claim.check.name == name)?.claim;
    let remedy = Remedy {
        strategy: Strategy::PutRight,
        change: None,
        action: claim.action.clone(),
        cause: cause.code,
        check: cause.check.clone(),
        episode,
        effect: Measured::not("no model predicts the effect of this setting or state"),
        gain: None,
        assumes: "this setting or state causes the measured effect".to_owned(),
        cost: "time to investigate, or a replacement part".to_owned(),
        how_to_check: "observe again under the same load: the effect should be gone".to_owned(),
    };
    Some(Ranked { remedy, fixes: Fixes::System, seconds: one.segment.tally.seconds })
}

impl Case<'_> {
    /// The remedy of a row; `None` if it does not address the cause, does not apply, or does not help.
    fn remedy(&self, row: &'static Row, cause: &Cause, episode: u32) -> Option<Ranked> {
        if !row.causes.contains(&cause.code) {
            return None;
        }
        let (action, change) = (row.propose)(self)?;
        let (effect, gain) = match change.map(|change| self.effect(change, row.by_rate)) {
            None if row.unpredicted.is_empty() => (Measured::not(NO_PROFILE), None),
            None => (Measured::not(row.unpredicted), None),
            Some(Ok((effect, gain))) => (Measured::Value(effect), Some(gain)),
            Some(Err(
                error @ (WhatIfError::NotMeasured(_)
                | WhatIfError::Predict(PredictError::NotMeasured(_))),
            )) => (Measured::not(error.to_string()), None),
            Some(Err(_)) => return None,
        };
        let loses = |effect: &Effect| effect.iops_after.value < KEEPS_RATE * effect.iops_before;
        let keeps =
            matches!(change, Some(Change::Faster(_) | Change::Depth(_) | Change::AsProfiled));
        let (effect, gain) = match keeps && effect.value().is_some_and(loses) {
            // The depth was chosen to keep the rate.
            true if row.strategy == Strategy::ShallowerQueue => return None,
            true => (Measured::not(BELOW_PRESENT), None),
            false => (effect, gain),
        };
        let vague = |effect: &Effect| {
            let changed = if row.by_rate { &effect.iops_after } else { &effect.latency_after_ns };
            changed.relative_half_width() > WIDEST / 2.0
        };
        // A change without a gain is not listed, however wide its interval is.
        let gains = gain.is_some_and(|gain| gain >= GAIN_MIN);
        let (effect, gain) = match gains && effect.value().is_some_and(vague) {
            true => (Measured::not(TOO_WIDE), None),
            false => (effect, gain),
        };
        let [mut assumes, mut cost, mut how_to_check] = row.words.map(str::to_owned);
        if let Some((change, load)) = change.zip(self.load.as_ref()) {
            let general = words(change, &Setup::from(load));
            let or = |own: String, general| if own.is_empty() { general } else { own };
            assumes = or(assumes, general.assumes);
            cost = or(cost, general.cost);
            how_to_check = or(how_to_check, general.how_to_check);
        }
        let remedy = Remedy {
            strategy: row.strategy,
            change,
            action,
            cause: cause.code,
            check: None,
            episode,
            effect,
            gain,
            assumes,
            cost,
            how_to_check,
        };
        let judgement = &self.judged.judgement;
        let doubted = judgement.verdict == Verdict::SlowAndOverloaded
            && judgement.confidence() == Confidence::Possible;
        // If the device may only be overloaded, remedies for the load come first.
        let fixes = match row.fixes {
            Fixes::Device if doubted => Fixes::Order,
            fixes => fixes,
        };
        Some(Ranked { remedy, fixes, seconds: self.segment.tally.seconds })
    }

    /// The effect of a change, and the share of the time per byte that it saves: of the latency, or
    /// of the time between completions if the rate is what grows.
    fn effect(&self, change: Change, by_rate: bool) -> Result<(Effect, f64), WhatIfError> {
        let none = || WhatIfError::NotMeasured(NO_PROFILE.to_owned());
        let (load, reference) = self.load.as_ref().zip(self.reference).ok_or_else(none)?;
        let predictor = reference.predictor();
        let state = Setup::from(load).with(change, predictor)?.state(predictor)?;
        let effect = Effect {
            latency_before_ns: self.segment.latency_of_load_ns().unwrap_or(0.0),
            latency_after_ns: state.latency_ns,
            iops_before: load.iops,
            iops_after: state.iops,
        };
        let larger = state.mix.mean_bytes() / load.mix.mean_bytes().max(1.0);
        let left = if by_rate {
            effect.iops_before / (effect.iops_after.value * larger).max(1e-9)
        } else {
            effect.latency_after_ns.value / (effect.latency_before_ns * larger).max(1e-9)
        };
        Ok((effect, 1.0 - left))
    }
}
