//! The file system, the state of the file, the CPU cost of calls, and the rules of each file system.
//!
//! The rules of NT come from the papers' text and from publications about its cache manager; those of
//! `none` are what current Linux does. *Assumed* marks a number that was quoted from memory and not looked
//! up. Rejected: a key per rule; most combinations would be systems that never existed.

/// Size of a processor's page: 4 KiB on all machines of the papers and today.
pub(super) const PAGE_BYTES: u64 = 4 << 10;

/// NT splits larger transfers (Riedel 1997, section 3).
const NT_TRANSFER_BYTES: u64 = 64 << 10;
/// NT reads ahead, and pages in, this many bytes (Riedel, section 2; Chung 2000, section 7.1).
const NT_FRAME_BYTES: u64 = 64 << 10;
/// NT makes writers wait when a quarter of memory is dirty (assumed; `CcDirtyPageThreshold`, Nagar 1997).
const NT_DIRTY_SHARE: u64 = 4;
/// Share of the dirty pages that the lazy writer writes per pass (assumed; `LAZY_WRITER_MAX_AGE_TARGET`),
/// and its period (assumed; Solomon 1998).
const NT_PASS_SHARE: u64 = 8;
const NT_PERIOD_NS: u64 = 1_000_000_000;
/// Assumed: `BLK_DEF_MAX_SECTORS_CAP` and `VM_READAHEAD_PAGES` of Linux.
const LINUX_TRANSFER_BYTES: u64 = 1_280 << 10;
const LINUX_FRAME_BYTES: u64 = 128 << 10;
/// Assumed: `BLKDEV_DEFAULT_RQ` is 128; its throttling leaves about a quarter to write-back.
const LINUX_WRITES_AT_ONCE: u32 = 32;
/// Assumed: `vm.dirty_ratio`, `vm.dirty_background_ratio` and `vm.dirty_expire_centisecs`.
const LINUX_DIRTY_SHARE: u64 = 5;
const LINUX_BACKGROUND_SHARE: u64 = 10;
const LINUX_PERIOD_NS: u64 = 30_000_000_000;
/// How far NT zeroes ahead of the first write of a block in a file whose end was written first. NT zeroes
/// the whole gap at once; in steps, the share of time is the same throughout a run.
pub(super) const ZERO_STEP_BYTES: u64 = 1 << 20;

/// The file system between the application and the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// No file system of the papers: what Linux does.
    #[default]
    None,
    /// NT 4 with service pack 3, as Riedel 1997 measured it: buffered reads above 64 KiB collapse.
    Nt4Sp3,
    /// NT 4 with service pack 6: without that collapse.
    Nt4Sp6,
    /// Windows 2000, which behaves like NT 4 SP6 (Chung 2000, section 6).
    W2k,
}

/// The state of the file when the run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileState {
    /// Written in full.
    #[default]
    Written,
    /// Empty: writes extend it.
    Extend,
    /// Empty except for its last block, so that blocks are zeroed before they are first written.
    LastFirst,
}

/// CPU time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    /// Per call.
    pub fixed_ns: u64,
    /// Per KiB moved.
    pub per_kib_ns: u64,
}

impl CallCost {
    /// Time of a call that moves this many bytes.
    #[must_use]
    pub fn ns(self, bytes: u32) -> u64 {
        self.fixed_ns + self.per_kib_ns * u64::from(bytes) / 1_024
    }
}

/// CPU time of everything that the file layer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// A read that bypasses the cache.
    pub direct_read: CallCost,
    /// A write that bypasses the cache.
    pub direct_write: CallCost,
    /// A read from the cache: the call and the copy.
    pub buffered_read: CallCost,
    /// A write into the cache.
    pub buffered_write: CallCost,
    /// Each transfer of a direct request beyond its first.
    pub extra_transfer_ns: u64,
    /// Each transfer of the cache's own: read-ahead, write-back, zeroing.
    pub background_ns: u64,
}

