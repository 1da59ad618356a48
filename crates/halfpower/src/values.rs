//! Readers of the values of flags. Each error says what is accepted.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use record::{Bytes, EngineName, Nanos, SizeShare, UnitError};

pub(crate) use workload::values::*;

/// A reader of the names in a table, all of which an error lists.
pub(crate) fn choice<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(table.iter().map(|(name, _)| *name));
    names.try_map(move |name| {
        let found = table.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| format!("there is no {name:?}"))
    })
}

pub(crate) fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

pub(crate) fn some_bytes(text: &str) -> Result<Bytes, String> {
    match bytes(text)? {
        Bytes(0) => Err("it must be more than 0, for example 1g".to_owned()),
        size => Ok(size),
    }
}

pub(crate) fn nanos(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

/// Request sizes with their shares, as one value of a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix(pub(crate) Vec<SizeShare>);

pub(crate) fn mix(text: &str) -> Result<Mix, String> {
    workload::parse_mix(text).map(Mix)
}

/// fio's engines by what does the same here.
const FIO_ENGINES: &[(&str, EngineName)] = &[
    ("psync", EngineName::Sync),
    ("pvsync", EngineName::Sync),
    ("pvsync2", EngineName::Sync),
    ("vsync", EngineName::Sync),
    ("posixaio", EngineName::Threads),
];

pub(crate) fn engine(text: &str) -> Result<EngineName, String> {
    let known = || engine::ENGINES.iter().map(|info| info.name);
    known().find(|name| name.name() == text).ok_or_else(|| {
        if let Some((_, same)) = FIO_ENGINES.iter().find(|(fio, _)| *fio == text) {
            return format!("here fio's '{text}' is --ioengine {}", same.name());
        }
        let names: Vec<&str> = known().map(EngineName::name).collect();
        format!("there is no engine '{text}'; use one of {}", names.join(", "))
    })
}

/// A reader of names: those of a table, and no others.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let found = all.iter().copied().find(|one| name(*one) == text);
        let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("use one of {}", names()))
    }
}
