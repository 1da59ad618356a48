//! The settings of a device before it is built: parts and keys, each with its line in a file, if any.
//!
//! A name in the catalogue, a user's file and the keys of a command line all become such a form, and later
//! settings override earlier ones. So a file may begin with a name (`like = "st15150w"`), the catalogue is
//! written like a user's file, and one parser reports the errors of either.

use crate::catalogue::{KINDS_OF_PARTS, LIKE, part};
use crate::family::{FAMILIES, Family, Parts, SimKind};
use crate::keys::{Kind, near};
use crate::toml_text::{self, Entry, Fault, Given};
use std::sync::Arc;

/// The key that names the family of a device.
pub(crate) const FAMILY: &str = "family";
/// Common names of types of drive, with an example of each type in the catalogue.
const KINDS_OF_DRIVES: [(&str, &str); 3] =
    [("hdd", "atlas10k"), ("ssd", "sata-ssd"), ("nvme", "nvme-ssd")];
/// The name of the family that has parts.
const MACHINE: &str = "machine";

/// A key and what it is set to.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) key: String,
    pub(crate) text: String,
    /// The comment after it; may be empty.
    pub(crate) remark: String,
    /// Its line in the user's file; `None` on the command line and in the catalogue.
    pub(crate) line: Option<usize>,
}

impl Said {
    /// A setting from the command line or from a table of the program.
    pub(crate) fn typed(key: &str, text: &str) -> Self {
        Self { key: key.to_owned(), text: text.to_owned(), remark: String::new(), line: None }
    }
}

/// The error in a setting.
pub(crate) enum Wrong {
    /// The value is wrong, and why.
    Value(String),
    /// The key is unknown: a similar key as a clause, and all keys.
    Key(String, String),
}

/// The settings of a device.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) family: &'static Family,
    pub(crate) parts: Parts,
    /// Later settings override earlier ones.
    pub(crate) said: Vec<Said>,
}

fn find(name: &str) -> Option<(&'static Family, &'static Kind)> {
    FAMILIES.iter().find_map(|family| {
        family.kinds.iter().find(|kind| kind.name == name).map(|kind| (family, kind))
    })
}

impl Form {
    /// A device of the catalogue.
    ///
    /// # Errors
    /// The name is unknown: a similar name as a clause, and all names.
    pub(crate) fn named(name: &str) -> Result<Self, (String, String)> {
        let (family, kind) = find(name).ok_or_else(|| {
            let drive = KINDS_OF_DRIVES.iter().find(|(kind, _)| *kind == name);
            let name = drive.map_or(name, |(_, drive)| drive);
            near(name, FAMILIES.iter().flat_map(|family| family.kinds).map(|kind| kind.name))
        })?;
        if kind.file.is_empty() {
            let said = kind.sets.iter().map(|(key, text)| Said::typed(key, text)).collect();
            return Ok(Self { said, ..Self::blank(family) });
        }
        let entries = kind.entries();
        let like = Self::like(&entries).map(|like| like.map(|(like, _)| like));
        let form = like.and_then(|like| Self::on(family, like, &entries));
        let mut form = form.unwrap_or_else(|Fault { line, why }| {
            unreachable!("the file of {name}, line {line}: {why}")
        });
        form.said.iter_mut().for_each(|said| said.line = None);
        Ok(form)
    }

    fn blank(family: &'static Family) -> Self {
        Self { family, parts: KINDS_OF_PARTS.map(|_| Arc::from([])), said: Vec::new() }
    }

