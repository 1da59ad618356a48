//! Flags of the verbs: a switch is there or not, a value follows its name. A few verbs with a
//! handful of flags need no parser library, whose build would be most of this crate's.

use crate::USAGE;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Stands among the switches of a verb whose words are another program's.
pub(crate) const ANY: &str = "...";

/// Stands among the switches of a verb that takes files and folders.
pub(crate) const PATHS: &str = "PATH";

pub(crate) struct Arguments {
    given: BTreeMap<String, Option<String>>,
    rest: Vec<String>,
}

impl Arguments {
    /// Reads them, allowing these switches and these flags with a value.
    pub(crate) fn read(words: &[String], switches: &[&str], values: &[&str]) -> Result<Self> {
        let (mut given, mut rest) = (BTreeMap::new(), Vec::new());
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
            } else if switches.contains(&PATHS) && !word.starts_with('-') {
                rest.push(word.clone());
            } else {
                bail!("unknown argument {word:?}\n{USAGE}");
            }
        }
        Ok(Self { given, rest })
    }

    /// All words of a verb that passes them on, or its files and folders.
    pub(crate) fn rest(&self) -> &[String] {
        &self.rest
    }

    pub(crate) fn has(&self, switch: &str) -> bool {
        self.given.contains_key(switch)
    }

    /// The flag's value, if it is there.
    pub(crate) fn value<T: FromStr>(&self, flag: &str) -> Result<Option<T>> {
        let Some(Some(text)) = self.given.get(flag) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| anyhow!("{flag} does not take {text:?}\n{USAGE}"))
    }
}
