//! Bytes and nanoseconds: newtypes, reading and printing.
//!
//! Sizes follow fio for bare letters (`4k` is 4096) and the standards for full units: `4kB` is
//! 4000 bytes, `4KiB` is 4096. Printing never leaves the base open: it always says KiB or MB.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A span or a point of time in nanoseconds; for points, the origin is the clock's.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Why a size or a duration could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No number at the front.
    #[error("'{0}' does not start with a number; write for example {1}")]
    NoNumber(String, &'static str),
    /// A suffix that is not known.
    #[error("'{text}' has the unknown unit '{suffix}'; use one of {known}")]
    Suffix {
        /// The whole text.
        text: String,
        /// Its unit.
        suffix: String,
        /// What would have been taken.
        known: &'static str,
    },
    /// Too large, or not a whole number of the smallest unit.
    #[error("'{0}' is not a whole number of {1} below 2^63")]
    Range(String, &'static str),
}

const SIZE_UNITS: &str = "k m g t (powers of 1024), kB MB GB TB (1000), KiB MiB GiB TiB (1024)";
const TIME_UNITS: &str = "ns us ms s m h";

/// Splits "1.5GiB" into mantissa digits, decimal places and suffix.
fn split(text: &str, example: &'static str) -> Result<(u64, u32, String), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') {
        return Err(UnitError::NoNumber(text.to_owned(), example));
    }
    let digits: String = [whole, fraction].concat();
    let mantissa = digits.parse().map_err(|_| UnitError::Range(text.to_owned(), "units"))?;
    let places = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
    Ok((mantissa, places, suffix.trim().to_owned()))
}

/// `mantissa * factor / 10^places`, if that is a whole number that fits.
fn scale(
    text: &str,
    mantissa: u64,
    places: u32,
    factor: u64,
    unit: &'static str,
) -> Result<u64, UnitError> {
    let range = || UnitError::Range(text.to_owned(), unit);
    let divisor = 10u128.checked_pow(places).ok_or_else(range)?;
    let product = u128::from(mantissa) * u128::from(factor);
    if product % divisor != 0 {
        return Err(range());
    }
    let value = u64::try_from(product / divisor).map_err(|_| range())?;
    if value > i64::MAX as u64 { Err(range()) } else { Ok(value) }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (mantissa, places, suffix) = split(text, "4k, 64KiB or 1.5GB")?;
        let factor = match suffix.as_str() {
            "" | "B" | "b" => 1,
            "k" | "K" | "KiB" | "kib" => 1 << 10,
            "m" | "M" | "MiB" | "mib" => 1 << 20,
            "g" | "G" | "GiB" | "gib" => 1 << 30,
            "t" | "T" | "TiB" | "tib" => 1 << 40,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            _ => {
                return Err(UnitError::Suffix { text: text.to_owned(), suffix, known: SIZE_UNITS });
            }
        };
        scale(text, mantissa, places, factor, "bytes").map(Bytes)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (mantissa, places, suffix) = split(text, "10s, 500ms or 2m")?;
        let factor = match suffix.as_str() {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "" | "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => {
                return Err(UnitError::Suffix { text: text.to_owned(), suffix, known: TIME_UNITS });
            }
        };
        scale(text, mantissa, places, factor, "nanoseconds").map(Nanos)
    }
}

