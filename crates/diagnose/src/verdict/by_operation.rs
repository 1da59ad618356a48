//! Judges reads and writes separately. A mean over both hides a problem of the less frequent one: a
//! limit on writes alone, or a lost write cache, looks like a slightly slower device.

use super::constant_rate::{ConstantRate, pinned};
use super::expected::Expectation;
use super::facts::{REQUESTS_MIN, Segment};
use super::interval_totals::{IntervalTotals, latency_error};
use super::judgement::{Judgement, RestsOn};
use super::own;
use crate::words::{capitalized, times};
use record::{OpKind, OperationVerdict, Rung, Verdict, format_nanos};

/// Ratio to its expectation from which an operation is slow. The expectation for one operation is
/// less certain than that for both together.
pub(crate) const OPERATION_SLOW: f64 = 1.3;

/// The split of the expected latency assumes that reads and writes wait equally long. If one of
/// them is below this share of its expectation, that is not true: large writes queue behind each
/// other, and reads pass between them.
const PASSES: f64 = 0.5;

/// One operation of a segment, compared with the profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) op: OpKind,
    latency_ns: f64,
    expected_ns: f64,
    iops: f64,
    /// Latency over expectation, excluding CPU wake-up time.
    pub(crate) over: f64,
    pub(crate) slow: bool,
    /// The rate, if it is the same in every interval.
    pub(crate) constant: Option<ConstantRate>,
}

/// Both operations, reads first; `None` unless both were frequent enough and the profile has both.
pub(crate) fn apart(segment: &Segment<'_>) -> Option<[Operation; 2]> {
    let (look, _) = segment.best_look()?;
    let mut both = [of(segment, look, OpKind::Read)?, of(segment, look, OpKind::Write)?];
    if both.iter().any(|one| one.over < PASSES) {
        both.iter_mut().for_each(|one| one.slow = false);
    }
    Some(both)
}

fn of(segment: &Segment<'_>, look: &Expectation, op: OpKind) -> Option<Operation> {
    let tally = segment.tally.op(op);
    let latency_ns = tally.latency_ns().filter(|_| tally.count() >= REQUESTS_MIN)?;
    let expected_ns = look.by_op[op as usize].filter(|expected| *expected > 0.0)? * look.bend;
    let alone = alone(segment.series, op);
    let error = latency_error(&alone).unwrap_or(1.0).hypot(look.error_rel());
    let over = segment.over(latency_ns, expected_ns);
    Some(Operation {
        op,
        latency_ns,
        expected_ns,
        iops: tally.count() / segment.tally.seconds.max(1e-9),
        over,
        slow: over >= OPERATION_SLOW && over * (1.0 - error.min(0.9)) > 1.0,
        constant: pinned(&alone),
    })
}

/// A series with the requests of one operation alone.
fn alone(series: &[IntervalTotals], op: OpKind) -> Vec<IntervalTotals> {
    series.iter().map(|one| one.of_one(op)).collect()
}

impl Operation {
    /// What happens to it, in a sentence.
    pub(crate) fn because(&self) -> String {
        let mut text = format!(
            "{} take {}, {} the {} that the profile predicts",
            capitalized(self.op),
            format_nanos(self.latency_ns),
            times(self.over),
            format_nanos(self.expected_ns)
        );
        if let Some(constant) = &self.constant {
            text.push_str(&format!(", at the same {} in every interval", constant.text()));
        }
        text + "."
    }

    /// Its own verdict, given the verdict on both operations.
    fn verdict(&self, whole: &Judgement) -> Verdict {
        let limited = match &whole.rests_on {
            RestsOn::Limits(limits) => limits.iter().any(|limit| limit.limited.op() == self.op),
            _ => false,
        };
        let full = whole.verdict.is_overloaded();
        match (limited, self.slow, full) {
            (true, ..) => Verdict::Capped,
            (_, true, true) => Verdict::SlowAndOverloaded,
            (_, true, false) => Verdict::Slow,
            (_, false, true) => Verdict::Overloaded,
            (_, false, false) if whole.verdict == Verdict::NotTheDisk => Verdict::NotTheDisk,
            (_, false, false) => Verdict::Healthy,
        }
    }
}

/// Ratio of their latencies from which reads and writes are judged apart without a profile.
const FAR_APART: f64 = 4.0;

/// The verdicts on reads and writes of a device without a profile, each by its own requests, if their latencies
/// differ a lot.
fn unprofiled(segment: &Segment<'_>) -> Option<Vec<OperationVerdict>> {
    let [read_ns, write_ns] = OpKind::ALL.map(|op| segment.tally.op(op).latency_ns());
    let enough = OpKind::ALL.iter().all(|op| segment.tally.op(*op).count() >= REQUESTS_MIN);
    if !enough || (read_ns? / write_ns?).max(write_ns? / read_ns?) < FAR_APART {
        return None;
    }
    let of = |op: OpKind| {
        let (series, whole) = (alone(segment.series, op), alone(segment.whole, op));
        // Idle time and the number in flight are those of both together: as for a closed loop, they are not used.
        let kinds = (segment.known.busy, true);
        let rung = (segment.class, Rung::Class);
        let look = own::expectation(&series, &whole, rung, None, kinds).ok()?;
        let (tally, posterior) = (segment.tally.op(op), look.own?);
        let verdict = match (posterior.slow >= 0.5, posterior.overloaded >= 0.5) {
            (true, true) => Verdict::SlowAndOverloaded,
            (true, false) => Verdict::Slow,
            (false, true) => Verdict::Overloaded,
            (false, false) => Verdict::Healthy,
        };
        Some(OperationVerdict {
            op,
            verdict,
            iops: tally.count() / segment.tally.seconds.max(1e-9),
            latency_ns: tally.latency_ns()?,
            expected_ns: look.at_concurrency.value,
            constant: pinned(&series).is_some(),
        })
    };
    let both: Vec<OperationVerdict> = OpKind::ALL.into_iter().map(of).collect::<Option<_>>()?;
    (both[0].verdict != both[1].verdict).then_some(both)
}

/// The verdicts on reads and on writes; empty if one verdict covers both, or if the expected
/// latency cannot be split between them.
pub(crate) fn by_operation(segment: &Segment<'_>, whole: &Judgement) -> Vec<OperationVerdict> {
    if whole.verdict == Verdict::NotEnoughEvidence {
        return Vec::new();
    }
    if segment.is_unprofiled() {
        return unprofiled(segment).unwrap_or_default();
    }
    let unknown = |one: &Operation| one.over < PASSES || (one.over >= OPERATION_SLOW && !one.slow);
    let told = |one: Operation| OperationVerdict {
        op: one.op,
        verdict: one.verdict(whole),
        iops: one.iops,
        latency_ns: one.latency_ns,
        expected_ns: one.expected_ns,
        constant: one.constant.is_some(),
    };
    let both = apart(segment).filter(|both| !both.iter().any(unknown));
    both.map(|both| both.map(told).into()).unwrap_or_default()
}
