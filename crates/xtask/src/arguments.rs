//! Parses the flags of the verbs: a switch is present or not, a value follows its name. A few verbs with a
//! handful of flags need no parser library, which would take most of this crate's build time.

use crate::USAGE;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::str::FromStr;

/// As a switch: the verb passes all arguments to another program.
pub(crate) const ANY: &str = "...";

pub(crate) struct Arguments {
    given: BTreeMap<String, Option<String>>,
    rest: Vec<String>,
}

impl Arguments {
    /// Parses arguments, allowing these switches and these flags with a value.
    pub(crate) fn read(words: &[String], switches: &[&str], values: &[&str]) -> Result<Self> {
        let mut given = BTreeMap::new();
        if switches.contains(&ANY) {
            return Ok(Self { given, rest: words.to_vec() });
        }
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if switches.contains(&word.as_str()) {
                given.insert(word.clone(), None);
            } else if values.contains(&word.as_str()) {
                let value = words.next().with_context(|| format!("{word} needs a value"))?;
                given.insert(word.clone(), Some(value.clone()));
            } else {
                bail!("unknown argument {word:?}\n{USAGE}");
            }
        }
        Ok(Self { given, rest: Vec::new() })
    }

    /// The arguments that a verb passes on.
    pub(crate) fn rest(&self) -> &[String] {
        &self.rest
    }

    pub(crate) fn has(&self, switch: &str) -> bool {
        self.given.contains_key(switch)
    }

    /// The flag's value, if given.
    pub(crate) fn value<T: FromStr>(&self, flag: &str) -> Result<Option<T>> {
        let Some(Some(text)) = self.given.get(flag) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| anyhow!("{flag} does not take {text:?}\n{USAGE}"))
    }
}
