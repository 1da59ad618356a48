//! Names and keys of `sim:NAME,key=value,...`, and the parsing of values.
//!
//! A family of devices has a table of names and a table of keys; parser, errors, suggestions, help and list
//! use these tables. An error names the allowed values; the parser adds key and value.

use crate::toml_text::{self, Entry, Fault};
use record::{Bytes, Nanos};
use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

/// A device name after `sim:`.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// Keys and values that it sets, if no file describes it.
    pub(crate) sets: &'static [(&'static str, &'static str)],
    /// The file that describes it; empty if none.
    pub(crate) file: &'static str,
    /// One sentence for the list of devices.
    pub help: &'static str,
}

pub(crate) const fn kind(name: &'static str, help: &'static str) -> Kind {
    Kind { name, sets: &[], file: "", help }
}

/// A device that a file of the catalogue describes.
pub(crate) const fn filed(name: &'static str, file: &'static str) -> Kind {
    Kind { name, sets: &[], file, help: about(file) }
}

/// The description of a file of the catalogue: the comment in its first line.
pub(crate) const fn about(file: &'static str) -> &'static str {
    let (bytes, mut end) = (file.as_bytes(), 0);
    while bytes[end] != b'\n' {
        end += 1;
    }
    file.split_at(end).0.split_at("# ".len()).1
}

impl Kind {
    pub(crate) const fn with(self, sets: &'static [(&'static str, &'static str)]) -> Self {
        Self { sets, ..self }
    }

    pub(crate) fn entries(&self) -> Vec<Entry<'static>> {
        toml_text::read(self.file).unwrap_or_else(|Fault { line, why }| {
            unreachable!("the file of {}, line {line}: {why}", self.name)
        })
    }
}

/// A key of a family.
#[derive(Clone, Debug)]
pub struct Key {
    pub name: &'static str,
    /// The default, or `BY_KIND` if devices have different defaults.
    pub default: Cow<'static, str>,
    /// What it sets, with the unit.
    pub help: &'static str,
}

/// The default of a key that each device sets itself.
pub const BY_KIND: &str = "by kind";

/// A key of the specification `S`, and the function that sets it.
pub(crate) struct Setting<S> {
    key: Key,
    set: fn(&mut S, &str) -> Result<(), String>,
}

pub(crate) const fn key(name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key { name, default: Cow::Borrowed(default), help }
}

/// For an unknown name: the most similar known name as a clause, if any, and all known names.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> (String, String) {
    let known: Vec<&str> = known.collect();
    let near = known.iter().map(|known| (strsim::levenshtein(name, known), known)).min();
    let near = near.filter(|&(distance, _)| distance <= 2);
    // Otherwise the only name that contains it.
    let mut around = known.iter().filter(|known| name.len() > 3 && known.contains(name));
    let near =
        near.map(|(_, known)| known).or_else(|| around.next().filter(|_| around.next().is_none()));
    let hint = near.map(|known| format!(" (did you mean '{known}'?)"));
    (hint.unwrap_or_default(), known.join(", "))
}

impl Key {
    pub(crate) const fn sets<S>(self, set: fn(&mut S, &str) -> Result<(), String>) -> Setting<S> {
        Setting { key: self, set }
    }
}

/// The keys of a table, for help and lists.
pub(crate) fn keys<S>(table: &[Setting<S>]) -> Vec<Key> {
    table.iter().map(|setting| setting.key.clone()).collect()
}

/// Sets a key; returns `false` if the table does not contain it.
pub(crate) fn set<S>(
    table: &[Setting<S>],
    spec: &mut S,
    key: &str,
    value: &str,
) -> Result<bool, String> {
    match table.iter().find(|setting| setting.key.name == key) {
        Some(setting) => (setting.set)(spec, value).map(|()| true),
        None => Ok(false),
    }
}

/// Sets each of these keys to its default, unless devices have different defaults.
pub(crate) fn with_defaults<S>(table: &[Setting<S>], keys: &[Key], mut spec: S) -> S {
    for key in keys.iter().filter(|key| key.default != BY_KIND) {
        let outcome = set(table, &mut spec, key.name, &key.default);
        debug_assert_eq!(outcome, Ok(true), "the default of {}", key.name);
    }
    spec
}

pub(crate) fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

/// Shortest service time: with shorter ones, a minute of virtual time takes minutes of real time.
const SHORTEST: Nanos = Nanos(1_000);

/// A time of at least a microsecond.
pub(crate) fn time(value: &str) -> Result<Nanos, String> {
    time_from(value, SHORTEST)
}

pub(crate) fn time_from(value: &str, shortest: Nanos) -> Result<Nanos, String> {
    match value.parse::<Nanos>() {
        Ok(nanos) if nanos < shortest => {
            let micros = shortest.0.is_multiple_of(1_000);
            let (number, unit) =
                if micros { (shortest.0 / 1_000, "us") } else { (shortest.0, "ns") };
            Err(format!("use at least {number}{unit}"))
        }
        Ok(nanos) => Ok(nanos),
        Err(error) => Err(error.to_string()),
    }
}

/// A time, or 0 for `0`, `none` and `off`.
pub(crate) fn time_or_none(value: &str) -> Result<Nanos, String> {
    if matches!(value, "0" | "none" | "off") { Ok(Nanos(0)) } else { time(value) }
}

/// A number, or 0 for `none`.
pub(crate) fn or_none(
    value: &str,
    read: impl Fn(&str) -> Result<u64, String>,
) -> Result<u64, String> {
    if value == "none" { Ok(0) } else { read(value) }
}

pub(crate) fn switch(value: &str) -> Result<bool, String> {
    choice(value, &[("on", true), ("off", false)])
}

/// The value of one of these words.
pub(crate) fn choice<T: Copy>(value: &str, words: &[(&str, T)]) -> Result<T, String> {
    if let Some((_, choice)) = words.iter().find(|(word, _)| *word == value) {
        return Ok(*choice);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    let comma = if others.is_empty() { "" } else { " or " };
    Err(format!("use {}{comma}{last}", others.join(", ")))
}

pub(crate) fn bytes(value: &str) -> Result<Bytes, String> {
    value.parse::<Bytes>().map_err(|error| error.to_string())
}

/// Bytes per second, with or without `/s`; `none` is 0.
pub(crate) fn bytes_per_s(value: &str) -> Result<u64, String> {
    let read = |value: &str| bytes(value.strip_suffix("/s").unwrap_or(value));
    or_none(value, |value| read(value).map(|bytes| bytes.0))
}

/// A whole number; `T` is u32 or u64.
pub(crate) fn count<T>(value: &str, least: T, most: T) -> Result<T, String>
where
    T: Copy + FromStr + PartialOrd + Display,
{
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("use a whole number from {least} to {most}")),
    }
}

pub(crate) fn number(value: &str, least: f64, most: f64) -> Result<f64, String> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("use a number from {least} to {most}")),
    }
}

/// A percentage, returned as a share.
pub(crate) fn percentage(value: &str, least: f64, most: f64) -> Result<f64, String> {
    match value.strip_suffix('%').unwrap_or(value).parse::<f64>() {
        Ok(percent) if (least..=most).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("use a percentage from {least}% to {most}%")),
    }
}
