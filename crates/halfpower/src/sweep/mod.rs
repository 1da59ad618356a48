//! `halfpower sweep`: an experiment, from its design to its document.
//!
//! The plan is kept before the first trial, each trial as it ends, the conclusions last. So an
//! experiment that ends in any way is one whose plan has places without a trial, and resuming it is
//! running these: nothing else is remembered. What was planned is not planned again, because the
//! target may have changed in the meantime and the trials would no longer belong together.

mod args;
mod lines;
mod pilot;
mod rounding;
mod script;
mod stage;

pub(crate) use args::SweepArgs;

use crate::failure::{self, Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::{LAST, NOT_SAVED, open_store};
use ::workload::{Design, PRESETS, derive_seed, preset};
use anyhow::Context;
use record::{
    DoneTrial, EXPERIMENT_SCHEMA, EndedBy, Experiment, Nanos, PlannedTrial, Severity, Trial,
    format_rate, hex_digest,
};
use session::Display;
use stage::{Allowed, Opened, Ready, Stage};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::{Store, StoreError};

/// Trials after which their own speed tells the time left better than the plan.
const TRIALS_TO_TELL: usize = 3;
/// Apart from the other seeds.
const PILOT_SEED: u64 = 5 << 32;

/// Runs an experiment, or what is left of one, and prints what it came to.
pub(crate) fn sweep(arguments: &SweepArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    if arguments.list {
        output::print(&list_of_presets()?)?;
        return Ok(Verdict::Clean);
    }
    if arguments.saved {
        return saved(arguments);
    }
    match &arguments.resume {
        Some(id) => resume(arguments, id, stop),
        None => start(arguments, stop),
    }
}

/// The presets with what they are for.
fn list_of_presets() -> anyhow::Result<String> {
    let designs = PRESETS.iter().map(|known| preset(known.name));
    let designs: Vec<Design> = designs.collect::<Result<_, _>>()?;
    let rows: Vec<report::PresetRow> = designs
        .iter()
        .map(|design| report::PresetRow {
            name: design.name.clone(),
            title: design.title.clone(),
            about: design.about.clone(),
            combinations: design.combinations().len(),
            blocks: design.blocks,
            protocols: design.protocols.keys().cloned().collect(),
        })
        .collect();
    Ok(report::preset_list_text(&rows, &output::style()))
}

/// Lists the saved experiments.
fn saved(arguments: &SweepArgs) -> anyhow::Result<Verdict> {
    let store = Store::open_existing(&arguments.keeping.file()?)?;
    let rows = store.list::<Experiment>()?;
    let all: Vec<Experiment> =
        rows.iter().map(|row| store.document(&row.id)).collect::<Result<_, _>>()?;
    let text = if arguments.json {
        output::json(&all)?
    } else {
        report::experiment_list_text(&all, &output::style())
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}

/// The design that the command line asks for.
fn design(arguments: &SweepArgs) -> anyhow::Result<Design> {
    let name = arguments.design.as_deref().unwrap_or_default();
    let path = Path::new(name);
    let is_file = name.ends_with(".toml") || name.contains('/');
    let mut design = if is_file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the design {path:?}"))?;
        Design::parse(name, &text)?
    } else {
        preset(name)?
    };
    if let Some(protocol) = &arguments.protocol {
        design = design.with_protocol(protocol)?;
    }
    let named = [("size", &arguments.size), ("runtime", &arguments.runtime)];
    let named = named.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
    for setting in named.chain(arguments.set.iter().cloned()) {
        design = design.with_setting(&setting)?;
    }
    if let Some(blocks) = arguments.blocks {
        design.blocks = blocks;
        design = Design::parse(&design.name, &design.to_toml())?;
    }
    Ok(design)
}

/// A new experiment.
fn start(arguments: &SweepArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let design = design(arguments)?;
    if arguments.show {
        output::print(&design.to_toml())?;
        return Ok(Verdict::Clean);
    }
    let simulated = check_targets(&arguments.targets)?;
    let seed = session::seed(arguments.seed, simulated);
    let opened = open(arguments, &design, &arguments.targets, simulated)?;
    let left_out = opened.left_out.sentences();
    for sentence in &left_out {
        output::say(&format!("halfpower: {}", report::escape(sentence)));
    }
    if opened.ready.is_empty() {
        let text = format!("nothing of the design {} can be run here", design.name);
        return Err(UsageError(text).into());
    }
    let mut experiment = experiment(arguments, &design, &opened, seed, simulated);
    if arguments.dry_run {
        let text = script::script(&experiment, &commands(&opened.ready), &left_out);
        output::print(&text)?;
        return Ok(Verdict::Clean);
    }
    let mut progress = Progress::new();
    let store = open_store(&arguments.keeping, arguments.no_save)?;
    let shares = opened.ready.iter().any(|ready| ready.line.shares);
    let precondition = design.precondition && !simulated;
    let workload = precondition.then(|| steady_workload(&opened.ready));
    let of_share = opened.ready.iter().find(|ready| ready.line.shares).cloned();
    let mut stage = opened.prepare(seed, workload.as_ref(), stop, &mut progress)?;
    if shares && let Some(ready) = of_share {
        let seed = derive_seed(seed, PILOT_SEED) & u64::from(u32::MAX);
        let maxima = pilot::maxima(&mut stage, &ready, seed, &mut progress)?;
        let (lines, _) = lines::lines(&design, &arguments.targets, Some(maxima))?;
        pilot::set_rates(&mut experiment.plan, &lines);
    }
    experiment.setup_findings = stage.findings();
    let of_files = rounding::findings(&design, &experiment.targets);
    experiment.setup_findings.extend(of_files);
    let mut sweep = Sweep::new(arguments, design, experiment, stage, store, progress);
    sweep.keep(Store::start_experiment);
    sweep.run()
}

/// Whether the target is a simulated one, which then stands alone.
fn check_targets(targets: &[String]) -> anyhow::Result<bool> {
    let devices =
        targets.iter().map(|target| session::simulated(target)).collect::<Result<Vec<_>, _>>()?;
    if targets.is_empty() {
        let text = "name at least one target: a directory, a file, a device or sim:NAME";
        return Err(UsageError(text.to_owned()).into());
    }
    let simulated = devices.iter().flatten().next().is_some();
    if simulated && targets.len() > 1 {
        let text = "a simulated target stands alone: its disks are its own keys; name one target";
        return Err(UsageError(text.to_owned()).into());
    }
    Ok(simulated)
}

fn open(
    arguments: &SweepArgs,
    design: &Design,
    targets: &[String],
    simulated: bool,
) -> anyhow::Result<Opened> {
    let (lines, mut left_out) = lines::lines(design, targets, None)?;
    if design.precondition && simulated {
        let text = "nothing is written first: a simulated drive has its state by its key \
                    preconditioned=";
        output::say(&format!("halfpower: {text}"));
    }
    let allowed =
        Allowed { overwrite: arguments.overwrite, destroy: arguments.destroy_data_on.clone() };
    if lines.is_empty() {
        let nothing = std::mem::take(&mut left_out);
        return Opened::open(Vec::new(), nothing, &allowed, true);
    }
    Opened::open(lines, left_out, &allowed, simulated)
}

/// What a target is written with until it is steady.
fn steady_workload(ready: &[Ready]) -> record::Workload {
    let reads = ready.iter().find(|ready| !ready.workload.writes());
    reads.or(ready.first()).map(|ready| ready.workload.clone()).unwrap_or_default()
}

fn commands(ready: &[Ready]) -> BTreeMap<BTreeMap<String, String>, script::Command> {
    let command = |ready: &Ready| script::Command {
        targets: ready.line.targets.clone(),
        flags: ready.line.flags.clone(),
        shares: ready.line.shares,
    };
    ready.iter().map(|ready| (ready.line.combination.levels.clone(), command(ready))).collect()
}

/// The document of an experiment that was not run yet.
fn experiment(
    arguments: &SweepArgs,
    design: &Design,
    opened: &Opened,
    seed: u64,
    simulated: bool,
) -> Experiment {
    let order = plan::blocks_in_order(opened.ready.len(), design.blocks, design.order, seed);
    let plan: Vec<PlannedTrial> = order
        .into_iter()
        .zip(0..)
        .map(|((block, combination), position)| {
            let Ready { line, workload } = &opened.ready[combination];
            let differ = line.targets != arguments.targets;
            PlannedTrial {
                block,
                levels: line.combination.levels.clone(),
                workload: workload.clone(),
                seed: plan::trial_seed(seed, position),
                preparation: line.preparation.clone(),
                targets: if differ { line.targets.clone() } else { Vec::new() },
            }
        })
        .collect();
    let design_text = design.to_toml();
    let (id, time) = if simulated {
        let text = format!("experiment {} {seed} {design_text}", arguments.targets.join(" "));
        (hex_digest(&text), None)
    } else {
        (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string()))
    };
    Experiment {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        halfpower_version: session::VERSION.to_owned(),
        id,
        time,
        seed,
        simulated,
        design: design.name.clone(),
        design_text,
        note: arguments.note.clone().unwrap_or_default(),
        targets: opened.facts(&arguments.targets),
        environment: opened.environment(),
        axes: design.axis_names(),
        plan,
        ..Experiment::default()
    }
}

