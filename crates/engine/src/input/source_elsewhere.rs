//! Opens and reads paths on systems without poll(2). The limits apply, but a signal cannot end a wait.

use crate::input::error::Reason;
use crate::input::kinds::{Kind, STANDARD_INPUT};
use crate::input::stop;
use std::fs::File;
use std::io::{ErrorKind, Read, stdin};
use std::path::Path;

/// An open input.
pub(crate) struct Source {
    from: Box<dyn Read>,
    size_bytes: u64,
    /// Whether a signal arrived before the opening. Inputs that the program reads while it exits are then
    /// still read.
    is_late: bool,
}

impl Source {
    pub(crate) fn open(path: &Path, kind: Kind) -> Result<Self, Reason> {
        if path.as_os_str() == STANDARD_INPUT {
            return Ok(Self { from: Box::new(stdin()), size_bytes: 0, is_late: stop::is_set() });
        }
        if path.metadata().map_err(Reason::System)?.is_dir() {
            return Err(Reason::NotAFile("a directory", kind));
        }
        let file = File::open(path).map_err(Reason::System)?;
        let size_bytes = file.metadata().map_or(0, |facts| facts.len());
        Ok(Self { from: Box::new(file), size_bytes, is_late: stop::is_set() })
    }

    /// The stated size; 0 if there is none.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads some bytes; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Reason> {
        loop {
            if !self.is_late {
                stop::check()?;
            }
            match self.from.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read.map_err(Reason::System),
            }
        }
    }
}
