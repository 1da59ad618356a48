//! Measures the phases of a buffered write load: copied into memory, throttled to the disk, flushed.
//!
//! During the trial, /proc/meminfo gives the dirty memory and the memory under write-back, and the clock
//! gives our own CPU time. The copy phase ends when the rate finally falls below half of the first
//! interval's. The rest is throttled. The flush is timed separately. Rejected: vm.dirty_ratio as the
//! boundary, which says when the kernel should throttle and not when it did.

use super::{Extras, Finish, Treatment};
use crate::session::{Result, Session, SessionError};
use host::kernel::{self, Roots, dirty_bytes};
use record::{Target, Trial, Workload};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between samples of dirty memory.
const LOOK: Duration = Duration::from_millis(20);
/// An interval belongs to the copy phase if its rate is at least this share of the first one's.
const COPY_SHARE: f64 = 0.5;

pub(super) struct Writeback;

impl Treatment for Writeback {
    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        let lacks = || {
            "the system does not report how much memory is dirty (/proc/meminfo of Linux does)"
                .to_owned()
        };
        dirty_bytes(&Roots::default()).map(drop).ok_or_else(lacks)
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        session.flush()?;
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let watcher = thread::spawn(move || {
            let begin = Instant::now();
            let mut looks = vec![Look::now(begin)];
            while !told.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
                looks.push(Look::now(begin));
            }
            looks
        });
        Ok(Box::new(move |session, trial| {
            over.store(true, Ordering::Relaxed);
            let failed = "the thread that counts dirty memory failed";
            let looks = watcher.join().map_err(|_| SessionError::NoResult(failed.to_owned()))?;
            let cpu_before = cpu_ms();
            let flush_ms = session.flush()?;
            let flush_cpu_ms = cpu_ms() - cpu_before;
            let Some(trial) = trial else { return Ok(Extras::new()) };
            let most = looks.iter().map(|look| look.dirty_bytes).max().unwrap_or(0);
            let mut extras = phases(trial, flush_ms, &looks);
            extras.insert("dirty_max_bytes".to_owned(), most as f64);
            if flush_ms > 0.0 {
                extras.insert("final_flush_cpu_share".to_owned(), flush_cpu_ms / flush_ms);
            }
            Ok(extras)
        }))
    }
}

/// One sample.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Time since the watch began.
    at_ms: f64,
    /// CPU time of this program so far.
    cpu_ms: f64,
    /// Memory waiting to be written, of all programs.
    dirty_bytes: u64,
}

impl Look {
    fn now(begin: Instant) -> Self {
        Self {
            at_ms: begin.elapsed().as_secs_f64() * 1e3,
            cpu_ms: cpu_ms(),
            dirty_bytes: dirty_bytes(&Roots::default()).unwrap_or(0),
        }
    }
}

fn cpu_ms() -> f64 {
    kernel::cpu_time_ns() as f64 / 1e6
}

/// Number of processors that this program kept busy between two moments, as far as sampled.
fn cpu_share(looks: &[Look], from_ms: f64, to_ms: f64) -> Option<f64> {
    let mut inside = looks.iter().filter(|look| (from_ms..=to_ms).contains(&look.at_ms));
    let (first, last) = (inside.next()?, inside.next_back()?);
    Some((last.cpu_ms - first.cpu_ms) / (last.at_ms - first.at_ms).max(1e-9))
}

/// How many intervals from the first belong to the copy: up to the last one that reaches half of the first
/// one's rate, together with its neighbours. A single slow interval is a program that waited for a
/// processor.
fn copied(rates: &[f64]) -> usize {
    let Some(first) = rates.first() else { return 0 };
    let around = |at: usize| {
        let part = &rates[at.saturating_sub(1)..(at + 2).min(rates.len())];
        part.iter().sum::<f64>() / part.len() as f64
    };
    let fast = (1..rates.len()).rev().find(|at| around(*at).min(rates[*at]) >= COPY_SHARE * first);
    fast.map_or(1, |last| last + 1)
}

/// Length, rate and CPU time of each phase.
fn phases(trial: &Trial, flush_ms: f64, looks: &[Look]) -> Extras {
    let intervals: Vec<(f64, f64)> = trial
        .result
        .intervals
        .iter()
        .flatten()
        .map(|interval| {
            let bytes = interval.write.as_ref().map_or(0.0, |write| write.bytes as f64);
            (interval.length_ns.0 as f64 / 1e6, bytes)
        })
        .collect();
    let rate = |(ms, bytes): &(f64, f64)| bytes / ms.max(1e-9);
    let copied = copied(&intervals.iter().map(rate).collect::<Vec<f64>>());
    let sum = |part: &[(f64, f64)]| {
        part.iter().fold((0.0, 0.0), |(ms, bytes), one| (ms + one.0, bytes + one.1))
    };
    let (copy, throttled) = (sum(&intervals[..copied]), sum(&intervals[copied..]));
    let total = copy.0 + throttled.0 + flush_ms;
    let mut extras = Extras::from([
        ("copy_share".to_owned(), copy.0 / total),
        ("throttled_share".to_owned(), throttled.0 / total),
        ("final_flush_share".to_owned(), flush_ms / total),
        ("flush_ms".to_owned(), flush_ms),
    ]);
    // The trial ends with the watch. It begins after its files were opened and their cached pages dropped.
    let end = looks.last().map_or(0.0, |look| look.at_ms);
    let (begin, throttle) = (end - copy.0 - throttled.0, end - throttled.0);
    let copy = ("copy", copy, begin, throttle);
    for (name, (ms, bytes), from, to) in [copy, ("throttled", throttled, throttle, end)] {
        if ms > 0.0 {
            extras.insert(format!("{name}_bytes_per_s"), bytes / ms * 1e3);
        }
        if let Some(share) = cpu_share(looks, from, to) {
            extras.insert(format!("{name}_cpu_share"), share);
        }
    }
    extras
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_ends_where_the_rate_falls_for_good() {
        assert_eq!(copied(&[100.0, 98.0, 95.0, 30.0, 31.0, 29.0]), 3);
        assert_eq!(copied(&[80.0, 30.0, 28.0, 33.0]), 1);
        assert_eq!(copied(&[100.0; 5]), 5, "a disk as fast as memory has no second phase");
        assert_eq!(copied(&[100.0, 90.0, 20.0, 95.0, 100.0]), 5, "one that waited for a processor");
        assert_eq!(copied(&[]), 0);
    }

    #[test]
    fn processor_time_is_that_between_the_looks_of_a_phase() {
        let look = |at_ms: f64, cpu_ms: f64| Look { at_ms, cpu_ms, dirty_bytes: 0 };
        // Busy for the first 100 ms, then a tenth of it.
        let looks: Vec<Look> = (0..=20_u32)
            .map(|step| {
                let at = f64::from(step) * 10.0;
                look(at, at.min(100.0) + 0.1 * (at - 100.0).max(0.0))
            })
            .collect();
        let near = |share: Option<f64>, truth: f64| (share.unwrap() - truth).abs() < 1e-9;
        assert!(near(cpu_share(&looks, 0.0, 100.0), 1.0));
        assert!(near(cpu_share(&looks, 100.0, 200.0), 0.1));
        assert_eq!(cpu_share(&looks, 201.0, 300.0), None);
        assert_eq!(cpu_share(&looks, 95.0, 105.0), None, "one look is no time");
    }
}