/// What is left of a saved experiment.
fn resume(arguments: &SweepArgs, id: &str, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let flags = [
        ("--blocks", arguments.blocks.is_some()),
        ("--protocol", arguments.protocol.is_some()),
        ("--set", !arguments.set.is_empty()),
        ("--size", arguments.size.is_some()),
        ("--runtime", arguments.runtime.is_some()),
        ("--seed", arguments.seed.is_some()),
    ];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
        let text = format!("--resume runs what was planned; leave {flag} out");
        return Err(UsageError(text).into());
    }
    let store = Store::open_existing(&arguments.keeping.file()?)?;
    let newest = (id == LAST).then(|| store.list::<Experiment>()).transpose()?;
    let id = newest.as_ref().and_then(|rows| rows.last()).map_or(id, |row| &row.id);
    let mut experiment: Experiment = store.document(id)?;
    let design = Design::parse(&experiment.design, &experiment.design_text)?;
    let trials = store.trials_of_experiment(&experiment.id)?;
    let targets: Vec<String> =
        experiment.targets.iter().map(|target| target.path.clone()).collect();
    let mut progress = Progress::new();
    let missing = plan::missing(&experiment);
    let stage = if missing.is_empty() {
        Stage::empty(stop)
    } else {
        let opened = open(arguments, &design, &targets, experiment.simulated)?;
        refuse_lost(&experiment, &missing, &opened)?;
        let precondition = design.precondition && !experiment.simulated;
        let workload = precondition.then(|| steady_workload(&opened.ready));
        opened.prepare(experiment.seed, workload.as_ref(), stop, &mut progress)?
    };
    for finding in stage.findings() {
        if !experiment.setup_findings.contains(&finding) {
            experiment.setup_findings.push(finding);
        }
    }
    let mut sweep = Sweep::new(arguments, design, experiment, stage, Some(store), progress);
    sweep.trials = trials;
    sweep.run()
}

