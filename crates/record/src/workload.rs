//! What is asked of a target: the canonical, integer-only form of a workload.
//!
//! Two runs of equal workloads are runs of the same cell: [`Workload::cell`] hashes everything
//! that changes what the device is asked to do. How long it was asked (run time, ramp) and which
//! sequence was drawn (the seed) are left out, because repeats differ in them.

use crate::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Read or write, of one request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
}

impl OpKind {
    /// The word in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Where the requests go within the area.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Ascending and adjacent, wrapping at the end of the job's region.
    Sequential,
    /// Uniform over all aligned positions of the area.
    Random,
    /// Random within a small area that was just read, which any cache below can serve.
    Hit,
}

impl Pattern {
    /// The word in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Hit => "hit",
        }
    }
}

/// Which caches may keep the data; SQLIO's letters in [`CacheMode::letter`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// File-system cache and device cache: buffered.
    All,
    /// File-system cache, written through to the medium: buffered, O_DSYNC.
    Fs,
    /// Device cache only: O_DIRECT.
    Device,
    /// None: O_DIRECT and O_DSYNC.
    None,
}

impl CacheMode {
    /// The word of `--cache`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Fs => "fs",
            Self::Device => "device",
            Self::None => "none",
        }
    }

    /// SQLIO's letter.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::All => 'Y',
            Self::Fs => 'S',
            Self::Device => 'H',
            Self::None => 'N',
        }
    }

    /// Whether the page cache is bypassed (O_DIRECT).
    #[must_use]
    pub fn direct(self) -> bool {
        matches!(self, Self::Device | Self::None)
    }

    /// Whether each write is on the medium before it completes (O_DSYNC).
    #[must_use]
    pub fn synchronous(self) -> bool {
        matches!(self, Self::Fs | Self::None)
    }
}

/// How requests are carried out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// Linux io_uring.
    IoUring,
    /// pread and pwrite, one request at a time per job.
    Sync,
    /// Completes at once without any I/O: shows the limit of the harness.
    Null,
    /// A simulated device in virtual time.
    Sim,
}

impl EngineName {
    /// The word of `--ioengine`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Sync => "sync",
            Self::Null => "null",
            Self::Sim => "sim",
        }
    }
}

/// When requests arrive.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// A completion lets the next request go: the depth is constant.
    Closed,
}

/// What is done to the page cache before the run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scrub {
    /// Nothing.
    None,
    /// The area's clean pages are dropped (POSIX_FADV_DONTNEED).
    Dontneed,
}

/// A request size and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Request size.
    pub bytes: Bytes,
    /// Share of the requests, 1 to 100; the shares of a workload add up to 100.
    pub percent: u8,
}

/// One workload. The fields hold together as [`Workload`]'s reader in the `workload` crate checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Share of reads among the requests, 0 to 100.
    pub read_percent: u8,
    /// Where requests go.
    pub pattern: Pattern,
    /// Size of the area that [`Pattern::Hit`] re-reads; `null` for other patterns.
    pub hit_bytes: Option<Bytes>,
    /// Request sizes with their shares.
    pub bs: Vec<SizeShare>,
    /// Requests outstanding per job.
    pub iodepth: u32,
    /// Jobs, each with a thread and an engine of its own.
    pub numjobs: u32,
    /// `iodepth` times `numjobs`.
    pub depth: u32,
    /// Caches in use.
    pub cache: CacheMode,
    /// How requests are carried out.
    pub engine: EngineName,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Start of the area in the target.
    pub offset_bytes: Bytes,
    /// Length of the area, over all jobs.
    pub size_bytes: Bytes,
    /// What is done to the page cache before the run.
    pub scrub: Scrub,
    /// Measured time asked for; not part of the cell.
    pub runtime_ns: Nanos,
    /// Time before it that is run but not counted; not part of the cell.
    pub ramp_ns: Nanos,
}

impl Workload {
    /// The largest request size of the mix.
    #[must_use]
    pub fn max_bs(&self) -> Bytes {
        self.bs.iter().map(|share| share.bytes).max().unwrap_or_default()
    }

    /// The only operation, or `None` for a mix.
    #[must_use]
    pub fn only_op(&self) -> Option<OpKind> {
        match self.read_percent {
            100 => Some(OpKind::Read),
            0 => Some(OpKind::Write),
            _ => None,
        }
    }

    /// Whether any request writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// The identity of what is asked of the device: 32 hexadecimal digits (the first half of a
    /// SHA-256) over the canonical text of every field but run time and ramp.
    #[must_use]
    pub fn cell(&self) -> String {
        let hit = self.hit_bytes.map_or(0, |bytes| bytes.0);
        let sizes: Vec<String> =
            self.bs.iter().map(|share| format!("{}/{}", share.bytes.0, share.percent)).collect();
        let text = format!(
            "cell/1 read={} pattern={} hit={hit} bs={} iodepth={} numjobs={} cache={} engine={} \
             arrival={:?} offset={} size={} scrub={:?}",
            self.read_percent,
            self.pattern.name(),
            sizes.join(":"),
            self.iodepth,
            self.numjobs,
            self.cache.name(),
            self.engine.name(),
            self.arrival,
            self.offset_bytes.0,
            self.size_bytes.0,
            self.scrub,
        );
        hex_digest(&text)
    }
}

/// 32 hexadecimal digits that identify a text: the first half of its SHA-256.
#[must_use]
pub fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
