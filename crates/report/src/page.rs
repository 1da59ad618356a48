//! Formats lines of a terminal page: escaped, wrapped, limited in width, and coloured last.
//!
//! Text from outside (device models, paths, mount options, error messages) may contain terminal escape
//! sequences. All text reaches a page through [`Span`], whose constructor escapes it, so no renderer can
//! forget that. Colour is applied to the finished page, after all widths are known. A page therefore has the
//! same text with and without colour. Rejected: escaping where each field is printed (one forgotten call is a
//! hole), and a terminal library that measures styled strings (widths would depend on the styling).

use crate::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrowest and widest page: below 60 columns no table fits, above 160 the eye loses the row.
const WIDTHS: (usize, usize) = (60, 160);
/// Columns of the narrowest paragraph: paragraphs fit where tables do not.
const PROSE_MIN: usize = 40;
/// Columns of the widest paragraph: longer lines are hard to read.
const PROSE_MAX: usize = 100;

/// The role of a piece of text, which determines its colour in every view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// Headings and answers.
    Strong,
    /// Explanations next to numbers.
    Faint,
    /// Needs attention.
    Warn,
    /// Wrong, or not as requested.
    Bad,
    /// Good.
    Good,
    /// The item that the reader selected.
    Picked,
}

impl Tone {
    /// The "select graphic rendition" parameters (ECMA-48, 8.3.117); empty for plain text.
    fn parameters(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Warn => "1;33",
            Self::Bad => "1;31",
            Self::Good => "32",
            Self::Picked => "7",
        }
    }
}

/// Escaped text in one tone.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Span {
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: escape(text.as_ref()), tone }
    }

    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(text, Tone::Plain)
    }

    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }
}

/// Whether a character could affect how a terminal shows the following text: control characters
/// (C0, DEL, C1), line and paragraph separators, zero-width marks, and marks that reverse the
/// writing direction (Unicode Standard Annex 9), which can make one name look like another.
pub(crate) fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Makes text from outside safe to print: characters that could control a terminal become `\x1b` or
/// `\u{202e}`. Everything else, including backslashes, is unchanged.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_hostile(character) {
            safe.push(character);
        } else if u32::from(character) < 0x100 {
            safe.push_str(&format!("\\x{:02x}", u32::from(character)));
        } else {
            safe.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        }
    }
    safe
}

/// Escapes text of many lines and keeps the line ends.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// A field of CSV (RFC 4180). An apostrophe is added before text that a spreadsheet would treat as a formula.
pub(crate) fn csv_field(text: &str) -> String {
    let text = escape(text);
    let formula = text.starts_with(['=', '+', '@', '-', '\t']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// The longest beginning of a text that fits into this many columns.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let beyond = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > columns
    });
    &text[..beyond.map_or(text.len(), |(at, _)| at)]
}

/// Text of at most this many columns, truncated with an ellipsis.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns { text.to_owned() } else { cut(text, columns) }
}

/// A name of at most this many columns, with an ellipsis in place of its middle.
pub(crate) fn shortened_name(name: &str, columns: usize) -> String {
    let Some(kept) = columns.checked_sub(1).filter(|_| name.width() > columns) else {
        return shortened(name, columns);
    };
    let end: String = name.chars().rev().collect();
    let end = beginning(&end, kept / 2).chars().rev();
    beginning(name, kept - kept / 2).chars().chain(['…']).chain(end).collect()
}

/// Truncates text to at most this many columns, of which the last one is an ellipsis.
fn cut(text: &str, columns: usize) -> String {
    match columns.checked_sub(1) {
        Some(columns) => beginning(text, columns).to_owned() + "…",
        None => String::new(),
    }
}

/// Units, which stay on the line of the number before them.
const UNITS: [&str; 17] = [
    "%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "kB/s", "MB/s", "GB/s", "k", "M",
    "G", "IOPS",
];

