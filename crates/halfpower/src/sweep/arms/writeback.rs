//! The phases of a buffered write load: copied into memory, throttled to the disk, flushed.
//!
//! While the trial runs, /proc/meminfo is read for what is dirty or under write; after it, fsync is
//! timed by its own. The phases come from the intervals of the trial: the first run of intervals at
//! half or more of the first one's rate is the copy, the rest is throttled. On a disk that is as fast
//! as the copy there is no second phase, and its share is 0. Rejected: the kernel's own thresholds
//! (vm.dirty_ratio) as the boundary, which say when it should throttle and not when it did.

use super::{Arm, Extras, Finish};
use crate::session::Session;
use anyhow::anyhow;
use record::{Target, Trial, Workload};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often dirty memory is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Rate of an interval over that of the first, from which on it is still the copy.
const COPY_SHARE: f64 = 0.5;

/// The measurement of the phases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writeback;

impl Arm for Writeback {
    fn name(&self) -> &'static str {
        "writeback"
    }

    fn fits(&self, _targets: &[&Target]) -> Result<(), String> {
        match dirty_bytes() {
            Some(_) => Ok(()),
            None => Err("/proc/meminfo does not say how much memory is dirty".to_owned()),
        }
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> anyhow::Result<Finish> {
        session.write_back()?;
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let watcher = thread::spawn(move || {
            let mut most = 0;
            while !told.load(Ordering::Relaxed) {
                most = most.max(dirty_bytes().unwrap_or(0));
                thread::sleep(LOOK);
            }
            most
        });
        Ok(Box::new(move |session, trial| {
            over.store(true, Ordering::Relaxed);
            let most = watcher.join().map_err(|_| anyhow!("watching dirty memory failed"))?;
            let begin = Instant::now();
            session.write_back()?;
            let flush_ms = begin.elapsed().as_secs_f64() * 1e3;
            let Some(trial) = trial else { return Ok(Extras::new()) };
            let mut extras = phases(trial, flush_ms);
            extras.insert("dirty_max_bytes".to_owned(), most as f64);
            Ok(extras)
        }))
    }
}

/// Length and rate of each phase.
fn phases(trial: &Trial, flush_ms: f64) -> Extras {
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
    let first = intervals.first().map_or(0.0, rate);
    let copied = intervals.iter().take_while(|one| rate(one) >= COPY_SHARE * first).count();
    let sum = |part: &[(f64, f64)]| {
        part.iter().fold((0.0, 0.0), |(ms, bytes), one| (ms + one.0, bytes + one.1))
    };
    let (copy, throttled) = (sum(&intervals[..copied]), sum(&intervals[copied..]));
    let total = copy.0 + throttled.0 + flush_ms;
    let mut extras = Extras::from([
        ("copy_share".to_owned(), copy.0 / total),
        ("throttled_share".to_owned(), throttled.0 / total),
        ("final_flush_share".to_owned(), flush_ms / total),
        ("final_flush_ms".to_owned(), flush_ms),
    ]);
    for (name, (ms, bytes)) in [("copy", copy), ("throttled", throttled)] {
        if ms > 0.0 {
            extras.insert(format!("{name}_bytes_per_s"), bytes / ms * 1e3);
        }
    }
    extras
}

/// Memory that waits to be written or is being written.
fn dirty_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Some((field("Dirty:")? + field("Writeback:")?) * 1024)
}
