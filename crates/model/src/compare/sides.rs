//! Turns documents, trials or trace lines into one side of a comparison.

use super::conditions::Conditions;
use super::observed::{
    Numbers, Placed, SideCell, TraceObservation, join, of_cell, of_commits, of_group, of_lines,
    of_result,
};
use crate::cells::counts;
use record::{
    ComparedKind, ComparedMetric, ComparedSide, ComparedUnit, Environment, Experiment,
    ExperimentCell, Profile, SavedDocument, Target, Trial, format_bytes,
};
use stats::grouped;
use std::collections::BTreeMap;
use std::slice;

/// From this number of runs on, whole runs are the observations.
const RUNS: usize = 3;
/// Block numbers of one document stay below this, so that blocks of several documents do not collide.
const BLOCKS_OF_A_DOCUMENT: u32 = 1 << 16;
/// Degrees of freedom of a profile's level, which comes from six blocks.
const LEVEL_DF_OF_A_PROFILE: f64 = 5.0;

/// Why documents cannot form a side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// Documents of several kinds.
    #[error("documents of several kinds cannot be combined; name documents of one kind")]
    Mixed,
    /// Two profiles: more than one, but too few to show how runs vary.
    #[error("two profiles are too few to show how runs vary; name one, or at least three")]
    TwoProfiles,
    /// No trial in it is valid.
    #[error("it has no valid trial that can be loaded")]
    Empty,
    /// Documents of a kind that is not compared.
    #[error("it contains a document that is not a trial, experiment or profile: {0}")]
    Kind(String),
    /// The user named levels of axes, but the document has no axes.
    #[error("only an experiment has axes to select by")]
    NoAxes,
    /// The experiment has no such axis.
    #[error("it has no axis {axis}; {}", known_axes(.known))]
    NoAxis {
        /// The axis that the user named.
        axis: String,
        /// Axes of the experiment.
        known: Vec<String>,
    },
    /// The axis has no such level.
    #[error("its axis {axis} has no level {level}; it has {}", .known.join(", "))]
    NoLevel {
        /// The axis that the user named.
        axis: String,
        /// The level that the user named.
        level: String,
        /// Levels of the axis.
        known: Vec<String>,
    },
}

fn known_axes(known: &[String]) -> String {
    if known.is_empty() {
        return "only an experiment has axes".to_owned();
    }
    format!("it has {}", known.join(", "))
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// Documents and properties of the side, as reported.
    pub about: ComparedSide,
    pub(super) conditions: Conditions,
    pub(super) cells: Vec<SideCell>,
    /// Processor model, if known.
    pub(super) processor: Option<String>,
    pub(super) clock_hz: Option<f64>,
    /// Degrees of freedom of the level's standard error.
    pub(super) level_df: f64,
    pub(super) design: Option<String>,
    /// Notes for the reader of the comparison.
    pub(super) notes: Vec<String>,
}

impl Side {
    /// A side from documents of one kind, or from the part of experiments in which some axes have these
    /// levels. Trials given together with another document belong to that document.
    ///
    /// # Errors
    /// If the documents cannot be combined, the part does not exist, or it has no valid trial.
    pub fn of_documents(
        given: &str,
        documents: &[SavedDocument],
        arm: &BTreeMap<String, String>,
    ) -> Result<Self, SideError> {
        let mut sides = Vec::new();
        let mut trials = Vec::new();
        for document in documents {
            match document {
                SavedDocument::Experiment(experiment, trials) => {
                    sides.push(Self::of_experiment(given, experiment, trials, arm)?);
                }
                SavedDocument::Profile(..) | SavedDocument::Trial(_) if !arm.is_empty() => {
                    return Err(SideError::NoAxes);
                }
                SavedDocument::Profile(profile, trials) => {
                    sides.push(Self::of_profile(given, profile, trials)?);
                }
                SavedDocument::Trial(trial) => trials.push(trial.as_ref().clone()),
                other => return Err(SideError::Kind(other.id().to_owned())),
            }
        }
        if sides.is_empty() {
            return Self::of_trials(given, &trials);
        }
        Self::together(given, &sides)
    }

