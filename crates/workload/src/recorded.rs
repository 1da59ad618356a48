//! Generates the requests of one job from a recording.
//!
//! Each recorded device is a separate target, and the jobs on a target take its requests in turn. The stream
//! ends with the recording, after the requested number of passes.

use crate::region::area_and_rank;
use crate::request::Request;
use record::{Nanos, RecordedRequest, ReplayPace, Workload, scaled};
use std::sync::Arc;

/// Position of a job in its recording.
#[derive(Clone, Debug)]
pub(crate) struct RecordedStream {
    requests: Arc<Vec<RecordedRequest>>,
    next: usize,
    /// The device whose requests the job takes; `None` for all, if there is one target.
    device: Option<u16>,
    /// Number of other jobs' requests before the job's next one.
    skip: u32,
    /// Number of other jobs' requests after each of the job's.
    others: u32,
    offset: u64,
    passes_left: u32,
    /// Offset of the times of this pass.
    shift: Nanos,
    length: Nanos,
    speed_milli: u32,
}

impl RecordedStream {
    /// The stream of a job; `None` if the workload draws its requests.
    pub(crate) fn new(workload: &Workload, job: u32) -> Option<Self> {
        let replay = workload.replay.as_ref()?;
        let apart = workload.targets > 1 && workload.stripe_bytes.is_none();
        let (area, rank) = area_and_rank(workload, job);
        let jobs = crate::region::jobs_per_area(workload);
        let speed_milli = match replay.pace {
            ReplayPace::AtTimes { speed_milli } => speed_milli,
            ReplayPace::AsFast => 1_000,
        };
        Some(Self {
            requests: Arc::clone(&replay.recorded.0),
            next: 0,
            device: apart.then_some(area as u16),
            skip: rank,
            others: jobs - 1,
            offset: workload.offset_bytes.0,
            passes_left: workload.stop.passes.unwrap_or(1),
            shift: Nanos(0),
            length: replay.length(),
            speed_milli,
        })
    }

    /// The next request and its time; `None` after the last.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Request, Nanos)> {
        loop {
            if self.next == self.requests.len() {
                if self.passes_left <= 1 || self.requests.is_empty() {
                    return None;
                }
                self.passes_left -= 1;
                self.next = 0;
                // The next pass starts at the time of this pass's last request.
                self.shift = self.shift.plus(self.length);
            }
            let request = self.requests[self.next];
            self.next += 1;
            if self.device.is_some_and(|device| device != request.device) {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.skip = self.others;
            let RecordedRequest { offset, bytes, op, .. } = request;
            let at = self.shift.plus(scaled(request.at, self.speed_milli));
            return Some((Request { offset: self.offset + offset, bytes, op }, at));
        }
    }
}