/// An error where something planned can no longer be run, as without the word that allowed it.
fn refuse_lost(experiment: &Experiment, missing: &[u32], opened: &Opened) -> anyhow::Result<()> {
    let planned = missing.iter().map(|position| &experiment.plan[*position as usize].levels);
    let runs = |levels: &BTreeMap<String, String>| {
        opened.ready.iter().any(|ready| ready.line.combination.levels == *levels)
    };
    if planned.into_iter().all(runs) {
        return Ok(());
    }
    let text = format!(
        "the rest cannot be run as it was planned; {}; give the targets and the safety flags that \
         it began with",
        opened.left_out.sentences().join("; ")
    );
    Err(UsageError(text).into())
}

/// An experiment under way.
struct Sweep<'a> {
    arguments: &'a SweepArgs,
    design: Design,
    experiment: Experiment,
    /// Those of `experiment.done`, one for one.
    trials: Vec<Trial>,
    stage: Stage,
    store: Option<Store>,
    /// Why the store took no more; it is not asked again.
    unsaved: Option<StoreError>,
    progress: Progress,
}

impl<'a> Sweep<'a> {
    fn new(
        arguments: &'a SweepArgs,
        design: Design,
        experiment: Experiment,
        stage: Stage,
        store: Option<Store>,
        progress: Progress,
    ) -> Self {
        Self {
            arguments,
            design,
            experiment,
            trials: Vec::new(),
            stage,
            store,
            unsaved: None,
            progress,
        }
    }

    /// Has the store keep something, as long as it takes what it is given.
    fn keep(&mut self, add: impl FnOnce(&mut Store, &Experiment) -> Result<(), StoreError>) {
        if let Some(store) = &mut self.store
            && let Err(error) = add(store, &self.experiment)
        {
            self.unsaved = Some(error);
            self.store = None;
        }
    }

