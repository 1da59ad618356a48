//! The fields of a part: name, unit, allowed values, and how a value is written.

use super::near;
use crate::keys::{bytes, bytes_per_s, count};
use crate::toml_text::{Entry, Fault};
use record::{Nanos, format_bytes};
use std::sync::Arc;

/// Longest time of one step of a part: realistic, and sums of such times cannot overflow the clock.
const LONGEST_NS: u64 = 1_000_000_000;
/// Longest time of a step that is done for each KiB.
const LONGEST_PER_KIB_NS: u64 = 1_000_000;
/// Lowest and highest rate, in bytes per second.
const RATES: (u64, u64) = (1_000, 1_000_000_000_000_000);

/// The unit of a value, with the minimum and maximum if they differ by field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Count(u64, u64),
    Bytes(u64, u64),
    Rate,
    /// Bytes per second, or 0 for no limit.
    RateOrNone,
    Time,
    /// Nanoseconds, or 0 for not given.
    TimeOrNone,
    TimePerKib,
    /// Revolutions per minute.
    Speed(u64, u64),
    Switch,
    /// The index of one of these words.
    Choice(&'static [&'static str]),
}

impl Unit {
    /// The unit on the page of parameters; for a choice, the word.
    pub(crate) fn name(self, value: u64) -> &'static str {
        match self {
            Self::Count(..) | Self::Switch => "",
            Self::Bytes(..) => "B",
            Self::Rate | Self::RateOrNone => "B/s",
            Self::Time | Self::TimeOrNone | Self::TimePerKib => "ns",
            Self::Speed(..) => "rpm",
            Self::Choice(words) => words.get(value as usize).copied().unwrap_or(""),
        }
    }

    fn read(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Count(least, most) => count(text, least, most),
            Self::Bytes(least, most) => {
                let size = bytes(text)?.0;
                let (from, to) = (format_bytes(least), format_bytes(most));
                if !(least..=most).contains(&size) {
                    return Err(format!("use a size from {from} to {to}"));
                }
                Ok(size)
            }
            Self::RateOrNone | Self::TimeOrNone if text == "none" => Ok(0),
            Self::Rate | Self::RateOrNone => match bytes_per_s(text)? {
                rate if (RATES.0..=RATES.1).contains(&rate) => Ok(rate),
                _ if matches!(self, Self::RateOrNone) => {
                    Err("use a rate from 1 kB/s to 1000 TB/s, or none for no limit".to_owned())
                }
                _ => Err("use a rate from 1 kB/s to 1000 TB/s".to_owned()),
            },
            Self::Time | Self::TimeOrNone => time(text, LONGEST_NS, "1 s"),
            Self::TimePerKib => time(text, LONGEST_PER_KIB_NS, "1 ms"),
            Self::Speed(least, most) => {
                let number = text.strip_suffix("rpm").unwrap_or(text).trim().parse().ok();
                let number = number.filter(|it| (least..=most).contains(it));
                number.ok_or_else(|| {
                    format!(
                        "use revolutions per minute from {least} to {most}, such as \"7200 \
                             rpm\""
                    )
                })
            }
            Self::Switch => match text {
                "on" => Ok(1),
                "off" => Ok(0),
                _ => Err("use true or false".to_owned()),
            },
            Self::Choice(words) => {
                let place = words.iter().position(|word| *word == text);
                place.map(|place| place as u64).ok_or_else(|| format!("use {}", words.join(", ")))
            }
        }
    }

    /// The value as TOML, which [`Self::read`] can parse.
    fn written(self, value: u64) -> String {
        match self {
            Self::Count(..) => value.to_string(),
            Self::Switch => (value != 0).to_string(),
            Self::Speed(..) => format!("\"{value} rpm\""),
            Self::Choice(_) => format!("\"{}\"", self.name(value)),
            Self::RateOrNone | Self::TimeOrNone if value == 0 => "\"none\"".to_owned(),
            Self::Bytes(..) => format!("\"{}\"", shortest(value, SIZES)),
            Self::Rate | Self::RateOrNone => format!("\"{}/s\"", shortest(value, SIZES)),
            Self::Time | Self::TimeOrNone | Self::TimePerKib => {
                format!("\"{}\"", shortest(value, TIMES))
            }
        }
    }
}

/// A time with its unit, up to the longest. A bare number would mean seconds, which is never intended here.
fn time(text: &str, most_ns: u64, most: &str) -> Result<u64, String> {
    let wanted = || format!("use a time with a unit, at most {most}, such as \"800 us\"");
    if text.trim().ends_with(|end: char| end.is_ascii_digit() || end == '.') {
        return if text.trim() == "0" { Ok(0) } else { Err(wanted()) };
    }
    let nanos = text.parse::<Nanos>().map_err(|error| error.to_string())?.0;
    if nanos > most_ns { Err(wanted()) } else { Ok(nanos) }
}

