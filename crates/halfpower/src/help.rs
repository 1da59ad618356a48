//! The part of the help that comes from a table: the simulated devices.
//!
//! The tables are those that the parser of `sim:` reads, so that the help cannot miss a kind or a
//! key. The parser of the command line does not wrap what stands below the flags; this does.

use simdisk::{KEYS, KINDS};

/// Columns of the help.
const WIDTH: usize = 80;

/// What stands below the flags, followed by the table of simulated devices.
pub(crate) fn simulated_devices(before: &str) -> String {
    let mut text = format!("{before}\n\nSimulated devices, sim:NAME,key=value,...:\n");
    let name_width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let default_width = KEYS.iter().map(|key| key.default.len()).max().unwrap_or(0);
    for kind in KINDS {
        text.push_str(&row(&format!("  {:name_width$}", kind.name), kind.help));
    }
    text.push_str("Their keys, with defaults:\n");
    for key in KEYS {
        let head = format!("  {:name_width$}  {:default_width$}", key.name, key.default);
        text.push_str(&row(&head, key.help));
    }
    text.truncate(text.trim_end().len());
    text
}

/// A line that begins with `head`, wrapped below where the help of it begins.
fn row(head: &str, help: &str) -> String {
    let indent = head.len() + 2;
    let mut text = String::from(head);
    let mut column = head.len();
    // Ahead of the first word stand two spaces, ahead of others one.
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
