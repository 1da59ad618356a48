//! The cases: what is started and changed, and what a diagnosis must find. They stand in `cases.toml`, which
//! describes the fields of [`Case`].

use super::load::Load;
use super::medium::Medium;
use crate::judge::Expect;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};
use workload::Rng;

/// A change of the machine after the profile was made. It is reverted after the case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// Another I/O scheduler.
    Scheduler(String),
    /// A setting of the device's queue.
    Queue(String, u64),
    /// Limit of dirty bytes in the page cache.
    DirtyBytes(u64),
    NoReadAhead,
    /// Programs that compute, on all CPUs.
    BusyProcessors,
    /// A program fills the page cache with writes.
    Flood,
    /// Files are created, removed and discarded.
    Discards,
    /// Duration of a flush of the served disk.
    FlushTakesMs(u64),
    /// Duration of a discard of the served disk.
    DiscardTakesMs(u64),
    /// Maximum requests per second of the served disk.
    CapAt(u64),
    /// The file system is mounted with `sync`.
    MountedSync,
    /// A program swaps to a file on the device.
    Swaps,
    /// A program has swapped and is now idle.
    Swapped,
    /// A file is fragmented into pieces of this many bytes.
    Fragmented(u64),
    /// The file system is almost full.
    Full,
    /// The limits of loads are active for the first duration and inactive for the second, alternately.
    ComeAndGoMs(u64, u64),
}

impl Change {
    /// Whether the change must precede the load: open files keep the old state, or the load needs the change.
    pub(super) fn comes_first(&self) -> bool {
        matches!(self, Self::NoReadAhead | Self::Fragmented(_))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) media: Vec<Medium>,
    #[serde(default, rename = "draw")]
    _draw: Table,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
    pub(super) loads: Vec<Load>,
    #[serde(default)]
    pub(super) asks: Vec<u64>,
    pub(super) fills: Option<f64>,
    pub(super) expect: Expect,
    pub(super) watched: Option<String>,
}

/// Figures of the device's profile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Maximum IOPS of 4 KiB random reads, and their IOPS at queue depth 1.
    pub(super) most: f64,
    pub(super) lone: f64,
    /// The smallest depth that gives most of the maximum.
    pub(super) knee: f64,
}

impl Known {
    /// Draws a number between two others, whose logarithm is uniform: `0.1 to 0.6 of lone below 5000`. `None`
    /// if the text is different.
    fn number(&self, rng: &mut Rng, text: &str) -> Option<u64> {
        let words: Vec<&str> = text.split(' ').collect();
        let [low, "to", high, rest @ ..] = &words[..] else { return None };
        let figure = |name: &str| match name {
            "most" => Some(self.most),
            "lone" => Some(self.lone),
            "knee" => Some(self.knee),
            _ => None,
        };
        let unit = match rest {
            [] | ["in", "powers", "of", "two"] => 1.0,
            ["of", name] => figure(name)?,
            ["of", name, "below", most] => figure(name)?.min(most.parse().ok()?),
            _ => return None,
        };
        let (low, high): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
        let drawn = (unit * low * (high / low).powf(rng.unit())) as u64;
        Some(if rest.first() == Some(&"in") { 1 << drawn.max(1).ilog2() } else { drawn })
    }

    /// All cases of a round, with the numbers that the seed draws.
    pub(super) fn cases(&self, seed: u64) -> Result<Vec<Case>> {
        let mut all: Table = toml::from_str(include_str!("cases.toml"))?;
        let words: BTreeMap<String, String> = all["words"].clone().try_into()?;
        let cases: Vec<Table> = all.remove("case").context("no cases")?.try_into()?;
        let mut rng = Rng::new(seed);
        let drawn = cases.into_iter().map(|case| {
            let mut words = words.clone();
            for (name, text) in case.get("draw").and_then(Value::as_table).into_iter().flatten() {
                let number = text.as_str().and_then(|text| self.number(&mut rng, text));
                let number = number.with_context(|| format!("nothing can be drawn from {text}"))?;
                words.insert(name.clone(), number.to_string());
            }
            let name = case["name"].to_string();
            let mut case = Value::Table(case);
            fill(&mut case, &words);
            case.try_into().with_context(|| format!("the case {name}"))
        });
        drawn.collect()
    }
}

/// Replaces `{NAME}` in all texts. A text that is then a number becomes one.
fn fill(value: &mut Value, words: &BTreeMap<String, String>) {
    match value {
        Value::String(text) if text.contains('{') => {
            let filled = words.iter().fold(text.clone(), |text, (name, word)| {
                text.replace(&format!("{{{name}}}"), word)
            });
            *value = filled.parse().map_or(Value::String(filled), Value::Integer);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, words)),
        Value::Table(values) => values.iter_mut().for_each(|(_, value)| fill(value, words)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_drawn_and_no_name_is_left_unfilled() {
        let known = Known { most: 100_000.0, lone: 10_000.0, knee: 16.0 };
        let cases = known.cases(1).unwrap();
        for case in &cases {
            let loads = format!("{:?}", case.loads);
            // A brace of the structure is followed by a blank.
            let names = loads.split('{').skip(1).filter(|rest| !rest.starts_with(' '));
            assert!(!case.loads.is_empty() && names.count() == 0, "{loads}");
        }
        let asks = &cases.iter().find(|case| case.name == "reads and writes, libaio").unwrap().asks;
        assert!(asks.len() == 2 && asks[0] == asks[1] && (100..=6_000).contains(&asks[0]));
        assert!(cases.iter().any(|case| case.changes.contains(&Change::Swapped)));
        assert_eq!(known.number(&mut Rng::new(1), "4 to 4 in powers of two"), Some(4));
        assert_eq!(known.number(&mut Rng::new(1), "2 to 2 of lone below 5000"), Some(10_000));
        assert_eq!(known.number(&mut Rng::new(1), "2 to 3 of none"), None);
    }
}
