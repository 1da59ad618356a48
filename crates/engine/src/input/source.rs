//! What is behind a path on Unix, and how it is read so that a signal ends the wait.
//!
//! Pipes are opened non-blocking: opening one without a writer returns at once, and reading waits in poll(2), which a
//! signal ends even where system calls are restarted. Standard input stays as it is, because its flags belong to all
//! processes that have it; it is read only after poll says that there is something.

use crate::input::error::Reason;
use crate::input::kinds::{Kind, STANDARD_INPUT};
use crate::input::stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The wait after which the flag is looked at, for a signal that came just before the wait.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Something that is open for reading.
pub(crate) struct Source {
    /// `None` for standard input.
    file: Option<OwnedFd>,
    /// Whether it may have nothing yet.
    waits: bool,
    size_bytes: u64,
    /// Whether a signal had come before: then what the program still reads on its way out is read.
    is_late: bool,
}

impl Source {
    pub(crate) fn open(path: &Path, kind: Kind) -> Result<Self, Reason> {
        if path.as_os_str() == STANDARD_INPUT {
            let facts = rustix::fs::fstat(rustix::stdio::stdin())?;
            let file_type = FileType::from_raw_mode(facts.st_mode);
            let waits = file_type != FileType::RegularFile;
            // A terminal is read to its end, and so is the null device; others have no end.
            let is_endless = file_type == FileType::CharacterDevice
                && !std::io::stdin().is_terminal()
                && !is_null(facts.st_rdev);
            if is_endless || file_type == FileType::BlockDevice {
                return Err(Reason::NotAFile("a device", kind));
            }
            let size_bytes = u64::try_from(facts.st_size).unwrap_or_default();
            return Ok(Self { file: None, waits, size_bytes, is_late: stop::is_set() });
        }
        // Opening a device can have consequences: a watchdog starts, a tape rewinds.
        refuse_others(&path.metadata().map_err(Reason::System)?, kind)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        // The path may mean something else by now.
        let facts = file.metadata().map_err(Reason::System)?;
        refuse_others(&facts, kind)?;
        Ok(Self {
            file: Some(file.into()),
            waits: !facts.is_file(),
            size_bytes: facts.len(),
            is_late: stop::is_set(),
        })
    }

    /// The size that it tells of itself; 0 for what tells none.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads some bytes; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Reason> {
        let file = match &self.file {
            Some(file) => file.as_fd(),
            None => rustix::stdio::stdin(),
        };
        loop {
            if self.waits {
                wait(file)?;
            } else if !self.is_late {
                stop::check()?;
            }
            match rustix::io::read(file, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                read => return Ok(read?),
            }
        }
    }
}

/// The null device has these numbers on Linux.
fn is_null(device: u64) -> bool {
    (rustix::fs::major(device), rustix::fs::minor(device)) == (1, 3)
}

fn refuse_others(facts: &Metadata, kind: Kind) -> Result<(), Reason> {
    let is = facts.file_type();
    let other = if is.is_dir() {
        "a directory"
    } else if is.is_char_device() || is.is_block_device() {
        "a device"
    } else if is.is_socket() {
        "a socket"
    } else {
        return Ok(());
    };
    Err(Reason::NotAFile(other, kind))
}

/// Waits until something can be read or the other end is gone.
fn wait(file: BorrowedFd<'_>) -> Result<(), Reason> {
    loop {
        stop::check()?;
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&LOOK_EVERY)) {
            Ok(0) | Err(Errno::INTR) => {}
            ready => return Ok(ready.map(drop)?),
        }
    }
}

impl From<Errno> for Reason {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}
