//! One row of the table of peers.

use super::Outcome;
use crate::pairs::{MARGIN, Ratio, Verdict};
use std::time::Duration;

/// Slices of each side in one pair.
pub(super) const SLICES: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    pub(super) slices: Outcome,
    /// The run that shows what start and end cost.
    pub(super) short: Outcome,
}

impl Half {
    fn us_per_io(&self, time: fn(&Outcome) -> Duration) -> f64 {
        self.slices.us_per_io(time, &self.short, SLICES)
    }
}

/// The means of both sides, and the ratio of the second over the first.
#[derive(Clone, Copy)]
struct Compared {
    means: (f64, f64),
    ratio: Ratio,
}

impl Compared {
    fn of(pairs: &[(Half, Half)], value: fn(&Half) -> f64) -> Self {
        let values: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (value(a), value(b))).collect();
        let (first, second): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
        let means = (stats::mean(&first), stats::mean(&second));
        Self { means, ratio: Ratio::of_pairs(&values) }
    }
}

/// What the pairs of one load came to.
pub(super) struct Line {
    pairs: usize,
    iops: Compared,
    latency: Compared,
    /// CPU time charged per request, in µs.
    cpu: Compared,
    /// Time of the whole machine per request, in µs.
    busy: Compared,
}

/// Whether the second side is surely not worse by more than the margin.
fn not_behind(ratio: &Ratio, more_is_better: bool) -> bool {
    if more_is_better { ratio.low >= 1.0 / MARGIN } else { ratio.high <= MARGIN }
}

impl Line {
    pub(super) fn of(pairs: &[(Half, Half)]) -> Self {
        Self {
            pairs: pairs.len(),
            iops: Compared::of(pairs, |half| half.slices.iops),
            latency: Compared::of(pairs, |half| half.slices.latency_ns),
            cpu: Compared::of(pairs, |half| half.us_per_io(|run| run.cpu)),
            busy: Compared::of(pairs, |half| half.us_per_io(|run| run.busy)),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.iops.ratio.verdict()
    }

    /// Whether more pairs could change nothing.
    pub(super) fn decided(&self) -> bool {
        [self.iops, self.latency].iter().all(|it| it.ratio.verdict() != Verdict::Undecided)
    }

    /// Whether halfpower is surely not behind fio by more than the margin, in rate and response
    /// time: equivalent or ahead.
    pub(super) fn agrees_or_leads(&self) -> bool {
        not_behind(&self.iops.ratio, true) && not_behind(&self.latency.ratio, false)
    }

    /// Whether more pairs would change nothing of what halfpower is judged by, CPU time too.
    pub(super) fn says_all(&self) -> bool {
        let costs = [self.cpu, self.busy];
        self.agrees_or_leads() && costs.iter().all(|cost| not_above(&cost.ratio) != "undecided")
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
        let judged = |compared: &Compared, more_is_better: bool| {
            let ratio = &compared.ratio;
            let verdict = match ratio.verdict() {
                Verdict::Different if (ratio.value > 1.0) == more_is_better => "ahead".to_owned(),
                Verdict::Different => "behind".to_owned(),
                Verdict::Undecided if not_behind(ratio, more_is_better) => "not behind".to_owned(),
                other => other.to_string(),
            };
            format!("{ratio} {verdict}")
        };
        let cost = |cost: &Compared| format!("{} {}", cost.ratio, not_above(&cost.ratio));
        format!(
            "{label:<27} {:>5}  {:>8.0} {:>8.0}  {:<32} {:<32} {:>6.2} {:>6.2}  {:<32} \
             {:>6.2} {:>6.2}  {}",
            self.pairs,
            self.iops.means.0,
            self.iops.means.1,
            judged(&self.iops, true),
            judged(&self.latency, false),
            self.cpu.means.0,
            self.cpu.means.1,
            cost(&self.cpu),
            self.busy.means.0,
            self.busy.means.1,
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

    fn compared(value: f64, half_width: f64) -> Compared {
        let (low, high) = (value * (1.0 - half_width), value * (1.0 + half_width));
        Compared { means: (1e5, 1e5 * value), ratio: Ratio { value, low, high } }
    }

    fn line(iops: f64, latency: f64, cpu: f64, half_width: f64) -> Line {
        let [iops, latency, cpu] = [iops, latency, cpu].map(|value| compared(value, half_width));
        Line { pairs: 5, iops, latency, cpu, busy: compared(1.0, half_width) }
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
        let less = compared(0.9, 0.02);
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
        assert_eq!(not_above(&compared(0.9, 0.05).ratio), "not above");
        assert_eq!(not_above(&compared(1.1, 0.05).ratio), "above");
        assert_eq!(not_above(&compared(0.99, 0.05).ratio), "undecided");
    }
}
