//! Which file system, in which state the file is, and what its calls cost; the rules that follow.
//!
//! The rules of NT come from the papers' prose and from what is published about its cache manager;
//! those of `none` are what a present Linux does. Each number has its source beside it; *assumed* is
//! one that was quoted from memory and not looked up. They are
//! kept apart from the machine that applies them, so that one machine serves all file systems.
//!
//! Rejected: a rule per key. A reader would have to set ten keys to say "NT 4", and most of the
//! combinations would be systems that never were.

/// Pages are what a processor maps: 4 KiB on all machines of the papers and today.
pub(super) const PAGE_BYTES: u64 = 4 << 10;

/// Transfers larger than 64 KiB are split by NT (Riedel 1997, section 3).
const NT_TRANSFER_BYTES: u32 = 64 << 10;
/// NT prefetches, and pages in, 64 KiB (Riedel, section 2; Chung 2000, section 7.1).
const NT_FRAME_BYTES: u32 = 64 << 10;
/// Linux limits transfers to 1,280 KiB (assumed; block layer, `BLK_DEF_MAX_SECTORS_CAP`).
const LINUX_TRANSFER_BYTES: u32 = 1_280 << 10;
/// Linux reads ahead 128 KiB (assumed; `VM_READAHEAD_PAGES`).
const LINUX_FRAME_BYTES: u32 = 128 << 10;
/// Assumed: write-back requests that Linux keeps in flight on one disk (`BLKDEV_DEFAULT_RQ` is 128; its
/// throttling leaves about a quarter to write-back).
const LINUX_WRITES_AT_ONCE: u32 = 32;
/// NT lets writers wait when dirty pages take a quarter of a machine's memory
/// (assumed; `CcDirtyPageThreshold` of a medium system, Nagar 1997).
const NT_DIRTY_SHARE: u64 = 4;
/// The lazy writer writes an eighth of the dirty pages per pass (assumed;
/// `LAZY_WRITER_MAX_AGE_TARGET`, Solomon 1998).
const NT_PASS_SHARE: u64 = 8;
/// The lazy writer's period (assumed; Solomon).
const NT_PERIOD_NS: u64 = 1_000_000_000;
/// Assumed: Linux lets writers wait at 20 % of memory (`vm.dirty_ratio`) and starts to write at 10 %
/// (`vm.dirty_background_ratio`), or when data is 30 s old (`vm.dirty_expire_centisecs`).
const LINUX_DIRTY_SHARE: u64 = 5;
const LINUX_BACKGROUND_SHARE: u64 = 10;
const LINUX_PERIOD_NS: u64 = 30_000_000_000;
/// How far NT zeroes ahead of the first write of a block in a file whose end was written first. It
/// zeroes the whole gap at once; in steps of this size the share of time is the same at any moment
/// of a run, and both passes stay sequential.
const ZERO_STEP_BYTES: u64 = 1 << 20;

/// The file system between the application and the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// None of the papers': what Linux does.
    #[default]
    None,
    /// NT 4 with service pack 3, as Riedel 1997 measured it: buffered reads above 64 KiB collapse.
    Nt4Sp3,
    /// NT 4 with service pack 6: without that defect.
    Nt4Sp6,
    /// Windows 2000, which behaves as NT 4 SP6 does (Chung 2000, section 6).
    W2k,
}

/// What the file is like when the run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileState {
    /// Written in full.
    #[default]
    Written,
    /// Empty: writes extend it.
    Extend,
    /// Empty but for its last block, so that blocks are zeroed before they are first written.
    LastFirst,
}

/// Processor time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    /// Per call.
    pub fixed_ns: u64,
    /// Per KiB moved.
    pub per_kib_ns: u64,
}

impl CallCost {
    /// Of a call that moves so many bytes.
    #[must_use]
    pub fn ns(self, bytes: u32) -> u64 {
        self.fixed_ns + self.per_kib_ns * u64::from(bytes) / 1_024
    }
}

/// Processor time of everything that the file layer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// A read past the cache.
    pub direct_read: CallCost,
    /// A write past the cache.
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

/// A file and what lies between it and the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// The file system.
    pub system: FileSystem,
    /// The file's state.
    pub state: FileState,
    /// Memory for the cache.
    pub memory_bytes: u64,
    /// What calls cost.
    pub costs: CallCosts,
}

/// The test machine of Riedel 1997 (Table 1).
const DEFAULT_MEMORY_BYTES: u64 = 64 << 20;

impl Default for FileSpec {
    fn default() -> Self {
        Self {
            system: FileSystem::None,
            state: FileState::Written,
            memory_bytes: DEFAULT_MEMORY_BYTES,
            costs: CallCosts::default(),
        }
    }
}

