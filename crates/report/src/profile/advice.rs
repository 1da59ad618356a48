//! Reports the expected latency under load, and the recommendations.
//!
//! The load-dependent model is the answer. M/M/1 is shown next to it with its error, because readers know it,
//! compute it themselves, and are misled by it on a parallel device. A recommendation includes its reason,
//! the alternatives and their cost, and any rule of thumb that disagrees.

use crate::number;
use crate::page::Tone;
use crate::story::{Action, Cell, Story};
use record::{Advice, Estimate, Expectation, OpKind, Profile, SATURATIONS};

/// Reason for a missing latency.
const TOO_UNEVEN: &str = "the measured rates vary too much (error above ±60 %)";

/// Latency at shares of the maximum rate.
pub(super) fn expectations(story: &mut Story, profile: &Profile) {
    let all = &profile.expectations;
    if all.is_empty() {
        let reason = match profile.depth_curves.is_empty() {
            true => "no model without a depth curve",
            false => &format!("unknown: {TOO_UNEVEN}"),
        };
        story.section("What to expect", reason).supporting();
        return;
    }
    let size = super::common_size(all.iter().map(|expectation| expectation.bs_bytes));
    let remark = format!("random{size} arriving independently");
    let section = story.section("What to expect", &remark).supporting();
    let of = |op: OpKind, share: f64| {
        let same = |e: &&Expectation| e.op == op && e.saturation.total_cmp(&share).is_eq();
        all.iter().find(same)
    };
    let mut missing = false;
    section.table(SATURATIONS, |t| {
        t.right("of max", |share| number::percent(*share));
        for op in OpKind::ALL {
            if all.iter().all(|expectation| expectation.op != op) {
                missing |= profile.depth_curves.iter().any(|curve| curve.op == op);
                continue;
            }
            missing |= SATURATIONS.into_iter().any(|share| of(op, share).is_none());
            let of = |share: &f64| of(op, *share);
            t.group(op.plural());
            t.titled("iops", |share| Cell::or_empty(of(share), |it| number::count(it.iops)));
            // Left out if its interval is too wide to be useful.
            t.titled("latency_mean_ns", |share| match of(share) {
                Some(it) => Cell::toned(number::time(it.latency_ns.value), Tone::Strong),
                None => Cell::toned("unknown", Tone::Faint),
            });
            t.interval(|share| of(share).map(|it| it.latency_ns));
        }
    });
    section.notes(missing.then(|| format!("Some values are unknown or omitted: {TOO_UNEVEN}.")));
    // A warning for readers who may have computed this themselves.
    let remark = "one textbook queue; err: relative to the expected latency";
    let section = story.section("Prediction of M/M/1", remark).supporting();
    section.table(SATURATIONS, |t| {
        t.right("of max", |share| number::percent(*share));
        for op in OpKind::ALL {
            let of = |share: &f64| of(op, *share);
            t.group(op.plural());
            let time = |it: &Expectation| number::time(it.mm1_response_ns);
            t.titled("latency_mean_ns", |share| Cell::or_empty(of(share), time));
            let error = |it: &Expectation| number::change(1.0 + it.mm1_error_rel);
            t.right("err", |share| Cell::or_empty(of(share), error));
        }
    });
}

/// Recommendations as actions: reason, alternatives, and disagreement with the usual rule.
pub(crate) fn actions(all: &[Advice]) -> impl Iterator<Item = Action> + '_ {
    all.iter().map(|advice| {
        Action::new(&advice.subject, &advice.recommendation)
            .with("why", &advice.because)
            .with("gain", advice.gain.as_ref().map(gain).unwrap_or_default())
            .with("else", &advice.next_best)
            .with("cost", advice.price.as_deref().unwrap_or_default())
            .with("but", advice.against_rule.as_deref().unwrap_or_default())
    })
}

/// `1.9 times (1.8 to 2.1)`; a small gain as a percentage.
fn gain(gain: &Estimate) -> String {
    if model::is_uncertain(gain) {
        return "not known: the measured rates vary too much; a larger --budget measures it"
            .to_owned();
    }
    if gain.value >= 1.5 {
        let [value, low, high] = [gain.value, gain.low, gain.high].map(number::digits);
        return format!("{value} times ({low} to {high})");
    }
    number::with_range(gain, number::change)
}
