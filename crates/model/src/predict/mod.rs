//! Predicts the latency and rate of a mix of requests on a device, at a given rate or queue depth.
//!
//! A [`Predictor`] is built once from a profile's cells. It contains all models of [`ModelName`] and their
//! errors on the profile's own open-loop trials, which are held out if a model was fitted to them
//! ([`Predictor::errors`]). The best model is used. Without such trials the mix capacity is used, within
//! the bounds of [`never_open`], and the prediction says so.
//!
//! [`table`] has times per request by operation, pattern, size and depth. [`capacity`] combines them into
//! mixes. [`open`] has the measured deviation of open loads from theory. [`answer`] combines these.
//! [`device_time_share`] has the share of a latency that the device's own counters show. [`after_rest`] has
//! the extra latency of light loads. [`tail`] has the ratio of the slowest requests to the mean.

mod after_rest;
mod answer;
mod capacity;
mod cholesky;
mod describe;
mod device_time_share;
mod document;
mod drift_factors;
mod errors;
mod kriging;
mod left_out;
mod never_open;
mod open;
mod regress;
mod row;
mod sheet;
mod slo;
mod stall_smoothing;
mod table;
mod tail;

pub use document::{DriftNow, PredictQuestion};
pub use drift_factors::DriftFactors;
pub use errors::LOADED;
pub use open::{OpenLoad, open_loads};
pub use sheet::DataSheet;
pub(crate) use table::class_of;
pub use table::mix_of;

use after_rest::AfterRest;
use capacity::Capacity;
use device_time_share::DeviceTimeShare;
use open::OpenTable;
use record::{
    Cap, Cell, Estimate, Locality, Mix, MixClass, ModelAccuracy, ModelName, NORMAL_95, Offered,
    OpKind, Prediction, Profile, Reruns,
};
use table::Rows;

/// Why a load cannot be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// The profile does not contain one of the classes.
    #[error("the profile has no {0}; measure the device again with `check --for-diagnosis`")]
    NotMeasured(String),
    /// The rate exceeds the device's maximum: no mean latency exists.
    #[error(
        "{rate_per_s:.0} IOPS exceed the maximum of this device for this mix ({max_per_s:.0}): the \
         queue grows without bound"
    )]
    Saturated {
        /// The offered rate.
        rate_per_s: f64,
        /// The maximum rate.
        max_per_s: f64,
    },
    /// The rate is within the error of the device's maximum.
    #[error(
        "no steady latency: {rate_per_s:.0} IOPS exceed {sure_per_s:.0}, the highest rate whose \
         latency is known (maximum: {}); beyond it the queue may grow without bound, and a request \
         takes at least {}",
        record::with_interval(max, record::format_iops), record::format_nanos(*least_ns)
    )]
    NearMaximum {
        /// The offered rate.
        rate_per_s: f64,
        /// The maximum rate. Boxed, because it is the largest part of an error.
        max: Box<Estimate>,
        /// The highest rate below it whose latency is known.
        sure_per_s: f64,
        /// The minimum mean latency, in nanoseconds.
        least_ns: f64,
    },
    /// The mix is empty, or its shares do not add up to 1.
    #[error("the shares of a mix must be positive and add up to 1; these add up to {0}")]
    Shares(f64),
    /// The value is not a valid rate or queue depth.
    #[error(
        "{0} is not a rate or queue depth; use a number above 0, and at least 1 for a queue \
             depth"
    )]
    Offered(f64),
    /// No rate meets the latency target.
    #[error("the latency at QD 1 is already higher")]
    OutOfReach,
    /// Not enough data for a percentile.
    #[error(
        "the profile has too few requests of this kind for a p99; `check --for-diagnosis` measures \
         them, or use mean=TIME"
    )]
    NoPercentile,
    /// The profile has no commits for a prediction.
    #[error(
        "the profile has no commits by a single committer ({0}); make a new one with `check \
         DIRECTORY`"
    )]
    NoCommits(String),
}

impl PredictError {
    fn nothing() -> Self {
        Self::NotMeasured("requests".to_owned())
    }
}

/// Models over one profile.
#[derive(Clone, Debug)]
pub struct Predictor {
    capacity: Capacity,
    open: OpenTable,
    inside: DeviceTimeShare,
    after_rest: AfterRest,
    errors: Vec<ModelAccuracy>,
    trials: Vec<errors::OpenTrial>,
    reruns: Reruns,
}

