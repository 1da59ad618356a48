//! Reads incomplete JSON: everything that a tool wrote before it was killed.
//!
//! A recording usually ends in the middle of a number, because tools that write JSON are stopped by a
//! signal. So this reader never fails: it returns everything readable, marks the objects and arrays that
//! were not closed, and counts the faults. A number at the very end may have lost digits and is dropped.
//! After a fault in the middle the reader continues with the next object that begins with a given key, so
//! that one bad byte costs one report and not a night. Numbers stay text, because their decimals show their
//! resolution. The elements of one list are passed on as they are read, so that a day of reports is never
//! held as a tree. Rejected: repairing the text and giving it to a strict parser (where to cut can only be
//! found by parsing).

use std::borrow::Cow;

/// Maximum nesting; the formats here need twelve.
const MOST_LEVELS: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    /// A word without digits: `null`, `true`, and words that JSON does not have (`nan`).
    Word,
    /// A number as written.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// An object in the order of its keys, and whether it was closed.
    Object(Vec<(Cow<'a, str>, Json<'a>)>, bool),
    /// A list whose elements were passed on.
    Taken {
        /// Number of elements.
        elements: usize,
        /// Whether an empty line preceded the first.
        blank_line: bool,
    },
}

/// A part of the text, in order.
pub(crate) enum Part<'a> {
    /// An element of the list that is passed on.
    Element(Json<'a>),
    /// A top-level value, without those elements; after a fault also an object from inside one.
    Value(Json<'a>),
}

impl<'a> Json<'a> {
    /// The first value of this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members, _) => {
                members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text, or the number as text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The elements; empty if it is not an array.
    pub(crate) fn elements(&self) -> &[Json<'a>] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// Whether it is an object that was closed.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Object(_, true))
    }
}

/// All top-level values, after a fault also objects from inside one; and the number of faults.
pub(crate) fn values<'a>(text: &'a str, restart: &str) -> (Vec<Json<'a>>, u64) {
    let mut values = Vec::new();
    let faults = each(text, restart, "", &mut |part| {
        if let Part::Value(value) = part {
            values.push(value);
        }
    });
    (values, faults)
}

/// Passes on all top-level values and the elements of lists with the key `list`. Returns the number of
/// faults: places where another character was expected, including the end of the text. After a fault it
/// continues at the next object whose first key is `restart`.
pub(crate) fn each<'a>(
    text: &'a str,
    restart: &str,
    list: &str,
    take: &mut dyn FnMut(Part<'a>),
) -> u64 {
    let mut reader = Reader { text, at: 0, list, take };
    let mut faults = 0;
    let key = format!("\"{restart}\"");
    loop {
        // After a fault, the closing brackets of the damaged document remain.
        reader.skip(|byte| byte.is_ascii_whitespace() || b",]}\0".contains(&byte));
        if reader.at >= text.len() {
            return faults;
        }
        let begin = reader.at;
        let (value, whole) = match reader.peek() {
            Some(b'{' | b'[') => reader.value(0),
            _ => (None, false),
        };
        value.map(Part::Value).into_iter().for_each(&mut reader.take);
        if !whole {
            faults += 1;
            let from = reader.at.max(begin + 1);
            let Some(next) = object_with(text, from, &key) else { return faults };
            reader.at = next;
        }
    }
}

/// Start of the next object whose first key is `key`.
fn object_with(text: &str, from: usize, key: &str) -> Option<usize> {
    let rest = &text[text.ceil_char_boundary(from)..];
    rest.match_indices(key).find_map(|(at, _)| {
        let before = rest[..at].trim_end();
        before.ends_with('{').then(|| text.len() - rest.len() + before.len() - 1)
    })
}

/// A value as far as it could be read, and whether that is all of it.
type Outcome<'a> = (Option<Json<'a>>, bool);

