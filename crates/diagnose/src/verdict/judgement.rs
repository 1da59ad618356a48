//! A verdict with what it rests on and what else its evidence leaves open.

use super::constant_rate::ConstantRate;
use super::odds;
use record::{Alternative, CgroupLimit, Confidence, Doubt, Evidence, Verdict};

/// A verdict with what it rests on.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) claim: String,
    pub(crate) evidence: Vec<Evidence>,
    /// What else is possible.
    pub(crate) open: Vec<Open>,
    pub(crate) rests_on: RestsOn,
    pub(crate) pin: Option<ConstantRate>,
}

/// Another explanation that the evidence does not exclude.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) verdict: Verdict,
    doubt: Doubt,
    /// How much the evidence speaks for it, over the verdict.
    odds: f64,
    because: String,
    decided_by: String,
}

/// What a verdict follows from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RestsOn {
    /// Means of the counters, or waits above them.
    Means,
    /// A limit that is reached.
    Limit(CgroupLimit),
    /// The wait in the I/O scheduler.
    Scheduler,
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
    pub(super) fn new(verdict: Verdict, claim: String) -> Self {
        Self {
            verdict,
            claim,
            evidence: Vec::new(),
            open: Vec::new(),
            rests_on: RestsOn::Means,
            pin: None,
        }
    }

    pub(crate) fn with(mut self, what: &'static str, value: f64, unit: &'static str) -> Self {
        self.evidence.extend(numbers(&[(what, value, unit)]));
        self
    }

    /// Adds an alternative. To one of that verdict that is there already its odds are added, and the
    /// stronger reason is told.
    pub(crate) fn against(
        &mut self,
        verdict: Verdict,
        doubt: Doubt,
        because: impl Into<String>,
        decided_by: &str,
    ) {
        self.weighed(verdict, (doubt, odds::of(doubt)), because, decided_by);
    }

    /// The same with odds from a measurement. What is all but excluded is not named.
    pub(crate) fn weighed(
        &mut self,
        verdict: Verdict,
        (doubt, odds): (Doubt, f64),
        because: impl Into<String>,
        decided_by: &str,
    ) {
        if odds < odds::NAMED || verdict == self.verdict {
            return;
        }
        let (because, decided_by) = (because.into(), decided_by.to_owned());
        let next = Open { verdict, doubt, odds, because, decided_by };
        match self.open.iter_mut().find(|known| known.verdict == verdict) {
            None => self.open.push(next),
            Some(known) => {
                let sum = known.odds + odds;
                if odds > known.odds {
                    *known = next;
                }
                known.odds = sum;
            }
        }
    }

    /// Adds an alternative, or what else speaks for it where it is there already.
    pub(crate) fn also_against(
        &mut self,
        verdict: Verdict,
        doubt: Doubt,
        because: String,
        decided_by: &str,
    ) {
        if let Some(known) = self.open.iter_mut().find(|known| known.verdict == verdict) {
            known.because = format!("{} {because}", known.because);
        }
        self.against(verdict, doubt, because, decided_by);
    }

    /// Another verdict in place of this one, which stays an alternative.
    pub(crate) fn replaced(
        &mut self,
        verdict: Verdict,
        claim: String,
        doubt: Doubt,
        because: &str,
        decided_by: &str,
    ) {
        let before = std::mem::replace(&mut self.verdict, verdict);
        self.claim = claim;
        self.rests_on = RestsOn::Means;
        self.open.retain(|open| open.verdict != verdict);
        self.against(before, doubt, because, decided_by);
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
            doubt: open.doubt,
            probability: open.odds * probability,
            because: open.because.clone(),
            decided_by: open.decided_by.clone(),
        };
        open.into_iter().map(alternative).collect()
    }
}