impl Nanos {
    /// Seconds, for rates.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to this point, zero where the order is reversed.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This point or span, later by `span`; saturates at the end of time.
    #[inline]
    #[must_use]
    pub fn plus(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 || magnitude == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else if magnitude >= 0.9995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// A time for a reader: `33.2 µs`, three significant digits.
#[must_use]
pub fn format_nanos(nanos: f64) -> String {
    let magnitude = nanos.abs();
    if magnitude < 999.5 {
        format!("{} ns", significant(nanos))
    } else if magnitude < 999.5e3 {
        format!("{} µs", significant(nanos / 1e3))
    } else if magnitude < 999.5e6 {
        format!("{} ms", significant(nanos / 1e6))
    } else {
        format!("{} s", significant(nanos / 1e9))
    }
}

/// A size for a reader: exact where it is a whole number of a binary unit (`64 KiB`).
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (factor, unit) in UNITS {
        if bytes >= factor {
            return if bytes.is_multiple_of(factor) {
                format!("{} {unit}", bytes / factor)
            } else {
                format!("{} {unit}", significant(bytes as f64 / factor as f64))
            };
        }
    }
    format!("{bytes} B")
}

/// A throughput for a reader, in powers of 1000: `1.23 GB/s`.
#[must_use]
pub fn format_rate(bytes_per_s: f64) -> String {
    let magnitude = bytes_per_s.abs();
    if magnitude >= 999.5e6 {
        format!("{} GB/s", significant(bytes_per_s / 1e9))
    } else if magnitude >= 999.5e3 {
        format!("{} MB/s", significant(bytes_per_s / 1e6))
    } else {
        format!("{} kB/s", significant(bytes_per_s / 1e3))
    }
}

/// A count for a reader: `31.1 k`, `1.20 M`; whole numbers below 1000.
#[must_use]
pub fn format_count(count: f64) -> String {
    let magnitude = count.abs();
    if magnitude >= 999.5e6 {
        format!("{} G", significant(count / 1e9))
    } else if magnitude >= 999.5e3 {
        format!("{} M", significant(count / 1e6))
    } else if magnitude >= 999.5 {
        format!("{} k", significant(count / 1e3))
    } else if magnitude >= 99.95 || count.fract() == 0.0 {
        format!("{count:.0}")
    } else {
        significant(count)
    }
}

/// An I/O rate for a reader: `198k IOPS`.
#[must_use]
pub fn format_iops(per_s: f64) -> String {
    format!("{} IOPS", format_count(per_s).replace(' ', ""))
}

/// A number of things for a reader: `1 request`, `31.1 k requests`.
#[must_use]
pub fn counted(count: f64, what: &str) -> String {
    format!("{} {what}{}", format_count(count), if count == 1.0 { "" } else { "s" })
}

/// A share of 0 to 1 for a reader: `98 %`, one decimal below 10 % where it is not whole.
#[must_use]
pub fn format_share(share: f64) -> String {
    let percent = share * 100.0;
    let tenths = (percent * 10.0).round() / 10.0;
    if tenths.abs() >= 9.95 || tenths.fract() == 0.0 {
        // Not `-0 %`.
        format!("{:.0} %", percent.round() + 0.0)
    } else {
        format!("{tenths:.1} %")
    }
}

/// A ratio for a reader as a change: `-12 %`, `+0.4 %`, and `x 4.20` where a factor is easier to
/// read.
#[must_use]
pub fn format_change(ratio: f64) -> String {
    if ratio >= 3.0 {
        return format!("x {}", significant(ratio));
    }
    let text = format_share(ratio - 1.0);
    if ratio > 1.0 && text != "0 %" { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_letters_are_binary_and_full_units_say_their_base() {
        let bytes = |text: &str| text.parse::<Bytes>().map(|b| b.0);
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("4kB"), Ok(4000));
        assert_eq!(bytes("4KiB"), Ok(4096));
        assert_eq!(bytes("1.5g"), Ok(3 << 29));
        assert_eq!(bytes("512"), Ok(512));
        assert!(matches!(bytes("k"), Err(UnitError::NoNumber(..))));
        assert!(matches!(bytes("4q"), Err(UnitError::Suffix { .. })));
        assert!(matches!(bytes("0.3"), Err(UnitError::Range(..))));
        assert!(matches!(bytes("99999999999t"), Err(UnitError::Range(..))));
        assert!(matches!(bytes("-4k"), Err(UnitError::NoNumber(..))));
    }

    #[test]
    fn a_bare_duration_is_in_seconds() {
        assert_eq!("10".parse(), Ok(Nanos(10_000_000_000)));
        assert_eq!("500ms".parse(), Ok(Nanos(500_000_000)));
        assert_eq!("1.5s".parse(), Ok(Nanos(1_500_000_000)));
        assert!("5 parsecs".parse::<Nanos>().is_err());
    }

    #[test]
    fn printing_keeps_three_digits_and_never_says_1000_of_a_unit() {
        assert_eq!(format_nanos(33_240.0), "33.2 µs");
        assert_eq!(format_nanos(999_600.0), "1.00 ms");
        assert_eq!(format_bytes(65_536), "64 KiB");
        assert_eq!(format_bytes(1_000), "1000 B");
        assert_eq!(format_rate(1_234_000_000.0), "1.23 GB/s");
        assert_eq!(format_count(31_100.0), "31.1 k");
        assert_eq!(format_count(0.0), "0");
        assert_eq!([198e3, 30.0].map(format_iops), ["198k IOPS", "30 IOPS"]);
        assert_eq!(
            [0.0, 1.0, 2.0].map(|count| counted(count, "row")),
            ["0 rows", "1 row", "2 rows"]
        );
        let shares = [0.98, 0.123, 0.0123, 0.1, 0.0, -0.0001, 1.0].map(format_share);
        assert_eq!(shares, ["98 %", "12 %", "1.2 %", "10 %", "0 %", "0 %", "100 %"]);
        let changes = [0.9, 1.004, 0.99999, 1.12, 2.999, 4.2].map(format_change);
        assert_eq!(changes, ["-10 %", "+0.4 %", "0 %", "+12 %", "+200 %", "x 4.20"]);
    }
}
