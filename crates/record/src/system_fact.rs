//! Facts about the system other than counters: links, health, settings, kernel statistics.
//!
//! One form serves all checks of the table in `diagnose::causes`, so that a new check needs no new type. A
//! fact has the name of the check, the device, and named values. A value that changed since the observation
//! began also has its first reading, because the rise of a counter is what matters. Rejected: a field for
//! each fact in [`DeviceFacts`](crate::DeviceFacts), which every new check would have to extend. Facts that
//! are already there are not repeated here.

use crate::format_share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of values printed for a fact.
const SHOWN_MAX: usize = 6;

/// A number with its unit, or a word from the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FactData {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// One named value of a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactValue {
    /// Its name (`link speed`).
    pub name: String,
    /// The latest value.
    pub value: FactData,
    /// The unit of a number; empty for counts and texts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The value when the observation began, if it was read then and was different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_begin: Option<FactData>,
}

/// What one check read about the machine or one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemFact {
    /// Name of the check in the table of checks (`sata_link`).
    pub check: String,
    /// Kernel name of the device; null for the machine as a whole.
    pub device: Option<String>,
    /// Whole disks below the device, if it is not a whole disk itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
    /// The values, most important first.
    pub values: Vec<FactValue>,
    /// Since when, RFC 3339 in UTC, if the source reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A check that could not be made, so that its cause remains possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactNotRead {
    /// Name of the check.
    pub check: String,
    /// Kernel name of the device; null for the machine as a whole.
    pub device: Option<String>,
    /// The reason, and how to change that.
    pub reason: String,
}

/// All facts that the checks read at one time, and the checks that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactsRead {
    /// What was read.
    pub facts: Vec<SystemFact>,
    /// Checks that failed.
    pub not_read: Vec<FactNotRead>,
}

impl SystemFact {
    fn value(&self, name: &str) -> Option<&FactValue> {
        self.values.iter().find(|value| value.name == name)
    }

    /// A number by its name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        number(&self.value(name)?.value)
    }

    /// A text by its name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.value(name)?.value {
            FactData::Text(text) => Some(text),
            FactData::Number(_) => None,
        }
    }

    /// How much a number rose since the observation began; `None` if unknown, 0 if it was read only once or
    /// did not change.
    #[must_use]
    pub fn rise(&self, name: &str) -> Option<f64> {
        let value = self.value(name)?;
        let now = number(&value.value)?;
        Some(value.at_begin.as_ref().and_then(number).map_or(0.0, |before| now - before))
    }

    /// Whether a value changed since the observation began.
    #[must_use]
    pub fn moved(&self) -> bool {
        self.values.iter().any(|value| value.at_begin.is_some())
    }

    /// Whether two facts are from the same check and device.
    #[must_use]
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.check, &self.device) == (&other.check, &other.device)
    }

    /// Adds the values of an earlier reading where they were different.
    pub fn began_as(&mut self, earlier: &Self) {
        for value in &mut self.values {
            let before = earlier.value(&value.name).map(|one| &one.value);
            value.at_begin = before.filter(|before| **before != value.value).cloned();
        }
    }

    /// The values in print: `link speed 1.5 Gb/s, limit 6 Gb/s`, and the number of further ones.
    #[must_use]
    pub fn values_text(&self) -> String {
        let each = self.values.iter().take(SHOWN_MAX).map(|one| match &one.value {
            FactData::Text(text) => format!("{} {text}", one.name),
            FactData::Number(share) if one.unit == "share" => {
                format!("{} {}", one.name, format_share(*share))
            }
            FactData::Number(number) if one.unit.is_empty() => format!("{} {number}", one.name),
            FactData::Number(number) => format!("{} {number} {}", one.name, one.unit),
        });
        let more = self.values.len().saturating_sub(SHOWN_MAX);
        let more = (more > 0).then(|| format!("{more} more"));
        each.chain(more).collect::<Vec<_>>().join(", ")
    }
}

fn number(data: &FactData) -> Option<f64> {
    match data {
        FactData::Number(number) => Some(*number),
        FactData::Text(_) => None,
    }
}

impl FactsRead {
    /// Adds the readings from the start of the same observation: values that changed since then, and facts
    /// that were only read then.
    pub fn since_begin(&mut self, earlier: Self) {
        for before in earlier.facts {
            match self.facts.iter_mut().find(|now| now.is_about_the_same(&before)) {
                Some(now) => now.began_as(&before),
                None => self.facts.push(before),
            }
        }
        for before in earlier.not_read {
            let same =
                |one: &FactNotRead| (&one.check, &one.device) == (&before.check, &before.device);
            let read =
                |one: &SystemFact| (&one.check, &one.device) == (&before.check, &before.device);
            if !self.not_read.iter().any(same) && !self.facts.iter().any(read) {
                self.not_read.push(before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(count: f64) -> SystemFact {
        let value = FactValue {
            name: "errors".to_owned(),
            value: FactData::Number(count),
            unit: String::new(),
            at_begin: None,
        };
        SystemFact {
            check: "drive_errors".to_owned(),
            values: vec![value],
            ..SystemFact::default()
        }
    }

    #[test]
    fn a_counter_says_by_how_much_it_rose_and_nothing_where_it_was_read_once() {
        let mut read = FactsRead { facts: vec![errors(7.0)], not_read: Vec::new() };
        assert_eq!(read.facts[0].rise("errors"), Some(0.0));
        read.since_begin(FactsRead { facts: vec![errors(5.0)], not_read: Vec::new() });
        assert_eq!(read.facts[0].rise("errors"), Some(2.0));
        assert!(read.facts[0].moved());
        assert_eq!(read.facts[0].rise("other"), None);
        assert_eq!(read.facts[0].values_text(), "errors 7");
    }

    #[test]
    fn a_number_and_a_text_come_back_from_json_as_they_were() {
        let mut fact = errors(1.5);
        fact.values[0].at_begin = Some(FactData::Text("unknown".to_owned()));
        let text = serde_json::to_string(&fact).unwrap();
        assert_eq!(serde_json::from_str::<SystemFact>(&text).unwrap(), fact);
    }
}
