//! Commits: small writes to a log. A program makes each one durable before it continues.

use crate::{Bytes, Estimate, FlushKind, HistogramSnapshot, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the blocks that the log writes to already hold data.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// Blocks that were written before, as in a program that reuses its log files. A flush then only has to
    /// flush the device.
    Overwritten,
    /// Blocks that are reserved but were never written, as in a new log file. The file system must also
    /// record in its journal that they now hold data.
    NewBlocks,
}

crate::words! { LogKind: Overwritten = "log overwritten", NewBlocks = "new blocks" }

/// Measured commit performance of a number of committers. Each one writes, flushes and continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitPoint {
    /// The kind of log that they write to.
    pub log: LogKind,
    /// Number of concurrent committers. Each one uses its own part of one file.
    pub committers: u32,
    /// Bytes of each write.
    pub bytes: Bytes,
    /// How each write is made durable.
    pub flush: FlushKind,
    /// Trials, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Commits per second of all committers together: the mean over visits, with an interval from the
    /// variance between visits.
    pub commits_per_s: Estimate,
    /// Mean time of all flushes of all visits. The rate times the mean times of a write and a flush is the
    /// number of committers.
    pub flush_ns: Estimate,
    /// Mean time of all writes before the flushes, which end in the page cache.
    pub write_ns: Estimate,
    /// 99th percentile of the flushes of all visits. The interval comes from the rank of that percentile, and
    /// includes the percentile of each visit that has one. Not measured with too few flushes.
    pub flush_p99_ns: Measured<Estimate>,
    /// Flush times of all visits.
    pub histogram: HistogramSnapshot,
}

/// What a program requires of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitNeed {
    /// The 99th percentile of the flush takes at most this many nanoseconds.
    FlushP99Ns,
    /// One committer makes at least this many commits per second.
    CommitsPerS,
}

/// Whether commits are good enough for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitVerdict {
    /// Name of the program.
    pub program: String,
    /// What it requires.
    pub need: CommitNeed,
    /// The required value, in the unit of the need.
    pub limit: f64,
    /// The measured value with one committer, with the interval for another run.
    pub measured: Measured<Estimate>,
    /// Whether the requirement is met: true if the whole interval meets it, false if none of it does. Null if
    /// the interval includes the limit, or nothing was measured.
    pub met: Option<bool>,
    /// Source of the requirement.
    pub source: String,
}

/// How a device and its file system commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    /// Sorted by the kind of log, then by rising number of committers.
    pub points: Vec<CommitPoint>,
    /// Requirements of programs, and whether they are met.
    pub verdicts: Vec<CommitVerdict>,
}

impl Commits {
    /// The point for one kind of log and one number of committers.
    #[must_use]
    pub fn point(&self, log: LogKind, committers: u32) -> Option<&CommitPoint> {
        self.points.iter().find(|point| point.log == log && point.committers == committers)
    }
}

/// What sessions that share flushes (group commit) would see. Computed, not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitPrediction {
    /// Number of sessions that commit.
    pub sessions: u32,
    /// Mean CPU time of a session between two commits.
    pub work_ns: f64,
    /// Number of processors for that work.
    pub processors: u32,
    /// The kind of log that they write to.
    pub log: LogKind,
    /// Commits per second of all sessions together. The interval reaches from one flush per commit up to one
    /// flush for all waiting commits.
    pub commits_per_s: Estimate,
    /// Mean time of a commit: from the end of the work to the end of the flush that includes it.
    pub commit_ns: Estimate,
    /// Its 99th percentile.
    pub commit_p99_ns: Estimate,
    /// 99th percentile of a transaction: wait for a processor, work, and commit.
    pub transaction_p99_ns: Estimate,
    /// Mean number of commits per flush.
    pub commits_per_flush: f64,
}
