//! Writes the test file of a directory target: its size, the free space that it leaves, and its contents.
//!
//! The file is written in full, so that no read finds a hole, with data that cannot be compressed or
//! deduplicated. It is written through the page cache unless requested otherwise ([`Written`]): layers
//! below a file system behave differently depending on how a file was written, and most files are written
//! this way. One writer writes from the beginning to the end, as programs do. With direct I/O, two writers
//! keep the device busy while the next chunk is generated. Only the caller's thread reports progress and
//! checks for cancellation. Rejected: `fallocate` alone (unwritten extents read as zeros), one random block
//! repeated, and a file system filled completely: the larger of 5 % and 1 GiB stays free, because many file
//! systems slow down when nearly full.

use crate::target::default_size::{CHUNK_BYTES, DEFAULT_MIN_BYTES};
use crate::target::error::TargetError;
use crate::target::findings::placement_findings;
use crate::target::handle::TargetHandle;
use crate::target::platform::descriptor::{drop_clean_pages, reopen};
use crate::target::platform::extents::extents;
use crate::target::platform::files::{allocate, free_bytes, sync_data};
use engine::{AlignedMemory, OwnedFile};
use record::{
    Bytes, CacheMode, FilesystemFacts, Severity, Target, TargetKind, TestFile, Written,
    format_bytes, quoted,
};
use stats::SplitMix64;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

const GIB: u64 = 1 << 30;
/// Minimum space that must stay free, whatever the size of the file system.
const MARGIN_BYTES: u64 = GIB;
/// Divisor: this part of the file system must also stay free (5 %).
const MARGIN_PART: u64 = 20;
/// Write size of a growing file, and bytes between two flushes.
const PIECE_BYTES: u64 = 64 << 10;
const GROWTH_PER_SYNC: u64 = 4 << 20;
const ROW_BYTES: usize = 64;
/// How often cancellation is checked while nothing completes.
const POLL: Duration = Duration::from_millis(50);

/// Refuses a test file that would leave too little space.
fn check_margin(path: &Path, filesystem: &FilesystemFacts, size: Bytes) -> Result<(), TargetError> {
    let margin = (filesystem.size_bytes.0 / MARGIN_PART).max(MARGIN_BYTES);
    let largest = filesystem.free_bytes.0.saturating_sub(margin);
    if size.0 <= largest {
        return Ok(());
    }
    let remedy = if largest >= DEFAULT_MIN_BYTES {
        let largest = largest - largest % CHUNK_BYTES;
        format!("free some space, or use at most --size {}m", largest >> 20)
    } else {
        "free some space, or name a directory on another file system".to_owned()
    };
    Err(TargetError::Refused {
        what: format!("a test file of {} in {}", format_bytes(size.0), quoted(path)),
        why: format!(
            "only {} are free on {}, and {} must stay free",
            format_bytes(filesystem.free_bytes.0),
            filesystem.mount_point,
            format_bytes(margin)
        ),
        remedy,
    })
}

/// Refuses the test files of a directory target, before any is written, if they would leave too little space.
///
/// # Errors
/// [`TargetError::Refused`].
pub fn check_room(target: &Target) -> Result<(), TargetError> {
    match (target.kind, &target.filesystem) {
        (TargetKind::Directory, Some(filesystem)) => {
            check_margin(Path::new(&target.path), filesystem, target.size_bytes)
        }
        _ => Ok(()),
    }
}