    /// A side from trials, each an observation of its cell.
    ///
    /// # Errors
    /// If no trial is valid.
    pub fn of_trials(given: &str, trials: &[Trial]) -> Result<Self, SideError> {
        let placed: Vec<Placed> = trials
            .iter()
            .zip(0..)
            .map(|(trial, block)| Placed { trial, block, levels: BTreeMap::new() })
            .collect();
        let about = ComparedSide {
            ids: trials.iter().map(|trial| trial.id.clone()).collect(),
            ..about(given, ComparedKind::Trial, ComparedUnit::Trial)
        };
        Self::of_placed(about, &placed, 0)
    }

    /// A side from an experiment, or from the part of it in which some axes have these levels. `trials` are
    /// the trials of the experiment that could be loaded.
    ///
    /// # Errors
    /// If the part does not exist, or has no valid trial.
    pub fn of_experiment(
        given: &str,
        experiment: &Experiment,
        trials: &[Trial],
        arm: &BTreeMap<String, String>,
    ) -> Result<Self, SideError> {
        check_arm(experiment, arm)?;
        let mut absent = 0;
        let mut placed = Vec::new();
        for done in &experiment.done {
            let Some(planned) = experiment.plan.get(done.position as usize) else { continue };
            if arm.iter().any(|(axis, level)| planned.levels.get(axis) != Some(level)) {
                continue;
            }
            let Some(trial) = trials.iter().find(|trial| trial.id == done.trial_id) else {
                absent += 1;
                continue;
            };
            let mut levels = planned.levels.clone();
            levels.retain(|axis, _| !arm.contains_key(axis));
            if let Some(preparation) = &planned.preparation
                && !planned.levels.values().any(|level| level == preparation)
            {
                levels.insert("file".to_owned(), preparation.clone());
            }
            placed.push(Placed { trial, block: planned.block, levels });
        }
        let about = ComparedSide {
            ids: vec![experiment.id.clone()],
            arm: arm.clone(),
            time: experiment.time.clone(),
            ..about(given, ComparedKind::Experiment, ComparedUnit::Block)
        };
        if placed.is_empty() {
            return Self::of_results(about, experiment);
        }
        let mut side = Self::of_placed(about, &placed, absent)?;
        side.conditions.environment(experiment.environment.as_ref());
        side.design = Some(experiment.design_text.clone());
        let rates = side.cells.iter().filter_map(|cell| cell.observed(ComparedMetric::RatePerS));
        let most = rates.clone().map(<[_]>::len).max().unwrap_or(0);
        let by_block = |values: &[(u32, f64)]| {
            let mut values = values.to_vec();
            values.sort_by_cached_key(|(block, _)| *block);
            values.into_iter().map(|(_, value)| value).collect()
        };
        let whole: Vec<Vec<f64>> =
            rates.filter(|values| values.len() == most).map(by_block).collect();
        side.about.level_se_rel = stats::common_level(&whole);
        side.level_df = most.saturating_sub(1).max(1) as f64;
        Ok(side)
    }

    /// A side from the results of an experiment whose trials cannot be loaded.
    fn of_results(about: ComparedSide, experiment: &Experiment) -> Result<Self, SideError> {
        let picked = |levels: &BTreeMap<String, String>| {
            about.arm.iter().all(|(axis, level)| levels.get(axis) == Some(level))
        };
        let of_result = |cell: &ExperimentCell| {
            let planned = experiment.plan.iter().find(|planned| planned.levels == cell.levels)?;
            let mut levels = cell.levels.clone();
            levels.retain(|axis, _| !about.arm.contains_key(axis));
            Some(of_result(cell, &planned.workload, levels))
        };
        let picked = experiment.cells.iter().filter(|cell| picked(&cell.levels));
        let cells = picked.filter_map(of_result).collect();
        let (simulated, environment) = (experiment.simulated, experiment.environment.as_ref());
        let (version, targets) = (&experiment.halfpower_version, &experiment.targets);
        let mut conditions = Conditions::default();
        conditions.document(version, simulated, environment, targets);
        let about = ComparedSide { simulated, target: paths(targets), ..about };
        let mut side = Self::of(about, conditions, environment, cells)?;
        side.design = Some(experiment.design_text.clone());
        side.notes.push(
            "The trials of an experiment are missing: its results are used instead, and blocks \
             cannot be paired."
                .to_owned(),
        );
        Ok(side)
    }

