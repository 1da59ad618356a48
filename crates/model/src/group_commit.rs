//! Predicts the commits of programs with many sessions, where one flush serves all that wait for it.
//!
//! A session works for a while on a processor, writes its commit to the log and waits until a flush that
//! began after that has ended. One flush runs at a time, and commits that arrive meanwhile share the next.
//! PostgreSQL, InnoDB and etcd work this way. No queueing formula describes it: a batch of any size takes
//! as long as a single commit, and sessions that leave a flush together miss the next one. So sessions are
//! simulated in virtual time, with flush times drawn from those that one committer measured. Rejected: N
//! sessions over one flush time (right only without work in between), and N/2 (right only if the work is
//! short).

use record::{CommitPoint, CommitPrediction, Estimate, HistogramSnapshot, bucket_high, bucket_low};
use stats::SplitMix64;

/// Simulated commits, and the warm-up commits before them that do not count.
const COMMITS: usize = 40_000;
const WARM_UP: usize = 4_000;
const SEED: u64 = 1;

/// Sessions of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sessions {
    /// Number of committing sessions, at least 1.
    pub sessions: u32,
    /// Mean CPU time of a session between two commits, in nanoseconds.
    pub work_ns: f64,
    /// Number of processors, at least 1.
    pub processors: u32,
    /// Bytes of a commit in a growing log; `None` for whole blocks.
    pub record_bytes: Option<u64>,
}

/// Predicts the commits of sessions on a log that was measured with one committer.
///
/// The values assume that all waiting sessions share a flush. The interval covers two errors. The first is
/// that of the flush time: the simulation is repeated at both of its ends. The second is the server's: how
/// many sessions share a flush depends on how soon they wake up and get a processor, which no disk profile
/// contains. So the far end assumes one commit per flush. `level_se_rel` is the standard error of the
/// device's level over time, as a share.
#[must_use]
pub fn group_commit(
    point: &CommitPoint,
    sessions: &Sessions,
    level_se_rel: f64,
) -> CommitPrediction {
    let flush = point.flush_ns.with_error(level_se_rel);
    let plays = [(flush.low, true), (flush.value, true), (flush.high, true), (flush.high, false)];
    let [least, usual, most, alone] = plays.map(|(mean, shared)| {
        let factor = (mean / flush.value).max(0.01);
        play(&point.histogram, factor, point.write_ns.value, sessions, shared)
    });
    let n = point.flush_ns.n;
    let between = |of: fn(&Played) -> f64| {
        let ends = [of(&least), of(&usual), of(&most), of(&alone)];
        let (low, high) =
            ends.iter().fold((f64::MAX, 0.0f64), |(low, high), &end| (low.min(end), high.max(end)));
        Estimate::spanning(of(&usual), low, high, n)
    };
    CommitPrediction {
        sessions: sessions.sessions,
        work_ns: sessions.work_ns,
        processors: sessions.processors,
        log: point.log,
        commits_per_s: between(|played| played.per_s),
        commit_ns: between(|played| played.mean_ns),
        commit_p99_ns: between(|played| played.p99_ns),
        transaction_p99_ns: between(|played| played.transaction_p99_ns),
        commits_per_flush: usual.per_flush,
    }
}

/// Result of a simulation. Latencies run from the end of the work to the end of the flush.
struct Played {
    per_s: f64,
    mean_ns: f64,
    p99_ns: f64,
    /// From the session's previous flush to this one.
    transaction_p99_ns: f64,
    per_flush: f64,
}

/// Simulates sessions. Flush times come from the histogram times `factor`. A flush serves all waiting
/// sessions, or without `shared` only the one that waited longest.
fn play(
    flushes: &HistogramSnapshot,
    factor: f64,
    write_ns: f64,
    sessions: &Sessions,
    shared: bool,
) -> Played {
    let mut rng = SplitMix64::new(SEED);
    let mut processors = vec![0.0; sessions.processors.max(1) as usize];
    // When each session began its work, and when its work ends and it waits for a flush.
    let mut waiting: Vec<(f64, f64)> = (0..sessions.sessions.max(1))
        .map(|_| (0.0, work(0.0, &mut processors, sessions, &mut rng)))
        .collect();
    let (mut now, mut begin) = (0.0f64, 0.0);
    let (mut commits, mut transactions) = (Vec::new(), Vec::new());
    let (mut flushed, mut done) = (0usize, 0usize);
    while done < COMMITS + WARM_UP {
        let first = waiting.iter().map(|&(_, since)| since).fold(f64::MAX, f64::min);
        now = now.max(first);
        let end = now + write_ns + factor * drawn(flushes, &mut rng);
        let most = if shared { usize::MAX } else { 1 };
        let last = if shared { now } else { first };
        let served = waiting.iter_mut().filter(|(_, since)| *since <= last);
        for (started, since) in served.take(most) {
            if done >= WARM_UP {
                commits.push(end - *since);
                transactions.push(end - *started);
            }
            done += 1;
            *started = end;
            *since = work(end, &mut processors, sessions, &mut rng);
        }
        now = end;
        if commits.is_empty() {
            begin = end;
        } else {
            flushed += 1;
        }
    }
    let p99 = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() * 99 / 100).copied().unwrap_or_default()
    };
    let counted = commits.len() as f64;
    Played {
        per_s: counted / (now - begin) * 1e9,
        mean_ns: stats::mean(&commits),
        p99_ns: p99(commits),
        transaction_p99_ns: p99(transactions),
        per_flush: counted / flushed.max(1) as f64,
    }
}

/// End of the work of a session that may start at `from`: on the first free processor, for an exponentially
/// distributed time.
fn work(from: f64, processors: &mut [f64], sessions: &Sessions, rng: &mut SplitMix64) -> f64 {
    let free = processors.iter_mut().min_by(|a, b| a.total_cmp(b));
    let length = -sessions.work_ns * libm::log(1.0 - rng.unit());
    let Some(free) = free else { return from + length };
    *free = free.max(from) + length;
    *free
}

/// A random flush time from the histogram, uniform within its bucket.
fn drawn(flushes: &HistogramSnapshot, rng: &mut SplitMix64) -> f64 {
    let rank = 1 + rng.below(flushes.count().max(1));
    let Some(bucket) = flushes.bucket_at(rank) else { return 0.0 };
    let (low, high) = (bucket_low(bucket) as f64, bucket_high(bucket) as f64);
    low + (high - low) * rng.unit()
}
