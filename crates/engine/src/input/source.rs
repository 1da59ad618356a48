//! Opens and reads paths on Unix so that a signal can end the wait.
//!
//! Pipes are opened non-blocking. Opening one without a writer returns at once, and reading waits in poll(2),
//! which a signal ends even if system calls are restarted. Standard input stays in blocking mode, because all
//! processes that have it share its flags. It is read only after poll reports data.

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

/// Interval for checking the flag, in case a signal arrived just before the wait.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// An open input.
pub(crate) struct Source {
    /// `None` for standard input.
    file: Option<OwnedFd>,
    /// Whether reading may have to wait for data.
    waits: bool,
    size_bytes: u64,
    /// Whether a signal arrived before the opening. Inputs that the program reads while it exits are then
    /// still read.
    is_late: bool,
}

impl Source {
    pub(crate) fn open(path: &Path, kind: Kind) -> Result<Self, Reason> {
        if path.as_os_str() == STANDARD_INPUT {
            let facts = rustix::fs::fstat(rustix::stdio::stdin())?;
            let file_type = FileType::from_raw_mode(facts.st_mode);
            let waits = file_type != FileType::RegularFile;
            // A terminal and the null device have an end. Other character devices do not.
            let is_endless = file_type == FileType::CharacterDevice
                && !std::io::stdin().is_terminal()
                && !is_null(facts.st_rdev);
            if is_endless || file_type == FileType::BlockDevice {
                return Err(Reason::NotAFile("a device", kind));
            }
            let size_bytes = u64::try_from(facts.st_size).unwrap_or_default();
            return Ok(Self { file: None, waits, size_bytes, is_late: stop::is_set() });
        }
        // Opening a device can have side effects: a watchdog starts, a tape rewinds.
        refuse_others(&path.metadata().map_err(Reason::System)?, kind)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        // The path may name something else by now.
        let facts = file.metadata().map_err(Reason::System)?;
        refuse_others(&facts, kind)?;
        Ok(Self {
            file: Some(file.into()),
            waits: !facts.is_file(),
            size_bytes: facts.len(),
            is_late: stop::is_set(),
        })
    }

    /// The stated size; 0 if there is none.
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

/// Device numbers of the null device on Linux.
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

/// Waits until data is available or the other end is closed.
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
