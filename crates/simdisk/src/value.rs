//! Values of keys in `sim:NAME,key=value,...`: one reading of each kind of value for all devices.
//!
//! An error says what to write instead; the caller adds the key and the value.

use record::{Bytes, Nanos};

/// Shortest service time: below it a minute of virtual time takes minutes of real time.
const SHORTEST: Nanos = Nanos(1_000);

/// A time, of at least a microsecond.
pub(crate) fn time(value: &str) -> Result<Nanos, String> {
    time_from(value, SHORTEST, "1us")
}

/// A time, of at least `shortest`, which `words` write.
pub(crate) fn time_from(value: &str, shortest: Nanos, words: &str) -> Result<Nanos, String> {
    match value.parse::<Nanos>() {
        Ok(nanos) if nanos < shortest => Err(format!("use at least {words}")),
        Ok(nanos) => Ok(nanos),
        Err(error) => Err(error.to_string()),
    }
}

/// On or off.
pub(crate) fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("use on or off".to_owned()),
    }
}

/// A time, or none at all: `0`, `none` or `off`.
pub(crate) fn time_or_none(value: &str) -> Result<Nanos, String> {
    if matches!(value, "0" | "none" | "off") { Ok(Nanos(0)) } else { time(value) }
}

/// Bytes.
pub(crate) fn bytes(value: &str) -> Result<Bytes, String> {
    value.parse::<Bytes>().map_err(|error| error.to_string())
}

/// Bytes per second, with or without `/s`; `none` is 0.
pub(crate) fn bytes_per_s(value: &str) -> Result<u64, String> {
    if value == "none" {
        return Ok(0);
    }
    bytes(value.strip_suffix("/s").unwrap_or(value)).map(|bytes| bytes.0)
}

/// A whole number.
pub(crate) fn count(value: &str, least: u64, most: u64) -> Result<u64, String> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("use a whole number from {least} to {most}")),
    }
}

/// A number.
pub(crate) fn number(value: &str, least: f64, most: f64) -> Result<f64, String> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("use a number from {least} to {most}")),
    }
}

/// A percentage as a share.
pub(crate) fn percentage(value: &str, most: f64) -> Result<f64, String> {
    let percent = value.strip_suffix('%').unwrap_or(value);
    match percent.parse::<f64>() {
        Ok(percent) if percent.abs() <= most => Ok(percent / 100.0),
        _ => Err("use a percentage, for example 20%".to_owned()),
    }
}