    /// The settings in a file.
    ///
    /// # Errors
    /// The error and its line.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let entries = toml_text::read(text)?;
        let names = || FAMILIES.iter().map(|family| family.name);
        let family = entries.iter().find(|entry| entry.key == FAMILY).map(|entry| {
            let name = entry.text()?;
            let found = FAMILIES.iter().find(|family| family.name == name);
            found.ok_or_else(|| {
                let (hint, known) = near(name, names());
                entry.fault(format!("no family is named {name:?}{hint}; known names: {known}"))
            })
        });
        match (family.transpose()?, Self::like(&entries)?) {
            (Some(family), Some((like, entry))) if family.name != like.family.name => {
                let (name, own) = (family.name, like.family.name);
                Err(entry.fault(format!(
                    "this device belongs to the family {own}, but the file has family = {name}"
                )))
            }
            (_, Some((like, _))) => Self::on(like.family, Some(like), &entries),
            (Some(family), None) => Self::on(family, None, &entries),
            (None, None) => {
                let known = names().collect::<Vec<_>>().join(", ");
                let why = format!(
                    "the kind of device is missing: add like = \"NAME\" with the name of a \
                     simulated device, or family = \"NAME\" with one of {known}"
                );
                Err(Fault { line: 1, why })
            }
        }
    }

    /// The device that entries start from, and the entry that names it.
    fn like<'a>(entries: &'a [Entry<'a>]) -> Result<Option<(Self, &'a Entry<'a>)>, Fault> {
        let Some(entry) = entries.iter().find(|entry| entry.key == LIKE) else { return Ok(None) };
        let name = entry.text()?;
        let form = Self::named(name).map_err(|(hint, known)| {
            entry.fault(format!("no device is named {name:?}{hint}; known names: {known}"))
        })?;
        Ok(Some((form, entry)))
    }

    /// Adds entries to a form, or to the initial settings of the family.
    fn on(
        family: &'static Family,
        base: Option<Self>,
        entries: &[Entry<'_>],
    ) -> Result<Self, Fault> {
        let mut form = base.unwrap_or_else(|| Self::blank(family));
        let keys = family.keys();
        for entry in entries.iter().filter(|entry| !matches!(&*entry.key, FAMILY | LIKE)) {
            if family.name == MACHINE
                && let Some(at) = KINDS_OF_PARTS.iter().position(|kind| kind.kind() == entry.key)
            {
                let base = Some(&form.parts[at]).filter(|rows| !rows.is_empty());
                form.parts[at] = part(KINDS_OF_PARTS[at], base, entry)?;
                continue;
            }
            let is_key = |name: &str| keys.iter().any(|key| key.name == name);
            if !is_key(&entry.key) {
                let parts = KINDS_OF_PARTS.iter().map(|kind| kind.kind());
                let parts = parts.filter(|part| family.name == MACHINE && !is_key(part));
                let names = keys.iter().map(|key| key.name).chain(parts);
                let (hint, known) = near(&entry.key, names);
                let why = format!(
                    "a {} has no key {:?}{hint}; known keys: {known}",
                    family.name, entry.key
                );
                return Err(entry.fault(why));
            }
            let Given::Text(text) = &entry.value else {
                return Err(entry.fault(format!("{} is a value, not a table", entry.key)));
            };
            form.said.push(Said {
                key: entry.key.to_string(),
                text: text.to_string(),
                remark: entry.remark.to_owned(),
                line: Some(entry.line),
            });
        }
        if family.name == MACHINE {
            let kinds = KINDS_OF_PARTS.iter().zip(&form.parts);
            let missing: Vec<&str> =
                kinds.filter(|(_, rows)| rows.is_empty()).map(|(kind, _)| kind.kind()).collect();
            if let Some(first) = missing.first() {
                let why = format!(
                    "the machine has no {}: name one from the catalogue ({first} = \"NAME\"), \
                     describe it in a table [{first}], or start from a machine with like = \
                     \"NAME\"",
                    missing.join(", ")
                );
                return Err(Fault { line: 1, why });
            }
        }
        Ok(form)
    }

    pub(crate) fn last(&self, key: &str) -> Option<&Said> {
        self.said.iter().rev().find(|said| said.key == key)
    }

    /// The specification; its values may still be inconsistent.
    ///
    /// # Errors
    /// The setting that cannot be used, and why.
    pub(crate) fn build(&self) -> Result<SimKind, (&Said, Wrong)> {
        let mut kind = (self.family.begin)(&self.parts);
        for said in &self.said {
            match kind.set(&said.key, &said.text) {
                Ok(true) => {}
                Ok(false) => {
                    let keys = self.family.keys();
                    let (hint, known) = near(&said.key, keys.iter().map(|key| key.name));
                    return Err((said, Wrong::Key(hint, known)));
                }
                Err(why) => return Err((said, Wrong::Value(why))),
            }
        }
        Ok(kind)
    }
}
