//! Models one disk under a part of the load. If every request takes f times as long, the disk is the same
//! queueing system on a slower clock: at rate X it has f times the latency of the measured disk at rate f
//! X. This is exact for any model and mix. An observed load gets latencies as the device's counters show
//! them, a load stated by the user latencies as programs see them.

use super::WhatIfError;
use super::answer::Answer;
use crate::predict::{DriftFactors, Predictor};
use record::{Estimate, Mix, Offered, Prediction};

#[derive(Clone, Copy, Debug)]
pub(super) struct Disk<'a> {
    pub(super) predictor: &'a Predictor,
    pub(super) factor: f64,
    pub(super) counted: bool,
}

/// Minimum half-width of an interval, as a logarithm. It does not apply to a rate from a profile without
/// open loads, whose bounds are wide.
const MODEL_ERROR: f64 = 0.105;

impl Disk<'_> {
    fn level(&self) -> DriftFactors {
        DriftFactors::clock(1.0 / self.factor)
    }

    /// Half-widths of the intervals of the latency and of the rate, and the factor of the shortest latency.
    fn errors(&self, found: &Prediction) -> (f64, f64, f64) {
        let rel = spread(&found.latency_ns).max(MODEL_ERROR);
        if !found.offered.is_open() {
            return (rel, spread(&found.iops).max(MODEL_ERROR), 1.0);
        }
        if self.predictor.errors().is_empty() {
            let rel = spread(&found.latency_ns);
            return (rel, 0.0, found.latency_ns.low / found.latency_ns.value * libm::exp(rel));
        }
        // However large the error of the open loads: no request takes less time than a lone one.
        let alone = found.unloaded_latency_ns.value * libm::exp(-MODEL_ERROR);
        let least = (alone / found.latency_ns.value).min(1.0);
        (rel, 0.0, (least * libm::exp(rel)).max(1.0))
    }

    /// Half-width, as a logarithm, of the error that another load of this disk does not share: those of its
    /// cells or open loads, and the noise of a run. Without open loads, the bounds of a wait come from one
    /// curve and hold for all rates.
    fn own(&self, found: &Prediction) -> f64 {
        let run = self.predictor.run_rel();
        let bounded = found.offered.is_open() && self.predictor.errors().is_empty();
        if bounded { run } else { found.in_run_rel.hypot(run) }
    }

    pub(super) fn ask(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        let model = self.predictor.model_for(offered);
        let found = self.predictor.predict_at(self.level(), model, mix, offered)?;
        let mut found = self.predictor.steady(found)?;
        if self.counted {
            found = self.predictor.counted(found);
        }
        let (mean, alone) = (found.latency_ns.value, found.unloaded_latency_ns.value);
        let of =
            |estimate: &Option<Estimate>| estimate.as_ref().map_or(mean, |estimate| estimate.value);
        let wait = (mean - alone).max(0.0);
        let rho = found.saturation.clamp(0.01, 1.0);
        // The variance of a lone request as measured, and that of the wait as behind one exponential
        // server.
        let (rel, rate_rel, shortest) = self.errors(&found);
        let service = self.scv(mix);
        let variance = alone * alone * service + wait * wait * (2.0 - rho) / rho;
        Ok(Answer {
            mean,
            read: of(&found.read_latency_ns),
            write: of(&found.write_latency_ns),
            scv: variance / (mean * mean).max(f64::MIN_POSITIVE),
            rate: found.iops.value,
            rel,
            own_rel: self.own(&found),
            layers_rel: 0.0,
            place: match offered {
                Offered::Depth(depth) => depth,
                _ => mean / self.factor,
            },
            rate_rel,
            ends: (shortest, 1.0),
        })
    }

    /// The maximum rate, requests per second, and the half-width of its interval as a logarithm.
    pub(super) fn max(&self, mix: &Mix) -> Result<(f64, f64), WhatIfError> {
        let max = self.predictor.max_rate_at(self.level(), mix)?;
        Ok((max.value, spread(&max)))
    }

    /// Rates with 1, 2, … requests in flight; at least one.
    pub(super) fn rates(&self, mix: &Mix) -> Result<Vec<f64>, WhatIfError> {
        self.max(mix)?;
        let rates = self.predictor.rates_of(mix).unwrap_or_default();
        Ok(rates.into_iter().map(|rate| rate / self.factor).collect())
    }

    /// Squared coefficient of variation of a lone request's time.
    pub(super) fn scv(&self, mix: &Mix) -> f64 {
        self.predictor.scv_of(mix).unwrap_or(1.0)
    }
}

/// Half-width of an interval as a logarithm.
fn spread(estimate: &Estimate) -> f64 {
    if estimate.value > 0.0 && estimate.high > estimate.value {
        libm::log(estimate.high / estimate.value)
    } else {
        0.0
    }
}
