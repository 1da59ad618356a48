//! Limits how much of an external text is repeated in a message.
//!
//! A wrong value may be a whole file, so a message shows only its beginning and its length. Messages from
//! libraries (clap, toml) contain values too, so the whole message is shortened in the middle: it begins with
//! what is wrong and ends with what to do.

use std::borrow::Cow;

/// Characters of a value that are shown.
const EXCERPT_CHARS: usize = 80;
/// Longest word of a message, in bytes. On most machines no path is longer.
const WORD_BYTES: usize = 1 << 10;
/// Bytes that are kept from the beginning and from the end of a message.
const MESSAGE_HEAD: usize = 3 << 10;
const MESSAGE_TAIL: usize = 1 << 10;

/// The value for a message: all of it if short, otherwise its first 80 characters and its length.
#[must_use]
pub fn excerpt(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(EXCERPT_CHARS) {
        None => Cow::Borrowed(value),
        Some((end, _)) => Cow::Owned(format!("{}... ({} bytes)", &value[..end], value.len())),
    }
}

/// Shortens a message to 4 KiB and a few words. Long words become excerpts. If that is not enough, the middle
/// is left out.
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
