//! Validates a profile: draws random loads that are not part of it, predicts them, and then measures them.
//!
//! Two thirds of the loads are below 70 % of the predicted maximum rate, where the mean latency is a
//! property of the device. The others are above, where it depends on the error of that rate. Seed and
//! random stream differ from those of `check --for-diagnosis`.
//!
//! A profile is minutes old by then, and a shared device drifts within minutes. So a [`DriftProbe`]
//! measures the device right before each visit, and the models are judged by their predictions at that
//! level. The predictions for the device as profiled are reported next to them. Two visits to a load show
//! the drift of the device only if time passes between them. So all loads are visited, then their maximum
//! rates, then all of that again. A simulated device starts anew with each trial and needs no probe.

use crate::drift_probe::{DriftProbe, Look};
use crate::loads::{Amount, LoadSpec};
use crate::planned::{Plan, PlannedTrial, Progress};
use model::{DriftFactors, Predictor};
use record::{
    Bytes, Cell, EngineName, Mix, ModelName, ModelPrediction, Nanos, Offered, Severity,
    SinceProfile, Trial, ValidationTrial, Workload,
};
use std::collections::VecDeque;
use workload::{BuildError, Rng, derive_seed};

/// Every third load is above [`model::LOADED`].
const LOADED_EVERY: usize = 3;
/// Ranges of the loads in percent of the maximum rate, below and above.
const LIGHT: (u64, u64) = (10, 70);
const HEAVY: (u64, u64) = (70, 88);
/// Measured time of a visit on a real target.
const RUNTIME: Nanos = Nanos(8_000_000_000);
/// Requests of a visit in virtual time.
const REQUESTS: f64 = 40_000.0;
/// Share of these requests that a closed loop needs.
const CLOSED_SHARE: f64 = 0.5;
/// A visit at the maximum rate takes the time of a visit divided by this.
const CLOSED_PART: u64 = 2;
/// The ramp of a visit is its length divided by this.
const RAMP_SHARE: u64 = 10;
/// Rounds of visits: `true` for all loads, `false` for the maximum rates of all. These differ between
/// visits by 4 to 6 % on a virtual disk: the mean of five is precise to half of a goal of 5 %, and the
/// probe runs in between update the profile.
const ROUNDS: [bool; 7] = [true, false, true, false, false, false, false];
/// Number of these rounds on a simulated device, where visits differ only by the randomness of the loads.
const SIMULATED_ROUNDS: usize = 5;
/// Number of seeds per round, more than the number of loads.
const SEEDS_PER_ROUND: u64 = 10_000;

/// Settings of a validation.
#[derive(Clone, Debug)]
pub struct ValidationSettings {
    /// Size of the measured area.
    pub area: Bytes,
    /// Engine of all visits.
    pub engine: EngineName,
    /// Offsets and sizes of direct I/O must be multiples of this, in bytes.
    pub alignment: u64,
    /// Number of loads to draw.
    pub loads: u32,
    /// Whether loads may write.
    pub write: bool,
    /// Measured time of a visit; `None` for the default.
    pub runtime: Option<Nanos>,
    /// Whether time is virtual.
    pub simulated: bool,
    /// Seed of loads and requests.
    pub seed: u64,
}

/// A load, and its predictions at each visit.
#[derive(Clone, Debug)]
struct Case {
    trial: ValidationTrial,
    at_rate: Workload,
    at_largest_rate: Workload,
    /// By valid visit, and model.
    foretold_now: Vec<Vec<ModelPrediction>>,
    max_iops_now: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Look(Look),
    Visit { case: usize, at_rate: bool, seed: u64 },
}

/// Plans a validation.
#[derive(Debug)]
pub struct ValidatePlan<'a> {
    /// Predictor of the profile.
    predictor: &'a Predictor,
    cells: &'a [Cell],
    probe: Option<DriftProbe<'a>>,
    /// The latest level, and the models updated with the probe runs.
    now: Option<(DriftFactors, Predictor)>,
    cases: Vec<Case>,
    steps: VecDeque<Step>,
    /// The case of the current visit, and whether it is at the load's rate; `None` in a probe run.
    visit: Option<(usize, bool)>,
    /// Measured time so far, ramps included.
    pub spent: Nanos,
    budget: Nanos,
}

/// A load and its share of the predicted maximum rate, in percent.
fn draw(rng: &mut Rng, at: usize, write: bool) -> (LoadSpec, u64) {
    let load = LoadSpec::draw(rng, write);
    let (low, high) = if at % LOADED_EVERY == LOADED_EVERY - 1 { HEAVY } else { LIGHT };
    (load, low + rng.below(high - low))
}

