//! What a disk, or a path to disks, answers a load with.

/// Mean latencies of a load, in nanoseconds, and how far they can be off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) mean: f64,
    /// Of the reads, where the model tells; else of all.
    pub(super) read: f64,
    /// Of the writes, likewise.
    pub(super) write: f64,
    /// Squared coefficient of variation of the latency.
    pub(super) scv: f64,
    pub(super) rate: f64,
    /// Half-width of the interval of the times, as a logarithm.
    pub(super) rel: f64,
    /// The same of the rate.
    pub(super) rate_rel: f64,
    /// Further factors of the lower and the upper end of the times.
    pub(super) ends: (f64, f64),
}

impl Answer {
    /// A mean of all requests and a rate without an error.
    pub(super) fn exact(mean: f64, rate: f64) -> Self {
        let ends = (1.0, 1.0);
        Self { mean, read: mean, write: mean, scv: 0.0, rate, rel: 0.0, rate_rel: 0.0, ends }
    }

    /// The same with an error beside.
    pub(super) fn wider(self, rel: f64) -> Self {
        Self { rel: self.rel.hypot(rel), ..self }
    }
}
