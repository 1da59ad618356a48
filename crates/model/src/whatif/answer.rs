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
    /// The part of it that another load of the same disk does not share.
    pub(super) own_rel: f64,
    /// The part of it that comes from formulae of layers around the disk.
    pub(super) layers_rel: f64,
    /// Queue depth of a disk, or the mean latency of an open load on the clock of the profile, above 0. It
    /// tells how far apart two loads of a mix are.
    pub(super) place: f64,
    /// The same for the rate.
    pub(super) rate_rel: f64,
    /// Additional factors for the lower and the upper end of the latencies.
    pub(super) ends: (f64, f64),
}

impl Answer {
    /// One latency for all requests, and a rate; both without an error.
    pub(super) fn exact(mean: f64, rate: f64) -> Self {
        Self {
            mean,
            read: mean,
            write: mean,
            scv: 0.0,
            rate,
            rel: 0.0,
            own_rel: 0.0,
            layers_rel: 0.0,
            place: 1.0,
            rate_rel: 0.0,
            ends: (1.0, 1.0),
        }
    }

    /// The same with an additional error of a layer.
    pub(super) fn wider(self, rel: f64) -> Self {
        Self { rel: self.rel.hypot(rel), layers_rel: self.layers_rel.hypot(rel), ..self }
    }
}
