//! A figure with its goal, and the proof that the measurement can detect a fault.
//!
//! A gate that always passes is useless. Each gate therefore has an A/A result (the same compared with the
//! same, which shows the current noise) and a planted fault, whose interval must be outside the A/A interval.
//! A gate that cannot detect its fault says so, and its figure counts as not reached. The figure itself is
//! judged by its median; its interval shows the uncertainty.

use crate::pairs::Ratio;
use anyhow::Result;
use serde_json::{Value, json};

/// The goal of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(goal) => value >= goal,
            Self::AtMost(goal) => value <= goal,
        }
    }

    /// Whether a planted fault, which makes the figure worse, is outside the A/A result.
    pub(super) fn tells_apart(self, same: &Ratio, planted: &Ratio) -> bool {
        match self {
            Self::AtLeast(_) => planted.high < same.low.min(1.0),
            Self::AtMost(_) => planted.low > same.high.max(1.0),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) goal: Goal,
    /// Median with its interval.
    pub(super) figure: Ratio,
    pub(super) proof: Proof,
    /// Whether the fault is outside the A/A result.
    pub(super) works: bool,
}

/// What a gate can distinguish.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof {
    /// The same compared with the same.
    pub(super) same: Ratio,
    /// With the fault compared to without it.
    pub(super) planted: Ratio,
    pub(super) fault: &'static str,
}

impl Proof {
    /// Measures both by alternating runs. Also returns the median of all runs without the fault.
    pub(super) fn of(
        count: usize,
        fault: &'static str,
        free: impl Fn() -> Result<f64>,
        faulty: impl Fn() -> Result<f64>,
    ) -> Result<(Self, Ratio)> {
        let same = turns(count, &free, &free)?;
        let planted = turns(count, &free, faulty)?;
        let all = same.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let proof = Self {
            same: Ratio::median_of_pairs(&same),
            planted: Ratio::median_of_pairs(&planted),
            fault,
        };
        Ok((proof, Ratio::median_of(all)))
    }
}

impl Gate {
    /// A gate whose A/A result and fault are ratios. A worse ratio is lower ([`Goal::AtLeast`]) or higher
    /// ([`Goal::AtMost`]).
    pub(super) fn new(
        name: impl Into<String>,
        unit: &'static str,
        goal: Goal,
        figure: Ratio,
        proof: Proof,
    ) -> Self {
        let works = goal.tells_apart(&proof.same, &proof.planted);
        Self { name: name.into(), unit, goal, figure, proof, works }
    }

    /// Whether the figure is good and the gate is reliable.
    pub(super) fn reached(&self) -> bool {
        self.works && self.goal.met_by(self.figure.value)
    }

    /// Prints two lines for a reader. A smoke run is too short to be judged.
    pub(super) fn print(&self, judged: bool) {
        let goal = match self.goal {
            Goal::AtLeast(goal) => format!("goal at least {goal}"),
            Goal::AtMost(goal) => format!("goal at most {goal}"),
        };
        let surely = self.goal.met_by(self.figure.low) && self.goal.met_by(self.figure.high);
        let verdict = match (self.works, self.goal.met_by(self.figure.value)) {
            _ if !judged => "not judged",
            (false, _) => "not reached: the gate cannot tell its fault from nothing here",
            (true, false) => "not reached",
            (true, true) if surely => "reached",
            (true, true) => "reached by the median, not by the whole interval",
        };
        let Self { name, unit, figure, .. } = self;
        let blank = if unit.is_empty() { "" } else { " " };
        println!("  {name}: {figure}{blank}{unit}, {goal}: {verdict}");
        let Proof { same, planted, fault } = self.proof;
        println!("    A/A {same}; planted ({fault}) {planted}");
    }

    pub(super) fn json(&self) -> Value {
        let goal = match self.goal {
            Goal::AtLeast(goal) => json!({ "at_least": goal }),
            Goal::AtMost(goal) => json!({ "at_most": goal }),
        };
        json!({
            "name": self.name, "unit": self.unit, "goal": goal, "figure": self.figure,
            "a_a": self.proof.same, "fault": self.proof.fault,
            "planted": self.proof.planted,
            "gate_works": self.works, "reached": self.reached(),
        })
    }
}

/// Results of two sides in alternation; every second pair is in reverse order (ABBA).
pub(super) fn turns<T>(
    count: usize,
    a: impl Fn() -> Result<T>,
    b: impl Fn() -> Result<T>,
) -> Result<Vec<(T, T)>> {
    let pair = |index: usize| {
        if index.is_multiple_of(2) {
            let first = a()?;
            return Ok((first, b()?));
        }
        let first = b()?;
        Ok((a()?, first))
    };
    (0..count).map(pair).collect()
}

/// A value of both sides of each pair.
pub(super) fn values<T>(pairs: &[(T, T)], value: impl Fn(&T) -> f64) -> Vec<(f64, f64)> {
    pairs.iter().map(|(a, b)| (value(a), value(b))).collect()
}

pub(super) fn medians(pairs: &[(f64, f64)]) -> (f64, f64) {
    let median = |side: fn(&(f64, f64)) -> f64| stats::median(pairs.iter().map(side).collect());
    (median(|pair| pair.0), median(|pair| pair.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, value: f64, high: f64) -> Ratio {
        Ratio { value, low, high }
    }

    #[test]
    fn a_gate_works_only_if_its_fault_lies_outside_its_own_noise() {
        let least = Goal::AtLeast(1.0);
        assert!(least.tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(0.88, 0.9, 0.92)));
        assert!(!least.tells_apart(&ratio(0.90, 1.0, 1.10), &ratio(0.88, 0.9, 0.92)));
        assert!(!least.tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(0.80, 0.9, 1.00)));
        let most = Goal::AtMost(1.0);
        assert!(most.tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(1.08, 1.1, 1.12)));
        assert!(!most.tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(0.88, 0.9, 0.92)));
        assert!(!most.tells_apart(&ratio(0.98, 1.0, 1.02), &ratio(f64::NAN, f64::NAN, f64::NAN)));
    }

    #[test]
    fn a_good_figure_of_a_gate_that_does_not_work_is_not_reached() {
        let proof = |planted| Proof { same: ratio(0.98, 1.0, 1.02), planted, fault: "x" };
        let gate = |value, planted| {
            let figure = ratio(value - 0.1, value, value + 0.1);
            Gate::new("x", "", Goal::AtLeast(0.9), figure, proof(planted)).reached()
        };
        let caught = ratio(0.88, 0.9, 0.92);
        assert!(gate(0.95, caught));
        assert!(!gate(0.85, caught));
        assert!(!gate(0.95, ratio(0.88, 0.95, 1.2)));
    }

    #[test]
    fn every_second_pair_is_run_in_reverse_order() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name, value| {
            order.borrow_mut().push(name);
            Ok(value)
        };
        let pairs = turns(4, || side('a', 2.0), || side('b', 1.0)).unwrap();
        assert_eq!((order.borrow().as_str(), pairs[0]), ("abbaabba", (2.0, 1.0)));
    }
}
