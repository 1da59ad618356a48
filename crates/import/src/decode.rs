//! From bytes to text, whatever wrote them.
//!
//! Windows tools write UTF-16 or the machine's code page, everything else UTF-8. A byte order mark
//! decides; without one, zero bytes at every second place are UTF-16, and what is not UTF-8 is taken
//! as the western code page of Windows, in which every byte is a character. Nothing is refused here:
//! a name with a wrong accent is still a name, and counter names are compared without accents.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How much of the beginning is searched for zero bytes.
const SAMPLE_BYTES: usize = 512;

/// The text of a file. A character that was cut off at its end is dropped.
pub(crate) fn text(bytes: &[u8]) -> String {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let text = marked.unwrap_or_else(|| unmarked(bytes)).decode(bytes).0;
    text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()
}

/// The encoding of a file without a byte order mark.
fn unmarked(bytes: &[u8]) -> &'static Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let zeros = |odd: usize| {
        sample.iter().enumerate().filter(|(place, byte)| place % 2 == odd && **byte == 0).count()
    };
    match (zeros(0), zeros(1)) {
        (even, odd) if odd > 4 && odd > 8 * even => UTF_16LE,
        (even, odd) if even > 4 && even > 8 * odd => UTF_16BE,
        _ => match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_some() => WINDOWS_1252,
            _ => UTF_8,
        },
    }
}
