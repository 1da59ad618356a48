//! What programs with many sessions would commit: one flush serves all that wait for it.
//!
//! A session works for a while on a processor, then writes its commit to the log and waits until a
//! flush that began after that has ended. One flush runs at a time; what comes meanwhile shares the
//! next. That is what PostgreSQL, InnoDB and etcd do, and no formula of a queue has it: a batch of
//! any size takes as long as one, and those that leave a flush together miss the one that follows. So
//! sessions are played in virtual time, with flush times drawn from those that one committer measured.
//! Rejected: N sessions over one flush time (right only where nobody works in between), and N/2 (right
//! only where nobody's work takes long).

use record::{CommitPoint, CommitPrediction, Estimate, HistogramSnapshot, bucket_high, bucket_low};
use stats::SplitMix64;

/// Commits that are played, and those before them that do not count.
const COMMITS: usize = 40_000;
const WARM_UP: usize = 4_000;
const SEED: u64 = 1;

/// Sessions of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sessions {
    /// How many commit, at least 1.
    pub sessions: u32,
    /// What each does on a processor between two commits, in nanoseconds, on average.
    pub work_ns: f64,
    /// Processors for that, at least 1.
    pub processors: u32,
    /// Bytes of a commit in a log that grows; `None` for whole blocks.
    pub record_bytes: Option<u64>,
}

/// What sessions would see on a log of which one committer was measured.
///
/// The values are those where all that wait share a flush. The interval is that of the flush time (the
/// play is repeated at both of its ends) and that of the server: how many of those that could share a flush
/// do is a matter of how soon its sessions are awake and get a processor, which no profile of a
/// disk knows, so the far end is that of flushes which serve one commit each. `level_se_rel` is the
/// standard error of the device's level from one time to another, as a share.
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

/// What came of a play; times are from the end of the work to that of the flush.
struct Played {
    per_s: f64,
    mean_ns: f64,
    p99_ns: f64,
    /// From the flush before to this one.
    transaction_p99_ns: f64,
    per_flush: f64,
}

/// Plays sessions; flush times are those of the histogram times `factor`, and a flush serves all that wait
/// for it, or without `shared` the one that waited longest.
fn play(
    flushes: &HistogramSnapshot,
    factor: f64,
    write_ns: f64,
    sessions: &Sessions,
    shared: bool,
) -> Played {
    let mut rng = SplitMix64::new(SEED);
    let mut processors = vec![0.0; sessions.processors.max(1) as usize];
    // When each session began its work, and when it has done it and waits for a flush.
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

/// When work that may begin at `from` is done: on the processor that is free first, for an
/// exponential time.
fn work(from: f64, processors: &mut [f64], sessions: &Sessions, rng: &mut SplitMix64) -> f64 {
    let free = processors.iter_mut().min_by(|a, b| a.total_cmp(b));
    let length = -sessions.work_ns * libm::log(1.0 - rng.unit());
    let Some(free) = free else { return from + length };
    *free = free.max(from) + length;
    *free
}

/// A flush time of the histogram, at random within its bucket.
fn drawn(flushes: &HistogramSnapshot, rng: &mut SplitMix64) -> f64 {
    let rank = 1 + rng.below(flushes.count().max(1));
    let Some(bucket) = flushes.bucket_at(rank) else { return 0.0 };
    let (low, high) = (bucket_low(bucket) as f64, bucket_high(bucket) as f64);
    low + (high - low) * rng.unit()
}
