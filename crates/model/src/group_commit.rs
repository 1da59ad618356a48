//! Predicts the commits of programs with many sessions, where one flush serves all that wait for it.
//!
//! A session works for a while on a processor, writes its commit to the log and waits until a flush that
//! began after that has ended. One flush runs at a time, and commits that arrive meanwhile share the next.
//! PostgreSQL, InnoDB and etcd work this way. No queueing formula describes it: a batch of any size takes
//! as long as a single commit, and sessions that leave a flush together miss the next one. So sessions are
//! simulated in virtual time, with flush times drawn from those of one committer. Rejected: N
//! sessions over one flush time (right only without work in between), and N/2 (right only if the work is
//! short).

use record::{
    CommitPoint, CommitPrediction, Commits, Estimate, HistogramSnapshot, LogKind, bucket_high,
    bucket_low,
};
use stats::SplitMix64;

/// Simulated commits, and the warm-up commits before them that do not count.
const COMMITS: usize = 40_000;
const WARM_UP: usize = 4_000;
const SEED: u64 = 1;
/// Block size of a file system. Smaller log records share a block.
const BLOCK_BYTES: f64 = 4_096.0;

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

/// Measured flushes of a number of committers, each with its own.
#[derive(Clone, Copy, Debug)]
pub struct Flushes<'a> {
    /// On the log.
    pub log: &'a CommitPoint,
    /// On blocks that hold data. Records of a growing log that are smaller than a block rewrite the last
    /// block until it is full. `None` if each flush has the cost of the log.
    pub rewritten: Option<&'a CommitPoint>,
}

impl<'a> Flushes<'a> {
    /// The flushes of one committer, and those of as many committers as there are sessions: the next larger
    /// number that was measured, otherwise the largest.
    ///
    /// # Errors
    /// The reason, if a point is missing.
    pub fn of(
        commits: &'a Commits,
        kind: LogKind,
        sessions: &Sessions,
    ) -> Result<[Self; 2], &'static str> {
        let shares = sessions.record_bytes.is_some() && kind == LogKind::NewBlocks;
        let of = |committers: u32| {
            let log = commits.point(kind, committers)?;
            let old = || commits.point(LogKind::Overwritten, committers);
            let rewritten = if shares { Some(old()?) } else { None };
            Some(Self { log, rewritten })
        };
        let Some(alone) = of(1) else {
            return Err(match commits.point(kind, 1) {
                Some(_) => {
                    "to predict records that share a block, the profile needs a trial that \
                     overwrites a log in place"
                }
                None => "no trial with a single committer is valid",
            });
        };
        let known = commits.points.iter().filter(|point| point.log == kind);
        let known = known.filter_map(|point| of(point.committers));
        let fewer = |it: &Self| it.log.committers < sessions.sessions;
        // The numbers of a log rise.
        let separate = known.reduce(|found, next| if fewer(&found) { next } else { found });
        Ok([alone, separate.unwrap_or(alone)])
    }

    /// Time of a write and a flush of this many commits.
    fn time_ns(&self, commits: usize, load: &Load<'_>, rng: &mut SplitMix64) -> f64 {
        let bytes = load.sessions.record_bytes.map_or(BLOCK_BYTES, |bytes| bytes as f64);
        // More records reach a new block more often.
        let new = (commits as f64 * bytes / BLOCK_BYTES).min(1.0);
        let point = match self.rewritten {
            Some(rewritten) if rng.unit() >= new => rewritten,
            _ => self.log,
        };
        let mean = point.flush_ns.with_ratio_error(load.level_se_rel);
        let other_ns = match load.separate {
            // The measured rate includes what neither time does, such as waiting for a processor.
            Some(_) => {
                let turn_ns = f64::from(point.committers) * 1e9 / point.commits_per_s.value;
                (turn_ns - mean.value).max(point.write_ns.value)
            }
            None => point.write_ns.value,
        };
        other_ns + (load.end)(&mean) / mean.value * drawn(&point.histogram, rng)
    }
}

/// The load of a simulation.
struct Load<'a> {
    sessions: &'a Sessions,
    level_se_rel: f64,
    /// Chooses the mean time of a flush from its interval.
    end: fn(&Estimate) -> f64,
    /// Number of flushes at the same time that serve one commit each; `None` if one flush at a time serves
    /// all commits that wait for it.
    separate: Option<usize>,
}

