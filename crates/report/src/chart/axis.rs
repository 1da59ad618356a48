//! Defines axes: their range, their labels, and the format of values.
//!
//! Labels are at round numbers: for sizes and depths at powers of two, for rates and times at 1, 2
//! and 5 times powers of ten. Ordinates of rates begin at zero, because readers compare heights.
//! Times span decades and are logarithmic. An axis has as many labels as fit a wide drawing; the
//! renderer leaves out those that do not fit. The page's script computes the labels of a zoomed
//! axis by the same rules (`ticks` in `drawing.js`).

use crate::number;
use record::Unit;

/// Most labels on a logarithmic axis with powers of ten.
const TICKS_MAX: usize = 12;
/// The range of a logarithmic axis. Beyond it, a number cannot hold the powers of ten; only a
/// damaged file has such values.
const SHOWN: std::ops::RangeInclusive<f64> = 1e-300..=1e300;
/// Share of the range of ratios left free at either end.
const RATIO_ROOM: f64 = 0.04;
/// Number of decades below which a logarithmic axis also has labels at 2 and 5.
const FEW_DECADES: f64 = 2.5;

/// The values of an axis.
pub trait Values: IntoIterator<Item = f64> {}

impl<V: IntoIterator<Item = f64>> Values for V {}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Axis {
    /// Title, with the unit if the labels have none.
    pub title: String,
    /// Unit of the values, shown in the labels; `None` for plain numbers.
    pub unit: Option<Unit>,
    /// Whether it is logarithmic.
    pub log: bool,
    /// First and last value.
    pub range: (f64, f64),
    /// Values with a label.
    pub ticks: Vec<f64>,
    /// Names of the rows; empty for an axis of numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// A linear axis from zero to a round number above the largest value.
    pub fn from_zero(title: &str, unit: Option<Unit>, values: impl Values) -> Self {
        let largest = finite(values).fold(0.0, f64::max);
        let step = round_step(unit, if largest > 0.0 { largest } else { 1.0 } / 5.0);
        // More than a few only if the values are nonsense.
        let count = (largest / step - 1e-9).ceil().clamp(1.0, 100.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
        Self::new(title, unit, false, (0.0, count as f64 * step), ticks)
    }

    /// An axis over the values. A logarithmic one has labels at the powers of two in its range, or
    /// at the values if there are fewer than two of these.
    pub fn at_values(title: &str, unit: Option<Unit>, log: bool, values: impl Values) -> Self {
        let mut values: Vec<f64> = finite(values).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let range = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
        let log = log && SHOWN.contains(&range.0) && range.1 <= *SHOWN.end();
        if !log {
            return Self::new(title, unit, log, range, linear_ticks(unit, range));
        }
        let powers = powers_of_two(range);
        Self::new(title, unit, log, range, if powers.len() > 1 { powers } else { values })
    }

    /// A logarithmic axis over the positive values, between round numbers.
    pub fn decades(title: &str, unit: Option<Unit>, values: impl Values) -> Self {
        let (low, high) = extremes(values.into_iter().filter(|value| SHOWN.contains(value)));
        if low > high {
            return Self::new(title, unit, true, (1.0, 10.0), vec![1.0, 10.0]);
        }
        let range = (round_down(low), round_up(high));
        let range = if range.1 > range.0 { range } else { (range.0 / 2.0, range.1 * 2.0) };
        Self::new(title, unit, true, range, log_ticks(range))
    }

    /// A logarithmic axis over ratios that includes 1, with a little space at either end. Its
    /// labels are at powers of two, or at round steps if the ratios are close together.
    pub fn ratios(title: &str, values: impl Values) -> Self {
        let shown = values.into_iter().filter(|value| SHOWN.contains(value)).chain([1.0]);
        let (low, high) = extremes(shown);
        let room = (high / low).powf(RATIO_ROOM).max(1.002);
        let range = (low / room, high * room);
        let powers = powers_of_two(range);
        let ticks = if powers.len() > 2 { powers } else { linear_ticks(None, range) };
        Self::new(title, None, true, range, ticks)
    }

    /// A linear axis from the smallest to the largest value.
    pub fn over(title: &str, unit: Option<Unit>, values: impl Values) -> Self {
        let (low, high) = extremes(finite(values));
        let range = if low < high { (low, high) } else { (low.min(0.0), low.max(1.0)) };
        let range = if range.0.is_finite() { range } else { (0.0, 1.0) };
        Self::new(title, unit, false, range, linear_ticks(unit, range))
    }

    /// A row axis, with the first row on top.
    pub fn named(names: Vec<String>) -> Self {
        let rows = names.len() as f64;
        let ticks = (0..names.len()).map(|row| row as f64).collect();
        Self { names, ..Self::new("", None, false, (rows - 0.5, -0.5), ticks) }
    }

    fn new(title: &str, unit: Option<Unit>, log: bool, range: (f64, f64), ticks: Vec<f64>) -> Self {
        Self { title: title.to_owned(), unit, log, range, ticks, names: Vec::new() }
    }

    /// Position of a value, 0 to 1 within the range.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.max(*SHOWN.start()).log2() } else { value };
        let (low, high) = (scale(self.range.0), scale(self.range.1));
        if high == low { 0.5 } else { (scale(value) - low) / (high - low) }
    }

