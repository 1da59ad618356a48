//! Bytes and nanoseconds: their types and how they are parsed. Also formats all printed numbers.
//!
//! Sizes follow fio for bare letters (`4k` is 4096) and the standards for full units: `4kB` is 4000 bytes,
//! `4KiB` is 4096. Printed numbers have three digits and always say KiB or MB. NaN, infinities and
//! meaningless magnitudes become short text that fits into a table. Rejected: absolute intervals in tables,
//! which cannot be compared between rows; `±2 %` can.

use crate::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A duration or a point in time, in nanoseconds. The origin of a point is that of its clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Why a size or a duration could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No number at the start.
    #[error("'{0}' does not start with a number; for example, write {1}")]
    NoNumber(String, &'static str),
    /// An unknown suffix.
    #[error("'{text}' has the unknown unit '{suffix}'; use one of {known}")]
    Suffix {
        /// The whole text.
        text: String,
        /// Its unit.
        suffix: String,
        /// The accepted units.
        known: &'static str,
    },
    /// Too large, or not a whole number of the smallest unit.
    #[error("'{0}' is not a whole number of {1} below 2^63")]
    Range(String, &'static str),
}

/// Parser for one kind of quantity with units.
struct Reader {
    example: &'static str,
    /// The smallest unit.
    whole: &'static str,
    known: &'static str,
    /// Each unit with its spellings.
    units: &'static [(u64, &'static [&'static str])],
}

const SIZES: Reader = Reader {
    example: "4k, 64KiB or 1.5GB",
    whole: "bytes",
    known: "k m g t (powers of 1024), kB MB GB TB (1000), KiB MiB GiB TiB (1024)",
    units: &[
        (1, &["", "B", "b"]),
        (1 << 10, &["k", "K", "KiB", "kib"]),
        (1 << 20, &["m", "M", "MiB", "mib"]),
        (1 << 30, &["g", "G", "GiB", "gib"]),
        (1 << 40, &["t", "T", "TiB", "tib"]),
        (1_000, &["kB", "KB"]),
        (1_000_000, &["MB"]),
        (1_000_000_000, &["GB"]),
        (1_000_000_000_000, &["TB"]),
    ],
};
const TIMES: Reader = Reader {
    example: "10s, 500ms or 2m",
    whole: "nanoseconds",
    known: "ns us ms s m h d",
    units: &[
        (1, &["ns"]),
        (1_000, &["us", "µs"]),
        (1_000_000, &["ms"]),
        (1_000_000_000, &["", "s"]),
        (60_000_000_000, &["m", "min"]),
        (3_600_000_000_000, &["h"]),
        (86_400_000_000_000, &["d"]),
    ],
};

impl Reader {
    fn read(&self, text: &str) -> Result<u64, UnitError> {
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, suffix) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') {
            return Err(UnitError::NoNumber(trimmed.to_owned(), self.example));
        }
        let suffix = suffix.trim();
        let (factor, _) =
            self.units.iter().find(|(_, names)| names.contains(&suffix)).ok_or_else(|| {
                let (text, suffix) = (text.to_owned(), suffix.to_owned());
                UnitError::Suffix { text, suffix, known: self.known }
            })?;
        let scaled = || {
            let mantissa: u64 = [whole, fraction].concat().parse().ok()?;
            let divisor = 10u128.checked_pow(fraction.len().try_into().ok()?)?;
            let product = u128::from(mantissa) * u128::from(*factor);
            i64::try_from(product.checked_div(divisor).filter(|_| product % divisor == 0)?).ok()
        };
        let value = scaled().ok_or_else(|| UnitError::Range(text.to_owned(), self.whole))?;
        Ok(value.unsigned_abs())
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        SIZES.read(text).map(Bytes)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIMES.read(text).map(Nanos)
    }
}

