//! Defines a judgement: a verdict with its evidence and the alternatives that remain.

use super::constant_rate::ConstantRate;
use super::odds;
use record::{
    Alternative, Cause, CauseCode, CgroupLimit, Confidence, Doubt, Evidence, HypothesisName,
    Verdict,
};

/// A verdict with its evidence.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) claim: String,
    pub(crate) evidence: Vec<Evidence>,
    /// Its probability.
    pub(crate) probability: f64,
    /// The remaining alternatives, the most probable first.
    pub(crate) open: Vec<Alternative>,
    pub(crate) rests_on: RestsOn,
    /// The row that explains it best.
    pub(crate) hypothesis: Option<HypothesisName>,
    pub(crate) pin: Option<ConstantRate>,
}

/// The kind of evidence for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RestsOn {
    /// Means of the counters, or waits above them.
    Means,
    /// The state of the device, compared with its expectation.
    State,
    /// The limits of a control group that were reached.
    Limits(Vec<CgroupLimit>),
    /// A published limit that equals the maximum rate of the profile.
    Published,
    /// This number of tags, all in use.
    Tags(u64),
    /// The wait in the I/O scheduler.
    Scheduler,
    /// The dirty limit in bytes, from which the kernel throttles programs.
    WriteBack(u64),
    /// The volume's own log of its provider's limits.
    VolumeLog,
    /// The slowest requests.
    Tail,
    /// The time of flushes, which no read or write includes.
    Flushes,
    /// Share of the time that tasks wait for I/O, beyond their waits for the device.
    IdleWaits(f64),
}

/// Name, value and unit.
pub(crate) type Number = (&'static str, f64, &'static str);

pub(crate) fn numbers(numbers: &[Number]) -> Vec<Evidence> {
    let evidence = |&(what, value, unit): &Number| Evidence {
        what: what.to_owned(),
        value,
        unit: unit.to_owned(),
    };
    numbers.iter().map(evidence).collect()
}

/// A cause with these numbers.
pub(crate) fn cause(code: CauseCode, claim: String, evidence: &[Number]) -> Cause {
    Cause::of(code, claim, numbers(evidence))
}

impl Judgement {
    /// Verdicts that the evidence does not exclude, except those that were not measured.
    pub(crate) fn tested(&self) -> impl Iterator<Item = Verdict> {
        self.open.iter().filter(|open| open.doubt != Doubt::TailUnseen).map(|open| open.verdict)
    }

    pub(crate) fn confidence(&self) -> Confidence {
        odds::confidence(self.probability)
    }
}