    /// Runs what is missing, concludes, saves and prints.
    fn run(mut self) -> anyhow::Result<Verdict> {
        let missing = plan::missing(&self.experiment);
        let (mut interrupted, mut silent) = (false, false);
        let mut left: Nanos = self.longest(&missing);
        let begin = Instant::now();
        for (number, position) in missing.iter().enumerate() {
            self.show(*position, number, missing.len() - number, left, begin);
            let planned = self.experiment.plan[*position as usize].clone();
            match self.step(*position, &planned) {
                Ok(()) => {}
                Err(error) if failure::is_interrupted(&error) => {
                    interrupted = true;
                    break;
                }
                Err(error) => {
                    self.progress.clear();
                    return Err(error);
                }
            }
            left = left.since(planned.workload.ramp_ns.plus(planned.workload.runtime_ns));
            // Each further trial would wait as long, for a device that answers none.
            silent = self
                .trials
                .last()
                .is_some_and(|trial| trial.result.ended_by == Some(EndedBy::Silence));
            if silent {
                break;
            }
        }
        self.progress.clear();
        self.finish(interrupted || silent)
    }

    /// The longest that these can take.
    fn longest(&self, positions: &[u32]) -> Nanos {
        let plan: Vec<PlannedTrial> =
            positions.iter().map(|at| self.experiment.plan[*at as usize].clone()).collect();
        script::longest(&plan)
    }

    /// Shows trial, time left and the last result.
    fn show(&mut self, position: u32, number: usize, to_do: usize, left: Nanos, begin: Instant) {
        let total = self.experiment.plan.len();
        let left_s = if number >= TRIALS_TO_TELL {
            begin.elapsed().as_secs_f64() / number as f64 * to_do as f64
        } else {
            left.as_secs_f64()
        };
        let last = self.trials.last().map_or(String::new(), |trial| {
            let directions = trial.directions();
            let rate: f64 = directions.map(|direction| direction.bytes_per_s).sum();
            format!(", last {}", format_rate(rate))
        });
        let done = total - to_do;
        let time = script::duration(left_s.max(1.0));
        let workload = &self.experiment.plan[position as usize].workload;
        let what = plan::describe(workload);
        let remark = format!("{} of {total}, {time} left{last}: {what}", done + 1);
        self.progress.show("trial", done as f64 / total.max(1) as f64, &remark);
    }

    fn step(&mut self, position: u32, planned: &PlannedTrial) -> anyhow::Result<()> {
        let targets = if planned.targets.is_empty() {
            self.experiment.targets.iter().map(|target| target.path.clone()).collect()
        } else {
            planned.targets.clone()
        };
        let (trial, extras) = self.stage.trial(planned, &targets)?;
        self.keep(|store, experiment| {
            store.add_experiment_trial(&experiment.id, position, &trial, &extras)
        });
        let done = DoneTrial { position, trial_id: trial.id.clone(), extras };
        // In the order of the plan, as it is read back.
        let place = self.experiment.done.partition_point(|known| known.position < position);
        self.experiment.done.insert(place, done);
        self.trials.insert(place, trial);
        Ok(())
    }

    /// Concludes from what was run, saves and prints.
    fn finish(mut self, cut_short: bool) -> anyhow::Result<Verdict> {
        let (done, total) = (self.trials.len(), self.experiment.plan.len());
        if done == 0 {
            return Err(Interruption("no trial had finished".to_owned()).into());
        }
        session::something_completed(&self.trials)?;
        let conclusions = plan::conclude(&self.experiment, &self.design, &self.trials);
        let mut findings = self.experiment.setup_findings.clone();
        findings.extend(conclusions.findings);
        let of_trials = diagnose::trial_findings(&self.trials, &findings);
        findings.extend(of_trials);
        for finding in &mut findings {
            // The measuring time of a check; here each trial has its own.
            finding.remedy = finding.remedy.replace("--budget", "--runtime");
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.experiment.cells = conclusions.cells;
        self.experiment.reached = conclusions.reached;
        self.experiment.effects = conclusions.effects;
        self.experiment.findings = findings;
        self.experiment.advice = diagnose::advise_experiment(&self.experiment);
        self.keep(Store::add_document);
        let text = if self.arguments.json {
            output::json(&self.experiment)?
        } else {
            output::page(&report::experiment(&self.experiment, &[]))
        };
        output::print(&text)?;
        if let Some(error) = self.unsaved {
            return Err(error).context(NOT_SAVED);
        }
        if cut_short {
            let kept = match &self.store {
                Some(_) => {
                    format!("`halfpower sweep --resume {}` runs the rest", self.experiment.id)
                }
                None => "they are not saved (--no-save)".to_owned(),
            };
            let text = format!("{done} of {total} trials had finished, {kept}");
            return Err(Interruption(text).into());
        }
        let clean =
            self.experiment.findings.iter().all(|finding| finding.severity < Severity::Invalid);
        Ok(Verdict::of(clean))
    }
}