impl<'a> ValidatePlan<'a> {
    /// A plan for the profile of these cells. `probe`, if given, has completed its whole run.
    ///
    /// # Errors
    /// If a load does not fit the area.
    pub fn new(
        settings: &ValidationSettings,
        cells: &'a [Cell],
        predictor: &'a Predictor,
        probe: Option<DriftProbe<'a>>,
    ) -> Result<Self, BuildError> {
        let spent = probe.as_ref().map_or(Nanos(0), |probe| probe.spent);
        let mut plan = Self {
            predictor,
            cells,
            probe,
            now: None,
            cases: Vec::new(),
            steps: VecDeque::new(),
            visit: None,
            spent,
            budget: spent,
        };
        plan.follow();
        let mut rng = Rng::new(derive_seed(settings.seed, u64::MAX - 3));
        for at in 0..settings.loads as usize {
            let (load, percent) = draw(&mut rng, at, settings.write);
            plan.cases.extend(plan.case(settings, &load, percent)?);
        }
        let rounds = if settings.simulated { &ROUNDS[..SIMULATED_ROUNDS] } else { &ROUNDS };
        for (round, &at_rate) in (0..).zip(rounds) {
            let look = if at_rate { Look::BeforeOpen } else { Look::BeforeClosed };
            for case in 0..plan.cases.len() {
                if let Some(probe) = &plan.probe {
                    plan.steps.push_back(Step::Look(look));
                    plan.budget = plan.budget.plus(probe.time(look));
                }
                let seed = derive_seed(settings.seed, round * SEEDS_PER_ROUND + case as u64) >> 11;
                plan.steps.push_back(Step::Visit { case, at_rate, seed });
                let Workload { runtime_ns, ramp_ns, .. } = plan.cases[case].workload(at_rate);
                plan.budget = plan.budget.plus(*runtime_ns).plus(*ramp_ns);
            }
        }
        Ok(plan)
    }

    /// A load with its predictions; `None` if the profile does not cover it.
    fn case(
        &self,
        settings: &ValidationSettings,
        load: &LoadSpec,
        percent: u64,
    ) -> Result<Option<Case>, BuildError> {
        let mix = load.mix();
        let (Ok(max_iops), Some(now)) = (self.predictor.max_rate(&mix), self.max_now(&mix)) else {
            return Ok(None);
        };
        let rate_per_s = (now * percent as f64 / 100.0).round().max(1.0);
        // The maximum rate is measured with the deepest queue of the profile.
        let deepest = self.cells.iter().map(|cell| cell.workload.depth).max().unwrap_or(1);
        let workload = |amount: Amount, rate: f64, part: u64| {
            let time = match (settings.runtime, settings.simulated) {
                (Some(asked), _) => asked,
                (None, true) => Nanos((REQUESTS / rate * 1e9) as u64),
                (None, false) => RUNTIME,
            };
            let runtime_ns = Nanos(time.0 / part);
            let ramp_ns = Nanos(runtime_ns.0 / RAMP_SHARE);
            let built =
                load.workload(amount, settings.area, settings.engine, settings.alignment)?;
            Ok(Workload { runtime_ns, ramp_ns, ..built })
        };
        let largest = max_iops.value / CLOSED_SHARE;
        Ok(Some(Case {
            at_rate: workload(Amount::Poisson(rate_per_s as u64), rate_per_s, 1)?,
            at_largest_rate: workload(Amount::Depth(deepest), largest, CLOSED_PART)?,
            trial: ValidationTrial {
                rate_per_s,
                prediction: self.predictor.predict(&mix, Offered::PoissonPerS(rate_per_s)).ok(),
                foretold: by_all_models(self.predictor, DriftFactors::PROFILED, &mix, rate_per_s),
                foretold_now: Vec::new(),
                mix,
                measured_ns: Vec::new(),
                measured_p99_ns: Vec::new(),
                repeat_rel: None,
                max_iops,
                max_iops_now: None,
                measured_max_iops: Vec::new(),
                trial_ids: Vec::new(),
                left_out: Vec::new(),
            },
            foretold_now: Vec::new(),
            max_iops_now: Vec::new(),
        }))
    }

    /// Updates the level and the models from the probe runs so far.
    fn follow(&mut self) {
        let Some(probe) = &self.probe else { return };
        let updated = |level| (level, Predictor::of_cells(&probe.updated(self.cells)));
        self.now = probe.level().map(updated);
    }

    /// Current maximum rate of a mix.
    fn max_now(&self, mix: &Mix) -> Option<f64> {
        let found = match &self.now {
            Some((level, predictor)) => predictor.max_rate_at(*level, mix),
            None => self.predictor.max_rate(mix),
        };
        Some(found.ok()?.value)
    }

