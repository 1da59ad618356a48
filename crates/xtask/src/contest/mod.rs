//! Runs a load generator once on a prepared target, for comparisons by `bench`.
//!
//! Both sides are complete programs in their own processes, as a user starts them. Latency is submission to
//! completion, fio's `lat`. CPU time is the time charged to the child (see [`crate::child`]). Time before and after the load (fio calibrates clocks, halfpower measures its ceiling) is
//! subtracted by means of a very short run of the same load.

pub(crate) mod fio;
pub(crate) mod halfpower;
pub(crate) mod target;

use crate::child::Plant;
use anyhow::Result;
use fio::Settings;
use record::EngineName;
use std::path::Path;
use std::time::Duration;
use target::Target;

/// Run time of the short run that shows the cost of start and end: long enough that requests complete on a
/// busy machine.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) via: EngineName,
    pub(crate) rw: &'static str,
    pub(crate) bs: &'static str,
    pub(crate) iodepth: u32,
}

impl Load {
    pub(crate) const fn new(
        via: EngineName,
        rw: &'static str,
        bs: &'static str,
        iodepth: u32,
    ) -> Self {
        Self { via, rw, bs, iodepth }
    }

    /// Whether both programs report the load as writes.
    pub(crate) fn writes(&self) -> bool {
        self.rw.ends_with("write")
    }

    /// A label such as `io_uring randread 4k x 32`.
    pub(crate) fn label(&self) -> String {
        format!("{} {} {} x {}", self.via.name(), self.rw, self.bs, self.iodepth)
    }
}

/// A load on a target, with halfpower's binary and fio's settings. Both sides run on the CPU of the settings.
#[derive(Clone, Copy)]
pub(crate) struct Bout<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) target: &'a Target,
    pub(crate) load: Load,
    pub(crate) settings: Settings,
}

impl<'a> Bout<'a> {
    /// Gives fio the same settings as halfpower.
    pub(crate) fn new(binary: &'a Path, target: &'a Target, load: Load, core: usize) -> Self {
        let settings = Settings::alike(&load, core);
        Self { binary, target, load, settings }
    }

    pub(crate) fn halfpower(&self, runtime: Duration, plant: Plant) -> Result<Outcome> {
        Ok(self.told(runtime, plant)?.0)
    }

    /// Whether the load uses direct I/O; a mapping cannot.
    fn direct(&self) -> bool {
        self.target.direct && self.load.via != EngineName::Mmap
    }
}

/// Figures of one run, or of several runs of one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) iops: f64,
    pub(crate) latency_ns: f64,
    /// CPU time charged to the child.
    pub(crate) cpu: Duration,
    pub(crate) runtime: Duration,
}

impl Outcome {
    /// Combines several runs: the mean rate, the mean latency of all requests, and the total CPU time.
    pub(crate) fn together(runs: &[Self]) -> Self {
        let sum = |value: fn(&Self) -> f64| runs.iter().map(value).sum::<f64>();
        let rates = sum(|run| run.iops);
        Self {
            iops: rates / runs.len() as f64,
            latency_ns: sum(|run| run.iops * run.latency_ns) / rates,
            cpu: runs.iter().map(|run| run.cpu).sum(),
            runtime: runs.iter().map(|run| run.runtime).sum(),
        }
    }

    fn requests(&self) -> f64 {
        self.iops * self.runtime.as_secs_f64()
    }

    /// CPU time per request in µs, minus the cost of start and end as measured by `short`.
    pub(crate) fn us_per_io(&self, short: &Self) -> f64 {
        let spent = self.cpu.as_secs_f64() - short.cpu.as_secs_f64();
        spent * 1e6 / (self.requests() - short.requests())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(iops: f64, latency_ns: f64, runtime_ms: u64, cpu_ms: u64) -> Outcome {
        let ms = Duration::from_millis;
        Outcome { iops, latency_ns, cpu: ms(cpu_ms), runtime: ms(runtime_ms) }
    }

    #[test]
    fn starts_and_ends_are_taken_out_of_the_cost_of_a_request() {
        // 50 ms for start and end; then 2 µs per request.
        let short = run(1e5, 1e4, 20, 54);
        let long = run(1e5, 1e4, 1_000, 250);
        assert!((long.us_per_io(&short) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_response_time_of_several_runs_is_that_of_all_their_requests() {
        let runs = [run(300.0, 10.0, 1_000, 0), run(100.0, 30.0, 1_000, 0)];
        let both = Outcome::together(&runs);
        assert_eq!((both.iops, both.latency_ns), (200.0, 15.0));
    }
}
