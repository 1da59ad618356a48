//! A verdict with what it rests on and what else its evidence leaves open.

use super::constant_rate::ConstantRate;
use super::odds;
use record::{Alternative, CgroupLimit, Confidence, Doubt, Evidence, HypothesisName, Verdict};

/// A verdict with what it rests on.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) claim: String,
    pub(crate) evidence: Vec<Evidence>,
    /// What else is possible.
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
    /// How much the evidence speaks for it, over the verdict.
    pub(crate) odds: f64,
    pub(crate) because: String,
    pub(crate) decided_by: String,
}

/// What a verdict follows from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RestsOn {
    /// Means of the counters, or waits above them.
    Means,
    /// What the device does beside what is expected of it.
    State,
    /// A limit that is reached.
    Limit(CgroupLimit),
    /// A published limit that is the largest rate of the profile.
    Published,
    /// So many tags, all of which are in use.
    Tags(u64),
    /// The wait in the I/O scheduler.
    Scheduler,
    /// Bytes that may wait to be written before programs are stopped.
    WriteBack(u64),
    /// What the volume says of its provider's limits.
    VolumeLog,
    /// The slowest requests.
    Tail,
    /// What tasks wait for I/O, as a share of the time, beyond what they wait for the device.
    IdleWaits(f64),
}

/// What a number is, its value and its unit.
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

    /// Verdicts that the evidence does not exclude, without those that nothing was measured of.
    pub(crate) fn tested(&self) -> impl Iterator<Item = Verdict> {
        self.open.iter().filter(|open| open.doubt != Doubt::TailUnseen).map(|open| open.verdict)
    }

    /// How probable the verdict is.
    pub(crate) fn probability(&self) -> f64 {
        1.0 / (1.0 + self.open.iter().map(|open| open.odds).sum::<f64>())
    }

    pub(crate) fn confidence(&self) -> Confidence {
        odds::confidence(self.probability())
    }

    /// What else is possible, the most probable first.
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
