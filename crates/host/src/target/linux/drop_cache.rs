//! Counts the cached pages of an area, and drops them in one of three ways before a buffered run.
//!
//! - DONTNEED drops only the clean pages of the area: cheap, without privilege. `check` does this before
//!   each buffered visit. Pages that are mapped, locked or being written stay.
//! - The scratch read (the papers' cacheflush) reads a file as large as all the memory that caches files.
//!   This evicts everything else, including the contents of a cache at a lower level. The file is one hole
//!   without a name. Each page is read twice, because in Linux pages that were used once do not evict pages
//!   that were used more often. Memory of programs is not touched.
//! - Dropping all caches (/proc/sys/vm/drop_caches) does the same at once, for the whole system, as root.
//!
//! The remaining pages are counted by cachestat, or by mincore before Linux 6.5. Both inform only the owner
//! or a user with write permission; for others the count is "unknown", never zero. Rejected for the scratch
//! read: a real file (written first), and anonymous memory (it takes memory from programs in the end).

use crate::kernel::read::{memory_field, text};
use crate::kernel::{KernelError, Roots};
use crate::target::error::TargetError;
use crate::target::handle::Area;
use crate::target::linux::descriptor::{create_nameless, drop_clean_pages};
use crate::target::linux::unsafe_calls::{cachestat, mapped_pages};
use record::{Bytes, CacheDropped, DropCache};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CHUNK_BYTES: usize = 1 << 20;
/// Bytes that are read before they are read again. A second read within the same folio, which may be 2 MiB
/// long, counts as the same access.
const REREAD_BYTES: usize = 32 << 20;
/// Bytes of the scratch file to read before checking whether its pages stay cached.
const PROBE_BYTES: u64 = 4 << 20;
/// Bytes to read between checks whether the area is gone.
const STRETCH_BYTES: u64 = 256 << 20;
/// Maximum time of a scratch read: enough for 64 GiB at a GiB/s.
const SCRATCH_TIME: Duration = Duration::from_secs(60);
/// Divisor: how much larger the file is than the memory for caching, because other programs read too.
const SCRATCH_MARGIN_PART: u64 = 8;
/// Longest piece that is mapped for counting.
const MAPPED_BYTES: u64 = 1 << 30;

/// Bytes of an area that are in the page cache; `None` if the kernel does not report it.
#[must_use]
pub fn resident_bytes(file: impl AsFd, offset: Bytes, length: Bytes) -> Option<Bytes> {
    let page = rustix::param::page_size() as u64;
    let pages = match cachestat(&file, offset.0, length.0) {
        Ok(pages) => pages.cached,
        // The kernel is too old, or a system-call filter does not know the call.
        Err(Errno::NOSYS | Errno::PERM) if may_count(&file) => {
            count_mapped(&file, offset.0 / page * page, offset.0 + length.0)?
        }
        Err(_) => return None,
    };
    // The area may begin and end within a page.
    Some(Bytes((pages * page).min(length.0)))
}

/// Bytes of an area that are only in memory: the write has returned, but the data is not on the device yet.
/// `None` if the kernel does not report it (before Linux 6.5).
#[must_use]
pub fn unwritten_bytes(file: impl AsFd, offset: Bytes, length: Bytes) -> Option<Bytes> {
    let pages = cachestat(&file, offset.0, length.0).ok()?;
    let pages = pages.dirty + pages.writeback;
    Some(Bytes((pages * rustix::param::page_size() as u64).min(length.0)))
}

/// Whether mincore reports the truth: to users other than the owner it claims that all pages are present.
fn may_count(file: impl AsFd) -> bool {
    let user = rustix::process::geteuid();
    let writable = rustix::fs::fcntl_getfl(&file).is_ok_and(|flags| flags.contains(OFlags::RDWR));
    let owned = rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_uid == user.as_raw());
    user.is_root() || writable || owned
}

fn count_mapped(file: impl AsFd, start: u64, end: u64) -> Option<u64> {
    let starts = (start..end).step_by(MAPPED_BYTES as usize);
    let counts = starts.map(|from| {
        let length = MAPPED_BYTES.min(end - from) as usize;
        mapped_pages(&file, from, length)
    });
    counts.sum::<Result<u64, Errno>>().ok()
}

