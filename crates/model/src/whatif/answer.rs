//! The latency and rate with which a disk, or a path to disks, serves a load.

/// Mean latencies of a load, in nanoseconds, with their errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) mean: f64,
    /// Of the reads if the model separates them, otherwise of all requests.
    pub(super) read: f64,
    /// The same for writes.
    pub(super) write: f64,
    /// Squared coefficient of variation of the latency.
    pub(super) scv: f64,
    pub(super) rate: f64,
    /// Half-width of the interval of the latencies, as a logarithm.
    pub(super) rel: f64,
    /// The same for the rate.
    pub(super) rate_rel: f64,
    /// Additional factors for the lower and the upper end of the latencies.
    pub(super) ends: (f64, f64),
}

impl Answer {
    /// One latency for all requests, and a rate; both without an error.
    pub(super) fn exact(mean: f64, rate: f64) -> Self {
        let ends = (1.0, 1.0);
        Self { mean, read: mean, write: mean, scv: 0.0, rate, rel: 0.0, rate_rel: 0.0, ends }
    }

    /// The same with an additional error.
    pub(super) fn wider(self, rel: f64) -> Self {
        Self { rel: self.rel.hypot(rel), ..self }
    }
}
