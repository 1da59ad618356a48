//! Prints a device as a file that describes it: every key with its meaning, every value with its source.

use crate::catalogue::KINDS_OF_PARTS;
use crate::form::{FAMILY, Form};
use crate::keys::BY_KIND;

const WIDTH: usize = 80;

/// The file for a form; the device is named `sim:` and `text`.
pub(crate) fn shown(form: &Form, text: &str) -> String {
    let mut lines = format!("# sim:{text}\n");
    let kinds = form.family.kinds.iter();
    if let Some(kind) = kinds.clone().find(|kind| text.split(',').next() == Some(kind.name)) {
        lines.push_str(&comment(kind.help));
    }
    lines.push_str(&comment(
        "A file like this can be used as a target: sim:FILE.toml, or with keys, as in \
         sim:FILE.toml,disks=2. With like = \"NAME\" instead of a family, missing keys have the \
         values of that device. true means on, false means off.",
    ));
    lines.push_str(&format!("{FAMILY} = \"{}\"\n", form.family.name));
    let is_part = |name: &str| KINDS_OF_PARTS.iter().any(|kind| kind.kind() == name);
    for key in form.family.keys() {
        if is_part(key.name) {
            continue;
        }
        let unsaid = if key.default == BY_KIND { "none" } else { &key.default };
        let said = form.last(key.name);
        let (value, remark) = said.map_or((unsaid, ""), |said| (&said.text, &said.remark));
        lines.push_str(&format!("\n{}{} = {}", comment(key.help), key.name, literal(value)));
        lines.push_str(&if remark.is_empty() {
            "\n".to_owned()
        } else {
            format!("  # {remark}\n")
        });
    }
    for (kind, rows) in KINDS_OF_PARTS.iter().zip(&form.parts) {
        // If a key names a part of the catalogue, that replaces the part of the file.
        let named = form.last(kind.kind()).and_then(|said| kind.rows(&said.text));
        let rows = kind.lines(named.as_ref().unwrap_or(rows));
        if rows.is_empty() {
            continue;
        }
        lines.push_str(&format!("\n[{}]\n", kind.kind()));
        let width = rows.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
        for (line, remark) in rows {
            let line = match remark.is_empty() {
                true => line,
                false => format!("{line:width$}  # {remark}"),
            };
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    lines
}

/// A value as TOML: numbers and switches unquoted, everything else as a string.
fn literal(value: &str) -> String {
    match value {
        "on" => "true".to_owned(),
        "off" => "false".to_owned(),
        // Numbers with a leading zero, or too large for TOML, must be strings.
        number if number.parse::<i64>().is_ok_and(|it| it.to_string() == number) => {
            number.to_owned()
        }
        text => toml::Value::String(text.to_owned()).to_string(),
    }
}

fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut column = WIDTH + 1;
    for word in text.split_whitespace() {
        if column + 1 + word.len() > WIDTH {
            if !lines.is_empty() {
                lines.push('\n');
            }
            lines.push('#');
            column = 1;
        }
        lines.push(' ');
        lines.push_str(word);
        column += 1 + word.len();
    }
    lines.push('\n');
    lines
}