/// The sum over several areas; `None` if any is unknown.
fn resident(areas: &[Area<'_>]) -> Option<Bytes> {
    let bytes = areas.iter().map(|area| resident_bytes(area.file, area.offset, area.length));
    bytes.map(|bytes| bytes.map(|bytes| bytes.0)).sum::<Option<u64>>().map(Bytes)
}

/// Removes the areas from the page cache; dirty data is written first. `directories` are those for a
/// scratch file, the best first.
///
/// # Errors
/// The system's error, for [`DropCache::DropCaches`] with its requirements; [`TargetError::Cancelled`] if
/// `cancel` returns true.
pub fn drop_cache(
    roots: &Roots,
    method: DropCache,
    areas: &[Area<'_>],
    directories: &[PathBuf],
    cancel: &dyn Fn() -> bool,
) -> Result<Option<CacheDropped>, TargetError> {
    if method == DropCache::None {
        return Ok(None);
    }
    let resident_before_bytes = resident(areas);
    match method {
        DropCache::None => {}
        DropCache::Dontneed => {
            for area in areas {
                drop_clean_pages(area.file, area.offset, area.length)?;
            }
        }
        DropCache::ScratchRead => {
            write_back(areas)?;
            scratch_read(roots, areas, directories, cancel)?;
        }
        DropCache::DropCaches => {
            write_back(areas)?;
            drop_caches(roots)?;
        }
    }
    let resident_after_bytes = resident(areas);
    Ok(Some(CacheDropped { method, resident_before_bytes, resident_after_bytes }))
}

/// Writes dirty pages, which cannot be dropped otherwise.
fn write_back(areas: &[Area<'_>]) -> Result<(), TargetError> {
    areas.iter().try_for_each(|area| match rustix::fs::fdatasync(area.file) {
        // The descriptor's object has no write-back.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        Err(cause) => {
            Err(TargetError::system("write back the pages of", Path::new("the target"), cause))
        }
    })
}

fn drop_caches(roots: &Roots) -> Result<(), TargetError> {
    let path = roots.proc.join("sys/vm/drop_caches");
    // Only pages: the cost of directories and inodes is not measured here.
    std::fs::write(&path, "1\n").map_err(|error| {
        KernelError::System {
            action: "drop the kernel's caches by writing to",
            cause: error,
            path,
            remedy: "it needs root; --drop-cache dontneed and --drop-cache scratch-read do not",
        }
        .into()
    })
}

/// Memory for caching files, by the kernel's counters: free memory and existing caches.
fn caching_bytes(roots: &Roots) -> u64 {
    let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
    let field = |name| memory_field(&meminfo, name).unwrap_or(0);
    field("MemFree") + field("Active(file)") + field("Inactive(file)")
}

fn scratch_read(
    roots: &Roots,
    areas: &[Area<'_>],
    directories: &[PathBuf],
    cancel: &dyn Fn() -> bool,
) -> Result<(), TargetError> {
    let caching = caching_bytes(roots);
    let length = (caching + caching / SCRATCH_MARGIN_PART).max(STRETCH_BYTES);
    let mut buffer = vec![0_u8; CHUNK_BYTES];
    let (scratch, mut done) = open_scratch(directories, length, &mut buffer)?;
    let begin = Instant::now();
    while done < length && begin.elapsed() < SCRATCH_TIME {
        if cancel() {
            return Err(TargetError::Cancelled);
        }
        if resident(areas) == Some(Bytes(0)) {
            return Ok(());
        }
        let end = length.min(done + STRETCH_BYTES);
        read_stretch(&scratch, done, end, &mut buffer)?;
        done = end;
    }
    Ok(())
}

/// A scratch file in the first directory whose file system caches holes, with its first bytes read.
fn open_scratch(
    directories: &[PathBuf],
    length: u64,
    buffer: &mut [u8],
) -> Result<(OwnedFd, u64), TargetError> {
    let mut refused = None;
    for directory in directories {
        let made = create_nameless(directory).and_then(|file| {
            let sized = rustix::fs::ftruncate(&file, length);
            sized.map_err(TargetError::failing("create a scratch file in", directory))?;
            Ok(file)
        });
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                refused = refused.or(Some(error));
                continue;
            }
        };
        read_stretch(&file, 0, PROBE_BYTES, buffer)?;
        let kept = resident_bytes(&file, Bytes(0), Bytes(PROBE_BYTES));
        // A file system in memory serves reads of a hole from one page of zeros.
        if kept.is_none_or(|kept| kept.0 >= PROBE_BYTES / 2) {
            return Ok((file, PROBE_BYTES));
        }
    }
    Err(refused.unwrap_or_else(|| {
        TargetError::refused(
            "a scratch read".to_owned(),
            "no usable directory is on a file system that caches reads",
            "run from a directory on a disk, or use --drop-cache dontneed",
        )
    }))
}

/// Reads a part of a file, each page twice.
fn read_stretch(
    file: &OwnedFd,
    start: u64,
    end: u64,
    buffer: &mut [u8],
) -> Result<(), TargetError> {
    for part in (start..end).step_by(REREAD_BYTES) {
        let chunks = (part..end.min(part + REREAD_BYTES as u64)).step_by(CHUNK_BYTES);
        for offset in chunks.clone().chain(chunks) {
            rustix::io::pread(file, &mut *buffer, offset)
                .map_err(TargetError::failing("read", Path::new("the scratch file")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    #[test]
    fn both_counts_of_cached_pages_agree() {
        let page = rustix::param::page_size() as u64;
        let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        std::fs::write(file.path(), vec![7; 64 * page as usize]).unwrap();
        let both = || {
            let by_call = resident_bytes(file.as_file(), Bytes(0), Bytes(64 * page));
            (by_call.map(|bytes| bytes.0 / page), count_mapped(file.as_file(), 0, 64 * page))
        };
        assert_eq!(both(), (Some(64), Some(64)));
        file.as_file().sync_all().unwrap();
        drop_clean_pages(file.as_file(), Bytes(0), Bytes(64 * page)).unwrap();
        let (by_call, by_map) = both();
        assert_eq!(by_call, by_map);
        let one = resident_bytes(file.as_file(), Bytes(page), Bytes(page)).unwrap();
        assert!(one.0 <= page);
    }

    #[test]
    fn the_memory_that_caches_files_is_what_is_free_and_what_caches_them() {
        let fake = Fake::new();
        let meminfo = "MemTotal: 900 kB\nMemFree:  100 kB\nActive:  70 kB\n\
                       Active(file): 20 kB\nInactive(file): 3 kB\n";
        fake.proc("meminfo", meminfo);
        assert_eq!(caching_bytes(&Roots::below(fake.root())), 123 << 10);
    }
}