struct Reader<'a, 't> {
    text: &'a str,
    at: usize,
    /// The key of the lists whose elements are passed on.
    list: &'t str,
    take: &'t mut dyn FnMut(Part<'a>),
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, of: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&of) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        self.skip(|byte| byte.is_ascii_whitespace());
    }

    fn value(&mut self, level: usize) -> Outcome<'a> {
        self.blanks();
        match self.peek() {
            Some(b'{') if level < MOST_LEVELS => self.object(level),
            Some(b'[') if level < MOST_LEVELS => self.array(level),
            Some(b'"') => {
                let text = self.string().map(Json::Text);
                let whole = text.is_some();
                (text, whole)
            }
            Some(byte) if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte) => self.word(),
            _ => (None, false),
        }
    }

    fn object(&mut self, level: usize) -> Outcome<'a> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip(|byte| byte.is_ascii_whitespace() || byte == b',');
            if self.peek() == Some(b'}') {
                self.at += 1;
                return (Some(Json::Object(members, true)), true);
            }
            let key = (self.peek() == Some(b'"')).then(|| self.string()).flatten();
            self.blanks();
            let (Some(key), Some(b':')) = (key, self.peek()) else {
                return (Some(Json::Object(members, false)), false);
            };
            self.at += 1;
            self.blanks();
            let handed_on = key == self.list && self.peek() == Some(b'[') && level < MOST_LEVELS;
            let (value, whole) =
                if handed_on { self.taken(level) } else { self.value(level + 1) };
            members.extend(value.map(|value| (key, value)));
            if !whole {
                return (Some(Json::Object(members, false)), false);
            }
        }
    }

    /// An array whose elements are passed on, as far as readable.
    fn taken(&mut self, level: usize) -> Outcome<'a> {
        self.at += 1;
        let begin = self.at;
        self.blanks();
        let blank_line = self.text[begin..self.at].matches('\n').count() > 1;
        let mut elements = 0;
        let whole = self.elements(level, |reader, element| {
            elements += 1;
            (reader.take)(Part::Element(element));
        });
        (Some(Json::Taken { elements, blank_line }), whole)
    }

    fn array(&mut self, level: usize) -> Outcome<'a> {
        self.at += 1;
        let mut elements = Vec::new();
        let whole = self.elements(level, |_, element| elements.push(element));
        (Some(Json::Array(elements)), whole)
    }

    /// Passes on the elements of an array, as far as readable; returns whether it has an end.
    fn elements(&mut self, level: usize, mut take: impl FnMut(&mut Self, Json<'a>)) -> bool {
        loop {
            self.skip(|byte| byte.is_ascii_whitespace() || byte == b',');
            if self.peek() == Some(b']') {
                self.at += 1;
                return true;
            }
            let (element, whole) = self.value(level + 1);
            element.into_iter().for_each(|element| take(self, element));
            if !whole {
                return false;
            }
        }
    }

    /// A number or a bare word. At the end of the text it may be truncated.
    fn word(&mut self) -> Outcome<'a> {
        let begin = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let word = &self.text[begin..self.at];
        if self.at >= self.text.len() {
            return (None, false);
        }
        let is_number = word.bytes().any(|byte| byte.is_ascii_digit());
        (Some(if is_number { Json::Number(word) } else { Json::Word }), true)
    }

    /// A string from its opening quote; `None` if it is not closed.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.at += 1;
        let mut text = Cow::Borrowed("");
        let mut from = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    // Most have no escapes and are borrowed: adding to an empty text borrows.
                    text += &self.text[from..self.at];
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => {
                    text += &self.text[from..self.at];
                    self.at += 1;
                    let letter = self.escaped()?;
                    text.to_mut().push(letter);
                    from = self.at;
                }
                // No string of these formats contains a line end: its closing quote was lost.
                b'\n' => return None,
                _ => self.at += 1,
            }
        }
    }

    /// The character after a backslash.
    fn escaped(&mut self) -> Option<char> {
        let letter = self.text.get(self.at..)?.chars().next()?;
        self.at += letter.len_utf8();
        Some(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                let code = u32::from_str_radix(digits, 16).ok()?;
                self.at += 4;
                // Half of a surrogate pair; no device name has such a character.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_text_is_read_whole() {
        let text = r#"{"a": [1.50, -2e3, "x\"\u00e4\n", true, null], "b": {}} {"c": 1}"#;
        let (read, faults) = values(text, "t");
        assert_eq!((read.len(), faults), (2, 0));
        let elements = read[0].get("a").unwrap().elements();
        assert_eq!(elements[0], Json::Number("1.50"));
        assert_eq!(elements[2].text(), Some("x\"ä\n"));
        assert_eq!(elements[3..], [Json::Word, Json::Word]);
        assert!(read[0].get("b").unwrap().is_whole());
    }

    #[test]
    fn cut_text_keeps_what_was_whole_and_no_half_number() {
        let (read, faults) = values(r#"{"s": [{"d": 1}, {"d": 2, "e": 12"#, "t");
        assert_eq!(faults, 1);
        let elements = read[0].get("s").unwrap().elements();
        assert!(elements[0].is_whole() && !elements[1].is_whole());
        assert_eq!(elements[1].get("d"), Some(&Json::Number("2")));
        assert_eq!(elements[1].get("e"), None);
    }

    #[test]
    fn after_a_fault_it_goes_on_at_the_next_report() {
        let text = r#"{"s": [{"t": 1, "d": 1}, {"t": 2, ?? "d"}, { "t": 3}, {"t": 4}]}"#;
        let (read, faults) = values(text, "t");
        assert_eq!((read.len(), faults), (3, 1));
        assert_eq!(read[0].get("s").unwrap().elements().len(), 2);
        assert_eq!(read[1].get("t"), Some(&Json::Number("3")));
        assert_eq!(read[2].get("t"), Some(&Json::Number("4")));
    }

    #[test]
    fn deep_nesting_is_a_fault_and_no_overflow() {
        let text = "[".repeat(100_000);
        assert_eq!(values(&text, "t").1, 1);
        let text = "{\"t\":".repeat(10_000);
        assert!(values(&text, "t").1 >= 1);
    }
}
