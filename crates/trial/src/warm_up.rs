//! How many segments at the start of a run are left out.

use crate::{SLICES_PER_SEGMENT, Slice};

/// Number of segments to leave out at the start of these whole slices. In a closed loop the requests
/// per slice are looked at. In an open loop their rate is that of the arrivals whatever the device
/// does, so the sum of response times per slice is, which is the number of requests in progress but
/// for a constant.
#[must_use]
pub fn segments_to_cut(slices: &[Slice], open: bool) -> usize {
    let value = |slice: &Slice| {
        let sum = if open { &slice.latency_ns } else { &slice.ios };
        (sum[0] + sum[1]) as f64
    };
    let series: Vec<f64> = slices.iter().map(value).collect();
    stats::warm_up_of_run(&series, SLICES_PER_SEGMENT, open)
}