/// A file, and the layers between it and the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSpec {
    /// The file system.
    pub system: FileSystem,
    /// The file's state.
    pub state: FileState,
    /// Whether the file was opened without the hint that it is read or written in sequence.
    pub unhinted: bool,
    /// Memory for the cache.
    pub memory_bytes: u64,
    /// CPU time of calls.
    pub costs: CallCosts,
}

/// The behaviour of a file system, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Whether the system is NT. On NT, a random write of part of a frame reads the whole frame first
    /// (Chung, section 7.1). Write-through requests go out one at a time, as large as the application made
    /// them (Riedel, section 2); elsewhere they go out at once, in whole pages. Blocks within a file that
    /// were never written are zeroed on the medium. Read-ahead is requested at the start of a call, and
    /// only if none is in progress, because the cache manager has one such work item per file (assumed;
    /// `ReadAheadActive`, Nagar 1997).
    pub(super) nt: bool,
    pub(super) transfer_bytes: u64,
    /// The unit of caching, read-ahead and write-back: at most 32 pages.
    pub(super) frame_bytes: u64,
    /// Reads of the cache in flight: NT serialises them per volume (Chung, section 7.1).
    pub(super) reads_at_once: u32,
    /// Maximum pages of four successive write-back transfers, used in turn. Without the hint of a
    /// sequential file NT's sizes "varied between 16KB and 64KB" (Riedel, section 2).
    pub(super) write_back_pages: [u32; 4],
    /// Writes of the cache in flight: NT's lazy writer has one (Riedel, section 2; Chung, 7.1).
    pub(super) writes_at_once: u32,
    /// Dirty bytes at which writers wait.
    pub(super) dirty_limit: u64,
    /// Dirty bytes at which waiting writers continue.
    pub(super) dirty_resume: u64,
    /// Dirty bytes at which write-back begins, even if no writer waits.
    pub(super) dirty_background: u64,
    /// Divisor from the dirty bytes to the bytes that a pass writes.
    pub(super) pass_share: u64,
    /// Whether the lazy writer scans every period, even while it writes, and keeps pace with new dirty data
    /// (NT 4; see `write_back`).
    pub(super) scans_on: bool,
    /// Time from the first dirty data to a pass.
    pub(super) period_ns: u64,
    /// Whether read-ahead overtakes the rest of a request that is larger than a frame: "the NT file system
    /// and disk prefetch mechanisms are no longer working together" (Riedel, section 2).
    pub(super) ahead_overtakes: bool,
}

impl FileSpec {
    pub(super) fn rules(&self) -> Rules {
        let (nt, memory_bytes) = (self.system != FileSystem::None, self.memory_bytes);
        let dirty_limit = memory_bytes / if nt { NT_DIRTY_SHARE } else { LINUX_DIRTY_SHARE };
        let linux = Rules {
            nt,
            transfer_bytes: LINUX_TRANSFER_BYTES,
            frame_bytes: LINUX_FRAME_BYTES,
            reads_at_once: u32::MAX,
            write_back_pages: [u32::MAX; 4],
            writes_at_once: LINUX_WRITES_AT_ONCE,
            dirty_limit,
            dirty_resume: dirty_limit,
            dirty_background: memory_bytes / LINUX_BACKGROUND_SHARE,
            pass_share: 1,
            scans_on: false,
            period_ns: LINUX_PERIOD_NS,
            ahead_overtakes: false,
        };
        if !nt {
            return linux;
        }
        Rules {
            transfer_bytes: NT_TRANSFER_BYTES,
            frame_bytes: NT_FRAME_BYTES,
            reads_at_once: 1,
            write_back_pages: if self.unhinted { [4, 8, 12, 16] } else { [u32::MAX; 4] },
            writes_at_once: 1,
            dirty_resume: dirty_limit - dirty_limit / NT_PASS_SHARE,
            dirty_background: dirty_limit,
            pass_share: NT_PASS_SHARE,
            scans_on: self.system != FileSystem::W2k,
            period_ns: NT_PERIOD_NS,
            ahead_overtakes: self.system == FileSystem::Nt4Sp3,
            ..linux
        }
    }
}
