//! The request stream of one job: a seeded sequence of offsets, sizes and operations, and in an open loop
//! also of arrivals. Only a recording ends it.
//!
//! A stream fills slices of descriptors ahead of the job's loop, so that patterns cost the loop no time. The
//! sequence does not depend on the slice lengths or on the arrivals. Jobs that share one sequence take its
//! requests in turn: job `j` of `J` takes `j`, `j + J`, ..., and skips those of the others at a few
//! nanoseconds each. Rejected: a shared counter, because all jobs would contend for it.

use crate::arrivals::Arrivals;
use crate::place::{Place, Positions};
use crate::recorded::RecordedStream;
use crate::region::{Region, area_and_rank, jobs_per_area, unit};
use crate::request::Request;
use crate::rng::{Rng, derive_seed};
use record::{Nanos, OpKind, Pattern, Regions, Workload};

/// A request size with the data for drawing its position.
#[derive(Clone, Copy, Debug)]
struct SizeClass {
    bytes: u32,
    /// Total share of this and all earlier classes, 1 to 100.
    percent_below: u64,
    positions: Positions,
}

/// The requests of one job.
#[derive(Clone, Debug)]
pub struct RequestStream {
    rng: Rng,
    read_percent: u64,
    sizes: Vec<SizeClass>,
    place: Place,
    arrivals: Option<Arrivals>,
    /// Requests of a shared sequence that belong to other jobs, after each of this job's.
    others: u32,
    /// Requests from a recording, which are not drawn.
    recorded: Option<RecordedStream>,
}

impl RequestStream {
    /// The stream of job `job` (0 to `numjobs - 1`).
    ///
    /// # Panics
    /// If the workload was not built by this crate (a region shorter than a request).
    #[must_use]
    pub fn new(workload: &Workload, seed: u64, job: u32) -> Self {
        let shared = workload.regions == Regions::Shared
            && matches!(workload.pattern, Pattern::Sequential | Pattern::Strided);
        // A shared sequence is that of the first job on its area.
        let (owner, before) = if shared { area_and_rank(workload, job) } else { (job, 0) };
        let mut rng = Rng::new(derive_seed(seed, u64::from(owner)));
        let unit = unit(workload);
        let region = Region::of(workload, job);
        let fits = !workload.bs.is_empty() && region.length >= workload.max_bs().0;
        assert!(fits, "a job's region holds at least one request");
        let place = Place::new(workload, region, unit, &mut rng);
        let mut percent_below = 0;
        let sizes = workload
            .bs
            .iter()
            .map(|share| {
                percent_below += u64::from(share.percent);
                let bytes = u32::try_from(share.bytes.0).unwrap_or(u32::MAX);
                SizeClass { bytes, percent_below, positions: place.positions(share.bytes.0) }
            })
            .collect();
        let mut stream = Self {
            rng,
            read_percent: u64::from(workload.read_percent),
            sizes,
            place,
            arrivals: Arrivals::new(workload, seed, job),
            others: if shared { jobs_per_area(workload) - 1 } else { 0 },
            recorded: RecordedStream::new(workload, job),
        };
        stream.leave_out(before);
        stream
    }

    /// Replaces `batch` with the next requests and returns their number, which is less than the length only
    /// at the end of a recording.
    pub fn fill(&mut self, batch: &mut [Request]) -> usize {
        if self.fill_uniform(batch) {
            return batch.len();
        }
        if let Some(recorded) = &mut self.recorded {
            let requests = batch.iter_mut().map_while(|into| {
                *into = recorded.take()?.0;
                Some(())
            });
            return requests.count();
        }
        for request in &mut *batch {
            *request = self.take(None);
        }
        batch.len()
    }

    /// Fast path for uniform requests of one size and direction, the most common ones, with all decisions
    /// outside the loop. The draws are the same as in [`RequestStream::take`]. Returns whether it applies to
    /// this stream.
    fn fill_uniform(&mut self, batch: &mut [Request]) -> bool {
        let op = match self.read_percent {
            _ if self.recorded.is_some() => return false,
            100 => OpKind::Read,
            0 => OpKind::Write,
            _ => return false,
        };
        let (&[size], Place::Uniform { start, unit, .. }, 0) =
            (self.sizes.as_slice(), &self.place, self.others)
        else {
            return false;
        };
        for request in batch {
            let offset = *start + self.rng.below(size.positions.first) * *unit;
            *request = Request { offset, bytes: size.bytes, op };
        }
        true
    }

    /// The same in an open loop, with the intended arrival of each request as a time since the start of the
    /// job's run, never decreasing. Returns the number of requests.
    ///
    /// # Panics
    /// If the lengths differ, or the workload is a closed loop.
    pub fn fill_timed(&mut self, batch: &mut [Request], arrivals: &mut [Nanos]) -> usize {
        assert_eq!(batch.len(), arrivals.len(), "an arrival for each request");
        let count = batch.len();
        if let Some(recorded) = &mut self.recorded {
            let timed = batch.iter_mut().zip(arrivals).map_while(|(request, arrival)| {
                (*request, *arrival) = recorded.take()?;
                Some(())
            });
            return timed.count();
        }
        for (request, arrival) in batch.iter_mut().zip(arrivals) {
            let process = self.arrivals.as_mut();
            let (at, op) = process.expect("an open loop has arrivals").next_arrival();
            *arrival = at;
            *request = self.take(op);
        }
        count
    }

    /// The job's next request. The direction is drawn if none is given.
    #[inline]
    fn take(&mut self, op: Option<OpKind>) -> Request {
        let request = self.draw(op);
        for _ in 0..self.others {
            self.draw(op);
        }
        request
    }

    /// Skips the requests of other jobs before this job's first one.
    fn leave_out(&mut self, count: u32) {
        let by_direction = self.arrivals.as_ref().is_some_and(Arrivals::by_direction);
        for _ in 0..count {
            if by_direction {
                self.draw(Some(OpKind::Read));
                self.draw(Some(OpKind::Write));
            } else {
                self.draw(None);
            }
        }
    }

    #[inline]
    fn draw(&mut self, op: Option<OpKind>) -> Request {
        let op = match (op, self.read_percent) {
            (Some(op), _) => op,
            (None, 100) => OpKind::Read,
            (None, 0) => OpKind::Write,
            (None, percent) if self.rng.below(100) < percent => OpKind::Read,
            (None, _) => OpKind::Write,
        };
        let size = self.fitting_size(op);
        let bytes = u64::from(size.bytes);
        let offset = self.place.offset(&mut self.rng, op, bytes, size.positions);
        Request { offset, bytes: size.bytes, op }
    }

    /// Draws a size. Near the end of a sequence it draws one that still fits, as in fio, so that a pass
    /// covers the whole area.
    #[inline]
    fn fitting_size(&mut self, op: OpKind) -> SizeClass {
        let size = self.draw_size();
        let room = self.place.room(op).filter(|room| u64::from(size.bytes) > *room);
        let Some(room) = room else { return size };
        let fits = |size: &SizeClass| u64::from(size.bytes) <= room;
        if !self.sizes.iter().any(fits) {
            return size;
        }
        loop {
            let size = self.draw_size();
            if fits(&size) {
                return size;
            }
        }
    }

    #[inline]
    fn draw_size(&mut self) -> SizeClass {
        if self.sizes.len() == 1 {
            return self.sizes[0];
        }
        let draw = self.rng.below(100);
        let position = self.sizes.iter().position(|size| draw < size.percent_below);
        self.sizes[position.unwrap_or(self.sizes.len() - 1)]
    }
}
