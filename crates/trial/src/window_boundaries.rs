//! Tracks the boundaries of a job's window: its begin, slices, segments, intervals and end.
//!
//! The loop compares the time of a batch with the next boundary, and calls this module when it is passed:
//! everything counted so far belongs before the boundary. A job on a slow device passes several at once;
//! the slices between are correctly empty.

use crate::arrivals::Arrivals;
use crate::{IntervalTotals, JobCounters, SLICES_PER_SEGMENT, Segment, Slice, Window};
use record::Nanos;

/// The boundaries that a job has passed, and the next one.
#[derive(Debug)]
pub(crate) struct WindowBoundaries {
    window: Window,
    interval: Option<Nanos>,
    pub(crate) counting: bool,
    over: bool,
    next: Nanos,
    slice: usize,
    slice_end: Nanos,
    interval_end: Nanos,
}

impl WindowBoundaries {
    pub(crate) fn new(window: Window, interval: Option<Nanos>) -> Self {
        Self {
            window,
            interval: interval.filter(|length| length.0 > 0),
            counting: false,
            over: false,
            next: window.begin,
            slice: 0,
            slice_end: window.slice_begin(1),
            interval_end: Nanos(u64::MAX),
        }
    }

    /// The time at which [`WindowBoundaries::pass`] is due.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// Passes every boundary up to `now`; `end` is where counting ends.
    pub(crate) fn pass(
        &mut self,
        now: Nanos,
        end: Nanos,
        counters: &JobCounters,
        mut arrivals: Option<&mut Arrivals>,
    ) {
        if self.over || now < self.window.begin {
            return;
        }
        let mut kept = counters.kept();
        if !self.counting {
            self.counting = true;
            kept.slices.push(Slice::default());
            kept.segments.push(Segment::default());
            if let Some(length) = self.interval {
                kept.intervals.push(IntervalTotals::default());
                self.interval_end = self.window.begin.plus(length);
            }
            if let Some(arrivals) = &mut arrivals {
                arrivals.begin_counting(self.window.begin);
            }
        }
        loop {
            let boundary = self.slice_end.min(self.interval_end).min(end);
            if now < boundary {
                self.next = boundary;
                return;
            }
            let mut counts = counters.drain_counts();
            if let Some(arrivals) = &mut arrivals {
                counts.spin_ns = std::mem::take(&mut arrivals.spin_ns);
            }
            kept.add_counts(&counts);
            let segment_ends = (self.slice + 1).is_multiple_of(SLICES_PER_SEGMENT);
            let histograms_due = boundary == end
                || boundary == self.interval_end
                || (boundary == self.slice_end && segment_ends);
            if histograms_due {
                kept.add_histograms(&counters.drain_histograms());
            }
            if boundary == end {
                self.counting = false;
                self.over = true;
                self.next = Nanos(u64::MAX);
                return;
            }
            if boundary == self.interval_end {
                kept.intervals.push(IntervalTotals::default());
                self.interval_end =
                    self.interval.map_or(Nanos(u64::MAX), |length| self.interval_end.plus(length));
            }
            if boundary == self.slice_end {
                self.slice += 1;
                self.slice_end = self.window.slice_begin(self.slice + 1);
                kept.slices.push(Slice::default());
                if segment_ends {
                    kept.segments.push(Segment::default());
                    if let Some(arrivals) = &arrivals {
                        kept.open = Some(arrivals.totals.clone());
                    }
                }
            }
        }
    }
}
