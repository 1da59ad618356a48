//! Lists the simulated devices and their keys for the help of commands.
//!
//! The tables are those that the parser of `sim:` reads, so the help is always complete. The help of a verb
//! lists the names. `run --list-sim` also lists the keys with their defaults, which are longer than the
//! rest of the help. The command-line parser does not wrap the text below the flags, so this module does.

use crate::family::{FAMILIES, Family};

const WIDTH: usize = 80;

/// Text below the flags of a verb, followed by the names of the simulated devices.
#[must_use]
pub fn help_with_names(before: &str) -> String {
    let mut text = format!("{before}\n\nSimulated devices, sim:NAME,key=value,...:\n");
    let kinds = || FAMILIES.iter().flat_map(|family| family.kinds);
    let width = kinds().map(|kind| kind.name.len()).max().unwrap_or(0);
    for kind in kinds() {
        text.push_str(&row(&format!("  {:width$}", kind.name), kind.help));
    }
    text.push_str(
        "Their keys, with defaults: halfpower run --list-sim\n\
         To make your own: halfpower run --show-sim NAME > my.toml, edit the file, and\n\
         use it as sim:my.toml.",
    );
    text
}

/// Every simulated device and key, with units and defaults.
#[must_use]
pub fn help_with_keys() -> String {
    let mut text = String::from("Simulated devices: sim:NAME,key=value,...\n");
    for family in FAMILIES {
        text.push_str(&section(family));
    }
    text.push_str(
        "\nTimes: ns us ms s m h d. Sizes: k m g are powers of 1024, kB MB GB powers of\n\
         1000, KiB MiB GiB powers of 1024.\n",
    );
    text
}

fn section(family: &Family) -> String {
    let mut text = format!("\n{}\n", family.title);
    let width = family.kinds.iter().map(|kind| kind.name.len()).max().unwrap_or(0);
    for kind in family.kinds {
        let changed: Vec<String> =
            family.changes(kind).iter().map(|(key, value)| format!("{key}={value}")).collect();
        let help = match changed.is_empty() {
            true => kind.help.to_owned(),
            false => format!("{} ({})", kind.help, changed.join(" ")),
        };
        text.push_str(&row(&format!("  {:width$}", kind.name), &help));
    }
    text.push_str("  Keys, with defaults:\n");
    let keys = family.keys();
    let name_width = keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let default_width = keys.iter().map(|key| key.default.len()).max().unwrap_or(0);
    for key in keys {
        let head = format!("  {:name_width$}  {:default_width$}", key.name, key.default);
        text.push_str(&row(&head, key.help));
    }
    text
}

/// A line that begins with `head`; `help` is wrapped and aligned after it.
fn row(head: &str, help: &str) -> String {
    let indent = head.len() + 2;
    let mut text = String::from(head);
    let mut column = head.len();
    // Two spaces before the first word, one before others.
    let mut gap = 2;
    for word in help.split_whitespace() {
        if column + gap + word.len() > WIDTH {
            text.push('\n');
            column = 0;
            gap = indent;
        }
        text.push_str(&" ".repeat(gap));
        text.push_str(word);
        column += gap + word.len();
        gap = 1;
    }
    text.push('\n');
    text
}
