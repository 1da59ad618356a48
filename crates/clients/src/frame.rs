//! Reads and writes frames on a byte stream that other programs write to as well. A frame is a mark, the
//! length, the text and a line feed.
//!
//! A login shell prints banners and a launcher prints warnings, on the same stream as the protocol. So each
//! frame starts with a mark, and every other line is noise: limited in length, returned for reports, never
//! parsed. If a length is too large or a frame lacks its line feed, the stream ends, because nothing after
//! it could be trusted.

use engine::input;
use std::io::{self, BufRead, Write};

const MARK: &str = "#halfpower ";
/// The longest text of a frame. The intervals of a trial may be longer, so they are sent in several frames.
pub const LONGEST: usize = 64 << 20;
/// Maximum length of a line of noise that is kept.
const NOISE_KEPT: u64 = 4_096;
const DIGITS: usize = 9;

/// A frame or a line of noise.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The text of a frame.
    Text(Vec<u8>),
    /// A line of another program, truncated if long.
    Noise(String),
}

/// Writes a frame immediately.
///
/// # Errors
/// Errors of the stream; a text that is too long.
pub fn write(to: &mut impl Write, text: &[u8]) -> io::Result<()> {
    if text.len() > LONGEST {
        return Err(broken(&format!("a message of {} bytes is too long", text.len())));
    }
    let mut frame = format!("{MARK}{} ", text.len()).into_bytes();
    frame.extend_from_slice(text);
    frame.push(b'\n');
    to.write_all(&frame)?;
    to.flush()
}

/// Reads the next frame or line; `None` at the end of the stream.
///
/// # Errors
/// Errors of the stream; an invalid frame.
pub fn read(from: &mut impl BufRead) -> io::Result<Option<Frame>> {
    let mut head = Vec::new();
    let mut at = 0;
    // Read byte by byte only while it may be a frame.
    while at < MARK.len() {
        match byte(from)? {
            None if head.is_empty() => return Ok(None),
            None | Some(b'\n') => return Ok(Some(Frame::Noise(lossy(&head)))),
            Some(next) if next == MARK.as_bytes()[at] => head.push(next),
            Some(next) => {
                head.push(next);
                return rest_of_line(from, head).map(|line| Some(Frame::Noise(line)));
            }
        }
        at += 1;
    }
    let mut length = 0usize;
    for digits in 0.. {
        match byte(from)? {
            Some(digit @ b'0'..=b'9') if digits < DIGITS => {
                length = length * 10 + usize::from(digit - b'0');
            }
            Some(b' ') if digits > 0 && length <= LONGEST => break,
            _ => return Err(broken("the length of a frame is missing or too large")),
        }
    }
    let mut text = Vec::new();
    let read = input::at_most(from.by_ref(), length as u64, &mut text)?;
    if read < length {
        return Err(broken("the stream ended within a frame"));
    }
    match byte(from)? {
        Some(b'\n') => Ok(Some(Frame::Text(text))),
        _ => Err(broken("a frame is longer than its stated length")),
    }
}

fn byte(from: &mut impl BufRead) -> io::Result<Option<u8>> {
    let mut one = [0];
    Ok((from.read(&mut one)? > 0).then_some(one[0]))
}

/// Reads a line of a stream without frames, truncated if long; `None` at the end of the stream.
///
/// # Errors
/// Errors of the stream.
pub fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    match byte(from)? {
        None => Ok(None),
        Some(b'\n') => Ok(Some(String::new())),
        Some(first) => rest_of_line(from, vec![first]).map(Some),
    }
}

/// Reads the rest of a line that is not a frame, whose start is in `line`.
fn rest_of_line(from: &mut impl BufRead, mut line: Vec<u8>) -> io::Result<String> {
    loop {
        let room = NOISE_KEPT.saturating_sub(line.len() as u64).max(1);
        let mut piece = Vec::new();
        let read = input::line_at_most(from.by_ref(), room, &mut piece)?;
        if (line.len() as u64) < NOISE_KEPT {
            line.extend_from_slice(&piece);
        }
        if read == 0 || piece.ends_with(b"\n") {
            return Ok(lossy(&line));
        }
    }
}

/// Decodes a line of any encoding: a program's message must be readable in any case.
fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> io::Result<Vec<Frame>> {
        let mut from = bytes;
        let mut found = Vec::new();
        while let Some(frame) = read(&mut from)? {
            found.push(frame);
        }
        Ok(found)
    }

    #[test]
    fn frames_come_back_from_among_the_lines_of_a_login_shell() {
        let mut bytes = b"Welcome!\n\n#half a mark\n".to_vec();
        write(&mut bytes, b"{\"a\":\"\\n\"}").expect("a vector takes all");
        bytes.extend_from_slice(b"bye");
        let noise = |text: &str| Frame::Noise(text.to_owned());
        let frames = all(&bytes).expect("it is whole");
        let text = Frame::Text(b"{\"a\":\"\\n\"}".to_vec());
        assert_eq!(
            frames,
            [noise("Welcome!"), noise(""), noise("#half a mark"), text, noise("bye")]
        );
    }

    #[test]
    fn a_long_line_is_cut_and_what_follows_it_is_read() {
        let mut bytes = vec![b'x'; 1 << 20];
        bytes.push(b'\n');
        write(&mut bytes, b"{}").expect("a vector takes all");
        let frames = all(&bytes).expect("it is whole");
        assert!(matches!(&frames[0], Frame::Noise(line) if line.len() as u64 == NOISE_KEPT));
        assert_eq!(frames[1..], [Frame::Text(b"{}".to_vec())]);
    }

    #[test]
    fn a_line_that_is_no_utf_8_does_not_end_the_stream() {
        let mut from = &b"caf\xe9\n\nPermission denied"[..];
        let mut next = || line(&mut from).expect("a slice can be read");
        assert_eq!(next().as_deref(), Some("caf\u{fffd}"));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().as_deref(), Some("Permission denied"));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_broken_frame_is_an_error_and_allocates_nothing() {
        for bytes in [
            &b"#halfpower 999999999 {}\n"[..],
            b"#halfpower  {}\n",
            b"#halfpower 12345678901 {}\n",
            b"#halfpower 10 {}\n",
            b"#halfpower 2 {}x\n",
            b"#halfpower 2 {}",
        ] {
            assert!(all(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
