//! One run of a load generator on a prepared target: what `bench` and `peers` compare.
//!
//! Both sides are whole programs in processes of their own, as a user starts them, and report in
//! their own words; what the two words mean is made one here. Response time is submission to
//! completion, fio's `lat`. Processor time comes twice: what the kernel charges to the child and
//! its threads, io_uring's workers included, which misses what is done on behalf of it elsewhere;
//! and the time that the whole machine was not idle, which misses nothing and holds everybody
//! else's work. Programs spend time before and after their load (fio calibrates clocks, halfpower
//! measures its ceiling), which is taken out by the difference to a very short run of the same.

pub(crate) mod fio;
pub(crate) mod halfpower;
pub(crate) mod target;

use std::time::Duration;

/// Run time of the run that shows what start and end cost: long enough that something completes
/// on a machine that does other things too.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

/// How requests are carried out, in both programs' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    IoUring,
    Libaio,
    /// One request at a time.
    Sync,
    /// halfpower's pool of threads against as many jobs of fio's psync: the same number of
    /// threads with one system call each in flight. A pool also hands requests over, which jobs of
    /// their own need not; that is part of what is compared.
    Threads,
    Mmap,
    /// No I/O at all.
    Null,
}

impl Via {
    pub(crate) const ALL: [Self; 6] =
        [Self::IoUring, Self::Libaio, Self::Sync, Self::Threads, Self::Mmap, Self::Null];

    /// The word of `halfpower run --ioengine`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Sync => "sync",
            Self::Threads => "threads",
            Self::Mmap => "mmap",
            Self::Null => "null",
        }
    }

    /// The word of fio.
    pub(crate) fn of_fio(self) -> &'static str {
        match self {
            Self::Sync | Self::Threads => "psync",
            other => other.name(),
        }
    }
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) via: Via,
    pub(crate) rw: &'static str,
    pub(crate) bs: &'static str,
    pub(crate) iodepth: u32,
}

impl Load {
    pub(crate) fn writes(&self) -> bool {
        self.rw.ends_with("write")
    }

    /// `io_uring randread 4k x 32`.
    pub(crate) fn label(&self) -> String {
        format!("{} {} {} x {}", self.via.name(), self.rw, self.bs, self.iodepth)
    }
}

/// What one run, or several of one side together, reported and used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) iops: f64,
    pub(crate) latency_ns: f64,
    /// Charged to the child.
    pub(crate) cpu: Duration,
    /// Time of all processors that were not idle while the child lived.
    pub(crate) busy: Duration,
    pub(crate) runtime: Duration,
}

impl Outcome {
    /// One outcome of several runs: the mean rate, the mean response time of all requests, and
    /// the processor time of all.
    pub(crate) fn together(runs: &[Self]) -> Self {
        let sum = |value: fn(&Self) -> f64| runs.iter().map(value).sum::<f64>();
        let rates = sum(|run| run.iops);
        Self {
            iops: rates / runs.len() as f64,
            latency_ns: sum(|run| run.iops * run.latency_ns) / rates,
            cpu: runs.iter().map(|run| run.cpu).sum(),
            busy: runs.iter().map(|run| run.busy).sum(),
            runtime: runs.iter().map(|run| run.runtime).sum(),
        }
    }

    pub(crate) fn requests(&self) -> f64 {
        self.iops * self.runtime.as_secs_f64()
    }

    /// Charged processor time per request in µs, where `runs` starts and ends cost what those of
    /// `short` did.
    pub(crate) fn cpu_us_per_io(&self, short: &Self, runs: usize) -> f64 {
        self.per_io(short, runs, |run| run.cpu)
    }

    /// Time of the whole machine per request in µs, likewise.
    pub(crate) fn busy_us_per_io(&self, short: &Self, runs: usize) -> f64 {
        self.per_io(short, runs, |run| run.busy)
    }

    fn per_io(&self, short: &Self, runs: usize, time: fn(&Self) -> Duration) -> f64 {
        let runs = runs as f64;
        let spent = time(self).as_secs_f64() - runs * time(short).as_secs_f64();
        spent * 1e6 / (self.requests() - runs * short.requests())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_ends_are_taken_out_of_the_cost_of_a_request() {
        let run = |ms, cpu_ms, busy_ms| Outcome {
            iops: 1e5,
            latency_ns: 10_000.0,
            cpu: Duration::from_millis(cpu_ms),
            busy: Duration::from_millis(busy_ms),
            runtime: Duration::from_millis(ms),
        };
        // 50 ms to start and end, then 2 µs a request charged, 3 µs used.
        let (short, long) = (run(20, 54, 56), run(1_000, 250, 350));
        let both = Outcome::together(&[long, long]);
        assert!((both.cpu_us_per_io(&short, 2) - 2.0).abs() < 1e-9);
        assert!((both.busy_us_per_io(&short, 2) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_response_time_of_several_runs_is_that_of_all_their_requests() {
        let run = |iops, latency_ns| Outcome {
            iops,
            latency_ns,
            cpu: Duration::ZERO,
            busy: Duration::ZERO,
            runtime: Duration::from_secs(1),
        };
        let both = Outcome::together(&[run(300.0, 10.0), run(100.0, 30.0)]);
        assert_eq!((both.iops, both.latency_ns), (200.0, 15.0));
    }
}