/// Splits a text into words that may be separated by a line break. A number and its unit are one
/// word. So are a value and its interval (`118k IOPS ±2 %`).
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        match words.last_mut() {
            Some(last)
                if bare.starts_with('±')
                    || (UNITS.contains(&bare) && last.ends_with(|c: char| c.is_ascii_digit()))
                    || (bare == "IOPS" && last.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks `text` at spaces into lines of at most `width` columns (the first at most `first`).
/// Longer words are cut. Leading and repeated spaces are removed.
pub(crate) fn wrap(text: &str, first: usize, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let (mut used, mut room) = (0, first.max(1));
    for word in words(text) {
        let mut rest = word.as_str();
        if used > 0 && used + 1 + rest.width() > room {
            lines.push(String::new());
            (used, room) = (0, width);
        }
        while rest.width() > room {
            // A single character may be wider than the line.
            let letter = rest.chars().next().map_or(0, char::len_utf8);
            let (head, tail) = rest.split_at(beginning(rest, room).len().max(letter));
            lines.last_mut().into_iter().for_each(|line| line.push_str(head));
            lines.push(String::new());
            (rest, room) = (tail, width);
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(rest);
            used += rest.width();
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[derive(Debug)]
pub(crate) struct Page {
    width: usize,
    /// Whether lines may be wider.
    whole_rows: bool,
    /// Columns of its widest paragraph.
    prose: usize,
    color: bool,
    lines: Vec<Vec<Span>>,
}

impl Page {
    pub(crate) fn new(style: &Style) -> Self {
        let width = style.width.clamp(WIDTHS.0, WIDTHS.1);
        let prose = style.width.clamp(PROSE_MIN, PROSE_MAX);
        let whole_rows = style.whole_rows;
        Self { width, whole_rows, prose, color: style.color, lines: Vec::new() }
    }

    /// A part of a screen: as wide as given, and coloured by the caller.
    pub(crate) fn of_screen(width: usize) -> Self {
        Self { width, whole_rows: false, prose: width, color: false, lines: Vec::new() }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether rows of tables may be wider than the page.
    pub(crate) fn whole_rows(&self) -> bool {
        self.whole_rows
    }

    /// The columns of the terminal, which may be fewer than tables need.
    pub(crate) fn room(&self) -> usize {
        if self.prose < WIDTHS.0 { self.prose } else { self.width }
    }

    pub(crate) fn lines(&self) -> &[Vec<Span>] {
        &self.lines
    }

    /// Adds an empty line between sections; none at the top, never two in a row.
    pub(crate) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    /// Adds one line. Text beyond the page width is truncated, unless the style has whole rows.
    pub(crate) fn line(&mut self, spans: Vec<Span>) {
        self.lines.push(spans);
    }

    /// Adds a section heading, with a remark in the same paragraph.
    pub(crate) fn heading(&mut self, title: &str, remark: &str) {
        self.blank();
        if remark.is_empty() {
            return self.line(vec![Span::new(title, Tone::Strong)]);
        }
        let title = Span::new(format!("{title}: "), Tone::Strong);
        self.flowing(vec![title], 2, remark, Tone::Faint);
    }

    /// Adds wrapped text. The first line begins with `lead`, the others are indented by its width.
    pub(crate) fn hanging(&mut self, lead: Vec<Span>, text: &str, tone: Tone) {
        let indent = lead.iter().map(Span::width).sum();
        self.flowing(lead, indent, text, tone);
    }

    /// Adds wrapped text. The first line begins with `lead`, the others with `indent` spaces.
    pub(crate) fn flowing(&mut self, lead: Vec<Span>, indent: usize, text: &str, tone: Tone) {
        let used: usize = lead.iter().map(Span::width).sum();
        let first = self.prose.saturating_sub(used);
        let mut lead = lead;
        for text in wrap(&escape(text), first, self.prose.saturating_sub(indent)) {
            lead.push(Span { text, tone });
            self.line(lead);
            lead = vec![Span::plain(" ".repeat(indent))];
        }
    }

    pub(crate) fn paragraph(&mut self, indent: usize, text: &str, tone: Tone) {
        self.hanging(vec![Span::plain(" ".repeat(indent))], text, tone);
    }

    /// Adds a command. A long one is continued after a backslash, so that it can be pasted into a shell.
    pub(crate) fn command(&mut self, command: &str) {
        for line in continued(&escape(command), self.width) {
            self.line(vec![Span::plain(line)]);
        }
    }

    /// The page as text; every line ends with a newline.
    pub(crate) fn finish(self) -> String {
        let mut text = String::new();
        let width = if self.whole_rows { usize::MAX } else { self.width };
        for line in &self.lines {
            text.push_str(&painted(line, width, self.color));
            text.push('\n');
        }
        text
    }
}

/// A line as text of at most `width` columns, with or without colour.
fn painted(line: &[Span], width: usize, color: bool) -> String {
    let mut text = String::new();
    for span in trimmed(line, width) {
        let parameters = span.tone.parameters();
        if color && !parameters.is_empty() && !span.text.trim().is_empty() {
            text.push_str(&format!("\x1b[{parameters}m{}\x1b[0m", span.text));
        } else {
            text.push_str(&span.text);
        }
    }
    text
}

/// The spans of a line without trailing spaces, truncated to `width` columns.
fn trimmed(line: &[Span], width: usize) -> Vec<Span> {
    let mut room = width;
    let total: usize = line.iter().map(Span::width).sum();
    let mut kept: Vec<Span> = Vec::new();
    for span in line {
        let past_edge = total > width && span.width() >= room;
        let text = if past_edge { cut(&span.text, room) } else { span.text.clone() };
        room = room.saturating_sub(text.width());
        kept.push(Span { text, tone: span.tone });
    }
    while let Some(last) = kept.last_mut() {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        if !last.text.is_empty() {
            break;
        }
        kept.pop();
    }
    kept
}

/// A command on several lines, broken before words outside quotes, with ` \` at the end of each.
fn continued(command: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = "  ".to_owned();
    for word in command_words(command) {
        let fits = line.chars().count() + 1 + word.chars().count() + 2 <= width;
        if !line.trim().is_empty() && !fits {
            lines.push(format!("{line} \\"));
            line = "     ".to_owned();
        }
        line = if line.trim().is_empty() { line + word } else { line + " " + word };
        // A single longer word is continued in the first column, where the shell joins it again.
        while line.chars().count() > width {
            let head: String = line.chars().take(width - 1).collect();
            line = line.chars().skip(width - 1).collect();
            lines.push(head + "\\");
        }
    }
    lines.push(line);
    lines
}

/// The words of a command. Spaces within quotes do not separate words.
fn command_words(command: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let parts = move |letter: char| {
        match quote {
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
        quote.is_none() && letter == ' '
    };
    command.split(parts).filter(|word| !word.is_empty())
}