    /// The loads with the models' current predictions, before they are measured.
    #[must_use]
    pub fn predicted(&self) -> Vec<ValidationTrial> {
        let predicted = |case: &Case| {
            let trial = case.trial.clone();
            let Some((level, predictor)) = &self.now else { return trial };
            ValidationTrial {
                foretold_now: by_all_models(predictor, *level, &trial.mix, trial.rate_per_s),
                max_iops_now: self.max_now(&trial.mix),
                ..trial
            }
        };
        self.cases.iter().map(predicted).collect()
    }

    /// The loads with their measurements.
    #[must_use]
    pub fn trials(&self) -> Vec<ValidationTrial> {
        self.cases.iter().map(Case::trial).collect()
    }

    /// The drift of the device since the profile; `None` without a probe.
    #[must_use]
    pub fn since(&self) -> Option<SinceProfile> {
        self.probe.as_ref().map(DriftProbe::since)
    }
}

impl Plan for ValidatePlan<'_> {
    fn next(&mut self) -> Option<PlannedTrial> {
        loop {
            if let Some(planned) = self.probe.as_mut().and_then(Plan::next) {
                self.visit = None;
                return Some(planned);
            }
            match self.steps.pop_front()? {
                Step::Look(look) => self.probe.iter_mut().for_each(|probe| probe.begin(look)),
                Step::Visit { case, at_rate, seed } => {
                    self.follow();
                    self.visit = Some((case, at_rate));
                    let workload = self.cases[case].workload(at_rate).clone();
                    return Some(PlannedTrial::new(workload, seed));
                }
            }
        }
    }

    fn observe(&mut self, trial: &Trial, spent: Nanos) {
        self.spent = self.spent.plus(trial.workload.runtime_ns).plus(trial.workload.ramp_ns);
        let Some((at, at_rate)) = self.visit else {
            return self.probe.iter_mut().for_each(|probe| probe.observe(trial, spent));
        };
        let max_now = self.now.as_ref().and_then(|_| self.max_now(&self.cases[at].trial.mix));
        let Case { trial: of_load, foretold_now, max_iops_now, .. } = &mut self.cases[at];
        of_load.trial_ids.push(trial.id.clone());
        if !model::counts(trial) {
            let reason = why_not(trial);
            if !of_load.left_out.contains(&reason) {
                of_load.left_out.push(reason);
            }
        } else if at_rate {
            of_load.measured_ns.extend(trial.latency_ns());
            of_load.measured_p99_ns.extend(trial.histogram().percentile(0.99));
            let (mix, rate) = (&of_load.mix, of_load.rate_per_s);
            let now = self.now.as_ref();
            foretold_now
                .extend(now.map(|(level, models)| by_all_models(models, *level, mix, rate)));
        } else {
            of_load.measured_max_iops.push(trial.iops());
            max_iops_now.extend(max_now);
        }
    }

    fn progress(&self) -> Progress {
        Progress::of_budget("validation", self.spent, self.budget)
    }
}

impl Case {
    fn workload(&self, at_rate: bool) -> &Workload {
        if at_rate { &self.at_rate } else { &self.at_largest_rate }
    }

    /// The load, with the predictions made right before each visit, averaged over its visits.
    fn trial(&self) -> ValidationTrial {
        let mean = |values: Option<Vec<f64>>| {
            values.filter(|values| !values.is_empty()).map(|values| stats::mean(&values))
        };
        let over_visits = |(at, one): (usize, &ModelPrediction)| ModelPrediction {
            model: one.model,
            latency_ns: mean(self.foretold_now.iter().map(|told| told[at].latency_ns).collect()),
        };
        let first = self.foretold_now.first().into_iter().flatten();
        ValidationTrial {
            foretold_now: first.enumerate().map(over_visits).collect(),
            max_iops_now: mean(Some(self.max_iops_now.clone())),
            repeat_rel: model::visits_repeat_rel(&self.trial.measured_ns),
            ..self.trial.clone()
        }
    }
}

/// Mean latency of a load by each model, at a level.
fn by_all_models(
    predictor: &Predictor,
    level: DriftFactors,
    mix: &Mix,
    rate_per_s: f64,
) -> Vec<ModelPrediction> {
    let offered = Offered::PoissonPerS(rate_per_s);
    let by = |model| predictor.predict_at(level, model, mix, offered).ok();
    let predicted =
        |model| ModelPrediction { model, latency_ns: by(model).map(|it| it.latency_ns.value) };
    ModelName::ALL.map(predicted).into()
}

/// Why a trial is not valid.
fn why_not(trial: &Trial) -> String {
    let invalid = trial.findings.iter().find(|finding| finding.severity >= Severity::Invalid);
    invalid.map_or_else(
        || "requests failed, transferred too few bytes or never completed".to_owned(),
        |finding| finding.claim.clone(),
    )
}
