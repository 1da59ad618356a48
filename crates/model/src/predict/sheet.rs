//! Predicts latency in the traditional way, from a data sheet. Seek, half a revolution, transfer and
//! overhead make the service time of a random request. Sequential requests need no seek and no rotation.
//! M/M/1 gives the latency (Friedman, Table 1: 8.0 to 8.1 ms for a random read of 4 KB from a 10,000 rpm
//! drive).

use super::PredictError;
use super::checked;
use crate::queueing::mm1_response;
use record::{Locality, Mix, Objective, OpKind, SheetPrediction};

/// Figures of a data sheet; times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheet {
    /// Average seek of a read.
    pub read_seek_ns: f64,
    /// Average seek of a write.
    pub write_seek_ns: f64,
    /// Revolutions per minute; 0 for drives without rotation.
    pub rpm: f64,
    /// Sustained transfer rate of the medium.
    pub bytes_per_s: f64,
    /// Controller, bus and firmware, per request.
    pub overhead_ns: f64,
}

impl DataSheet {
    /// Seek, rotation, transfer and overhead of the mean request of a mix.
    fn parts(&self, mix: &Mix) -> [f64; 4] {
        let half_turn = if self.rpm > 0.0 { 60e9 / self.rpm / 2.0 } else { 0.0 };
        let mut parts = [0.0; 4];
        for class in &mix.classes {
            let seek =
                if class.op == OpKind::Read { self.read_seek_ns } else { self.write_seek_ns };
            let (seek, rotation, transfer) = match class.locality {
                Locality::Random => (seek, half_turn, 1.0),
                Locality::Sequential => (0.0, 0.0, 1.0),
                // Served from the buffer, for which a data sheet has no figures.
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

    /// The service time, and the latency at a rate by M/M/1, which has an exponential distribution. The
    /// name of the drive is left empty.
    ///
    /// # Errors
    /// If the shares are invalid, or the rate exceeds 1 / service time.
    pub fn at_rate(&self, mix: &Mix, rate_per_s: f64) -> Result<SheetPrediction, PredictError> {
        checked(mix)?;
        let parts @ [seek_ns, rotation_ns, transfer_ns, overhead_ns] = self.parts(mix);
        let service_ns: f64 = parts.iter().sum();
        // The utilization law, U = X S (Denning and Buzen 1978).
        let utilization = rate_per_s * (service_ns / 1e9);
        let max_per_s = 1e9 / service_ns;
        let latency = mm1_response(service_ns / 1e9, utilization);
        let latency_ns = latency.ok_or(PredictError::Saturated { rate_per_s, max_per_s })? * 1e9;
        Ok(SheetPrediction {
            name: String::new(),
            seek_ns,
            rotation_ns,
            transfer_ns,
            overhead_ns,
            service_ns,
            max_per_s,
            utilization,
            latency_ns,
            p99_ns: latency_ns * libm::log(100.0),
            highest_per_s: None,
        })
    }

    /// The highest rate that meets a latency target by M/M/1: 1/S - 1/R. For a percentile, R is the mean
    /// that corresponds to it.
    ///
    /// # Errors
    /// If the shares are invalid, or a single request already takes longer.
    pub fn highest_rate(&self, mix: &Mix, objective: Objective) -> Result<f64, PredictError> {
        checked(mix)?;
        let service_ns: f64 = self.parts(mix).iter().sum();
        let mean_ns = match objective {
            Objective::MeanNs(most) => most,
            Objective::P99Ns(most) => most / libm::log(100.0),
        };
        if mean_ns <= service_ns {
            return Err(PredictError::OutOfReach);
        }
        Ok(1e9 / service_ns - 1e9 / mean_ns)
    }
}