impl Predictor {
    /// The predictor of a profile.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let (reruns, after_rest) = (profile.reruns(), AfterRest::new(&profile.lone_reads));
        Self { reruns, after_rest, ..Self::built(&profile.all_cells(), &profile.caps) }
    }

    /// The predictor of a profile for loads of a single kind, which needs neither mixes nor open loads. It has
    /// the same maximum rates.
    pub(crate) fn of_single_loads(profile: &Profile) -> Self {
        Self { reruns: profile.reruns(), ..Self::built(&profile.cells, &profile.caps) }
    }

    /// The predictor of these cells.
    #[must_use]
    pub fn of_cells(cells: &[Cell]) -> Self {
        Self::built(cells, &[])
    }

    fn built(cells: &[Cell], caps: &[Cap]) -> Self {
        let capacity = Capacity::new(cells, caps);
        let open = open_loads(cells);
        let mut predictor = Self {
            open: OpenTable::new(&capacity, &open, None),
            inside: DeviceTimeShare::new(&capacity, cells),
            after_rest: AfterRest::new(&crate::lone_reads(cells)),
            capacity,
            errors: Vec::new(),
            trials: Vec::new(),
            reruns: Reruns::default(),
        };
        (predictor.errors, predictor.trials) = errors::held_out(&predictor, &open);
        predictor
    }

    /// Predicts the mix with the model of [`Predictor::model_for`].
    ///
    /// # Errors
    /// If the profile lacks a class of the mix, or the rate exceeds the device's maximum.
    pub fn predict(&self, mix: &Mix, offered: Offered) -> Result<Prediction, PredictError> {
        self.predict_by(self.model_for(offered), mix, offered)
    }

    /// The model for rates: the one nearest to the profile's open-loop trials. Without trials, the mix
    /// capacity, because it includes the variation of service times.
    #[must_use]
    pub fn advised(&self) -> ModelName {
        errors::best(self.errors.iter().map(|error| error.model)).unwrap_or(ModelName::MixCapacity)
    }

    /// The model used for a load: [`Predictor::advised`] for a rate; for a constant queue depth, the
    /// measured curve with the interference of mixes.
    #[must_use]
    pub fn model_for(&self, offered: Offered) -> ModelName {
        match offered {
            Offered::PoissonPerS(_) | Offered::ConstantPerS(_) => self.advised(),
            Offered::Depth(_) => ModelName::MixCapacity,
        }
    }

    /// Half-width, as a logarithm, of the interval for another run of a mix, on another file of the disk
    /// and at another time. Predictions include it.
    fn rerun_rel(&self, mix: &Mix, alone: bool) -> f64 {
        rerun(self.reruns.common_se, mix, |class| {
            self.reruns.areas_se(class.op, class.locality, alone)
        })
    }

    /// The part of it that each run has anew, whatever its load.
    pub(crate) fn run_rel(&self) -> f64 {
        NORMAL_95 * self.reruns.run_se
    }

    /// [`Predictor::rerun_rel`] for a percentile, by its index in [`record::PERCENTILES`].
    fn rerun_tail(&self, mix: &Mix, alone: bool, which: usize) -> f64 {
        let common = self.reruns.common_percentile_ses[which];
        let areas_se =
            |class: &MixClass| self.reruns.percentile_se(class.op, class.locality, alone, which);
        rerun(common, mix, areas_se)
    }

    /// Extra latency of a request of a mix after an idle time of this mean, in nanoseconds; `None` if the
    /// profile has no isolated reads.
    #[must_use]
    pub fn after_rest_ns(&self, mix: &Mix, rest_ns: f64) -> Option<Estimate> {
        self.after_rest.longer_ns(mix, rest_ns)
    }

    /// The maximum rate of a mix, requests per second.
    ///
    /// # Errors
    /// If the profile lacks a class of the mix.
    pub fn max_rate(&self, mix: &Mix) -> Result<Estimate, PredictError> {
        let found = self.capacity.max_rate(mix)?;
        if self.capacity.limit(mix).is_some() {
            return Ok(found);
        }
        let found = found.with_ratio_error(self.rerun_rel(mix, false) / NORMAL_95);
        let (low, high) = (found.low, found.high);
        let apart = self.mix_max_error(mix);
        let slower = apart * self.capacity.rewriting(mix, self.capacity.table.deepest());
        Ok(Estimate::spanning(found.value, low / slower, high * apart, 0))
    }

    /// The error of each model on the profile's own open-loop trials, best first; empty without such
    /// trials.
    #[must_use]
    pub fn errors(&self) -> &[ModelAccuracy] {
        &self.errors
    }

    /// Whether the profile has requests of this kind itself, not only substitutes.
    #[must_use]
    pub fn knows(&self, op: OpKind, locality: Locality) -> bool {
        Rows::find(&self.capacity.table.kinds, op, locality).is_some()
    }

    /// Rates of a mix with 1, 2, … requests in flight, never falling; `None` if the profile lacks a class.
    #[must_use]
    pub fn rates_of(&self, mix: &Mix) -> Option<Vec<f64>> {
        self.capacity.known(mix).ok()?;
        self.capacity.rates(mix)
    }
}

/// An error unless the shares are positive and add up to 1.
fn checked(mix: &Mix) -> Result<(), PredictError> {
    let sum: f64 = mix.classes.iter().map(|class| class.share).sum();
    let positive = mix.classes.iter().all(|class| class.share > 0.0 && class.share.is_finite());
    if positive && (sum - 1.0).abs() < 1e-6 { Ok(()) } else { Err(PredictError::Shares(sum)) }
}

/// Half-width of an interval, as a logarithm, from the common error of a mix and those of the areas
/// of its classes.
fn rerun(common_se: f64, mix: &Mix, areas_se: impl Fn(&MixClass) -> f64) -> f64 {
    let areas: f64 = mix.classes.iter().map(|class| class.share * areas_se(class)).sum();
    NORMAL_95 * common_se.hypot(areas)
}