    /// A value as text, with its unit.
    #[must_use]
    pub fn value(&self, value: f64) -> String {
        if let Some(name) = self.names.get(value.max(0.0).round() as usize) {
            return name.clone();
        }
        match self.unit {
            None => number::digits(value),
            // A plot of rare events needs shares below a thousandth.
            Some(Unit::Share) => format!("{} %", number::digits(value * 100.0)),
            Some(unit) => unit.format(value),
        }
    }

    /// A label: like the value, without trailing zeros, and without a unit for zero.
    #[must_use]
    pub fn label(&self, value: f64) -> String {
        if value == 0.0 && self.names.is_empty() {
            return "0".to_owned();
        }
        let text = self.value(value);
        let number = text.find(' ').unwrap_or(text.len());
        let (digits, unit) = text.split_at(number);
        if !self.names.is_empty() || !digits.contains('.') || digits.contains('e') {
            return text;
        }
        format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn finite(values: impl Values) -> impl Iterator<Item = f64> {
    values.into_iter().filter(|value| value.is_finite())
}

/// The smallest and the largest value; infinite and reversed if there are none.
pub(crate) fn extremes(values: impl Values) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, |(low, high), value| (low.min(value), high.max(value)))
}

fn linear_ticks(unit: Option<Unit>, range: (f64, f64)) -> Vec<f64> {
    let step = round_step(unit, (range.1 - range.0).max(1e-9) / 5.0);
    let from = (range.0 / step - 1e-9).ceil() as i64;
    let to = (range.1 / step + 1e-9).floor() as i64;
    (from..=to).map(|at| at as f64 * step).collect()
}

/// The powers of two within a range.
fn powers_of_two(range: (f64, f64)) -> Vec<f64> {
    let (from, to) = (range.0.log2().ceil() as i32, range.1.log2().floor() as i32);
    (from..=to).map(|power| 2_f64.powi(power)).collect()
}

/// Powers of ten within a range, with 2 and 5 times each if there are few.
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

/// The smallest of 1, 2 or 5 times a power of ten that is at least `least`; for bytes a power of two.
fn round_step(unit: Option<Unit>, least: f64) -> f64 {
    if unit == Some(Unit::Bytes) { least.max(1.0).log2().ceil().exp2() } else { round_up(least) }
}

/// 1, 2, 5 and 10 times the largest power of ten up to a value.
fn round_numbers(value: f64) -> [f64; 4] {
    let power = 10_f64.powi(value.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power)
}

/// The largest of them that does not exceed the value.
fn round_down(value: f64) -> f64 {
    let steps = round_numbers(value);
    steps.into_iter().rev().find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(steps[0])
}

/// The smallest of them that is at least the value.
fn round_up(value: f64) -> f64 {
    let steps = round_numbers(value);
    steps.into_iter().find(|step| *step >= value * (1.0 - 1e-9)).unwrap_or(steps[0])
}