    /// A side from a profile. `trials` are those of its trials that could be loaded. They give the clock
    /// rate of the processor.
    ///
    /// # Errors
    /// If the profile has no cell.
    pub fn of_profile(given: &str, profile: &Profile, trials: &[Trial]) -> Result<Self, SideError> {
        let (environment, target) = (profile.environment.as_ref(), &profile.target);
        let (version, simulated) = (&profile.halfpower_version, profile.simulated);
        let mut conditions = Conditions::default();
        conditions.document(version, simulated, environment, slice::from_ref(target));
        for trial in trials {
            conditions.trial(trial);
        }
        let clock_hz = clock(trials.iter());
        let commits = profile.commits.value().into_iter().flat_map(|commits| &commits.points);
        let cells = profile.cells.iter().map(|cell| of_cell(cell, clock_hz));
        let cells = cells.chain(commits.map(of_commits)).collect();
        for cell in &profile.cells {
            conditions.workload(&cell.workload);
        }
        let about = ComparedSide {
            ids: vec![profile.id.clone()],
            time: profile.time.clone(),
            simulated,
            target: target.path.clone(),
            level_se_rel: profile.level_se_rel,
            ..about(given, ComparedKind::Profile, ComparedUnit::Visit)
        };
        let mut side = Self::of(about, conditions, environment, cells)?;
        (side.clock_hz, side.level_df) = (clock_hz, LEVEL_DF_OF_A_PROFILE);
        Ok(side)
    }

    /// A side from the lines of a trace; `id` is the hash of its text.
    ///
    /// # Errors
    /// If `lines` is empty.
    pub fn of_trace(
        given: &str,
        id: String,
        lines: &[TraceObservation],
    ) -> Result<Self, SideError> {
        let cells = grouped(lines.iter().map(|line| (&line.key, line)));
        let cells = cells.iter().map(|(_, lines)| of_lines(lines)).collect();
        let about = ComparedSide {
            ids: vec![id],
            target: given.to_owned(),
            ..about(given, ComparedKind::Trace, ComparedUnit::Trial)
        };
        let mut side = Self::of(about, Conditions::default(), None, cells)?;
        side.notes.push(
            "A trace has neither latencies nor conditions, so machines and files may differ in any way."
                .to_owned(),
        );
        Ok(side)
    }

    /// Combines several documents into one side. Three or more profiles or experiments each become one
    /// observation, so that the error includes every difference between runs.
    ///
    /// # Errors
    /// If the sides cannot be combined.
    pub fn together(given: &str, sides: &[Self]) -> Result<Self, SideError> {
        let Some(first) = sides.first() else { return Err(SideError::Empty) };
        let kind = first.about.kind;
        if sides.iter().any(|side| side.about.kind != kind) {
            return Err(SideError::Mixed);
        }
        if sides.len() == 1 {
            return Ok(first.clone());
        }
        if kind == ComparedKind::Profile && sides.len() < RUNS {
            return Err(SideError::TwoProfiles);
        }
        let runs = matches!(kind, ComparedKind::Profile | ComparedKind::Experiment);
        let by_run = runs && sides.len() >= RUNS;
        let mut whole = first.clone();
        whole.about.given = given.to_owned();
        whole.cells.clear();
        whole.notes.clear();
        for (side, run) in sides.iter().zip(0..) {
            whole.absorb(side, run, by_run);
        }
        if by_run {
            (whole.about.unit, whole.about.level_se_rel) = (ComparedUnit::Run, None);
        }
        whole.distinguish();
        Ok(whole)
    }

    /// Whether the observations are whole runs, so that the error includes every difference between runs.
    /// Each trial is a run.
    pub(super) fn is_of_whole_runs(&self) -> bool {
        let enough = |cell: &SideCell| cell.count(ComparedMetric::RatePerS) as usize >= RUNS;
        match self.about.unit {
            ComparedUnit::Run => true,
            ComparedUnit::Trial => self.cells.iter().all(enough),
            ComparedUnit::Block | ComparedUnit::Visit => false,
        }
    }

    fn absorb(&mut self, side: &Self, run: u32, by_run: bool) {
        if run > 0 {
            self.about.ids.extend(side.about.ids.iter().cloned());
            self.about.trials_left_out += side.about.trials_left_out;
            self.conditions.merge(&side.conditions);
            let levels = self.about.level_se_rel.zip(side.about.level_se_rel);
            self.about.level_se_rel = levels.map(|(ours, theirs)| ours.max(theirs));
        }
        for note in &side.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        for cell in &side.cells {
            let mut cell = cell.clone();
            for numbers in cell.numbers.values_mut() {
                if let Some(value) = numbers.value().filter(|_| by_run) {
                    *numbers = Numbers::Observed(vec![(run, value)]);
                } else if let Numbers::Observed(values) = numbers {
                    values.iter_mut().for_each(|(block, _)| *block += run * BLOCKS_OF_A_DOCUMENT);
                }
            }
            let same =
                |other: &&mut SideCell| (&other.cell, &other.levels) == (&cell.cell, &cell.levels);
            match self.cells.iter_mut().find(same) {
                Some(other) => join(other, cell),
                None => self.cells.push(cell),
            }
        }
    }

