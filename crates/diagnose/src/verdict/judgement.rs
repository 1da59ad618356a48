//! Defines a judgement: a verdict with its evidence and the alternatives that remain.

use super::constant_rate::ConstantRate;
use super::odds;
use record::{Alternative, CgroupLimit, Confidence, Doubt, Evidence, HypothesisName, Verdict};

/// A verdict with its evidence.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) claim: String,
    pub(crate) evidence: Vec<Evidence>,
    /// The remaining alternatives.
    pub(crate) open: Vec<Open>,
    pub(crate) rests_on: RestsOn,
    /// The row that explains it best.
    pub(crate) hypothesis: Option<HypothesisName>,
    pub(crate) pin: Option<ConstantRate>,
}

/// Another explanation that the evidence does not exclude.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) verdict: Verdict,
    pub(crate) hypothesis: HypothesisName,
    pub(crate) doubt: Doubt,
    /// Odds relative to the verdict.
    pub(crate) odds: f64,
    pub(crate) because: String,
    pub(crate) decided_by: String,
}

/// The kind of evidence for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RestsOn {
    /// Means of the counters, or waits above them.
    Means,
    /// The state of the device, compared with its expectation.
    State,
    /// A control-group limit that was reached.
    Limit(CgroupLimit),
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

impl Judgement {
    pub(crate) fn new(verdict: Verdict, claim: String) -> Self {
        Self {
            verdict,
            claim,
            evidence: Vec::new(),
            open: Vec::new(),
            rests_on: RestsOn::Means,
            hypothesis: None,
            pin: None,
        }
    }

    /// Verdicts that the evidence does not exclude, except those that were not measured.
    pub(crate) fn tested(&self) -> impl Iterator<Item = Verdict> {
        self.open.iter().filter(|open| open.doubt != Doubt::TailUnseen).map(|open| open.verdict)
    }

    /// Probability of the verdict.
    pub(crate) fn probability(&self) -> f64 {
        1.0 / (1.0 + self.open.iter().map(|open| open.odds).sum::<f64>())
    }

    pub(crate) fn confidence(&self) -> Confidence {
        odds::confidence(self.probability())
    }

    /// The alternatives, the most probable first.
    pub(crate) fn alternatives(&self) -> Vec<Alternative> {
        let probability = self.probability();
        let mut open: Vec<&Open> = self.open.iter().collect();
        open.sort_by(|one, other| other.odds.total_cmp(&one.odds));
        let alternative = |open: &Open| Alternative {
            verdict: open.verdict,
            hypothesis: Some(open.hypothesis.clone()),
            doubt: open.doubt,
            probability: open.odds * probability,
            because: open.because.clone(),
            decided_by: open.decided_by.clone(),
        };
        open.into_iter().map(alternative).collect()
    }
}
