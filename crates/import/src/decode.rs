//! From bytes to text, whatever wrote them.
//!
//! Windows tools write UTF-16 or the machine's code page, everything else UTF-8. A byte order
//! mark decides; without one, zero bytes at every second place are UTF-16, and what is not UTF-8
//! is taken as Latin-1, in which every byte is a character. Nothing is refused here: a name with a
//! wrong accent is still a name, and counter names are compared without their accents. Rejected: an
//! encoding crate, whose tables for forty code pages decide nothing that matters here.

/// How much of the beginning is looked at for zero bytes.
const SAMPLE_BYTES: usize = 512;

/// The text of a file.
pub(crate) fn text(bytes: &[u8]) -> String {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => match zeros(bytes) {
            (even, odd) if odd > 4 && odd > 8 * even => utf16(bytes, u16::from_le_bytes),
            (even, odd) if even > 4 && even > 8 * odd => utf16(bytes, u16::from_be_bytes),
            _ => utf8(bytes),
        },
    }
}

/// Zero bytes at even and at odd places of the beginning.
fn zeros(bytes: &[u8]) -> (usize, usize) {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let at = |odd: usize| {
        sample.iter().enumerate().filter(|(place, byte)| place % 2 == odd && **byte == 0).count()
    };
    (at(0), at(1))
}

/// UTF-16; a last half character is dropped.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// UTF-8, or Latin-1 where it is not; a character that was cut off at the end is dropped.
fn utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_same_text_comes_out_of_every_encoding() {
        let original = "\"(PDH-CSV 4.0)\",\"Datenträger\"";
        let units = || original.encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        let latin: Vec<u8> = original.chars().map(|letter| letter as u8).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            original.as_bytes().to_vec(),
            marked(b"\xef\xbb\xbf", original.as_bytes()),
            marked(b"\xff\xfe", &little),
            marked(b"\xfe\xff", &big),
            little,
            big,
            latin,
        ] {
            assert_eq!(text(&bytes), original, "{bytes:?}");
        }
        assert_eq!(text(&"aä".as_bytes()[..2]), "a");
        assert_eq!(text(b""), "");
    }
}