impl Nanos {
    /// The duration in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration from `earlier` to this point; zero if the order is reversed.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This point or duration plus `span`; saturates at the maximum.
    #[inline]
    #[must_use]
    pub fn plus(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

/// Printed instead of a missing number.
pub const NO_NUMBER: &str = "–";

/// Formats a number, or prints a dash if it is not finite.
fn finite(value: f64, format: impl Fn(f64) -> String) -> String {
    if value.is_finite() { format(value) } else { NO_NUMBER.to_owned() }
}

/// A word, quoted for a shell if necessary.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Three significant digits without a unit: `33.2`.
#[must_use]
pub fn format_digits(value: f64) -> String {
    finite(value, |value| match value.abs() {
        // The rounding error of a zero.
        magnitude if magnitude < 1e-9 => "0".to_owned(),
        magnitude if magnitude >= 1e15 => format!("{value:.0e}"),
        magnitude if magnitude >= 1e7 => format!("{value:.1e}"),
        magnitude if magnitude >= 99.95 => format!("{value:.0}"),
        magnitude if magnitude >= 9.995 => format!("{value:.1}"),
        magnitude if magnitude >= 0.9995 => format!("{value:.2}"),
        magnitude if magnitude >= 0.000_5 => format!("{value:.3}"),
        magnitude if magnitude >= 0.000_001 => {
            let places = (-libm::log10(magnitude)).ceil() as usize;
            format!("{value:.places$}")
        }
        _ => format!("{value:.0e}"),
    })
}

/// Formats a value in the largest unit that is not above it, otherwise in the last unit. Units are sorted
/// from the largest.
fn in_largest(value: f64, units: &[(f64, &str)]) -> String {
    finite(value, |value| {
        let one = units.iter().find(|(factor, _)| value.abs() >= 0.9995 * factor);
        let (factor, unit) = one.or(units.last()).copied().unwrap_or((1.0, ""));
        format!("{} {unit}", format_digits(value / factor))
    })
}

/// A time in the syntax of the flags, without rounding: in the largest unit without a fraction.
#[must_use]
pub fn time_word(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

/// A time: `33.2 µs`.
#[must_use]
pub fn format_nanos(nanos: f64) -> String {
    in_largest(nanos, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// A duration, from two minutes in the largest unit that fits at least twice: `88.2 min`.
#[must_use]
pub fn format_duration(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    match seconds {
        ..120.0 => format_nanos(nanos as f64),
        ..7_200.0 => format!("{} min", format_digits(seconds / 60.0)),
        ..172_800.0 => format!("{} h", format_digits(seconds / 3_600.0)),
        _ => format!("{} days", format_digits(seconds / 86_400.0)),
    }
}

/// A document's point in time (RFC 3339, UTC) to the minute; other text is unchanged.
#[must_use]
pub fn format_moment(time: &str) -> String {
    match (time.get(..10), time.get(10..11), time.get(11..16)) {
        (Some(date), Some("T"), Some(minute)) if time.ends_with('Z') => {
            format!("{date} {minute} UTC")
        }
        _ => time.to_owned(),
    }
}

/// A size; exact if it is a whole number of a binary unit (`64 KiB`).
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(factor, _)| bytes >= *factor) {
        Some((factor, unit)) if bytes.is_multiple_of(*factor) => {
            format!("{} {unit}", bytes / factor)
        }
        Some((factor, unit)) => {
            format!("{} {unit}", format_digits(bytes as f64 / *factor as f64))
        }
        None => format!("{bytes} B"),
    }
}

/// A size in KiB without the unit: `4`, `0.5`.
#[must_use]
pub fn format_kib(bytes: u64) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib.fract() == 0.0 && kib < 1e7 { format!("{kib:.0}") } else { format_digits(kib) }
}

/// A throughput, in powers of 1000: `1.23 GB/s`.
#[must_use]
pub fn format_rate(bytes_per_s: f64) -> String {
    in_largest(bytes_per_s, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")])
}

/// The same with the binary unit after it: `812 MB/s (774 MiB/s)`.
#[must_use]
pub fn format_both_rates(bytes_per_s: f64) -> String {
    let decimal = format_rate(bytes_per_s);
    match bytes_per_s {
        1e3..1e15 => format!("{decimal} ({})", format_binary_rate(bytes_per_s)),
        _ => decimal,
    }
}

/// The same in the units of fio: `775 MiB/s`.
#[must_use]
pub fn format_binary_rate(bytes_per_s: f64) -> String {
    let (kib, mib, gib) = (f64::from(1 << 10), f64::from(1 << 20), f64::from(1 << 30));
    in_largest(bytes_per_s, &[(gib, "GiB/s"), (mib, "MiB/s"), (kib, "KiB/s"), (1.0, "B/s")])
}

/// A count: `31.1k`, `1.20M`; whole numbers below 1000.
#[must_use]
pub fn format_count(count: f64) -> String {
    finite(count, |count| match count.abs() {
        magnitude if magnitude >= 1e15 => format!("{count:.0e}"),
        magnitude if magnitude >= 999.5 => {
            in_largest(count, &[(1e9, "G"), (1e6, "M"), (1e3, "k")]).replace(' ', "")
        }
        _ if count.fract() == 0.0 => format!("{count:.0}"),
        _ => format_digits(count),
    })
}

/// An I/O rate: `198k IOPS`.
#[must_use]
pub fn format_iops(per_s: f64) -> String {
    finite(per_s, |per_s| format!("{} IOPS", format_count(per_s)))
}

/// An exact rate with digits in groups of three, as limits are published.
#[must_use]
pub fn format_whole_iops(per_s: f64) -> String {
    finite(per_s, |per_s| {
        let digits = format!("{per_s:.0}");
        let group = |(at, digit): (usize, char)| {
            let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
            [comma.then_some(','), Some(digit)].into_iter().flatten().collect::<Vec<char>>()
        };
        format!("{} IOPS", digits.chars().enumerate().flat_map(group).collect::<String>())
    })
}

/// A count with its noun: `1 request`, `31.1k requests`.
#[must_use]
pub fn counted(count: f64, what: &str) -> String {
    format!("{} {what}{}", format_count(count), if count == 1.0 { "" } else { "s" })
}

/// A share from 0 to 1 as a percentage: `98 %`, with one decimal below 10 % unless it is whole.
#[must_use]
pub fn format_share(share: f64) -> String {
    let percent = share * 100.0;
    let tenths = (percent * 10.0).round() / 10.0;
    finite(percent, |percent| match tenths.abs() {
        absurd if absurd >= 1e5 => format!("{percent:.0e} %"),
        // Avoid `-0 %`.
        _ if tenths.abs() >= 9.95 || tenths.fract() == 0.0 => {
            format!("{:.0} %", percent.round() + 0.0)
        }
        _ => format!("{tenths:.1} %"),
    })
}

/// A ratio as a change: `-12 %`, `+0.4 %`, and from a factor of 3 on `x 4.20`.
#[must_use]
pub fn format_change(ratio: f64) -> String {
    if ratio.is_finite() && ratio >= 3.0 {
        return format!("x {}", format_digits(ratio));
    }
    let text = format_share(ratio - 1.0);
    if ratio > 1.0 && text.ends_with('%') && text != "0 %" { format!("+{text}") } else { text }
}

/// Relative half-width of an interval: `±2 %`, with one decimal below 1 %. Above 100 % the interval is a
/// factor around the value, as of a logarithm: `×/÷4.2`. `±?` if unknown, or if the factor is 100 or more.
#[must_use]
pub fn format_interval(relative: f64) -> String {
    match relative {
        relative if !relative.is_finite() => "±?".to_owned(),
        relative if relative > 1.0 => match relative + libm::hypot(relative, 1.0) {
            factor if factor >= 99.5 => "±?".to_owned(),
            factor if factor >= 9.95 => format!("×/÷{factor:.0}"),
            factor => format!("×/÷{factor:.1}"),
        },
        relative if relative >= 0.00995 || relative <= 0.0 => format!("±{:.0} %", relative * 100.0),
        // Round up: an interval must not look narrower than it is.
        relative => format!("±{:.1} %", (relative * 1000.0).ceil() / 10.0),
    }
}

/// A value in a sentence, with its interval if known: `118k IOPS ±2 %`.
#[must_use]
pub fn with_half_width(value: String, relative: Option<f64>) -> String {
    match relative.filter(|relative| relative.is_finite()) {
        Some(relative) => format!("{value} {}", format_interval(relative)),
        None => value,
    }
}

/// An estimate in a sentence: `118k IOPS ±2 %`. A wide interval is printed with both ends: `2.30k IOPS (490
/// IOPS to 8.10k IOPS)`.
#[must_use]
pub fn with_interval(estimate: &Estimate, format: fn(f64) -> String) -> String {
    match estimate.relative_half_width() {
        wide if wide > WIDE && wide.is_finite() => with_range(estimate, format),
        relative => with_half_width(format(estimate.value), Some(relative)),
    }
}

/// Relative half-width of an interval above which both ends are printed instead.
pub const WIDE: f64 = 0.5;

/// An estimate with the ends of its interval: `118k IOPS (116k IOPS to 120k IOPS)`.
#[must_use]
pub fn with_range(estimate: &Estimate, format: fn(f64) -> String) -> String {
    format!("{} ({})", format(estimate.value), format_ends(estimate.low, estimate.high, format))
}

/// The ends of an interval: `16.0 µs to 529 µs`, or `about` one value if both print the same.
#[must_use]
pub fn format_ends(low: f64, high: f64, format: fn(f64) -> String) -> String {
    let (low, high) = (format(low), format(high));
    if low == high { format!("about {low}") } else { format!("{low} to {high}") }
}
