//! Axes: which values they span, where the labels stand, how a value is written.
//!
//! Labels stand at round numbers; those of sizes and depths at the measured ones, because a reader
//! asks for "64 KiB" and not for a place between. Ordinates of rates begin at zero, since a reader
//! compares heights; times span decades and are logarithmic. The page's script computes the labels
//! of a zoomed axis by the same rules (`ticks` in `page.js`).

use crate::number;
use record::Unit;

/// Most labels at an axis.
const TICKS_MAX: usize = 9;
/// Letters that the labels of an abscissa have room for, side by side.
const LABELS_ROOM: usize = 56;
/// Decades below which a logarithmic axis is also labelled at 2 and 5.
const FEW_DECADES: f64 = 2.5;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Title, with the unit where the labels carry none.
    pub title: String,
    /// Unit of the values, which the labels carry; `None` for plain numbers.
    pub unit: Option<Unit>,
    /// Whether it is logarithmic.
    pub log: bool,
    /// From, to.
    pub range: (f64, f64),
    /// Where it has labels.
    pub ticks: Vec<f64>,
    /// Names of the rows; empty for an axis of numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// From zero to a round number above the largest value.
    #[must_use]
    pub fn from_zero(title: &str, unit: Option<Unit>, values: impl Iterator<Item = f64>) -> Self {
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let step = round_step(unit, if largest > 0.0 { largest } else { 1.0 } / 5.0);
        // More than a few only where the values are beyond all sense.
        let count = (largest / step - 1e-9).ceil().clamp(1.0, 100.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
        Self::new(title, unit, false, (0.0, count as f64 * step), ticks)
    }

    /// Over the values, labelled at values, of which some are left out where there are many.
    #[must_use]
    pub fn at_values(title: &str, unit: Option<Unit>, log: bool, values: &[f64]) -> Self {
        let mut ticks: Vec<f64> =
            values.iter().copied().filter(|value| value.is_finite()).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let range = (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(1.0));
        let log = log && range.0 > 0.0;
        if !log {
            ticks = linear_ticks(unit, range);
        }
        let bare = Self::new(title, unit, log, range, Vec::new());
        let longest = ticks.iter().map(|tick| bare.label(*tick).chars().count()).max();
        let room = (LABELS_ROOM / (longest.unwrap_or(0) + 2)).clamp(2, TICKS_MAX);
        let every = ticks.len().div_ceil(room).max(1);
        Self { ticks: ticks.into_iter().step_by(every).collect(), ..bare }
    }

    /// Logarithmic over the values that are more than zero, from and to round numbers.
    #[must_use]
    pub fn decades(title: &str, unit: Option<Unit>, values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return Self::new(title, unit, true, (1.0, 10.0), vec![1.0, 10.0]);
        }
        let range = (round_down(low), round_up(high));
        let range = if range.1 > range.0 { range } else { (range.0 / 2.0, range.1 * 2.0) };
        Self::new(title, unit, true, range, log_ticks(range))
    }

    /// Over the values from the least to the largest, linear.
    #[must_use]
    pub fn over(title: &str, unit: Option<Unit>, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let range = if low < high { (low, high) } else { (low.min(0.0), low.max(1.0)) };
        let range = if range.0.is_finite() { range } else { (0.0, 1.0) };
        Self::new(title, unit, false, range, linear_ticks(unit, range))
    }

    /// Rows, the first on top.
    #[must_use]
    pub fn named(names: Vec<String>) -> Self {
        let rows = names.len() as f64;
        let ticks = (0..names.len()).map(|row| row as f64).collect();
        Self { names, ..Self::new("", None, false, (rows - 0.5, -0.5), ticks) }
    }

    fn new(title: &str, unit: Option<Unit>, log: bool, range: (f64, f64), ticks: Vec<f64>) -> Self {
        Self { title: title.to_owned(), unit, log, range, ticks, names: Vec::new() }
    }

    /// Where a value lies, 0 to 1 within the range.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).log2() } else { value };
        let (low, high) = (scale(self.range.0), scale(self.range.1));
        if high == low { 0.5 } else { (scale(value) - low) / (high - low) }
    }

    /// A value as it is written beside others, with its unit.
    pub(crate) fn value(&self, value: f64) -> String {
        if let Some(name) = self.names.get(value.max(0.0).round() as usize) {
            return name.clone();
        }
        match self.unit {
            None => number::digits(value),
            // Shares below a thousandth are the point of a plot of rare events.
            Some(Unit::Share) => format!("{} %", number::digits(value * 100.0)),
            Some(unit) => number::in_unit(unit, value),
        }
    }

    /// A label: the same without the zeros that say nothing.
    pub(crate) fn label(&self, value: f64) -> String {
        let text = self.value(value);
        let number = text.find(' ').unwrap_or(text.len());
        let (digits, unit) = text.split_at(number);
        if !self.names.is_empty() || !digits.contains('.') || digits.contains('e') {
            return text;
        }
        format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Round numbers within a range.
fn linear_ticks(unit: Option<Unit>, range: (f64, f64)) -> Vec<f64> {
    let step = round_step(unit, (range.1 - range.0).max(1e-9) / 5.0);
    let from = (range.0 / step - 1e-9).ceil() as i64;
    let to = (range.1 / step + 1e-9).floor() as i64;
    (from..=to).map(|at| at as f64 * step).collect()
}

/// Powers of ten within a range, with 2 and 5 of each where there are few.
fn log_ticks(range: (f64, f64)) -> Vec<f64> {
    let steps: &[f64] =
        if (range.1 / range.0).log10() < FEW_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (from, to) = (range.0.log10().floor() as i32, range.1.log10().ceil() as i32);
    let within = |value: &f64| *value >= range.0 * 0.999 && *value <= range.1 * 1.001;
    let ticks = (from..=to)
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
        .filter(within);
    let ticks: Vec<f64> = ticks.collect();
    let every = ticks.len().div_ceil(TICKS_MAX).max(1);
    ticks.into_iter().step_by(every).collect()
}

/// 1, 2 or 5 times a power of ten, at least `least`; of bytes a power of two.
fn round_step(unit: Option<Unit>, least: f64) -> f64 {
    if unit == Some(Unit::Bytes) {
        return least.max(1.0).log2().ceil().exp2();
    }
    let power = 10_f64.powi(least.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(power)
}

/// The largest 1, 2 or 5 times a power of ten that is no more than the value.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let steps = [5.0, 2.0, 1.0].map(|step| step * power);
    steps.into_iter().find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(power)
}

/// The smallest such number that is no less than the value.
fn round_up(value: f64) -> f64 {
    round_step(None, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinates_begin_at_zero_and_end_at_a_round_number() {
        let y = Axis::from_zero("", None, [1.0, 8.7].into_iter());
        assert_eq!(y.range, (0.0, 10.0));
        assert_eq!(y.ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis::from_zero("", None, [0.0].into_iter()).range, (0.0, 0.2));
    }

    #[test]
    fn labels_have_no_idle_zeros_and_carry_their_unit() {
        let plain = Axis::from_zero("", None, [1.0].into_iter());
        let labels = [0.0, 2.0, 0.2, 192.0, 20.0].map(|value| plain.label(value));
        assert_eq!(labels, ["0", "2", "0.2", "192", "20"]);
        let unit = |unit, value| Axis::from_zero("", Some(unit), [1.0].into_iter()).label(value);
        assert_eq!(unit(Unit::Nanos, 50_000.0), "50 µs");
        assert_eq!(unit(Unit::PerSecond, 100_000.0), "100k IOPS");
        assert_eq!(unit(Unit::Bytes, 65_536.0), "64 KiB");
        assert_eq!(unit(Unit::Share, 0.0001), "0.01 %");
        assert_eq!(unit(Unit::BytesPerSecond, 1.5e9), "1.5 GB/s");
    }

    #[test]
    fn a_logarithmic_axis_gives_each_doubling_the_same_room() {
        let x = Axis::at_values("", None, true, &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        let room = |from: f64| x.share(from * 2.0) - x.share(from);
        assert!((room(2.0) - room(32.0)).abs() < 1e-12);
        assert_eq!((x.share(2.0), x.share(64.0)), (0.0, 1.0));
    }

    #[test]
    fn a_logarithmic_axis_ends_at_round_numbers_around_its_values() {
        let axis = Axis::decades("", None, [3.0, 70.0].into_iter());
        assert_eq!(
            (axis.range, axis.ticks),
            ((2.0, 100.0), vec![2.0, 5.0, 10.0, 20.0, 50.0, 100.0])
        );
        let wide = Axis::decades("", None, [1.0, 2e5].into_iter());
        assert_eq!(wide.ticks, [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        let lone = Axis::decades("", None, [5.0].into_iter());
        assert!(lone.range.0 < 5.0 && lone.range.1 > 5.0, "{lone:?}");
        assert_eq!(Axis::decades("", None, std::iter::empty()).range, (1.0, 10.0));
    }

    #[test]
    fn the_first_row_is_on_top() {
        let rows = Axis::named(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!((rows.share(0.0), rows.share(1.0)), (0.75, 0.25));
        assert_eq!(rows.label(1.0), "b");
    }

    #[test]
    fn positions_on_a_disk_are_labelled_in_whole_binary_units() {
        let axis = Axis::over("", Some(Unit::Bytes), [0.0, 9.1e9].into_iter());
        let labels: Vec<String> = axis.ticks.iter().map(|tick| axis.label(*tick)).collect();
        assert_eq!(labels, ["0 B", "2 GiB", "4 GiB", "6 GiB", "8 GiB"]);
    }
}
