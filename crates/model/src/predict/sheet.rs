//! The traditional way: a latency from a data sheet. Seek, half a revolution, transfer and overhead
//! make the service time of a random request, sequential ones save seek and rotation, and M/M/1
//! gives the latency (Friedman, Table 1: 8.0 to 8.1 ms for a random read of 4 KB from a 10,000 rpm
//! drive).

use super::PredictError;
use super::checked;
use crate::queueing::{mm1_response, utilization};
use record::{Locality, Mix, Objective, OpKind};

/// What a data sheet says. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheet {
    /// Average seek of a read.
    pub read_seek_ns: f64,
    /// Average seek of a write.
    pub write_seek_ns: f64,
    /// Revolutions per minute; 0 where nothing turns.
    pub rpm: f64,
    /// Sustained transfer rate of the medium.
    pub bytes_per_s: f64,
    /// Controller, bus and firmware, per request.
    pub overhead_ns: f64,
}

/// What follows from it for a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetAnswer {
    /// Mean service time.
    pub service_ns: f64,
    /// Its parts: seek, rotation, transfer, overhead.
    pub parts_ns: [f64; 4],
    /// 1 / service time.
    pub max_per_s: f64,
    /// U = X S.
    pub utilization: f64,
    /// M/M/1.
    pub latency_ns: f64,
    /// 99th percentile of M/M/1, whose latencies are exponential.
    pub p99_ns: f64,
}

impl DataSheet {
    /// Half a revolution.
    fn rotation_ns(&self) -> f64 {
        if self.rpm > 0.0 { 60e9 / self.rpm / 2.0 } else { 0.0 }
    }

    /// Seek, rotation, transfer and overhead of the mean request of a mix.
    fn parts(&self, mix: &Mix) -> [f64; 4] {
        let mut parts = [0.0; 4];
        for class in &mix.classes {
            let seek =
                if class.op == OpKind::Read { self.read_seek_ns } else { self.write_seek_ns };
            let (seek, rotation, transfer) = match class.locality {
                Locality::Random => (seek, self.rotation_ns(), 1.0),
                Locality::Sequential => (0.0, 0.0, 1.0),
                // Out of the buffer, of which a data sheet says nothing.
                Locality::Hit => (0.0, 0.0, 0.0),
            };
            let transfer = transfer * class.bytes as f64 / self.bytes_per_s * 1e9;
            for (part, value) in parts.iter_mut().zip([seek, rotation, transfer, self.overhead_ns])
            {
                *part += class.share * value;
            }
        }
        parts
    }

    /// The service time, and the latency at a rate.
    ///
    /// # Errors
    /// If the shares are none, or the rate is beyond 1 / service time.
    pub fn at_rate(&self, mix: &Mix, rate_per_s: f64) -> Result<SheetAnswer, PredictError> {
        checked(mix)?;
        let parts_ns = self.parts(mix);
        let service_ns: f64 = parts_ns.iter().sum();
        let used = utilization(rate_per_s, service_ns / 1e9);
        let max_per_s = 1e9 / service_ns;
        let latency = mm1_response(service_ns / 1e9, used);
        let latency_ns = latency.ok_or(PredictError::Saturated { rate_per_s, max_per_s })? * 1e9;
        Ok(SheetAnswer {
            service_ns,
            parts_ns,
            max_per_s,
            utilization: used,
            latency_ns,
            p99_ns: latency_ns * libm::log(100.0),
        })
    }

    /// The highest rate that keeps a target by M/M/1: 1/S - 1/R, with R a percentile's share of it.
    ///
    /// # Errors
    /// If the shares are none, or one request alone takes longer.
    pub fn highest_rate(
        &self,
        mix: &Mix,
        objective: Objective,
    ) -> Result<SheetAnswer, PredictError> {
        checked(mix)?;
        let service_ns: f64 = self.parts(mix).iter().sum();
        let mean_ns = match objective {
            Objective::MeanNs(most) => most,
            Objective::P99Ns(most) => most / libm::log(100.0),
        };
        if mean_ns <= service_ns {
            return Err(PredictError::OutOfReach);
        }
        self.at_rate(mix, 1e9 / service_ns - 1e9 / mean_ns)
    }
}
