//! A design as text again, with what the command line changed in it: the text that is kept with an
//! experiment, and with which it can be repeated.

use super::{Axis, Design, Order, Pick, Setting};
use std::fmt::Write;

/// A text in quotes, as TOML reads it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(other)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn setting(setting: &Setting) -> String {
    let value = setting.value.as_deref().map_or_else(|| "true".to_owned(), quoted);
    format!("{} = {value}", setting.key)
}

/// The levels of an axis: their values where all are those of the flag itself, else tables.
fn levels(axis: &Axis) -> String {
    let plain = axis.levels.iter().all(|level| {
        matches!(level.settings.as_slice(), [only] if only.key == axis.name
            && only.value.as_deref() == Some(level.name.as_str()))
    });
    let levels: Vec<String> = axis
        .levels
        .iter()
        .map(|level| {
            if plain {
                return quoted(&level.name);
            }
            let name = format!("name = {}", quoted(&level.name));
            let parts: Vec<String> =
                [name].into_iter().chain(level.settings.iter().map(setting)).collect();
            format!("{{ {} }}", parts.join(", "))
        })
        .collect();
    format!("{} = [{}]", axis.name, levels.join(", "))
}

fn picked(pick: &Pick) -> impl Iterator<Item = String> {
    pick.iter().map(|(axis, levels)| {
        let levels: Vec<String> = levels.iter().map(|level| quoted(level)).collect();
        format!("{axis} = [{}]", levels.join(", "))
    })
}

impl Design {
    /// The design as TOML, which [`Design::parse`] reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        line(format!("title = {}", quoted(&self.title)));
        if !self.about.is_empty() {
            line(format!("about = {}", quoted(&self.about)));
        }
        line(format!("blocks = {}", self.blocks));
        let order = if self.order == Order::Random { "random" } else { "written" };
        line(format!("order = {}", quoted(order)));
        if self.precondition {
            line("precondition = true".to_owned());
        }
        line("\n[constants]".to_owned());
        self.constants.iter().map(setting).for_each(&mut line);
        line("\n[axes]".to_owned());
        self.axes.iter().map(levels).for_each(&mut line);
        for skip in &self.skips {
            line("\n[[skip]]".to_owned());
            picked(&skip.pick).for_each(&mut line);
            if !skip.except.is_empty() {
                let except: Vec<String> = picked(&skip.except).collect();
                line(format!("except = {{ {} }}", except.join(", ")));
            }
        }
        for contrast in &self.contrasts {
            line("\n[[contrast]]".to_owned());
            line(format!("axis = {}", quoted(&contrast.axis)));
            line(format!("base = {}", quoted(&contrast.base)));
            let by: Vec<String> = contrast.by.iter().map(|axis| quoted(axis)).collect();
            line(format!("by = [{}]", by.join(", ")));
            line(format!("measure = {}", quoted(contrast.measure.name())));
        }
        for (name, settings) in &self.protocols {
            line(format!("\n[protocol.{}]", quoted(name)));
            settings.iter().map(setting).for_each(&mut line);
        }
        text
    }
}
