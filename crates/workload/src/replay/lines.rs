//! Splits a recording into lines and words, and reports errors with their place.

/// An error in a recording, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// An invalid line.
    #[error("line {line}, column {column}: {what}")]
    Line {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong, with the text found.
        what: String,
    },
    /// An unknown format.
    #[error(
        "line 1, column 1: {0:?} is not the start of a known recording; use a log of fio (version \
         2 or 3), output of blkparse, an ASCII trace of DiskSim, or a CSV of MSR Cambridge, \
         SYSTOR '17, SPC or Alibaba"
    )]
    Unknown(String),
    /// Nothing to replay.
    #[error("the recording contains no reads and no writes{0}")]
    Empty(&'static str),
}

impl ReplayError {
    pub(crate) fn unknown(first: &str) -> Self {
        Self::Unknown(first.chars().take(40).collect())
    }
}

/// Iterates over the non-empty lines.
pub(crate) struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { lines: text.lines().enumerate() }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let (index, text) = self.lines.next()?;
            if !text.trim().is_empty() {
                return Some(Line { number: index + 1, text });
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) text: &'a str,
}

impl<'a> Line<'a> {
    pub(crate) fn words(self) -> Words<'a> {
        Words { line: self, rest: self.text, separates: char::is_whitespace }
    }

    pub(crate) fn fields(self) -> Words<'a> {
        let separates = |letter: char| letter == ',' || letter.is_whitespace();
        Words { line: self, rest: self.text, separates }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    line: Line<'a>,
    rest: &'a str,
    separates: fn(char) -> bool,
}

impl<'a> Words<'a> {
    /// The next word, or an error at the end of the line.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str, ReplayError> {
        self.maybe().ok_or_else(|| self.wrong(&format!("{what} is missing")))
    }

    pub(crate) fn maybe(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start_matches(self.separates);
        let end = rest.find(self.separates).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    pub(crate) fn number(&mut self, what: &str) -> Result<u64, ReplayError> {
        let place = *self;
        let word = self.word(what)?;
        word.parse().map_err(|_| place.wrong(&format!("{what} is {word:?}, which is not a number")))
    }

    /// Parses a time with a fraction, in seconds or another unit of `unit_ns` nanoseconds.
    pub(crate) fn time(&mut self, what: &str, unit_ns: u64) -> Result<u64, ReplayError> {
        let place = *self;
        let word = self.word(what)?;
        let wrong = || place.wrong(&format!("{what} is {word:?}, which is not a time"));
        let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let mut part = 0;
        let mut scale = unit_ns;
        for digit in fraction.chars() {
            // Digits below a nanosecond have no effect.
            scale /= 10;
            part += u64::from(digit.to_digit(10).ok_or_else(wrong)?) * scale;
        }
        whole.checked_mul(unit_ns).and_then(|time| time.checked_add(part)).ok_or_else(wrong)
    }

    /// An error at the start of the next word.
    pub(crate) fn wrong(&self, what: &str) -> ReplayError {
        let rest = self.rest.trim_start_matches(self.separates);
        let before = self.line.text.len() - rest.len();
        let column = self.line.text[..before].chars().count() + 1;
        ReplayError::Line { line: self.line.number, column, what: what.to_owned() }
    }
}