impl FileSystem {
    /// The values of the key `fs`; `nt4` is the later service pack.
    pub(crate) const WORDS: &[(&str, Self)] = &[
        ("none", Self::None),
        ("nt4", Self::Nt4Sp6),
        ("nt4sp3", Self::Nt4Sp3),
        ("nt4sp6", Self::Nt4Sp6),
        ("w2k", Self::W2k),
    ];

    /// The largest transfer that it hands down.
    #[must_use]
    pub fn transfer_bytes(self) -> u32 {
        match self {
            Self::None => LINUX_TRANSFER_BYTES,
            Self::Nt4Sp3 | Self::Nt4Sp6 | Self::W2k => NT_TRANSFER_BYTES,
        }
    }
}

impl FileState {
    /// The values of the key `file`.
    pub(crate) const WORDS: &[(&str, Self)] =
        &[("written", Self::Written), ("extend", Self::Extend), ("last-first", Self::LastFirst)];
}

/// What a file system does, in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Largest transfer.
    pub(super) transfer_bytes: u32,
    /// The unit of caching, read-ahead and write-back: at most 32 pages.
    pub(super) frame_bytes: u32,
    /// Reads of the cache in flight: NT serialises them per volume (Chung, section 7.1).
    pub(super) reads_at_once: u32,
    /// Writes of the cache in flight: NT's lazy writer has one (Riedel, section 2; Chung, 7.1).
    pub(super) writes_at_once: u32,
    /// Dirty bytes at which writers wait.
    pub(super) dirty_limit: u64,
    /// Dirty bytes to which they must fall before writers go on.
    pub(super) dirty_resume: u64,
    /// Dirty bytes at which writing back begins, whether or not anyone waits.
    pub(super) dirty_background: u64,
    /// The part of the dirty bytes that a pass writes: one in so many.
    pub(super) pass_share: u64,
    /// The lazy writer looks every period, also while it writes, and keeps up with what becomes dirty
    /// (NT 4; see `write_back`).
    pub(super) scans_on: bool,
    /// How long dirty data rests before a pass.
    pub(super) period_ns: u64,
    /// A random write of part of a frame reads the whole frame first (Chung, section 7.1).
    pub(super) random_write_reads_frame: bool,
    /// Written-through requests go out one at a time, as large as the application made them
    /// (Riedel, section 2); elsewhere in whole pages, as they come.
    pub(super) through_in_order: bool,
    /// Unwritten blocks within a file are zeroed on the medium.
    pub(super) zeroes: bool,
    /// Read-ahead overtakes the rest of a request that is larger than a frame: "the NT file system
    /// and disk prefetch mechanisms are no longer working together" (Riedel, section 2).
    pub(super) ahead_overtakes: bool,
    /// Reading ahead is asked for at the start of a call, and only if none is on its way: the
    /// cache manager has one such work item per file (assumed; `ReadAheadActive`, Nagar 1997).
    pub(super) one_ahead: bool,
    /// Step of zeroing ahead.
    pub(super) zero_step_bytes: u64,
}

impl FileSpec {
    pub(super) fn rules(&self) -> Rules {
        match self.system {
            FileSystem::None => {
                let dirty_limit = self.memory_bytes / LINUX_DIRTY_SHARE;
                Rules {
                    transfer_bytes: LINUX_TRANSFER_BYTES,
                    frame_bytes: LINUX_FRAME_BYTES,
                    reads_at_once: u32::MAX,
                    writes_at_once: LINUX_WRITES_AT_ONCE,
                    dirty_limit,
                    dirty_resume: dirty_limit,
                    dirty_background: self.memory_bytes / LINUX_BACKGROUND_SHARE,
                    pass_share: 1,
                    scans_on: false,
                    period_ns: LINUX_PERIOD_NS,
                    random_write_reads_frame: false,
                    through_in_order: false,
                    zeroes: false,
                    ahead_overtakes: false,
                    one_ahead: false,
                    zero_step_bytes: ZERO_STEP_BYTES,
                }
            }
            FileSystem::Nt4Sp3 | FileSystem::Nt4Sp6 | FileSystem::W2k => {
                let dirty_limit = self.memory_bytes / NT_DIRTY_SHARE;
                Rules {
                    transfer_bytes: NT_TRANSFER_BYTES,
                    frame_bytes: NT_FRAME_BYTES,
                    reads_at_once: 1,
                    writes_at_once: 1,
                    dirty_limit,
                    dirty_resume: dirty_limit - dirty_limit / NT_PASS_SHARE,
                    dirty_background: dirty_limit,
                    pass_share: NT_PASS_SHARE,
                    scans_on: self.system != FileSystem::W2k,
                    period_ns: NT_PERIOD_NS,
                    random_write_reads_frame: true,
                    through_in_order: true,
                    zeroes: true,
                    ahead_overtakes: self.system == FileSystem::Nt4Sp3,
                    one_ahead: true,
                    zero_step_bytes: ZERO_STEP_BYTES,
                }
            }
        }
    }
}