/// Writes the test file of a directory target in full and sets its facts.
///
/// `progress` is called with the bytes written and the total; writing stops when `cancel` returns true.
/// After an error the file still has no name and disappears with its handle.
///
/// # Errors
/// [`TargetError::Refused`] if too little space would stay free or the target is not a test file,
/// [`TargetError::NoSpace`], [`TargetError::Cancelled`], or the system's error.
pub fn write_test_file(
    handle: &mut TargetHandle,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(), TargetError> {
    let path = PathBuf::from(&handle.facts.path);
    let (TargetKind::Directory, Some(filesystem)) =
        (handle.facts.kind, handle.facts.filesystem.as_mut())
    else {
        let remedy = "name a directory to get a temporary test file";
        return Err(TargetError::refused(
            format!("filling {}", quoted(&path)),
            "it existed before",
            remedy,
        ));
    };
    let free = free_bytes(&handle.file, &path);
    filesystem.free_bytes =
        Bytes(free.map_err(TargetError::failing("query the free space of", &path))?);
    check_margin(&path, filesystem, size)?;
    let ordinary = TestFile { number: 0, written: Written::default() };
    handle.facts.test_file.get_or_insert(ordinary);
    fill(handle, size, seed, progress, cancel)?;
    drop_clean_pages(&handle.file, Bytes(0), size)?;
    handle.facts.size_bytes = size;
    handle.facts.extents = extents(&handle.file, Bytes(0), size)?;
    let is_written = handle.facts.test_file.is_none_or(|file| file.written != Written::Reserved);
    if let Some(map) = handle.facts.extents.as_ref().filter(|_| is_written) {
        handle.findings.extend(placement_findings(map, size, Severity::Invalid));
    }
    Ok(())
}

/// Writes `size` bytes without checking the free space.
fn fill(
    handle: &TargetHandle,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(), TargetError> {
    let failed = |written: u64, cause: Error| {
        let path = PathBuf::from(&handle.facts.path);
        match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                let free = free_bytes(&handle.file, &path).ok().map(Bytes);
                TargetError::NoSpace { path, written: Bytes(written), size, free, cause }
            }
            _ => TargetError::system("write the test file in", &path, cause),
        }
    };
    let written = handle.facts.test_file.map(|file| file.written).unwrap_or_default();
    let (past_cache, grown) = (written == Written::PastCache, written == Written::Grown);
    if past_cache {
        // The other kinds of file grow as they are written.
        allocate(&handle.file, size.0).map_err(|cause| failed(0, cause))?;
    }
    if written == Written::Reserved {
        // If the file system cannot allocate, writing the last byte sets the length.
        let last = size.0.saturating_sub(1);
        return allocate(&handle.file, size.0)
            .and_then(|()| engine::write_all(&handle.file, &[0], last).map_err(Error::from))
            .and_then(|()| sync_data(&handle.file))
            .map_err(|cause| failed(0, cause));
    }
    let direct = if past_cache { reopen(handle, CacheMode::Device, true).ok() } else { None };
    let plan = Plan {
        buffered: reopen(handle, CacheMode::All, true)?,
        direct,
        writers: if past_cache { 2 } else { 1 },
        chunk: if grown { PIECE_BYTES } else { CHUNK_BYTES },
        per_sync: if grown { GROWTH_PER_SYNC } else { u64::MAX },
        alignment: handle.alignment_bytes,
        size: size.0,
        seed,
        text: written == Written::Text,
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    plan.run(progress, cancel)
        .and_then(|()| sync_data(&handle.file).map_err(|cause| Some((size.0, cause))))
        .map_err(|failure| match failure {
            None => TargetError::Cancelled,
            Some((written, cause)) => failed(written, cause),
        })
}

struct Plan {
    buffered: OwnedFile,
    direct: Option<OwnedFile>,
    writers: usize,
    /// Bytes per write, and bytes between flushes if written through the page cache.
    chunk: u64,
    per_sync: u64,
    alignment: u64,
    size: u64,
    seed: u64,
    /// Whether it contains text instead of random bytes.
    text: bool,
    next: AtomicU64,
    stop: AtomicBool,
}

impl Plan {
    /// Runs the writers; the calling thread reports progress and checks for cancellation. An error holds
    /// the bytes written and the cause; a cause of `None` is cancellation.
    fn run(
        &self,
        progress: &mut dyn FnMut(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Option<(u64, Error)>> {
        let mut done = 0;
        let mut outcome = Ok(());
        progress(done, self.size);
        std::thread::scope(|scope| {
            let (reports, inbox) = channel();
            for _ in 0..self.writers {
                let reports = reports.clone();
                scope.spawn(move || self.work(&reports));
            }
            // When the last writer ends, the channel closes and the loop ends.
            drop(reports);
            loop {
                match inbox.recv_timeout(POLL) {
                    Ok(Ok(bytes)) => {
                        done += bytes;
                        progress(done, self.size);
                    }
                    Ok(Err(cause)) if outcome.is_ok() => outcome = Err(Some((done, cause))),
                    Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if outcome.is_ok() && done < self.size && cancel() {
                    outcome = Err(None);
                }
                if outcome.is_err() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        outcome
    }

    /// Writes one chunk after another, and reports the bytes of each, or the error that ends the work.
    fn work(&self, reports: &Sender<Result<u64, Error>>) {
        let mut memory = AlignedMemory::default();
        let buffer = memory.get(CHUNK_BYTES as usize);
        let mut unsynced = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let offset = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if offset >= self.size {
                return;
            }
            let length = self.chunk.min(self.size - offset);
            let chunk = &mut buffer[..length as usize];
            if self.text {
                fill_text(chunk, self.seed, offset);
            } else {
                fill_incompressible(chunk, self.seed, offset);
            }
            let mut outcome = self.write(chunk, offset);
            unsynced += length;
            if outcome.is_ok() && self.direct.is_none() && unsynced >= self.per_sync {
                outcome = sync_data(&self.buffered);
                unsynced = 0;
            }
            // The receiver outlives the writers.
            let failed = outcome.is_err();
            let _ = reports.send(outcome.map(|()| length));
            if failed {
                return;
            }
        }
    }

    /// Writes a chunk by direct I/O as far as its length allows, the rest through the page cache.
    fn write(&self, chunk: &[u8], offset: u64) -> Result<(), Error> {
        let write_all = |file: &OwnedFile, part: &[u8], at: u64| {
            engine::write_all(file, part, at).map_err(Error::from)
        };
        let aligned = chunk.len() - chunk.len() % self.alignment.max(1) as usize;
        let Some(direct) = &self.direct else {
            return write_all(&self.buffered, chunk, offset);
        };
        match write_all(direct, &chunk[..aligned], offset) {
            // Some file systems accept O_DIRECT at open and reject the first write.
            Err(cause) if cause.kind() == ErrorKind::InvalidInput => {
                write_all(&self.buffered, chunk, offset)
            }
            Err(cause) => Err(cause),
            Ok(()) => write_all(&self.buffered, &chunk[aligned..], offset + aligned as u64),
        }
    }
}

/// Fills memory with the contents of the test file at `offset`: a [`SplitMix64`] sequence with a different
/// start for each chunk, so that no two blocks are equal.
fn fill_incompressible(buffer: &mut [u8], seed: u64, offset: u64) {
    let place = SplitMix64::new(offset).next_u64();
    let mut random = SplitMix64::new(SplitMix64::mix(seed ^ place));
    for word in buffer.chunks_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
    }
}

/// Fills memory with rows as in a database table: a different number in each, and blanks.
fn fill_text(buffer: &mut [u8], seed: u64, offset: u64) {
    let place = SplitMix64::new(offset).next_u64();
    let mut random = SplitMix64::new(SplitMix64::mix(seed ^ place));
    for row in buffer.chunks_mut(ROW_BYTES) {
        let text =
            format!("{:016x} {:<width$}\n", random.next_u64(), "row", width = ROW_BYTES - 18);
        row.copy_from_slice(&text.as_bytes()[..row.len()]);
    }
}

#[cfg(test)]
#[path = "testfile_tests.rs"]
mod tests;
