//! The terminal: taken for a screen, drawn on, and given back whatever happens.
//!
//! Four things are changed (raw input, the alternate screen, the cursor, wrapping at the edge) and
//! undone by one function, which runs when the value is dropped, before the program stops for
//! Ctrl-Z, and in the panic hook before the message is printed, so that the message is read and the
//! shell works. Signals only wake the loop, which then ends in the ordinary way. What nobody can
//! handle (SIGKILL) is `reset`'s.
//!
//! Drawing sends the lines that changed. Rejected: ratatui (a dozen crates; its widgets lay out what
//! is laid out already, as text that tests compare) and crossterm (a second signal library and an
//! event loop of its own, for five escape sequences and eight keys); rustix, which is here for its
//! system calls, has all that is needed of termios.

use anyhow::Context;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal, Write};

/// Alternate screen, no cursor, no wrapping; and all of it back (xterm's control sequences, DEC
/// private modes 1049, 25 and 7).
const TAKE: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const GIVE_BACK: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// What a terminal that does not tell its size is taken for.
const USUAL: (usize, usize) = (80, 24);

/// A terminal that shows a screen.
pub(super) struct Terminal {
    before: Termios,
    shown: Vec<String>,
    size: (usize, usize),
}

impl Terminal {
    /// Whether there is one to show a screen on and to read keys from.
    pub(super) fn is_there() -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb
    }

    /// Takes it.
    pub(super) fn take() -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin()).context("cannot read the terminal's settings")?;
        let terminal = Self { before: before.clone(), shown: Vec::new(), size: USUAL };
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back(&before);
            previous(panic);
        }));
        let mut terminal = terminal;
        terminal.resume()?;
        Ok(terminal)
    }

    /// Takes it again, after [`Terminal::release`]; everything is drawn anew.
    pub(super) fn resume(&mut self) -> anyhow::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)
            .context("cannot change the terminal's settings")?;
        write(TAKE)?;
        self.resized();
        Ok(())
    }

    /// Gives it back for a while.
    pub(super) fn release(&self) {
        give_back(&self.before);
    }

    /// Asks for its size; everything is drawn anew.
    pub(super) fn resized(&mut self) {
        let size = tcgetwinsize(std::io::stdout()).ok();
        let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        self.size = size.filter(|&(columns, rows)| columns > 0 && rows > 0).unwrap_or(USUAL);
        self.shown.clear();
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Shows these lines, as many as it has rows.
    pub(super) fn draw(&mut self, lines: Vec<String>) -> anyhow::Result<()> {
        let mut text = String::new();
        if self.shown.is_empty() {
            text.push_str("\x1b[2J");
        }
        for (index, line) in lines.iter().enumerate() {
            if self.shown.get(index) != Some(line) {
                // Erased first: behind a full line the cursor still stands on its last column.
                text.push_str(&format!("\x1b[{};1H\x1b[K{line}", index + 1));
            }
        }
        if lines.len() < self.shown.len() {
            text.push_str(&format!("\x1b[{};1H\x1b[J", lines.len() + 1));
        }
        self.shown = lines;
        write(&text)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back(&self.before);
    }
}

/// Undoes everything. A terminal that is gone needs nothing.
fn give_back(before: &Termios) {
    let _ = write(GIVE_BACK);
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.context("cannot write to the terminal")
}
