//! The documents that answer what a load would see: of a profile, and of a data sheet.

use super::{DataSheet, DriftFactors, PredictError, Predictor};
use crate::commits::growing;
use crate::{Sessions, group_commit};
use record::{
    Estimate, LogKind, Mix, ModelName, Objective, ObjectiveAnswer, Offered, PREDICTION_SCHEMA,
    PredictedPoint, PredictionDocument, Profile, SheetPrediction, SinceProfile,
};

/// The rate of a data sheet where the user names none, as a share of the largest.
const LIGHT_SHARE: f64 = 1e-6;
/// Rates of a curve, as shares of the largest.
const CURVE_SHARES: [f64; 13] =
    [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
/// How far the curve of a number outstanding reaches, in multiples of the one that was asked about.
const CURVE_BEYOND: f64 = 4.0;

/// What is asked of a device.
#[derive(Clone, Debug)]
pub struct PredictQuestion {
    /// The mix.
    pub mix: Mix,
    /// How much of it; `None` where only objectives are asked about.
    pub offered: Option<Offered>,
    /// Targets for which the highest rate is asked.
    pub objectives: Vec<Objective>,
    /// Version of the program.
    pub halfpower_version: String,
}

/// What a device does now, by some of the profile's loads run again.
#[derive(Clone, Debug)]
pub struct DriftNow {
    /// The level.
    pub level: DriftFactors,
    /// The level with one number at an end of its interval.
    pub ends: Vec<DriftFactors>,
    /// The same for a reader.
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

    /// What sessions that commit to a log would see, by the commits of a profile.
    ///
    /// # Errors
    /// If the profile has no commits of one committer to such a log.
    pub fn by_commits(
        &self,
        profile: &Profile,
        log: LogKind,
        sessions: &Sessions,
    ) -> Result<PredictionDocument, PredictError> {
        let unknown = |why: &str| PredictError::NoCommits(why.to_owned());
        let commits = profile.commits.known().map_err(unknown)?;
        let point = commits
            .point(log, 1)
            .ok_or_else(|| unknown("no trial with a single committer is valid"))?;
        let grown = match sessions.record_bytes.filter(|_| log == LogKind::NewBlocks) {
            None => None,
            Some(bytes) => {
                let why = "records that share a block need a trial on an overwritten log";
                let old = commits.point(LogKind::Overwritten, 1).ok_or_else(|| unknown(why))?;
                Some(growing(point, old, bytes as f64))
            }
        };
        let point = grown.as_ref().unwrap_or(point);
        let level = profile.common_se();
        let played =
            |count: u32| group_commit(point, &Sessions { sessions: count, ..*sessions }, level);
        let commits = played(sessions.sessions);
        let curve = doublings(f64::from(sessions.sessions), 1.0).into_iter().map(|at| {
            let own = (at as u32 != sessions.sessions).then(|| played(at as u32));
            let one = own.as_ref().unwrap_or(&commits);
            PredictedPoint {
                at,
                latency_ns: one.commit_ns,
                p99_ns: Some(one.commit_p99_ns),
                per_s: one.commits_per_s,
            }
        });
        let curve = curve.collect();
        Ok(PredictionDocument { curve, commits: Some(commits), ..self.about(profile) })
    }

    /// The document of a profile, without an answer.
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

    /// By the predictor of a profile, which with `now` is one that knows the trials of `now`.
    ///
    /// # Errors
    /// If the advised model has no answer.
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
            // The calibrated model without a trial behind it is the one before it.
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
            let at = predictor.highest_rate(level, &self.mix, objective);
            match at.and_then(|at| near(at.model, at.offered)) {
                Ok(at) => Ok(ObjectiveAnswer { objective, at: Some(at), not: None }),
                // Where nothing else was asked, the whole question has no answer.
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

    /// By a data sheet of this name, at the rate asked for; a depth is not looked at.
    ///
    /// # Errors
    /// If the rate is more than it can do, or an objective is met at no rate.
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
            // A formula without any measurement has no interval.
            let exact = |value| Estimate::spanning(value, value, value, 0);
            let (latency_ns, p99_ns) = (exact(one.latency_ns), Some(exact(one.p99_ns)));
            Some(PredictedPoint { at, latency_ns, p99_ns, per_s: exact(at) })
        });
        let curve = curve.collect();
        let prediction = SheetPrediction { name, highest_per_s, ..answer };
        Ok(PredictionDocument { curve, sheet: Some(prediction), ..self.document() })
    }
}

/// Loads of the kind of this one, lighter and heavier, itself among them, by rising load; `max` is the
/// largest rate.
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

/// The powers of two up to so many times a number, and the number.
fn doublings(asked: f64, beyond: f64) -> Vec<f64> {
    let powers = (0..32).map(|power| f64::from(1u32 << power));
    let mut all: Vec<f64> = powers.take_while(|power| *power <= asked * beyond).collect();
    all.push(asked);
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}
