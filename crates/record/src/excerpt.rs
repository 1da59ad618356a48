//! How much of a text from outside is repeated in a message.
//!
//! A value that is wrong may be a whole file: a message names its beginning and its length. A message that
//! other libraries make (clap, toml) holds values as well, so it is shortened as a whole too, in its middle:
//! it begins with what is wrong and ends with what to do.

use std::borrow::Cow;

/// Letters of a value that are repeated.
const EXCERPT_CHARS: usize = 80;
/// Bytes of the longest word of a message: no path is longer on most machines.
const WORD_BYTES: usize = 1 << 10;
/// Bytes of the beginning and of the end of a message that are kept.
const MESSAGE_HEAD: usize = 3 << 10;
const MESSAGE_TAIL: usize = 1 << 10;

/// A value for a message: whole where it is short, else its first 80 letters and its length.
#[must_use]
pub fn excerpt(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(EXCERPT_CHARS) {
        None => Cow::Borrowed(value),
        Some((end, _)) => Cow::Owned(format!("{}... ({} bytes)", &value[..end], value.len())),
    }
}

/// A message of at most 4 KiB and a few words: long words are excerpts, and where that is not enough, the middle is left
/// out.
#[must_use]
pub fn bounded_message(text: &str) -> Cow<'_, str> {
    let is_long = |word: &str| word.len() > WORD_BYTES;
    if text.split_inclusive(char::is_whitespace).any(is_long) {
        let words = text.split_inclusive(char::is_whitespace);
        let short = words.map(|word| match is_long(word) {
            true => Cow::Owned(format!("{} ", excerpt(word.trim_end()))),
            false => Cow::Borrowed(word),
        });
        return Cow::Owned(without_middle(&short.collect::<String>()).into_owned());
    }
    without_middle(text)
}

fn without_middle(text: &str) -> Cow<'_, str> {
    let left_out = text.len().saturating_sub(MESSAGE_HEAD + MESSAGE_TAIL);
    if left_out == 0 {
        return Cow::Borrowed(text);
    }
    let head = &text[..text.floor_char_boundary(MESSAGE_HEAD)];
    let tail = &text[text.ceil_char_boundary(text.len() - MESSAGE_TAIL)..];
    Cow::Owned(format!("{head}... ({left_out} bytes left out) ...{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_whole_and_long_ones_keep_what_matters() {
        let long = "\u{e4}".repeat(100);
        assert_eq!(excerpt(&long[..160]), long[..160]);
        assert_eq!(excerpt(&long), format!("{}... (200 bytes)", &long[..160]));
        assert_eq!(bounded_message("no disk"), "no disk");
        let message = format!("the value {} is wrong", "\u{e4}".repeat(100_000));
        let expected = format!("the value {}... (200000 bytes) is wrong", "\u{e4}".repeat(80));
        assert_eq!(bounded_message(&message), expected);
        let message = format!("a{}the way out", "\u{e4} ".repeat(100_000));
        let bounded = bounded_message(&message);
        assert!(bounded.len() < 4_200 && bounded.starts_with('a'), "{}", bounded.len());
        assert!(bounded.ends_with("the way out") && bounded.contains("bytes left out"));
    }
}
