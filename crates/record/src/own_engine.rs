//! The name of an engine that only a custom build of halfpower has.
//!
//! Documents of such a build stay readable everywhere, so a name can be any word. It is a static string,
//! because the program copies and compares engine names everywhere. A name that is read from a document is
//! kept until the process ends, once per word. Rejected: a name that owns its text, because workloads could
//! then no longer be copied cheaply.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Longest name, in bytes.
const LONGEST: usize = 32;

/// Names read from documents.
static READ: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The name of an engine in a custom build of halfpower: 1 to 32 lowercase letters, digits, `_` and `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnEngineName(pub(crate) &'static str);

impl OwnEngineName {
    /// The name of a compiled-in engine.
    ///
    /// # Panics
    /// If the name is invalid. In a constant, this stops the build.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        assert!(is_name(name), "an engine's name has 1 to 32 lowercase letters, digits, _ and -");
        Self(name)
    }

    fn read(name: &str) -> Option<Self> {
        if !is_name(name) {
            return None;
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(name) {
            return Some(Self(known));
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        read.insert(kept);
        Some(Self(kept))
    }
}

const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !matches!(bytes[at], b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-') {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty() && bytes.len() <= LONGEST
}

impl Serialize for OwnEngineName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for OwnEngineName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::read(&name)
            .ok_or_else(|| Error::custom(format!("{name:?} is not the name of an engine")))
    }
}

impl JsonSchema for OwnEngineName {
    fn schema_name() -> Cow<'static, str> {
        "OwnEngineName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[a-z0-9_-]{1,32}$",
            "description": "The name of an engine in a custom build of halfpower.",
        })
    }
}
