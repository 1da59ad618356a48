//! One row of the table of peers.

use crate::pairs::{MARGIN, Ratio, Verdict};

/// What the pairs of one load came to. Ratios are of the second side over the first.
pub(super) struct Line {
    pub(super) pairs: usize,
    pub(super) iops_means: (f64, f64),
    pub(super) iops: Ratio,
    pub(super) latency: Ratio,
    /// Processor time charged per request, in µs.
    pub(super) cpu_means: (f64, f64),
    pub(super) cpu: Ratio,
    /// Time of the whole machine per request, in µs.
    pub(super) busy_means: (f64, f64),
    pub(super) busy: Ratio,
}

/// Whether the second side is surely not worse by more than the margin.
fn not_behind(ratio: &Ratio, more_is_better: bool) -> bool {
    if more_is_better { ratio.low >= 1.0 / MARGIN } else { ratio.high <= MARGIN }
}

impl Line {
    /// Whether more pairs could change nothing.
    pub(super) fn decided(&self) -> bool {
        self.iops.verdict() != Verdict::Undecided && self.latency.verdict() != Verdict::Undecided
    }

    /// Whether halfpower is surely not behind fio by more than the margin, in rate and response
    /// time: equivalent or ahead.
    pub(super) fn agrees_or_leads(&self) -> bool {
        not_behind(&self.iops, true) && not_behind(&self.latency, false)
    }

    /// Whether more pairs would change nothing of what halfpower is judged by, processor time too.
    pub(super) fn says_all(&self) -> bool {
        let costs = [&self.cpu, &self.busy];
        self.agrees_or_leads() && costs.into_iter().all(|cost| not_above(cost) != "undecided")
    }

    pub(super) fn heading() -> String {
        format!(
            "{:<27} {:>5}  {:>8} {:>8}  {:<32} {:<32} {:>6} {:>6}  {:<32} {:>6} {:>6}  {}",
            "load",
            "pairs",
            "IOPS",
            "IOPS",
            "IOPS ratio",
            "response ratio",
            "µs/IO",
            "µs/IO",
            "charged, ratio",
            "µs/IO",
            "µs/IO",
            "whole machine, ratio"
        )
    }

    pub(super) fn row(&self, label: &str) -> String {
        let judged = |ratio: &Ratio, more_is_better: bool| {
            let verdict = match ratio.verdict() {
                Verdict::Different if (ratio.value > 1.0) == more_is_better => "ahead".to_owned(),
                Verdict::Different => "behind".to_owned(),
                Verdict::Undecided if not_behind(ratio, more_is_better) => "not behind".to_owned(),
                other => other.to_string(),
            };
            format!("{ratio} {verdict}")
        };
        let cost = |ratio: &Ratio| format!("{ratio} {}", not_above(ratio));
        format!(
            "{label:<27} {:>5}  {:>8.0} {:>8.0}  {:<32} {:<32} {:>6.2} {:>6.2}  {:<32} \
             {:>6.2} {:>6.2}  {}",
            self.pairs,
            self.iops_means.0,
            self.iops_means.1,
            judged(&self.iops, true),
            judged(&self.latency, false),
            self.cpu_means.0,
            self.cpu_means.1,
            cost(&self.cpu),
            self.busy_means.0,
            self.busy_means.1,
            cost(&self.busy),
        )
    }
}

/// "Not above" is a one-sided claim, so it needs no margin.
fn not_above(ratio: &Ratio) -> &'static str {
    if ratio.high <= 1.0 {
        "not above"
    } else if ratio.low > 1.0 {
        "above"
    } else {
        "undecided"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(iops: f64, latency: f64, cpu: f64, half_width: f64) -> Line {
        let ratio = |value| Ratio {
            value,
            low: value * (1.0 - half_width),
            high: value * (1.0 + half_width),
        };
        Line {
            pairs: 5,
            iops_means: (1e5, 1e5 * iops),
            iops: ratio(iops),
            latency: ratio(latency),
            cpu_means: (2.0, 2.0 * cpu),
            cpu: ratio(cpu),
            busy_means: (3.0, 3.0),
            busy: ratio(1.0),
        }
    }

    #[test]
    fn a_load_passes_only_if_it_is_surely_behind_in_neither() {
        assert!(line(1.0, 1.0, 1.0, 0.01).agrees_or_leads());
        assert!(line(1.3, 0.8, 1.0, 0.01).agrees_or_leads());
        assert!(!line(1.0, 1.2, 1.0, 0.01).agrees_or_leads());
        assert!(!line(0.9, 1.0, 1.0, 0.01).agrees_or_leads());
        assert!(!line(1.0, 1.05, 1.0, 0.01).agrees_or_leads(), "not sure enough");
    }

    #[test]
    fn pairs_go_on_until_processor_time_is_decided_too() {
        assert!(
            !line(1.3, 0.8, 0.9, 0.01).says_all(),
            "the whole machine's time is as good as one"
        );
        let less = Ratio { value: 0.9, low: 0.88, high: 0.92 };
        assert!(Line { busy: less, ..line(1.3, 0.8, 0.9, 0.01) }.says_all());
        assert!(!Line { busy: less, ..line(1.3, 0.8, 0.99, 0.05) }.says_all());
        assert!(!Line { busy: less, ..line(1.0, 1.2, 0.9, 0.01) }.says_all());
    }

    #[test]
    fn what_differs_is_called_ahead_or_behind() {
        let faster = line(1.3, 0.7, 1.0, 0.01).row("x");
        assert_eq!(faster.matches(" ahead").count(), 2, "{faster}");
        let slower = line(0.7, 1.3, 1.0, 0.01).row("x");
        assert_eq!(slower.matches(" behind").count(), 2, "{slower}");
    }

    #[test]
    fn processor_time_is_not_above_only_if_the_whole_interval_is() {
        assert_eq!(not_above(&line(1.0, 1.0, 0.9, 0.05).cpu), "not above");
        assert_eq!(not_above(&line(1.0, 1.0, 1.1, 0.05).cpu), "above");
        assert_eq!(not_above(&line(1.0, 1.0, 0.99, 0.05).cpu), "undecided");
    }
}
