//! Finds the line of an error in a TOML text. Designs, data sheets and simulated devices all report errors
//! with it.

/// The line, from 1, that contains a byte of a text.
#[must_use]
pub fn line_of(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The line of a parser's error, from 1, and its message.
#[must_use]
pub fn toml_fault(text: &str, error: &toml::de::Error) -> (usize, String) {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    (line, error.message().to_owned())
}
