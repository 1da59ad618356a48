//! Builds the documents with predictions for a load, from a profile or from a data sheet.

use super::{DataSheet, DriftFactors, PredictError, Predictor};
use crate::{Flushes, Sessions, group_commit};
use record::{
    Estimate, LogKind, Mix, ModelName, Objective, ObjectiveAnswer, Offered, PREDICTION_SCHEMA,
    PredictedPoint, PredictionDocument, Profile, SheetPrediction, SinceProfile,
};

/// The rate for a data sheet if the user names none, as a share of the largest.
const LIGHT_SHARE: f64 = 1e-6;
/// Rates of a curve, as shares of the largest rate.
const CURVE_SHARES: [f64; 13] =
    [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
/// How far the curve of a queue depth extends, in multiples of the requested one.
const CURVE_BEYOND: f64 = 4.0;

/// The request for a prediction.
#[derive(Clone, Debug)]
pub struct PredictQuestion {
    /// The mix.
    pub mix: Mix,
    /// The offered load; `None` if only objectives are requested.
    pub offered: Option<Offered>,
    /// Latency targets for which the highest rate is requested.
    pub objectives: Vec<Objective>,
    /// Version of halfpower that predicts.
    pub halfpower_version: String,
}

/// The current level of a device, from a rerun of some of the profile's loads.
#[derive(Clone, Debug)]
pub struct DriftNow {
    /// The level.
    pub level: DriftFactors,
    /// The levels with one number at an end of its interval.
    pub ends: Vec<DriftFactors>,
    /// The same as reported to the user.
    pub since: SinceProfile,
}

impl PredictQuestion {
    fn document(&self) -> PredictionDocument {
        PredictionDocument {
            schema: PREDICTION_SCHEMA.to_owned(),
            halfpower_version: self.halfpower_version.clone(),
            mix: self.mix.clone(),
            offered: self.offered,
            ..PredictionDocument::default()
        }
    }

    /// Predicts the commits of sessions to a log, from the commits of a profile.
    ///
    /// # Errors
    /// If the profile has no commits of a single committer to this kind of log.
    pub fn by_commits(
        &self,
        profile: &Profile,
        log: LogKind,
        sessions: &Sessions,
    ) -> Result<PredictionDocument, PredictError> {
        let unknown = |why: &str| PredictError::NoCommits(why.to_owned());
        let commits = profile.commits.known().map_err(unknown)?;
        let level = profile.common_se();
        let played = |count: u32| -> Result<_, PredictError> {
            let sessions = Sessions { sessions: count, ..*sessions };
            let flushes = Flushes::of(commits, log, &sessions).map_err(unknown)?;
            Ok(group_commit(flushes, &sessions, level))
        };
        let prediction = played(sessions.sessions)?;
        let point = |at: f64| -> Result<PredictedPoint, PredictError> {
            let own = (at as u32 != sessions.sessions).then(|| played(at as u32)).transpose()?;
            let one = own.as_ref().unwrap_or(&prediction);
            Ok(PredictedPoint {
                at,
                latency_ns: one.commit_ns,
                p99_ns: Some(one.commit_p99_ns),
                per_s: one.commits_per_s,
            })
        };
        let curve = doublings(f64::from(sessions.sessions), 1.0);
        let curve = curve.into_iter().map(point).collect::<Result<_, _>>()?;
        Ok(PredictionDocument { curve, commits: Some(prediction), ..self.about(profile) })
    }

    /// The document of a profile, without predictions.
    fn about(&self, profile: &Profile) -> PredictionDocument {
        PredictionDocument {
            profile_id: Some(profile.id.clone()),
            profile_time: profile.time.clone(),
            target: Some(profile.target.path.clone()),
            area_bytes: Some(profile.target.size_bytes.0),
            simulated: profile.simulated,
            ..self.document()
        }
    }

    /// Predicts with the predictor of a profile. With `now`, the predictor must include the trials of
    /// `now`.
    ///
    /// # Errors
    /// If the advised model cannot predict the load.
    pub fn by_profile(
        &self,
        profile: &Profile,
        predictor: &Predictor,
        now: Option<DriftNow>,
    ) -> Result<PredictionDocument, PredictError> {
        let level = now.as_ref().map_or(DriftFactors::PROFILED, |now| now.level);
        let ends = now.as_ref().map_or(&[][..], |now| &now.ends);
        let asked = self.offered.unwrap_or(Offered::PoissonPerS(1.0));
        let advised = predictor.model_for(asked);
        let near = |model, offered| {
            predictor.steady(predictor.predict_near(level, ends, model, &self.mix, offered)?)
        };
        let mut predictions = Vec::new();
        if let Some(offered) = self.offered {
            predictions.push(near(advised, offered)?);
            // Without trials, the calibrated model equals the model before it.
            let open = !predictor.errors().is_empty();
            let known = |model: &ModelName| *model != ModelName::Calibrated || open;
            let others = ModelName::ALL.into_iter().filter(|model| *model != advised);
            predictions.extend(others.filter(known).filter_map(|model| near(model, offered).ok()));
            predictions.sort_by_cached_key(|prediction| prediction.model);
        }
        let max = predictor.max_rate_at(level, &self.mix)?.value;
        let curve = self.offered.map_or_else(Vec::new, |offered| {
            let point = |(at, offered)| {
                let one = near(advised, offered).ok()?;
                let (latency_ns, p99_ns, per_s) = (one.latency_ns, one.p99_ns, one.iops);
                Some(PredictedPoint { at, latency_ns, p99_ns, per_s })
            };
            around(offered, max).into_iter().filter_map(point).collect()
        });
        let answer = |&objective: &Objective| {
            match predictor.highest_rate((level, ends), &self.mix, objective) {
                Ok(at) => Ok(ObjectiveAnswer { objective, at: Some(at), not: None }),
                // If only this objective was requested, the whole request fails.
                Err(PredictError::NoPercentile) if self.offered.is_none() => {
                    Err(PredictError::NoPercentile)
                }
                Err(error) => {
                    Ok(ObjectiveAnswer { objective, at: None, not: Some(error.to_string()) })
                }
            }
        };
        Ok(PredictionDocument {
            advised: Some(advised),
            predictions,
            accuracy: predictor.errors().to_vec(),
            objectives: self.objectives.iter().map(answer).collect::<Result<_, _>>()?,
            since_profile: now.map(|now| now.since),
            curve,
            ..self.about(profile)
        })
    }

    /// Predicts from a data sheet of this name, at the requested rate. A queue depth is ignored.
    ///
    /// # Errors
    /// If the rate exceeds the data sheet's maximum, or no rate meets an objective.
    pub fn by_sheet(
        &self,
        name: String,
        sheet: &DataSheet,
    ) -> Result<PredictionDocument, PredictError> {
        let alone = sheet.at_rate(&self.mix, 0.0)?;
        let rate = match self.offered {
            Some(Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate)) => rate,
            _ => LIGHT_SHARE * alone.max_per_s,
        };
        let answer = sheet.at_rate(&self.mix, rate)?;
        let kept = |&objective: &Objective| sheet.highest_rate(&self.mix, objective);
        let kept = self.objectives.iter().map(kept).collect::<Result<Vec<f64>, _>>()?;
        let highest_per_s = kept.into_iter().reduce(f64::min);
        let curve = around(Offered::PoissonPerS(rate), answer.max_per_s).into_iter();
        let curve = curve.filter_map(|(at, _)| {
            let one = sheet.at_rate(&self.mix, at).ok()?;
            // A formula without measurements has no interval.
            let exact = |value| Estimate::spanning(value, value, value, 0);
            let (latency_ns, p99_ns) = (exact(one.latency_ns), Some(exact(one.p99_ns)));
            Some(PredictedPoint { at, latency_ns, p99_ns, per_s: exact(at) })
        });
        let curve = curve.collect();
        let prediction = SheetPrediction { name, highest_per_s, ..answer };
        Ok(PredictionDocument { curve, sheet: Some(prediction), ..self.document() })
    }
}

/// Loads of the same kind, lighter and heavier and including this one, by rising load. `max` is the largest
/// rate.
fn around(offered: Offered, max: f64) -> Vec<(f64, Offered)> {
    type Load = fn(f64) -> Offered;
    let (asked, load, mut all): (f64, Load, Vec<f64>) = match offered {
        Offered::Depth(depth) => (depth, Offered::Depth, doublings(depth, CURVE_BEYOND)),
        Offered::PoissonPerS(rate) => (rate, Offered::PoissonPerS, Vec::new()),
        Offered::ConstantPerS(rate) => (rate, Offered::ConstantPerS, Vec::new()),
    };
    if offered.is_open() {
        all.extend(CURVE_SHARES.map(|share| share * max));
        all.push(asked);
    }
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.into_iter().map(|at| (at, load(at))).collect()
}

/// The powers of two up to `asked` times `beyond`, and `asked` itself.
fn doublings(asked: f64, beyond: f64) -> Vec<f64> {
    let powers = (0..32).map(|power| f64::from(1u32 << power));
    let mut all: Vec<f64> = powers.take_while(|power| *power <= asked * beyond).collect();
    all.push(asked);
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}
