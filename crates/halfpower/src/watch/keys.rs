//! From what a terminal sends to keys.
//!
//! Cursor keys come as an escape character, a bracket and more; a lone escape character is the
//! Escape key. A read gives whole sequences as good as always, because terminals send them at once;
//! what is cut off counts as Escape, which here only goes back. Sequences that mean nothing here are
//! swallowed whole, so that their letters are not taken for keys.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Redraw,
    /// A character.
    Letter(char),
}

/// The keys in what was read.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let key = match first {
            0x1b => {
                let (key, left) = escaped(after);
                rest = left;
                key
            }
            b'\r' | b'\n' => Some(Key::Enter),
            0x03 => Some(Key::Interrupt),
            0x1a => Some(Key::Suspend),
            0x0c => Some(Key::Redraw),
            0x20..0x7f => Some(Key::Letter(char::from(first))),
            _ => None,
        };
        keys.extend(key);
    }
    keys
}

/// The key behind an escape character, and what follows it.
fn escaped(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    let Some((b'[' | b'O', sequence)) = bytes.split_first() else {
        return (Some(Key::Escape), bytes);
    };
    // Parameters, then one final byte (ECMA-48, 5.4).
    let Some(end) = sequence.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
        return (None, &[]);
    };
    let key = match (&sequence[..end], sequence[end]) {
        (_, b'A') => Some(Key::Up),
        (_, b'B') => Some(Key::Down),
        (_, b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (_, b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"5", b'~') => Some(Key::PageUp),
        (b"6", b'~') => Some(Key::PageDown),
        (_, b'M') => Some(Key::Enter),
        _ => None,
    };
    (key, &sequence[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_keys_are_known_in_all_the_ways_in_which_terminals_send_them() {
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[5~\x1b[6~"),
            [Key::Up, Key::Down, Key::PageUp, Key::PageDown]
        );
        assert_eq!(keys(b"\x1b[H\x1b[1~\x1b[F\x1b[4~"), [Key::Home, Key::Home, Key::End, Key::End]);
    }

    #[test]
    fn a_lone_escape_goes_back_and_letters_behind_it_are_keys() {
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1bq"), [Key::Escape, Key::Letter('q')]);
        assert_eq!(
            keys(b"q\r \x03"),
            [Key::Letter('q'), Key::Enter, Key::Letter(' '), Key::Interrupt]
        );
    }

    #[test]
    fn what_means_nothing_is_swallowed_whole() {
        assert_eq!(keys(b"\x1b[1;5C\x1b[200~s"), [Key::Letter('s')]);
        assert_eq!(keys(b"\x1b[<0;10"), []);
        assert_eq!(keys("ü\x00\x7f".as_bytes()), []);
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut seed = 7_u32;
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    [0x1b, b'[', b'O', b'5', b'~', b'A', 0xff, (seed >> 24) as u8]
                        [(seed >> 20) as usize % 8]
                })
                .collect();
            assert!(keys(&bytes).len() <= bytes.len());
        }
    }
}
