//! All parameters of all parts and flash drives with their sources, for documentation.

use crate::catalogue::{KINDS_OF_PARTS, Parameter, Part};
use crate::flash::{self, ReadOrder, Start};
use crate::form::Form;
use record::{Bytes, Nanos};

/// All parts.
pub fn parts() -> impl Iterator<Item = Part> {
    KINDS_OF_PARTS.iter().flat_map(|kind| kind.parts()).chain(flash_drives())
}

/// The flash drives; their parameters are their keys.
fn flash_drives() -> impl Iterator<Item = Part> {
    flash::KINDS.iter().filter_map(|kind| {
        let form = Form::named(kind.name).ok()?;
        let parameters = flash::keys_with_defaults().into_iter().filter_map(|key| {
            let said = form.last(key.name)?;
            let (value, unit) = measured(&said.text);
            Some(Parameter { name: key.name, value, unit, source: said.remark.clone() })
        });
        let parameters = parameters.collect();
        Some(Part { kind: "flash drive", name: kind.name, help: kind.help, parameters })
    })
}

/// The value of a key, and its unit; for a choice, its index and its word.
fn measured(text: &str) -> (u64, &'static str) {
    let number = |text: &str| text.parse::<u64>().ok();
    let bytes = |text: &str| text.parse::<Bytes>().ok().map(|bytes| bytes.0);
    let nanos = text.parse::<Nanos>().ok().map(|nanos| nanos.0);
    let words = |words: &[&'static str]| {
        words.iter().position(|word| *word == text).map(|place| (place as u64, words[place]))
    };
    let orders: Vec<&str> = ReadOrder::WORDS.iter().map(|(name, _)| *name).collect();
    let starts: Vec<&str> = Start::WORDS.iter().map(|(name, _)| *name).collect();
    number(text)
        .map(|value| (value, ""))
        .or_else(|| text.strip_suffix('%').and_then(number).map(|value| (value, "%")))
        .or_else(|| text.strip_suffix("/s").and_then(bytes).map(|value| (value, "B/s")))
        .or_else(|| nanos.map(|value| (value, "ns")))
        .or_else(|| bytes(text).map(|value| (value, "B")))
        .or_else(|| words(&orders))
        .or_else(|| words(&starts))
        .unwrap_or((u64::from(text == "on"), "switch"))
}
