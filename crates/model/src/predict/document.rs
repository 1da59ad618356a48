//! The documents that answer what a load would see: of a profile, and of a data sheet.

use super::{DataSheet, DriftFactors, PredictError, Predictor};
use crate::commits::growing;
use crate::{Sessions, group_commit};
use record::{
    LogKind, Mix, ModelName, Objective, ObjectiveAnswer, Offered, PREDICTION_SCHEMA,
    PredictionDocument, Profile, SheetPrediction, SinceProfile,
};

/// The rate of a data sheet where the user names none, as a share of the largest.
const LIGHT_SHARE: f64 = 1e-6;

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
        let point = commits.point(log, 1).ok_or_else(|| unknown("no trial with one counts"))?;
        let grown = match sessions.record_bytes.filter(|_| log == LogKind::NewBlocks) {
            None => None,
            Some(bytes) => {
                let why = "records that share a block take a trial on an overwritten log";
                let old = commits.point(LogKind::Overwritten, 1).ok_or_else(|| unknown(why))?;
                Some(growing(point, old, bytes as f64))
            }
        };
        let point = grown.as_ref().unwrap_or(point);
        let level = profile.level_se_rel.unwrap_or(0.0);
        let commits = Some(group_commit(point, sessions, level));
        Ok(PredictionDocument { commits, ..self.about(profile) })
    }

    /// The document of a profile, without an answer.
    fn about(&self, profile: &Profile) -> PredictionDocument {
        PredictionDocument {
            profile_id: Some(profile.id.clone()),
            profile_time: profile.time.clone(),
            target: Some(profile.target.path.clone()),
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
        let advised = predictor.advised();
        let near = |model, offered| predictor.predict_near(level, ends, model, &self.mix, offered);
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
        let answer = |&objective: &Objective| {
            let at = predictor.highest_rate(level, &self.mix, objective);
            match at.and_then(|at| near(at.model, at.offered)) {
                Ok(at) => ObjectiveAnswer { objective, at: Some(at), not: None },
                Err(error) => ObjectiveAnswer { objective, at: None, not: Some(error.to_string()) },
            }
        };
        Ok(PredictionDocument {
            advised: Some(advised),
            predictions,
            accuracy: predictor.errors().to_vec(),
            objectives: self.objectives.iter().map(answer).collect(),
            since_profile: now.map(|now| now.since),
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
        let prediction = SheetPrediction { name, highest_per_s, ..answer };
        Ok(PredictionDocument { sheet: Some(prediction), ..self.document() })
    }
}
