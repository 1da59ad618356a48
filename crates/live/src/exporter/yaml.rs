//! Reads the subset of YAML that a web configuration uses: nested mappings of words, each with its line
//! number.
//!
//! The error messages of a general parser contain the wrong value, which may be secret. Here each key has its
//! line, and messages contain only lines and keys. Anchors, tags, lists and keys that are not words are not
//! needed and are rejected.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// What is wrong, and its line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// A key, its line, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// No value.
    Empty,
    Word(String),
    Mapping(Vec<Entry>),
}

/// Maximum nesting depth; a configuration has two levels.
const DEPTH: usize = 4;

/// Reads a document; an empty one has no entries.
pub(crate) fn read(text: &str) -> Result<Vec<Entry>, Wrong> {
    let mut events = Events { parser: Parser::new_from_str(text), line: 1 };
    let mut entries = Vec::new();
    let mut documents = 0;
    loop {
        match events.next()? {
            Event::StreamEnd => return Ok(entries),
            Event::DocumentStart(_) if documents > 0 => {
                return Err(events.wrong("a second document begins: keep one"));
            }
            Event::DocumentStart(_) => documents += 1,
            Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
            Event::Scalar(word, style, 0, None) if is_empty(&word, style) => {}
            Event::MappingStart(0, None) => entries = events.mapping(1)?,
            _ => return Err(events.wrong("expected `key: value` lines")),
        }
    }
}

fn is_empty(word: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && ["", "~", "null"].contains(&word)
}

struct Events<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    line: usize,
}

impl<'t> Events<'t> {
    fn next(&mut self) -> Result<Event<'t>, Wrong> {
        match self.parser.next() {
            Some(Ok((event, Span { start, .. }))) => {
                self.line = start.line();
                Ok(event)
            }
            // The parser's own message may contain the value.
            Some(Err(error)) => {
                let line = error.marker().line();
                let what =
                    "this is not valid YAML: check indentation, colons and quotes".to_owned();
                Err(Wrong { line, what })
            }
            None => Ok(Event::StreamEnd),
        }
    }

    fn wrong(&self, what: &str) -> Wrong {
        Wrong { line: self.line, what: what.to_owned() }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<Entry>, Wrong> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(word, _, 0, None) => word.into_owned(),
                _ => return Err(self.wrong("a key must be one word")),
            };
            let line = self.line;
            if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let what = format!("`{key}` is already in line {}; keep one", first.line);
                return Err(Wrong { line, what });
            }
            let value = match self.next()? {
                Event::Scalar(word, style, 0, None) if is_empty(&word, style) => Value::Empty,
                Event::Scalar(word, _, 0, None) => Value::Word(word.into_owned()),
                Event::MappingStart(0, None) if depth < DEPTH => {
                    Value::Mapping(self.mapping(depth + 1)?)
                }
                _ => {
                    return Err(
                        self.wrong(&format!("`{key}` takes one value: no list, anchor or tag"))
                    );
                }
            };
            entries.push(Entry { key, line, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_lines_and_values_their_forms() {
        let text = "# c\ntop:\n  a: 'x y'\n  \"b\": # none\nflow: {c: 1}\n";
        let entries = read(text).unwrap();
        let lines: Vec<(&str, usize)> = entries.iter().map(|it| (&*it.key, it.line)).collect();
        assert_eq!(lines, [("top", 2), ("flow", 5)]);
        let Value::Mapping(inner) = &entries[0].value else { panic!("{entries:?}") };
        assert_eq!(inner[0].value, Value::Word("x y".to_owned()));
        assert_eq!((&*inner[1].key, inner[1].line, &inner[1].value), ("b", 4, &Value::Empty));
        assert_eq!(read("\n# nothing\n").unwrap(), []);
    }

    #[test]
    fn what_has_no_use_here_is_refused_with_its_line_and_without_its_text() {
        for (text, line) in [
            ("a: [hunter2]\n", 1),
            ("a: 1\na: hunter2\n", 2),
            ("a: &x hunter2\n", 1),
            ("\n- hunter2\n", 2),
            ("hunter2\n", 1),
            ("a: 1\n b: hunter2\n", 2),
            ("a: !secret hunter2\n", 1),
            ("a: 'hunter2\n", 1),
            ("a: 1\n---\nb: hunter2\n", 2),
            ("a: {b: {c: {d: {e: hunter2}}}}", 1),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(wrong.line >= line && wrong.line <= line + 2, "{text:?} {wrong:?}");
            assert!(!wrong.what.contains("hunter2"), "{wrong:?}");
        }
    }
}
