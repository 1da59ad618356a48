//! Says in which line of a TOML text something is wrong: designs, data sheets and simulated devices
//! report it alike.

/// The line, from 1, of a byte of a text.
#[must_use]
pub fn line_of(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The line of an error of the reader, from 1, and what it says.
#[must_use]
pub fn toml_fault(text: &str, error: &toml::de::Error) -> (usize, String) {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    (line, error.message().to_owned())
}
