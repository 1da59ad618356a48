//! Finds the highest rate that meets a latency target by bisection: mean and percentile rise with the rate.
//! If a calibrated curve dips, the result is one of the rates at which the target is just met. A profile
//! without open loads predicts a percentile for a closed loop, because its histograms come from closed
//! loops.

use super::{DriftFactors, PredictError, Predictor};
use record::{Mix, Objective, Offered, Prediction};

/// Bisection steps: the rate is then known to a millionth of the maximum.
const HALVINGS: usize = 20;
/// The light load that must meet the target, and the heaviest load considered, as shares of the maximum.
const LIGHTEST: f64 = 0.01;
const HEAVIEST: f64 = 0.95;
/// Latencies are considered up to this share of the lower end of the maximum's interval.
const SURE: f64 = 0.999;

impl Predictor {
    /// The prediction at the highest Poisson rate of a mix that meets a target, for the device at a level.
    /// The rate is at most 95 % of the maximum and may be below the true limit.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; also if no rate meets it.
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

    /// Without open loads no percentile of open arrivals is known. Closed loops have one: the result is the
    /// largest queue depth at which the percentile meets the target.
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
                // A shallower loop with too few requests may meet it.
                Some(_) if best.is_ok() || unknown => break,
                Some(_) => return Err(PredictError::OutOfReach),
                None => unknown = true,
            }
        }
        best
    }
}
