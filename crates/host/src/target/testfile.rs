//! The test file of a directory target: its size, the margin that it leaves, and its content.
//!
//! It is written in full, so that no read finds a hole, with data that nobody can compress or
//! deduplicate, through the page cache unless something else was asked for ([`Written`]): what lies
//! below a file system answers differently by how a file came to it, and most files come so. One
//! writer writes it from its beginning to its end, as programs do; past the page cache two keep the
//! device busy while the next chunk is made. Their caller's thread alone reports progress and asks
//! for cancellation.
//! Rejected: `fallocate` alone (unwritten extents read as zeros), one random block repeated, and a
//! file system filled to the brim: the larger of 5 % and 1 GiB stays free, because many file
//! systems slow down when nearly full.

use crate::target::default_size::{CHUNK_BYTES, DEFAULT_MIN_BYTES};
use crate::target::error::TargetError;
use crate::target::findings::placement_findings;
use crate::target::handle::TargetHandle;
use crate::target::platform::descriptor::{drop_clean_pages, reopen};
use crate::target::platform::extents::extents;
use crate::target::platform::files::{allocate, free_bytes, sync_data};
use engine::OwnedFile;
use record::{
    Bytes, CacheMode, FilesystemFacts, Severity, TargetKind, TestFile, Written, format_bytes,
    quoted,
};
use stats::SplitMix64;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

const GIB: u64 = 1 << 30;
/// What must stay free at least, whatever the size of the file system.
const MARGIN_BYTES: u64 = GIB;
/// And this part of the file system: 5 %.
const MARGIN_PART: u64 = 20;
/// Pieces of a file that grows, and what is flushed together.
const PIECE_BYTES: u64 = 64 << 10;
const GROWTH_PER_SYNC: u64 = 4 << 20;
/// Bytes of a row of a file of text.
const ROW_BYTES: usize = 64;
/// How often cancellation is looked at while nothing completes.
const POLL: Duration = Duration::from_millis(50);
/// Alignment of the writers' memory, enough for every device.
const PAGE_BYTES: usize = 4096;

/// Refuses a test file that would leave less than the margin.
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

/// Writes the test file of a directory target in full and fills in its facts.
///
/// `progress` is called with bytes done and bytes in all; when `cancel` says so, writing stops.
/// After an error the file still has no name and goes with its handle.
///
/// # Errors
/// [`TargetError::Refused`] where too little space would stay free or the target is not ours to
/// fill, [`TargetError::NoSpace`], [`TargetError::Cancelled`], or what the system said.
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

/// Writes `size` bytes without any check of the margin.
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
        // The others grow as they are written.
        allocate(&handle.file, size.0).map_err(|cause| failed(0, cause))?;
    }
    if written == Written::Reserved {
        // The last byte gives it its length where the file system cannot allocate.
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
    /// Bytes of a write, and bytes that are flushed together where they went to the page cache.
    chunk: u64,
    per_sync: u64,
    alignment: u64,
    size: u64,
    seed: u64,
    /// Whether it holds text instead of random bytes.
    text: bool,
    next: AtomicU64,
    stop: AtomicBool,
}

impl Plan {
    /// Runs the writers and, on the calling thread, tells of their progress and asks for
    /// cancellation. An error is the bytes that were written and the cause; `None` is cancellation.
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
            // With the last writer its end of the channel goes, and the loop ends.
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

    /// Takes chunk after chunk, and reports the bytes of each, or the error that ends the work.
    fn work(&self, reports: &Sender<Result<u64, Error>>) {
        let mut memory = vec![0u8; CHUNK_BYTES as usize + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES);
        let buffer = &mut memory[start..start + CHUNK_BYTES as usize];
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

    /// Writes a chunk past the page cache as far as its length allows it, the rest through it.
    fn write(&self, chunk: &[u8], offset: u64) -> Result<(), Error> {
        let write_all = |file: &OwnedFile, part: &[u8], at: u64| {
            engine::write_all(file, part, at).map_err(Error::from)
        };
        let aligned = chunk.len() - chunk.len() % self.alignment.max(1) as usize;
        let Some(direct) = &self.direct else {
            return write_all(&self.buffered, chunk, offset);
        };
        match write_all(direct, &chunk[..aligned], offset) {
            // Taken at open and refused at the first write.
            Err(cause) if cause.kind() == ErrorKind::InvalidInput => {
                write_all(&self.buffered, chunk, offset)
            }
            Err(cause) => Err(cause),
            Ok(()) => write_all(&self.buffered, &chunk[aligned..], offset + aligned as u64),
        }
    }
}

/// Fills memory with the content of the test file at `offset`: a [`SplitMix64`] sequence whose
/// start differs for each chunk, so that no two blocks are alike.
fn fill_incompressible(buffer: &mut [u8], seed: u64, offset: u64) {
    let place = SplitMix64::new(offset).next_u64();
    let mut random = SplitMix64::new(SplitMix64::mix(seed ^ place));
    for word in buffer.chunks_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
    }
}

/// Fills memory with rows as a table of a database has them: a number of its own, and blanks.
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
