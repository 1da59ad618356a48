//! Whether commits are good enough for programs that state what they need.
//!
//! Only programs whose makers give a number stand here, each with its source. A program that takes
//! whatever it gets, as PostgreSQL and MySQL do, has settings that follow ([`mod@crate::settings`]).
//!
//! Facts: etcd's documentation wants the 99th percentile of `wal_fsync_duration_seconds` below 10 ms
//! on a disk that is fast enough, at least 50 sequential IOPS, and 500 for a cluster under heavy
//! load; OpenShift asks for the same 50 and 500 of writes of 8000 bytes with fdatasync. Its log
//! lies in files that it reserves and never writes twice, so that the blocks are new.

use record::{CommitNeed, CommitVerdict, Commits, Estimate, LogKind, Measured};

/// What a program needs, how much of it, and who says so.
const NEEDS: [(&str, CommitNeed, f64, &str); 3] = [
    ("etcd", CommitNeed::FlushP99Ns, 10e6, "etcd, FAQ: what does \"slow fdatasync\" mean"),
    ("etcd", CommitNeed::CommitsPerS, 50.0, "etcd, hardware recommendations: disks"),
    ("etcd under heavy load", CommitNeed::CommitsPerS, 500.0, "OpenShift, etcd practices"),
];

/// Whether each need is met, with one committer.
#[must_use]
pub fn commit_verdicts(commits: &Commits) -> Vec<CommitVerdict> {
    let verdict = |&(program, need, limit, source): &(&str, CommitNeed, f64, &str)| {
        let measured = measured(commits, need);
        CommitVerdict {
            program: program.to_owned(),
            need,
            limit,
            met: measured.value().and_then(|value| met(value, need, limit)),
            measured,
            source: source.to_owned(),
        }
    };
    NEEDS.iter().map(verdict).collect()
}

fn measured(commits: &Commits, need: CommitNeed) -> Measured<Estimate> {
    let alone = LogKind::BOTH.into_iter().rev().find_map(|log| commits.point(log, 1));
    let Some(point) = alone else {
        return Measured::not(
            "no trial with a single committer is \
                                                         valid",
        );
    };
    match need {
        CommitNeed::FlushP99Ns => point.flush_p99_ns.clone(),
        CommitNeed::CommitsPerS => Measured::Value(point.commits_per_s),
    }
}

/// An interval wider than this share of its value says too little for a verdict.
const WIDEST: f64 = 1.0;

/// `None` where the interval holds the limit, or is too wide.
fn met(value: &Estimate, need: CommitNeed, limit: f64) -> Option<bool> {
    if value.includes(limit) || value.relative_half_width() > WIDEST {
        return None;
    }
    Some(match need {
        CommitNeed::FlushP99Ns => value.high < limit,
        CommitNeed::CommitsPerS => value.low > limit,
    })
}
