//! The plan that all threads of a run share: how to open an engine, and how a thread reports its end.

use crate::{BatchChoice, Control};
use engine::{AsRawFile, Clock, JobClock, OwnedFile, RawFile, Setup, SharedArray};
use record::{LegCheck, Nanos, Workload};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use workload::derive_seed;

/// Memory of a slot of a job that transfers no data.
const NO_DATA: u32 = 4_096;

/// The plan of one workload, shared by the driver and its threads.
#[derive(Clone)]
pub(crate) struct RunPlan {
    /// Shared with the threads: a thread stuck on a silent device must keep its descriptors open, or their
    /// numbers could be reused for other files.
    pub(crate) files: Arc<Vec<OwnedFile>>,
    pub(crate) workload: Arc<Workload>,
    /// The first of its jobs that run here, and their number: all jobs, except in a part of a larger run.
    pub(crate) jobs: (u32, u32),
    /// How much later than the first workload's its window begins.
    pub(crate) delay: Nanos,
    pub(crate) depth: u32,
    pub(crate) batching: BatchChoice,
    pub(crate) seed: u64,
    pub(crate) clock: JobClock,
    /// The array that the files form.
    pub(crate) array: Option<Arc<SharedArray>>,
    /// Whether its legs are compared at the end; set for the first workload on it.
    pub(crate) compares: bool,
    /// Whether any job on the array verifies its writes.
    pub(crate) verified: bool,
    /// Result of comparing the legs before the run.
    pub(crate) made: Option<LegCheck>,
}

impl RunPlan {
    /// Time before the window in which requests are made that do not count.
    pub(crate) fn ahead(&self) -> Nanos {
        let search = match self.batching {
            BatchChoice::Search(ways) => ways.search_time(),
            BatchChoice::Fixed(_) => Nanos(0),
        };
        search.plus(self.workload.ramp_ns)
    }
}

/// Reports the end of a thread, however it ends; a panic ends the run for all threads.
pub(crate) struct Leaving {
    number: u32,
    endings: mpsc::Sender<u32>,
    control: Option<Arc<Control>>,
}

impl Leaving {
    pub(crate) fn new(number: u32, endings: mpsc::Sender<u32>) -> Self {
        Self { number, endings, control: None }
    }

    /// Sets the control to end if the thread panics.
    pub(crate) fn watch(&mut self, control: &Arc<Control>) {
        self.control = Some(Arc::clone(control));
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(control) = self.control.as_ref().filter(|_| thread::panicking()) {
            control.end_at(Nanos(0), None);
        }
        // If the job was left behind, the receiver is gone.
        let _ = self.endings.send(self.number);
    }
}

pub(crate) fn sleep_until(clock: JobClock, time: Nanos) {
    loop {
        let now = clock.now();
        if now >= time {
            return;
        }
        thread::sleep(Duration::from_nanos(time.since(now).0));
    }
}

/// The descriptors of a job: all of a stripe or an array, or its own target.
fn targets_of(plan: &RunPlan, job: u32) -> Vec<RawFile> {
    let files = plan.files.iter().map(AsRawFile::as_raw_file);
    match plan.workload.stripe_bytes {
        Some(_) => files.collect(),
        None => files.skip(job as usize % plan.files.len().max(1)).take(1).collect(),
    }
}

pub(crate) fn setup_of(plan: &RunPlan, job: u32) -> Setup {
    let (workload, seed) = (&plan.workload, plan.seed);
    Setup {
        files: targets_of(plan, job),
        array: plan.array.clone(),
        stripe_bytes: workload.stripe_bytes.map(|bytes| bytes.0 as u32),
        depth: plan.depth,
        max_bytes: match workload.instead {
            Some(_) => NO_DATA,
            None => u32::try_from(workload.max_bs().0).unwrap_or(u32::MAX),
        },
        reads: workload.read_percent > 0 || workload.instead.is_some(),
        writes: workload.carries(),
        instead: workload.instead,
        flushes: workload.flush.map(|flush| flush.kind),
        // Different data in every trial and job; otherwise a second trial would write identical blocks.
        data_seed: derive_seed(seed, (1 << 32) + u64::from(job)),
        data: workload.data,
        compressible_percent: workload.compressible_percent,
        tags: engine::tag::Tags::of(workload, seed, job),
        polled: workload.polled,
        sqpoll: workload.sqpoll,
        huge_pages: workload.huge_pages,
        ..Setup::default()
    }
}