/// Predicts the commits of sessions on a log, from the flushes of one committer and from those of several
/// ([`Flushes::of`]).
///
/// The values assume that all waiting sessions share a flush. The interval covers two errors. The first is
/// that of the flush time: the simulation is repeated at both of its ends. The second is the server's: how
/// many sessions share a flush depends on how soon they wake up and get a processor, which no disk profile
/// contains. So the interval also covers a flush for each commit, at the rate of the trials with several
/// committers.
/// `level_se_rel` is the standard error of the device's level over time, as a logarithm.
#[must_use]
pub fn group_commit(
    [alone, separate]: [Flushes<'_>; 2],
    sessions: &Sessions,
    level_se_rel: f64,
) -> CommitPrediction {
    let shared = |end: fn(&Estimate) -> f64| {
        play(alone, &Load { sessions, level_se_rel, end, separate: None })
    };
    let usual = shared(|it| it.value);
    let flushing = separate.log.committers.min(sessions.sessions).max(1) as usize;
    let end = |it: &Estimate| it.high;
    let own = play(separate, &Load { sessions, level_se_rel, end, separate: Some(flushing) });
    let ends = [shared(|it| it.low), shared(end), own];
    let n = alone.log.flush_ns.n;
    let between = |of: fn(&Played) -> f64| {
        let value = of(&usual);
        let all = ends.iter().map(of);
        let (low, high) =
            all.fold((value, value), |(low, high), end| (low.min(end), high.max(end)));
        Estimate::spanning(value, low, high, n)
    };
    CommitPrediction {
        sessions: sessions.sessions,
        work_ns: sessions.work_ns,
        processors: sessions.processors,
        log: alone.log.log,
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

/// A simulated session.
struct Session {
    /// When it began its work.
    started: f64,
    /// When its work ended.
    since: f64,
    is_waiting: bool,
}

/// Simulates sessions: one event is the begin or the end of a flush.
fn play(flushes: Flushes<'_>, load: &Load<'_>) -> Played {
    let sessions = load.sessions;
    let mut rng = SplitMix64::new(SEED);
    let mut processors = vec![0.0; sessions.processors.max(1) as usize];
    let mut all: Vec<Session> = (0..sessions.sessions.max(1))
        .map(|_| {
            let since = work(0.0, &mut processors, sessions, &mut rng);
            Session { started: 0.0, since, is_waiting: true }
        })
        .collect();
    let limit = load.separate.unwrap_or(1);
    // Ends of the flushes under way, each with its sessions.
    let mut flying: Vec<(f64, Vec<usize>)> = Vec::new();
    let (mut now, mut begin) = (0.0f64, 0.0);
    let (mut commits, mut transactions) = (Vec::new(), Vec::new());
    let (mut flushed, mut done) = (0usize, 0usize);
    while done < COMMITS + WARM_UP {
        let waiting = all.iter().enumerate().filter(|(_, it)| it.is_waiting);
        let first = waiting.min_by(|a, b| a.1.since.total_cmp(&b.1.since));
        let first = first.map(|(index, it)| (index, it.since));
        let next = flying.iter().enumerate().min_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let next = next.map(|(index, (end, _))| (index, *end));
        let may_begin = |since: f64| flying.len() < limit && next.is_none_or(|it| since <= it.1);
        if let Some((index, since)) = first.filter(|(_, since)| may_begin(*since)) {
            now = now.max(since);
            let served: Vec<usize> = match load.separate {
                Some(_) => vec![index],
                None => (0..all.len()).filter(|&at| all[at].since <= now).collect(),
            };
            for &at in &served {
                all[at].is_waiting = false;
            }
            let end = now + flushes.time_ns(served.len(), load, &mut rng);
            flying.push((end, served));
            continue;
        }
        let Some((index, end)) = next else { break };
        let (_, served) = flying.swap_remove(index);
        for at in served {
            let session = &mut all[at];
            if done >= WARM_UP {
                commits.push(end - session.since);
                transactions.push(end - session.started);
            }
            done += 1;
            let since = work(end, &mut processors, sessions, &mut rng);
            *session = Session { started: end, since, is_waiting: true };
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