/// Units in which a value can be written: name, factor, and digits allowed after the point.
type Writing = &'static [(&'static str, u64, u32)];

const SIZES: Writing = &[
    ("GB", 1_000_000_000, 6),
    ("MB", 1_000_000, 6),
    ("kB", 1_000, 3),
    ("TiB", 1 << 40, 0),
    ("GiB", 1 << 30, 0),
    ("MiB", 1 << 20, 0),
    ("KiB", 1 << 10, 0),
    ("B", 1, 0),
];
const TIMES: Writing = &[("ms", 1_000_000, 6), ("us", 1_000, 3), ("ns", 1, 0)];

/// The shortest exact text of a value: "4.3 GB", "192 KiB".
fn shortest(value: u64, units: Writing) -> String {
    let writings = units.iter().filter_map(|&(unit, factor, digits)| {
        let (whole, rest) = (value / factor, value % factor);
        // A fraction of a unit would be harder to read.
        let fits = whole > 0 || value == 0 || factor == 1;
        let scaled = rest * 10_u64.pow(digits);
        if !fits || !scaled.is_multiple_of(factor) {
            return None;
        }
        let fraction = format!("{:0width$}", scaled / factor, width = digits as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        Some(format!("{whole}{point}{fraction} {unit}"))
    });
    writings.min_by_key(String::len).unwrap_or_default()
}

/// A parameter of a kind of part: its name, its unit, and where the value is stored.
pub(crate) struct Field<S> {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) set: fn(&mut S, u64),
}

pub(crate) const fn field<S>(name: &'static str, unit: Unit, set: fn(&mut S, u64)) -> Field<S> {
    Field { name, unit, set }
}

impl<S> Field<S> {
    /// The key in a file: the name in lower case, with a dash for every other character.
    pub(crate) fn key(&self) -> String {
        let words = self.name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_lowercase()
    }

    pub(crate) fn read(&self, entry: &Entry<'_>) -> Result<Row, Fault> {
        let text = entry.text()?;
        let value = self.unit.read(text);
        let value = value.map_err(|why| {
            entry.fault(format!("{} = {text:?} cannot be used: {why}", entry.key))
        })?;
        Ok(Row { value, remark: entry.remark.to_owned() })
    }

    /// The line of a value in a file, without its comment.
    pub(crate) fn written(&self, value: u64) -> String {
        format!("{} = {}", self.key(), self.unit.written(value))
    }

    /// The error for an unknown name.
    pub(crate) fn unknown(fields: &[Self], what: &str, entry: &Entry<'_>) -> Fault {
        let keys: Vec<String> = fields.iter().map(Self::key).collect();
        let (hint, known) = near(&entry.key, keys.iter().map(String::as_str));
        entry.fault(format!("a {what} has no key {:?}{hint}; known keys: {known}", entry.key))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// In its unit; 0 and 1 for off and on; the index of a word.
    pub(crate) value: u64,
    /// Its source, from the comment after it; may be empty in a user's file.
    pub(crate) remark: String,
}

/// The values of a part in the order of its fields.
pub(crate) type Rows = Arc<[Row]>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        let mut rng = workload::Rng::new(3);
        let units = [Unit::Bytes(0, u64::MAX), Unit::RateOrNone, Unit::TimeOrNone];
        for unit in units {
            for _ in 0..2_000 {
                let digits = 1 + rng.below(4);
                let value = rng.below(10_u64.pow(digits as u32)) * 10_u64.pow(rng.below(6) as u32);
                let value = if rng.below(3) == 0 { value << 10 } else { value };
                let written = unit.written(value);
                let read = unit.read(written.trim_matches('"'));
                let (most, least) = (LONGEST_NS, RATES.0);
                let taken = match unit {
                    Unit::Bytes(..) => true,
                    Unit::RateOrNone => value == 0 || value >= least,
                    _ => value <= most,
                };
                assert_eq!(read.ok(), taken.then_some(value), "{value} {written}");
            }
        }
        assert_eq!(shortest(4_300_000_000, SIZES), "4.3 GB");
        assert_eq!(shortest(196_608, SIZES), "192 KiB");
        assert_eq!(shortest(64_000_000, SIZES), "64 MB");
        assert_eq!(shortest(9_750, TIMES), "9.75 us");
        assert_eq!(shortest(0, TIMES), "0 ms");
    }
}
