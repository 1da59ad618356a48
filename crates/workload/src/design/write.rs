//! Writes a design as text, including changes from the command line. An experiment saves this text, so that
//! it can be repeated. The lines are assembled here, because the writer of `toml` moves tables after plain
//! values, which would change the order of the axes.

use super::{Axis, Design, Order, Pick, Setting};
use std::fmt::Write;
use toml::{Table, Value};

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn texts<'a>(all: impl IntoIterator<Item = &'a String>) -> Value {
    all.into_iter().map(|each| text(each)).collect::<Vec<_>>().into()
}

fn settings(settings: &[Setting]) -> impl Iterator<Item = (String, Value)> {
    settings.iter().map(|setting| {
        let value = setting.value.as_deref().map_or(Value::Boolean(true), text);
        (setting.key.clone(), value)
    })
}

/// The levels of an axis: plain values if all are values of the flag itself, otherwise tables.
fn levels(axis: &Axis) -> Value {
    let plain = axis.levels.iter().all(|level| {
        matches!(level.settings.as_slice(), [only] if only.key == axis.name
            && only.value.as_deref() == Some(level.name.as_str()))
    });
    if plain {
        return texts(axis.levels.iter().map(|level| &level.name));
    }
    let tables = axis.levels.iter().map(|level| {
        let name = ("name".to_owned(), text(&level.name));
        Value::Table([name].into_iter().chain(settings(&level.settings)).collect())
    });
    tables.collect::<Vec<_>>().into()
}

fn picked(pick: &Pick) -> Table {
    pick.iter().map(|(axis, levels)| (axis.clone(), texts(levels))).collect()
}

impl Design {
    /// The design as TOML that [`Design::parse`] can read.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let order = if self.order == Order::Random { "random" } else { "written" };
        let mut head = vec![("title".to_owned(), text(&self.title))];
        head.extend((!self.about.is_empty()).then(|| ("about".to_owned(), text(&self.about))));
        head.push(("blocks".to_owned(), i64::from(self.blocks).into()));
        head.push(("order".to_owned(), text(order)));
        let mut toml = String::new();
        section(&mut toml, "", head);
        section(&mut toml, "\n[constants]\n", settings(&self.constants));
        let axes = self.axes.iter().map(|axis| (axis.name.clone(), levels(axis)));
        section(&mut toml, "\n[axes]\n", axes);
        for skip in &self.skips {
            let mut parts = picked(&skip.pick);
            if !skip.except.is_empty() {
                parts.insert("except".to_owned(), picked(&skip.except).into());
            }
            section(&mut toml, "\n[[skip]]\n", parts);
        }
        for contrast in &self.contrasts {
            let parts = [
                ("axis", text(&contrast.axis)),
                ("base", text(&contrast.base)),
                ("by", texts(&contrast.by)),
                ("measure", text(contrast.measure.name())),
            ];
            let parts = parts.into_iter().map(|(key, value)| (key.to_owned(), value));
            section(&mut toml, "\n[[contrast]]\n", parts);
        }
        for (name, constants) in &self.protocols {
            section(&mut toml, &format!("\n[protocol.{}]\n", text(name)), settings(constants));
        }
        toml
    }
}

/// Writes a heading with its lines.
fn section(toml: &mut String, head: &str, lines: impl IntoIterator<Item = (String, Value)>) {
    toml.push_str(head);
    for (key, value) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(toml, "{key} = {value}");
    }
}
