//! Comma-separated values as the data files hold them: quoted where a field has a comma.
//!
//! The files are part of the program, so an error names the line and is a defect; a dependency for
//! forty lines would bring encodings and dialects that the files do not have.

use std::collections::BTreeMap;

/// One line: the fields by their column's title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line in the file, from 1.
    pub line: usize,
    fields: BTreeMap<String, String>,
}

impl Record {
    /// A field; empty where the file has no such column.
    #[must_use]
    pub fn get(&self, title: &str) -> &str {
        self.fields.get(title).map_or("", String::as_str)
    }
}

/// The titles in order.
#[must_use]
pub fn titles(text: &str) -> Vec<String> {
    text.lines().next().map(fields).unwrap_or_default()
}

/// The lines below the titles. Empty ones are skipped.
///
/// # Errors
/// If a line has another number of fields than the titles.
pub fn records(name: &str, text: &str) -> Result<Vec<Record>, String> {
    let titles = titles(text);
    let mut records = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let fields = fields(line);
        let number = index + 1;
        if fields.len() != titles.len() {
            let (found, expected) = (fields.len(), titles.len());
            return Err(format!("{name}, line {number}: {found} fields instead of {expected}"));
        }
        let fields = titles.iter().cloned().zip(fields).collect();
        records.push(Record { line: number, fields });
    }
    Ok(records)
}

/// The fields of a line. Within quotes a doubled quote is one.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        let field = fields.last_mut();
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                if let Some(field) = field {
                    field.push('"');
                }
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => {
                if let Some(field) = field {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_commas_and_doubled_quotes() {
        let records = records("t", "a,b\n\"1,2\",\"say \"\"x\"\"\"\n\n3,\n").unwrap();
        assert_eq!((records[0].get("a"), records[0].get("b")), ("1,2", "say \"x\""));
        assert_eq!((records[1].get("a"), records[1].get("b"), records[1].line), ("3", "", 4));
        assert_eq!(records[1].get("none"), "");
    }

    #[test]
    fn a_line_with_too_few_fields_is_named() {
        assert_eq!(records("t", "a,b\n1").unwrap_err(), "t, line 2: 1 fields instead of 2");
    }
}
