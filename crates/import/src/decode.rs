//! Decodes files to text in any common encoding.
//!
//! Windows tools write UTF-16 or the machine's code page, other tools UTF-8. A byte order mark decides.
//! Without one, zero bytes at every second place indicate UTF-16. A file that is not UTF-8 is read in the
//! western code page of Windows, in which every byte is a character. Nothing is refused here: a name with a
//! wrong accent is still a name, and counter names are compared without accents.

use std::borrow::Cow;

/// Number of bytes at the beginning that are searched for zero bytes.
const SAMPLE_BYTES: usize = 512;

/// First character of a colour sequence.
const ESCAPE: char = '\u{1b}';

/// Characters 0x80 to 0x9f of the western code page of Windows, as browsers read it. Undefined positions
/// are the control character of that number.
const WESTERN: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    /// Two bytes per unit, converted in byte order by the function.
    Utf16(fn([u8; 2]) -> u16),
    Western,
}

/// The text of a file. A truncated character at its end is dropped.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, bytes) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (Encoding::Utf8, rest),
        [0xff, 0xfe, rest @ ..] => (Encoding::Utf16(u16::from_le_bytes), rest),
        [0xfe, 0xff, rest @ ..] => (Encoding::Utf16(u16::from_be_bytes), rest),
        _ => (unmarked(bytes), bytes),
    };
    let text = match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes),
        Encoding::Utf16(unit) => {
            let units = bytes.as_chunks().0.iter().map(|pair| unit(*pair));
            let letters = char::decode_utf16(units);
            let letters = letters.map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
            Cow::Owned(letters.collect())
        }
        Encoding::Western => Cow::Owned(bytes.iter().map(|byte| western(*byte)).collect()),
    };
    let text = if text.contains(ESCAPE) { Cow::Owned(without_colours(&text)) } else { text };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches(char::REPLACEMENT_CHARACTER)),
        Cow::Owned(mut text) => {
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
            Cow::Owned(text)
        }
    }
}

/// The text without terminal colours (`S_COLORS=always`): `ESC [ numbers m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| {
        let end = part.find(|letter: char| letter.is_ascii_alphabetic());
        end.filter(|_| part.starts_with('[')).map_or(part, |end| &part[end + 1..])
    });
    std::iter::once(first).chain(rest).collect()
}

fn western(byte: u8) -> char {
    match byte {
        0x80..0xa0 => WESTERN[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The encoding of a file without a byte order mark.
fn unmarked(bytes: &[u8]) -> Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let zeros = |odd: usize| {
        sample.iter().enumerate().filter(|(place, byte)| place % 2 == odd && **byte == 0).count()
    };
    match (zeros(0), zeros(1)) {
        (even, odd) if odd > 4 && odd > 8 * even => Encoding::Utf16(u16::from_le_bytes),
        (even, odd) if even > 4 && even > 8 * odd => Encoding::Utf16(u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_some() => Encoding::Western,
            _ => Encoding::Utf8,
        },
    }
}
