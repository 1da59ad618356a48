//! Collects what the first run of the engine found at other times of a device and on other devices,
//! as facts for the second run.

use super::alike::{alike_in_time, same_load};
use super::constant_rate::ConstantRate;
use super::facts::{Judged, SLOW_FROM};
use super::hang::Hang;
use super::judgement::{Number, RestsOn};
use record::Verdict;

/// Other segments, in which the device is fast, stay below this share of a constant rate.
const BELOW_PIN: f64 = 0.8;
/// No segment may exceed a constant rate by more than this factor.
const ABOVE_PIN: f64 = 1.05;

/// Facts from outside a segment; none in the first run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elsewhere {
    /// The device was equally slow under the same load while its rate varied: no cap is needed to
    /// explain that.
    pub(crate) rate_moves_too: bool,
    /// It was slow at another time under the same load.
    pub(crate) slow_at_another_time: Option<Verdict>,
    /// The constant rate of this segment, below which the device was fast.
    pub(crate) fast_below: Option<ConstantRate>,
    /// A cap that another segment shows, and that explains the waits in this one.
    pub(crate) below_cap: Option<ConstantRate>,
    pub(crate) sibling: Option<Sibling>,
    /// If the disk below its file is capped: the claim, and the evidence for it.
    pub(crate) capped_below: Option<(String, RestsOn)>,
    /// Sentences to add to the verdict.
    pub(crate) sentences: Vec<String>,
}

/// A member of a built device, compared with the others.
#[derive(Clone, Debug)]
pub(crate) enum Sibling {
    /// It is far slower than the others.
    Slowest(Slowest),
    /// It is healthy; the array waits for another member.
    Waits { own: String, built: String, wanted: String },
}

#[derive(Clone, Debug)]
pub(crate) struct Slowest {
    pub(crate) claim: String,
    pub(crate) own_ns: f64,
    pub(crate) sibling_ns: f64,
    pub(crate) present: f64,
}

impl Slowest {
    pub(crate) fn numbers(&self) -> [Number; 4] {
        [
            ("latency", self.own_ns, "ns"),
            ("latency of its sibling", self.sibling_ns, "ns"),
            ("latency relative to its sibling", self.own_ns / self.sibling_ns, ""),
            ("requests in flight", self.present, ""),
        ]
    }
}

/// The facts for each segment from the device's other segments.
pub(crate) fn at_other_times(judged: &[Judged<'_>]) -> Vec<Elsewhere> {
    let mut all: Vec<Elsewhere> = judged.iter().map(|one| told(one, judged)).collect();
    for (at, one) in judged.iter().enumerate() {
        let Some(pin) = one.judgement.pin.filter(|_| !all[at].rate_moves_too) else { continue };
        let Some(below) = fast_below(one, &pin, judged) else { continue };
        all[at].fast_below = Some(pin);
        below.into_iter().for_each(|at| all[at].below_cap = Some(pin));
    }
    all
}

fn told(one: &Judged<'_>, judged: &[Judged<'_>]) -> Elsewhere {
    let slow = one.judgement.verdict.is_slow();
    let rate_moves_too = one.judgement.pin.is_some()
        && slow
        && judged.iter().any(|other| {
            other.judgement.verdict.is_slow()
                && other.judgement.pin.is_none()
                && other.segment.series.len() >= one.segment.series.len()
                && alike_in_time(&one.segment, &other.segment)
        });
    let unharmed =
        !slow && !matches!(one.judgement.verdict, Verdict::NotEnoughEvidence | Verdict::Capped);
    let slow_then = judged.iter().find(|other| {
        unharmed
            && other.judgement.verdict.is_slow()
            && same_load(&one.segment.tally, &other.segment.tally)
    });
    let hangs: Vec<&Hang> = judged.iter().filter_map(|it| it.segment.hang.as_ref()).collect();
    let repeated = one.segment.hang.filter(|_| hangs.len() > 1).map(|_| Hang::repeated(&hangs));
    Elsewhere {
        rate_moves_too,
        slow_at_another_time: slow_then.map(|other| other.judgement.verdict),
        sentences: repeated.into_iter().collect(),
        ..Elsewhere::default()
    }
}

/// The segments below a harmed segment's constant rate in which the device was fast; `None` if
/// there are none, or if the rate was higher at another time.
fn fast_below(one: &Judged<'_>, pin: &ConstantRate, judged: &[Judged<'_>]) -> Option<Vec<usize>> {
    let harmed = one.judgement.verdict.is_slow() && !one.segment.is_unprofiled();
    if !harmed || !one.segment.never_empties() {
        return None;
    }
    let rate = |other: &Judged<'_>| other.segment.tally.per_s(None, pin.bytes).unwrap_or(0.0);
    let share = |other: &Judged<'_>| rate(other) / pin.per_s;
    let below: Vec<usize> = (0..judged.len())
        .filter(|&at| {
            share(&judged[at]) <= BELOW_PIN && as_behind_a_cap(&judged[at], share(&judged[at]))
        })
        .collect();
    let above = judged.iter().any(|other| share(other) > ABOVE_PIN);
    (!below.is_empty() && !above).then_some(below)
}

/// Whether a segment at this share of a constant rate is as fast as a device with its profiled
/// speed would be behind a cap. A token bucket that passes requests at equal distances delays them
/// like a single server with constant service time (Kleinrock 1975, section 5.7). A slower device
/// would also slow down requests at queue depth 1.
fn as_behind_a_cap(judged: &Judged<'_>, share: f64) -> bool {
    match judged.judgement.verdict {
        Verdict::Healthy | Verdict::NotTheDisk => return true,
        Verdict::Slow | Verdict::SlowAndOverloaded => {}
        _ => return false,
    }
    let (Some((look, latency)), true) = (judged.segment.best_look(), share < 1.0) else {
        return false;
    };
    let distance_ns = share * 1e9 / judged.segment.tally.iops().max(1e-9);
    let waits_ns = distance_ns * share / (2.0 * (1.0 - share));
    latency <= SLOW_FROM * (look.unloaded_ns.max(look.expected_ns(false)) + waits_ns)
}
