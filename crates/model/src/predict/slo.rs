//! Finds the highest rate that meets a latency target, in steps from the heaviest load down and then by
//! bisection. The latency need not rise with the rate: a light load wakes up an idle device, and a calibrated
//! curve may dip. A profile without open loads predicts a percentile for a closed loop, because its histograms
//! come from closed loops.

use super::{DriftFactors, PredictError, Predictor};
use record::{Estimate, Mix, Objective, Offered, Prediction};

/// Steps between the lightest and the heaviest load, and bisections of a step: the rate is then known to a
/// millionth of the maximum.
const STEPS: u32 = 24;
const HALVINGS: usize = 16;
/// The lightest and the heaviest load considered, as shares of the maximum.
const LIGHTEST: f64 = 0.01;
const HEAVIEST: f64 = 0.95;

impl Predictor {
    /// The prediction at the highest Poisson rate of a mix whose expected latency meets a target, for the
    /// device at a level, as [`Predictor::predict_near`] takes it with its ends. The rate is at most 95 % of
    /// the maximum, and always one that [`Predictor::steady`] accepts. It may be below the true limit. Its
    /// interval begins at the highest steady rate at which the whole interval of the latency meets the
    /// target (0 if there is none), and ends at the highest rate at which any of it does.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; also if no rate meets it.
    pub fn highest_rate(
        &self,
        (level, ends): (DriftFactors, &[DriftFactors]),
        mix: &Mix,
        objective: Objective,
    ) -> Result<Prediction, PredictError> {
        if let (Objective::P99Ns(most), true) = (objective, self.errors().is_empty()) {
            return self.deepest_loop((level, ends), mix, most);
        }
        let max = self.max_rate_at(level, mix)?;
        let model = self.advised();
        let at = |share: f64| {
            self.predict_near(level, ends, model, mix, Offered::PoissonPerS(share * max.value))
        };
        let keeps = |found: &Prediction, end: fn(&Estimate) -> f64| match objective {
            Objective::MeanNs(most) => Ok(end(&found.latency_ns) <= most),
            Objective::P99Ns(most) => match &found.p99_ns {
                Some(p99) => Ok(end(p99) <= most),
                None => Err(PredictError::NoPercentile),
            },
        };
        let steady = |share: f64| self.steady(at(share)?);
        let share = highest_share(|share| keeps(&steady(share)?, |it| it.value))?;
        let share = share.ok_or(PredictError::OutOfReach)?;
        let safe = highest_share(|share| keeps(&steady(share)?, |it| it.high));
        let safe = safe.ok().flatten().map_or(0.0, |safe| safe.min(share));
        let most = highest_share(|share| keeps(&at(share)?, |it| it.low))?.unwrap_or(share);
        // A target that all rates meet is limited only by the maximum, with the error of that.
        let room = if most >= HEAVIEST { max.high / max.value } else { 1.0 };
        let found = at(share)?;
        let (low, high) = (safe * max.value, most.max(share) * room * max.value);
        Ok(Prediction { iops: Estimate::spanning(found.iops.value, low, high, 0), ..found })
    }

    /// Without open loads no percentile of open arrivals is known. Closed loops have one: the result is the
    /// largest queue depth at which the percentile meets the target.
    fn deepest_loop(
        &self,
        (level, ends): (DriftFactors, &[DriftFactors]),
        mix: &Mix,
        most: f64,
    ) -> Result<Prediction, PredictError> {
        let mut best = Err(PredictError::NoPercentile);
        let mut unknown = false;
        for depth in 1..=self.capacity.table.deepest() {
            let offered = Offered::Depth(depth as f64);
            let at = self.predict_near(level, ends, self.model_for(offered), mix, offered)?;
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

/// The highest share of the maximum rate at which a target is met, at most [`HEAVIEST`]; `None` if no load
/// meets it. A light load may miss a target that a heavier one meets: its requests wake up an idle device.
fn highest_share(
    meets: impl Fn(f64) -> Result<bool, PredictError>,
) -> Result<Option<f64>, PredictError> {
    // A load without a latency does not meet it. The error of the lightest is that of all.
    meets(LIGHTEST)?;
    let meets = |share: f64| meets(share).unwrap_or(false);
    if meets(HEAVIEST) {
        return Ok(Some(HEAVIEST));
    }
    let step = (HEAVIEST - LIGHTEST) / f64::from(STEPS);
    let mut shares = (0..STEPS).rev().map(|at| LIGHTEST + f64::from(at) * step);
    let Some(mut low) = shares.find(|share| meets(*share)) else { return Ok(None) };
    let mut high = low + step;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if meets(middle) { low = middle } else { high = middle }
    }
    Ok(Some(low))
}
