//! The highest rate that keeps a target, by bisection: mean and percentile rise with the rate. Where
//! a calibrated curve dips, the answer is one of the rates at which the target is just met. A profile
//! without open loads answers for a percentile with a closed loop, which its histograms are of.

use super::{DriftFactors, PredictError, Predictor};
use record::{Mix, Objective, Offered, Prediction};

/// Halvings: the rate is then known to a millionth of the maximum.
const HALVINGS: usize = 20;
/// The light load that must keep the target, and the heaviest one that is looked at, as shares of
/// the maximum.
const LIGHTEST: f64 = 0.01;
const HEAVIEST: f64 = 0.95;
/// Part of the lower end of the maximum's interval, from which on no latency is steady for certain.
const SURE: f64 = 0.999;

impl Predictor {
    /// The prediction at the highest Poisson rate of a mix that keeps a target, of the device at a
    /// level; at most 95 % of the maximum, and less than it may be.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; also if no rate keeps it.
    pub fn highest_rate(
        &self,
        level: DriftFactors,
        mix: &Mix,
        objective: Objective,
    ) -> Result<Prediction, PredictError> {
        if let (Objective::P99Ns(most), true) = (objective, self.errors().is_empty()) {
            return self.deepest_loop(level, mix, most);
        }
        let known = self.max_rate_at(level, mix)?;
        let (max, sure) = (known.value, SURE * known.low / known.value);
        let model = self.advised();
        let at = |share: f64| self.predict_at(level, model, mix, Offered::PoissonPerS(share * max));
        let keeps = |prediction: &Prediction| match objective {
            Objective::MeanNs(most) => Ok(prediction.latency_ns.value <= most),
            Objective::P99Ns(most) => match &prediction.p99_ns {
                Some(p99) => Ok(p99.value <= most),
                None => Err(PredictError::NoPercentile),
            },
        };
        let mut best = at(LIGHTEST)?;
        if !keeps(&best)? {
            return Err(PredictError::OutOfReach);
        }
        let (mut low, mut high) = (LIGHTEST, HEAVIEST.min(sure).max(LIGHTEST));
        if let Ok(heaviest) = at(high)
            && keeps(&heaviest)?
        {
            return Ok(heaviest);
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match at(middle) {
                Ok(prediction) if keeps(&prediction)? => (low, best) = (middle, prediction),
                _ => high = middle,
            }
        }
        Ok(best)
    }

    /// Without open loads there is no percentile of arrivals; closed loops have one: that of the largest
    /// number of requests outstanding at which it keeps the target.
    fn deepest_loop(
        &self,
        level: DriftFactors,
        mix: &Mix,
        most: f64,
    ) -> Result<Prediction, PredictError> {
        let mut best = Err(PredictError::NoPercentile);
        let mut unknown = false;
        for depth in 1..=self.capacity.table.deepest() {
            let offered = Offered::Depth(depth as f64);
            let at = self.predict_at(level, self.model_for(offered), mix, offered)?;
            match &at.p99_ns {
                Some(p99) if p99.value <= most => best = Ok(at),
                // A shallower one of too few requests may keep it.
                Some(_) if best.is_ok() || unknown => break,
                Some(_) => return Err(PredictError::OutOfReach),
                None => unknown = true,
            }
        }
        best
    }
}
