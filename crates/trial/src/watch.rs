//! Watches the jobs from a thread of its own: reads the counters, checks the precision, and detects a
//! device that has fallen silent.

use crate::precision::EnoughSeen;
use crate::{Control, JobCounters, SEGMENTS, SLICES_PER_SEGMENT};
use engine::{Clock, JobClock, Probe, ProbeSample};
use record::{EndedBy, Nanos};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const TICK: Nanos = Nanos(100_000_000);
/// How long the other jobs have to end after one is stuck.
const GRACE: Nanos = Nanos(1_000_000_000);

pub(crate) struct Group {
    pub(crate) control: Arc<Control>,
    pub(crate) counters: Vec<Arc<JobCounters>>,
    /// Maximum time without a completion from its device.
    pub(crate) io_timeout: Nanos,
}

pub(crate) struct Watch<'a> {
    /// Whether the counters are also read at the segments of the window.
    pub(crate) cut_warm_up: bool,
    /// At least one group; the counters are read at the window of the first.
    pub(crate) groups: &'a [Group],
    pub(crate) clock: JobClock,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) endings: &'a mpsc::Receiver<u32>,
    /// Finished jobs, by their number among the jobs of all groups.
    pub(crate) finished: Vec<bool>,
    pub(crate) enough: EnoughSeen,
}

pub(crate) struct Watched {
    /// Counters at the begin of the window and of each later segment that was reached.
    pub(crate) before: Vec<ProbeSample>,
    pub(crate) after: ProbeSample,
    /// Which jobs ended; the others are left behind.
    pub(crate) finished: Vec<bool>,
}

impl Watch<'_> {
    fn control(&self) -> &Control {
        &self.groups[0].control
    }

    /// Watches until all jobs have ended or are given up. `at_rest` holds the counters from before the
    /// first request, if no request precedes the window.
    pub(crate) fn run(
        mut self,
        at_rest: Option<ProbeSample>,
        probe: &mut dyn Probe,
        tick: &mut dyn FnMut(f64),
    ) -> Watched {
        let window = self.control().window();
        let first = at_rest.unwrap_or_else(|| {
            self.sleep_until(window.begin, &mut |_| ());
            probe.sample()
        });
        let mut before = vec![first];
        let cuts = if self.cut_warm_up { 1..SEGMENTS } else { 0..0 };
        for segment in cuts {
            if self.sleep_until(window.slice_begin(segment * SLICES_PER_SEGMENT), tick) {
                break;
            }
            before.push(probe.sample());
        }
        self.sleep_until(window.end, tick);
        let after = probe.sample();
        self.see_off();
        Watched { before, after, finished: self.finished }
    }

    /// Sleeps until `time`; returns true if the run ended earlier.
    fn sleep_until(&mut self, time: Nanos, tick: &mut dyn FnMut(f64)) -> bool {
        let window = self.control().window();
        let length = window.end.since(window.begin).0.max(1) as f64;
        loop {
            let now = self.clock.now();
            self.attend(now);
            if self.control().end() <= now && now < window.end || self.all_finished() {
                return true;
            }
            if now >= time {
                return false;
            }
            tick(now.since(window.begin).0 as f64 / length);
            let time = time.min(self.control().end());
            self.listen(time.since(now).min(TICK).min(self.until_look(now)));
        }
    }

    /// Waits for the jobs to complete their requests, while the device still responds.
    fn see_off(&mut self) {
        let mut give_up = Nanos(u64::MAX);
        while !self.all_finished() {
            let now = self.clock.now();
            if now >= give_up {
                return;
            }
            if self.attend(now) {
                give_up = give_up.min(now.plus(GRACE));
            }
            self.listen(TICK);
        }
    }

    fn all_finished(&self) -> bool {
        self.finished.iter().all(|&finished| finished)
    }

    /// Ends the run if there is a reason; returns whether jobs that do not end must be left behind.
    fn attend(&mut self, now: Nanos) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        if stopped {
            self.end_all(now, EndedBy::Interrupted);
        }
        // A failed engine or a panicked job ended only its own group: end the other groups too.
        if self.groups.iter().any(|group| group.control.end() == Nanos(0)) {
            self.groups.iter().for_each(|group| group.control.end_at(Nanos(0), None));
        }
        let first = &self.groups[0];
        if first.control.end() > now
            && let Some(end) = self.enough.end(&first.counters, first.control.window(), now)
        {
            first.control.end_at(end, Some(EndedBy::Precision));
        }
        let jobs = self.groups.iter().flat_map(|group| {
            group.counters.iter().map(|counters| (counters.silence(now), group.io_timeout))
        });
        let working = jobs.zip(&self.finished).filter(|&(_, &finished)| !finished);
        let mut silences = working.map(|(silence, _)| silence);
        let stuck = silences.any(|(silent, allowed)| silent > allowed);
        if stuck {
            self.end_all(now, EndedBy::Silence);
        }
        stuck || stopped
    }

    fn end_all(&self, now: Nanos, by: EndedBy) {
        self.groups.iter().for_each(|group| group.control.end_at(now, Some(by)));
    }

    /// Time until the slices for the next precision check are complete.
    fn until_look(&self, now: Nanos) -> Nanos {
        let Some(look) = self.enough.next_look() else { return TICK };
        let over = self.control().window().slice_begin(look);
        // One slice later, so that the jobs have passed the boundary; and not again immediately.
        over.plus(self.control().window().slice_length()).since(now).max(Nanos(1_000_000))
    }

    /// Waits for a job to end, at most `span`.
    fn listen(&mut self, span: Nanos) {
        if let Ok(job) = self.endings.recv_timeout(Duration::from_nanos(span.0)) {
            self.finished[job as usize] = true;
        }
    }
}
