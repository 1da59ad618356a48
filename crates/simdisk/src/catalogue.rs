//! The parts that are known: every number of a drive, bus, adapter or host, with its source.
//!
//! A part is a table of rows, and the same row sets the value that is simulated and prints the line
//! of the documentation. A source is a paper, a derivation from one, an assumption where the papers
//! are silent and the published figures hardly depend on it, or a fit on one named figure; what was
//! fitted is never fitted again on another one.

mod adapters;
mod buses;
mod drives;
mod flash_drives;
mod hosts;

pub(crate) use adapters::ADAPTERS;
pub use adapters::AdapterSpec;
pub(crate) use buses::BUSES;
pub(crate) use drives::DRIVES;
pub(crate) use hosts::HOSTS;
pub use hosts::HostSpec;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Printed in a paper: where.
    Paper(&'static str),
    /// Follows from what is printed: how.
    Derived(&'static str),
    /// Neither printed nor fitted: why this.
    Assumed(&'static str),
    /// Fitted once: on what.
    Fitted(&'static str),
}

impl Source {
    /// Its kind in a word, and its text.
    #[must_use]
    pub fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Paper(text) => ("paper", text),
            Self::Derived(text) => ("derived", text),
            Self::Assumed(text) => ("assumed", text),
            Self::Fitted(text) => ("fitted", text),
        }
    }
}

/// One value of a part.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value, in its unit; 0 and 1 for off and on.
    pub value: u64,
    /// Its unit; empty for a number, the word for a choice.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// A part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Drive, bus, adapter, host or flash drive.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub parameters: Vec<Parameter>,
}

/// Values of a part by name.
type Rows = &'static [(&'static str, u64, Source)];

/// A part as its rows: those that come first hold before those that it shares with others.
struct Model {
    name: &'static str,
    help: &'static str,
    rows: &'static [Rows],
    /// What holds for values that no row names.
    rest: Rest,
}

#[derive(Clone, Copy)]
enum Rest {
    None,
    Zero(Source),
    /// The value of another part.
    As(Rows, Source),
}

const fn model(name: &'static str, rows: &'static [Rows]) -> Model {
    Model { name, help: "", rows, rest: Rest::None }
}

impl Model {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn rest(self, rest: Rest) -> Self {
        Self { rest, ..self }
    }

    fn value(&self, name: &str) -> (u64, Source) {
        let find = |rows: Rows| rows.iter().find(|row| row.0 == name).map(|row| (row.1, row.2));
        let found = self.rows.iter().find_map(|rows| find(rows)).or_else(|| match self.rest {
            Rest::None => None,
            Rest::Zero(source) => Some((0, source)),
            Rest::As(rows, source) => find(rows).map(|(value, _)| (value, source)),
        });
        found.unwrap_or_else(|| unreachable!("{} has no {name}", self.name))
    }
}

/// A parameter of a kind of parts: its name, its unit (or the words of a choice), and where its
/// value goes.
type Field<S> = (&'static str, &'static [&'static str], fn(&mut S, u64));

pub(crate) struct Parts<S: 'static> {
    kind: &'static str,
    fields: &'static [Field<S>],
    models: &'static [Model],
}

impl<S: Default> Parts<S> {
    pub(crate) fn get(&self, name: &str) -> Option<S> {
        let model = self.models.iter().find(|model| model.name == name)?;
        let mut spec = S::default();
        for (field, _, set) in self.fields {
            set(&mut spec, model.value(field).0);
        }
        Some(spec)
    }

    pub(crate) fn names(&self) -> String {
        self.models.iter().map(|model| model.name).collect::<Vec<_>>().join(", ")
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        self.models.iter().map(|model| Part {
            kind: self.kind,
            name: model.name,
            help: model.help,
            parameters: self
                .fields
                .iter()
                .map(|&(name, units, _)| {
                    let (value, source) = model.value(name);
                    let unit = units[(value as usize).min(units.len() - 1)];
                    Parameter { name, value, unit, source }
                })
                .collect(),
        })
    }
}

/// All parts, for documentation.
pub fn parts() -> impl Iterator<Item = Part> {
    let machines = DRIVES.parts().chain(BUSES.parts()).chain(ADAPTERS.parts());
    machines.chain(HOSTS.parts()).chain(flash_drives::parts())
}
