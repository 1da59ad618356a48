//! Judges whether commits are fast enough for programs with published requirements.
//!
//! The list has only programs whose makers give a number, each with its source. Programs that
//! accept any disk, such as PostgreSQL and MySQL, have settings instead ([`mod@crate::settings`]).
//!
//! Facts: etcd's documentation requires the 99th percentile of `wal_fsync_duration_seconds` below
//! 10 ms for a disk that is fast enough, at least 50 sequential IOPS, and 500 for a cluster under
//! heavy load. OpenShift requires the same 50 and 500 for writes of 8000 bytes with fdatasync.
//! etcd's log is in files that it preallocates and never overwrites, so the blocks are new.

use record::{CommitNeed, CommitVerdict, Commits, Estimate, LogKind, Measured, Reruns};

/// Program, requirement, limit and source.
const NEEDS: [(&str, CommitNeed, f64, &str); 3] = [
    ("etcd", CommitNeed::FlushP99Ns, 10e6, "etcd, FAQ: what does \"slow fdatasync\" mean"),
    ("etcd", CommitNeed::CommitsPerS, 50.0, "etcd, hardware recommendations: disks"),
    ("etcd under heavy load", CommitNeed::CommitsPerS, 500.0, "OpenShift, etcd practices"),
];

/// Whether each requirement is met with a single committer, also in another run: a verdict on a disk is no
/// better than the difference between two runs.
#[must_use]
pub fn commit_verdicts(commits: &Commits, reruns: &Reruns) -> Vec<CommitVerdict> {
    let verdict = |&(program, need, limit, source): &(&str, CommitNeed, f64, &str)| {
        let measured = measured(commits, need, reruns);
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

/// The measured value, with the interval for another run.
fn measured(commits: &Commits, need: CommitNeed, reruns: &Reruns) -> Measured<Estimate> {
    let alone = LogKind::ALL.into_iter().rev().find_map(|log| commits.point(log, 1));
    let Some(point) = alone else {
        return Measured::not("no trial with a single committer is valid");
    };
    let [.., p99_se] = reruns.common_percentile_ses;
    match need {
        CommitNeed::FlushP99Ns => {
            let known = point.flush_p99_ns.known();
            known.map(|p99| p99.with_ratio_error(p99_se)).into()
        }
        CommitNeed::CommitsPerS => {
            Measured::Value(point.commits_per_s.with_ratio_error(reruns.common_se))
        }
    }
}

/// Widest interval that allows a verdict, as a share of its value.
const WIDEST: f64 = 1.0;

/// `None` if the interval includes the limit or is too wide.
fn met(value: &Estimate, need: CommitNeed, limit: f64) -> Option<bool> {
    if value.includes(limit) || value.relative_half_width() > WIDEST {
        return None;
    }
    Some(match need {
        CommitNeed::FlushP99Ns => value.high < limit,
        CommitNeed::CommitsPerS => value.low > limit,
    })
}
