//! Commits: small writes to a log, each made durable before its program goes on.

use crate::{Bytes, Estimate, FlushKind, HistogramSnapshot, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What lies below the writes of a log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// Blocks that were written before, as a program that uses its log files again has them: a flush
    /// has no more to do than the device's.
    Overwritten,
    /// Blocks that are reserved and were never written, as in a new log file: the file system also
    /// writes down, in its journal, that they hold data now.
    NewBlocks,
}

impl LogKind {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Overwritten, Self::NewBlocks];

    /// The words in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overwritten => "log overwritten",
            Self::NewBlocks => "new blocks",
        }
    }
}

/// What a number of committers came to, each of which writes, flushes, and goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitPoint {
    /// What they write to.
    pub log: LogKind,
    /// How many commit at the same time, each by itself and in a part of its own of one file.
    pub committers: u32,
    /// Bytes of each write.
    pub bytes: Bytes,
    /// How each write is made durable.
    pub flush: FlushKind,
    /// Trials, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Commits per second, of all committers together: mean over the visits, interval from the
    /// variance between them.
    pub commits_per_s: Estimate,
    /// Mean time of a flush, likewise.
    pub flush_ns: Estimate,
    /// Mean time of the write before it, which ends in the page cache.
    pub write_ns: Estimate,
    /// 99th percentile of the flushes of all visits. The interval is that of the rank among so many,
    /// and holds the percentiles of all visits that have one. Not measured with too few flushes.
    pub flush_p99_ns: Measured<Estimate>,
    /// Times of the flushes of all visits.
    pub histogram: HistogramSnapshot,
}

/// What a program asks of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitNeed {
    /// The 99th percentile of the flush takes no longer than this many nanoseconds.
    FlushP99Ns,
    /// One committer makes at least so many commits per second.
    CommitsPerS,
}

/// Whether commits are good enough for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitVerdict {
    /// For which.
    pub program: String,
    /// What it asks for.
    pub need: CommitNeed,
    /// How much of it, in the unit of the need.
    pub limit: f64,
    /// What was measured of it, with one committer.
    pub measured: Measured<Estimate>,
    /// Whether it is met: by the whole interval, or not by any of it. Null where the interval holds
    /// the limit, or nothing was measured.
    pub met: Option<bool>,
    /// Who asks for it.
    pub source: String,
}

/// How a device and its file system commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    /// By what lies below the log, then by rising number of committers.
    pub points: Vec<CommitPoint>,
    /// What programs ask for, and whether they get it.
    pub verdicts: Vec<CommitVerdict>,
}

impl Commits {
    /// The point of one kind with so many committers.
    #[must_use]
    pub fn point(&self, log: LogKind, committers: u32) -> Option<&CommitPoint> {
        self.points.iter().find(|point| point.log == log && point.committers == committers)
    }
}

/// What sessions that share flushes (group commit) would see, computed and not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitPrediction {
    /// How many commit.
    pub sessions: u32,
    /// What each does on a processor between two commits, on average.
    pub work_ns: f64,
    /// Processors for that.
    pub processors: u32,
    /// What they write to.
    pub log: LogKind,
    /// Commits per second, of all together: where all that wait share a flush, down to where each commit
    /// has a flush of its own.
    pub commits_per_s: Estimate,
    /// Mean time of a commit: from the end of the work to the end of the flush that holds it.
    pub commit_ns: Estimate,
    /// Its 99th percentile.
    pub commit_p99_ns: Estimate,
    /// 99th percentile of a transaction: wait for a processor, work and commit.
    pub transaction_p99_ns: Estimate,
    /// Commits that a flush serves, on average.
    pub commits_per_flush: f64,
}
