//! Parses TOML into keys, values and line numbers: a device's description and the source of each value.
//!
//! Values are stored as they would be typed after `sim:`, so that one parser of values serves files and
//! command lines. Only comments after a value are kept: they give its source.

use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error, and its line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) why: String,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Cow<'a, str>,
    /// Its line, from 1.
    pub(crate) line: usize,
    pub(crate) value: Given<'a>,
    /// The comment after it, without the `#`; empty if none.
    pub(crate) remark: &'a str,
}

#[derive(Clone, Debug)]
pub(crate) enum Given<'a> {
    /// A string, a number or a switch, as it would be typed.
    Text(Cow<'a, str>),
    Table(Vec<Entry<'a>>),
}

impl Entry<'_> {
    pub(crate) fn fault(&self, why: impl Into<String>) -> Fault {
        Fault { line: self.line, why: why.into() }
    }

    /// Its text.
    ///
    /// # Errors
    /// If it is a table.
    pub(crate) fn text(&self) -> Result<&str, Fault> {
        match &self.value {
            Given::Text(text) => Ok(text),
            Given::Table(_) => Err(self.fault(format!("{} is a value, not a table", self.key))),
        }
    }
}

/// The entries of a document in their order.
///
/// # Errors
/// If it is not TOML, or has values that no device accepts (lists and dates).
pub(crate) fn read(text: &str) -> Result<Vec<Entry<'_>>, Fault> {
    let root = DeTable::parse(text).map_err(|error| {
        let (line, why) = workload::toml_fault(text, &error);
        Fault { line, why }
    })?;
    entries(text, root.into_inner())
}

fn entries<'a>(text: &'a str, table: DeTable<'a>) -> Result<Vec<Entry<'a>>, Fault> {
    table.into_iter().map(|(key, value)| entry(text, key, value)).collect()
}

fn entry<'a>(
    text: &'a str,
    key: Spanned<Cow<'a, str>>,
    value: Spanned<DeValue<'a>>,
) -> Result<Entry<'a>, Fault> {
    let (line, end) = (workload::line_of(text, key.span().start), value.span().end);
    let key = key.into_inner();
    let no_value = |what: &str| Fault {
        line,
        why: format!("{key} is {what}; use a string, a number, true or false"),
    };
    let (value, remark) = match value.into_inner() {
        DeValue::Table(inner) => (Given::Table(entries(text, inner)?), ""),
        DeValue::String(value) => (Given::Text(value), behind(text, end)),
        DeValue::Boolean(on) => {
            (Given::Text(if on { "on" } else { "off" }.into()), behind(text, end))
        }
        DeValue::Float(value) => (Given::Text(value.as_str().to_owned().into()), behind(text, end)),
        DeValue::Integer(value) => {
            let digits = value.as_str();
            let number = i64::from_str_radix(digits, value.radix());
            let number = number.map_err(|_| no_value("a number that is too large"))?;
            (Given::Text(number.to_string().into()), behind(text, end))
        }
        DeValue::Array(_) => return Err(no_value("a list")),
        DeValue::Datetime(_) => return Err(no_value("a date")),
    };
    Ok(Entry { key, line, value, remark })
}

/// The comment after a value that ends at `end`.
fn behind(text: &str, end: usize) -> &str {
    let rest = text.get(end..).unwrap_or("").lines().next().unwrap_or("");
    rest.trim().strip_prefix('#').map_or("", str::trim)
}
