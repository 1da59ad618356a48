//! The reported part of a run: its window without the warm-up that was cut off.

use crate::measurement::{absorb, of_bytes};
use crate::{Measurement, SLICES, SLICES_PER_SEGMENT, Segment, Slice};
use record::{Arrival, HistogramSnapshot, Nanos, WarmUp, Workload};

/// The reported part of a run, and the segments cut from its start.
#[derive(Debug)]
pub(crate) struct SteadyWindow<'a> {
    pub(crate) measurement: &'a Measurement,
    pub(crate) cut: usize,
    /// Slices of the reported part, including an unfinished one at an early end.
    pub(crate) slices: Vec<Slice>,
    whole: usize,
    pub(crate) begin: Nanos,
    /// Sum of all slices.
    pub(crate) total: Slice,
    pub(crate) warm_up: Option<WarmUp>,
}

fn sum(slices: &[Slice]) -> Slice {
    slices.iter().fold(Slice::default(), |mut total, slice| {
        total.add(slice);
        total
    })
}

impl<'a> SteadyWindow<'a> {
    pub(crate) fn of(workload: &Workload, measurement: &'a Measurement) -> Self {
        let Measurement { window, end, .. } = *measurement;
        let mut slices = measurement.totals.slices.clone();
        let whole = if end >= window.end {
            SLICES
        } else {
            SLICES.min((end.since(window.begin).0 / window.slice_length().0) as usize)
        };
        slices.resize(slices.len().max(whole), Slice::default());
        // A job that has sent all of its requests passes the rest of the window at once. No load ran then.
        while slices.len() > whole + 1 && slices.last() == Some(&Slice::default()) {
            slices.pop();
        }
        let open = workload.arrival != Arrival::Closed;
        let cut =
            if workload.stop.cut_warm_up { segments_to_cut(&slices[..whole], open) } else { 0 };
        let rest = slices.split_off(cut * SLICES_PER_SEGMENT);
        let begin = window.slice_begin(cut * SLICES_PER_SEGMENT);
        let warm_up = (cut > 0).then(|| {
            let ios = sum(&slices).total_ios();
            let duration_ns = begin.since(window.begin);
            WarmUp { duration_ns, ios, iops: ios as f64 / duration_ns.as_secs_f64().max(1e-9) }
        });
        let whole = whole - cut * SLICES_PER_SEGMENT;
        let total = sum(&rest);
        Self { measurement, cut, slices: rest, whole, begin, total, warm_up }
    }

    pub(crate) fn duration(&self) -> Nanos {
        self.measurement.end.since(self.begin)
    }

    /// Never zero.
    pub(crate) fn seconds(&self) -> f64 {
        self.duration().as_secs_f64().max(1e-9)
    }

    /// The whole slices, used for statistics.
    pub(crate) fn whole(&self) -> &[Slice] {
        &self.slices[..self.whole]
    }

    /// The sum of these histograms over the reported segments.
    pub(crate) fn histogram(
        &self,
        of: impl Fn(&Segment) -> &HistogramSnapshot,
    ) -> HistogramSnapshot {
        let mut all = HistogramSnapshot::default();
        let segments = self.measurement.totals.segments.iter().skip(self.cut);
        segments.for_each(|segment| absorb(&mut all, of(segment)));
        all
    }
}

/// Number of segments to cut at the start of these whole slices. A closed loop is judged by the requests
/// per slice. In an open loop that is the arrival rate, whatever the device does. So it is judged by the
/// sum of latencies per slice, which is the number of requests in flight times a constant.
#[must_use]
pub fn segments_to_cut(slices: &[Slice], open: bool) -> usize {
    let value = |slice: &Slice| {
        let counts = if open { &slice.latency_ns } else { &slice.ios };
        of_bytes(counts) as f64
    };
    let series: Vec<f64> = slices.iter().map(value).collect();
    stats::warm_up_of_run(&series, SLICES_PER_SEGMENT, open)
}