    fn of_placed(
        mut about: ComparedSide,
        placed: &[Placed],
        absent: u32,
    ) -> Result<Self, SideError> {
        let valid: Vec<&Placed> = placed.iter().filter(|placed| counts(placed.trial)).collect();
        about.trials_left_out = absent + (placed.len() - valid.len()) as u32;
        let Some(first) = valid.first() else { return Err(SideError::Empty) };
        about.simulated = first.trial.simulated;
        about.time = about.time.or_else(|| first.trial.time.clone());
        about.target = paths(&first.trial.targets);
        let mut conditions = Conditions::default();
        for placed in &valid {
            conditions.trial(placed.trial);
        }
        let groups =
            grouped(valid.iter().map(|placed| ((&placed.trial.cell, &placed.levels), *placed)));
        let cells = groups.iter().map(|(_, group)| of_group(group)).collect();
        let mut side = Self::of(about, conditions, first.trial.environment.as_ref(), cells)?;
        side.clock_hz = clock(valid.iter().map(|placed| placed.trial));
        Ok(side)
    }

    /// A side from cells, without further information.
    fn of(
        about: ComparedSide,
        conditions: Conditions,
        environment: Option<&Environment>,
        cells: Vec<SideCell>,
    ) -> Result<Self, SideError> {
        if cells.is_empty() {
            return Err(SideError::Empty);
        }
        let mut side = Self {
            about,
            conditions,
            cells,
            processor: environment.map(|machine| machine.cpu.clone()),
            clock_hz: None,
            level_df: 1.0,
            design: None,
            notes: Vec::new(),
        };
        side.distinguish();
        Ok(side)
    }

    /// Extends the labels of cells that share one, so that they differ.
    fn distinguish(&mut self) {
        let labels: Vec<String> = self.cells.iter().map(|cell| cell.label.clone()).collect();
        for cell in &mut self.cells {
            if labels.iter().filter(|label| **label == cell.label).count() < 2 {
                continue;
            }
            let levels: Vec<String> =
                cell.levels.iter().map(|(axis, level)| format!("{axis} {level}")).collect();
            let more = match &cell.workload {
                _ if !levels.is_empty() => levels.join(", "),
                Some(workload) => {
                    format!("{} of {}", workload.engine.name(), format_bytes(workload.size_bytes.0))
                }
                None => continue,
            };
            cell.label = format!("{}, {more}", cell.label);
        }
    }
}

fn about(given: &str, kind: ComparedKind, unit: ComparedUnit) -> ComparedSide {
    ComparedSide {
        given: given.to_owned(),
        kind,
        ids: Vec::new(),
        arm: BTreeMap::new(),
        time: None,
        simulated: false,
        target: String::new(),
        unit,
        trials_left_out: 0,
        level_se_rel: None,
    }
}

fn check_arm(experiment: &Experiment, arm: &BTreeMap<String, String>) -> Result<(), SideError> {
    for (axis, level) in arm {
        let levels = experiment.plan.iter().filter_map(|planned| planned.levels.get(axis).cloned());
        let known = grouped(levels.into_iter().map(|level| (level.clone(), level)))
            .into_iter()
            .map(|(level, _)| level);
        let known: Vec<String> = known.collect();
        if known.contains(level) {
            continue;
        }
        let (axis, level) = (axis.clone(), level.clone());
        if known.is_empty() {
            return Err(SideError::NoAxis { axis, known: experiment.axes.clone() });
        }
        return Err(SideError::NoLevel { axis, level, known });
    }
    Ok(())
}

fn paths(targets: &[Target]) -> String {
    targets.iter().map(|target| target.path.as_str()).collect::<Vec<_>>().join(" ")
}

/// Mean clock rate of the processors, if known.
fn clock<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<f64> {
    let clocks: Vec<f64> =
        trials.filter_map(|trial| Some(trial.cpu.value()?.clock.as_ref()?.hz)).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}
