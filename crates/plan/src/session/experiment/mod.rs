//! Prepares a design on targets: which combinations can be run, as which trials, on which targets.
//!
//! Real targets are opened before anything runs, once for each list of targets in the design. So a missing
//! prerequisite is found before the first trial. Simulated targets are created anew for each trial (see
//! [`crate::session::Targets`]).

mod conclusion;
mod lines;
mod rounding;

pub use conclusion::conclude;
pub use lines::{LeftOut, Line, Parse, ReadLine};
pub use rounding::rounding_findings;

use crate::cells::with_engine;
use crate::session::error::REFUSED;
use crate::session::opened::{identity, simulated_target};
use crate::session::real::size_for_all;
use crate::session::{
    Display, Opener, RealTargets, Result, StopFlag, Targets, VERSION, simulated, treatment,
};
use host::kernel;
use host::target::{Access, TargetError};
use lines::lines;
use record::{
    Bytes, CacheMode, EXPERIMENT_SCHEMA, EngineName, Experiment, Flush, Instead, IoPriority,
    PlannedTrial, Target, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workload::{BuildError, Design, Spec, check_alignment};

/// A line with its workload on its targets.
#[derive(Clone, Debug)]
pub struct ReadyLine {
    /// The line.
    pub line: Line,
    /// The workload on its targets.
    pub workload: Workload,
}

/// A design with open targets, not written to yet.
pub struct OpenedDesign {
    real: BTreeMap<Vec<String>, RealTargets>,
    /// Lines that can be run.
    pub ready: Vec<ReadyLine>,
    /// Combinations that cannot be run, with the reasons.
    pub left_out: LeftOut,
}

impl OpenedDesign {
    /// Opens the targets of a design and finds which of its lines can be run. The first target decides
    /// whether they are simulated. `allowed` applies to lists that are written.
    ///
    /// # Errors
    /// If a target cannot be opened, or no target supports the design.
    pub fn open(
        design: &Design,
        targets: &[String],
        allowed: &Access,
        parse: Parse<'_>,
        opener: &dyn Opener,
    ) -> Result<Self> {
        let parse_whole = |targets: &[String], flags: &[String]| {
            let (spec, real_only) = parse(targets, flags)?;
            let spec = opener.whole(spec).map_err(|error| error.to_string())?;
            Ok((spec, real_only))
        };
        let (lines, mut left_out) = lines(design, targets, &parse_whole)?;
        let mut real: BTreeMap<Vec<String>, TargetList> = BTreeMap::new();
        if simulated(&targets[0])?.is_none() {
            let lists: BTreeSet<&Vec<String>> = lines.iter().map(|line| &line.targets).collect();
            for list in lists {
                let of_list = lines.iter().filter(|line| line.targets == *list);
                let opened = TargetList::open(list, &of_list.collect::<Vec<_>>(), allowed, opener)?;
                real.insert(list.clone(), opened);
            }
        }
        let fallback = !real.is_empty() && !opener.has_default_engine();
        let mut ready = Vec::new();
        for mut line in lines {
            if fallback && line.spec.asked.engine == engine::DEFAULT_ENGINE {
                line.spec = with_engine(line.spec, EngineName::Sync);
            }
            let fitting = match real.get_mut(&line.targets) {
                Some(opened) => opened.fits(&line)?,
                None => {
                    let size = simulated(&line.targets[0])?.map_or(Bytes(0), |spec| spec.size());
                    build(&line.spec, size).map_err(|error| error.to_string())
                }
            };
            match fitting {
                Ok(workload) => ready.push(ReadyLine { line, workload }),
                Err(reason) => left_out.add(reason, &line.combination.levels),
            }
        }
        let real = real.into_iter().map(|(list, opened)| (list, opened.targets)).collect();
        Ok(Self { real, ready, left_out })
    }

    /// The experiment with all lines that can be run on these targets, in an order that depends on the
    /// seed.
    #[must_use]
    pub fn experiment(
        &self,
        design: &Design,
        targets: &[String],
        seed: u64,
        note: &str,
    ) -> Experiment {
        let order = crate::blocks_in_order(self.ready.len(), design.blocks, design.order, seed);
        let planned = |((block, at), position): ((u32, usize), u32)| {
            let ReadyLine { line, workload } = &self.ready[at];
            let differ = line.targets != targets;
            PlannedTrial {
                block,
                levels: line.combination.levels.clone(),
                workload: workload.clone(),
                seed: crate::trial_seed(seed, position),
                preparation: line.preparation.clone(),
                targets: if differ { line.targets.clone() } else { Vec::new() },
            }
        };
        let (simulated, design_text) = (self.real.is_empty(), design.to_toml());
        let text = || {
            let of_lines = self.ready.iter().flat_map(|ready| &ready.line.targets);
            let paths: BTreeSet<&String> = of_lines.chain(targets).collect();
            let hashes = paths.into_iter().filter_map(|path| self.facts(path)?.file_hash);
            let files: String = hashes.map(|hash| format!(" {hash}")).collect();
            format!("experiment {} {seed} {design_text}{files}", targets.join(" "))
        };
        let (id, time) = identity(simulated.then(text).as_deref());
        let environment = self.real.values().next().and_then(RealTargets::conditions).cloned();
        Experiment {
            schema: EXPERIMENT_SCHEMA.to_owned(),
            halfpower_version: VERSION.to_owned(),
            id,
            time,
            seed,
            simulated,
            design: design.name.clone(),
            design_text,
            note: note.to_owned(),
            targets: targets.iter().filter_map(|path| self.facts(path)).collect(),
            environment,
            axes: design.axes.iter().map(|axis| axis.name.clone()).collect(),
            plan: order.into_iter().zip(0..).map(planned).collect(),
            ..Experiment::default()
        }
    }

    /// Facts of a target, simulated or real; `None` for an unused one.
    fn facts(&self, path: &str) -> Option<Target> {
        if let Some(spec) = simulated(path).ok().flatten() {
            return Some(simulated_target(path.to_owned(), spec.size(), &spec));
        }
        let mut all = self.real.values().flat_map(RealTargets::all_facts);
        all.find(|facts| facts.path == path).cloned()
    }

    /// Whether the combination of these levels can be run.
    #[must_use]
    pub fn runs(&self, levels: &BTreeMap<String, String>) -> bool {
        self.ready.iter().any(|ready| ready.line.combination.levels == *levels)
    }

    /// The real targets, ready for trials, with the test files of directories written.
    ///
    /// # Errors
    /// If a target cannot be written, or the user interrupts it.
    pub fn into_targets(
        self,
        seed: u64,
        stop: &StopFlag,
        display: &mut dyn Display,
    ) -> Result<Targets> {
        let mut targets = Targets::none(stop);
        for (names, opened) in self.real {
            targets.add(names, opened.into_session(engine::DEFAULT_ENGINE, seed, stop, display)?);
        }
        Ok(targets)
    }
}

/// The workload of a spec on a target of this size. The area is cut to the target.
fn build(spec: &Spec, size: Bytes) -> Result<Workload, BuildError> {
    let room = Bytes(size.0.saturating_sub(spec.asked.offset_bytes.0));
    let wanted = if spec.asked.stripe_bytes.is_some() { size } else { room };
    let mut spec = spec.clone();
    spec.for_each(|spec| spec.size = spec.size.map(|asked| asked.min(wanted)));
    spec.build(size)
}

/// Whether any job writes.
fn writes(spec: &Spec) -> bool {
    spec.all().any(|(_, spec)| spec.asked.read_percent < 100)
}

/// One list of real targets while it is being opened.
struct TargetList {
    targets: RealTargets,
    /// Why writing is not allowed; `None` if it is.
    read_only: Option<String>,
    /// Cache modes that were tried, with the reason if one is unusable.
    modes: BTreeMap<CacheMode, Result<(), String>>,
    /// Engines that were tried, with the reason if one is unusable.
    engines: Vec<(EngineKey, Result<(), String>)>,
    writes: bool,
}

/// Properties that an engine may refuse before the first request: its kind, depth, cache mode, flushes and
/// replacements of writes, the control group and the priority of its thread.
type EngineKey = (
    (EngineName, u32, CacheMode),
    (Option<Flush>, Option<Instead>),
    (Option<String>, Option<IoPriority>),
);

fn engine_key(workload: &Workload) -> EngineKey {
    (
        (workload.engine, workload.iodepth, workload.cache),
        (workload.flush, workload.instead),
        (workload.cgroup.clone(), workload.io_priority),
    )
}

impl TargetList {
    fn open(
        list: &[String],
        lines: &[&Line],
        allowed: &Access,
        opener: &dyn Opener,
    ) -> Result<Self> {
        let paths: Vec<&Path> = list.iter().map(Path::new).collect();
        let writing = |line: &&&Line| writes(&line.spec);
        let written = lines.iter().filter(writing).count();
        let size = size_for_all(lines.iter().map(|line| &line.spec));
        let jobs = || lines.iter().flat_map(|line| line.spec.all()).map(|(_, spec)| spec);
        let least = jobs().map(|spec| spec.asked.max_bs()).max().unwrap_or_default();
        let descriptors = |line: &&Line| {
            line.spec.all().map(|(_, spec)| u64::from(spec.asked.numjobs) * 4).sum::<u64>()
        };
        let most = lines.iter().map(descriptors).max().unwrap_or(0);
        kernel::allow_descriptors(list.len() as u64 * 6 + most + 64).map_err(TargetError::from)?;
        let access = if written > 0 { allowed.clone() } else { Access::ReadOnly };
        let opened = opener.open(&paths, &access, size, least);
        let (targets, read_only) = match opened {
            Ok(targets) => (targets, None),
            Err(error) if written < lines.len() && error.exit_code() == REFUSED => {
                let targets = opener.open(&paths, &Access::ReadOnly, size, least)?;
                (targets, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        let writes = written > 0 && read_only.is_none();
        Ok(Self { targets, read_only, modes: BTreeMap::new(), engines: Vec::new(), writes })
    }

    /// The workload of a line, or why it cannot be run here.
    fn fits(&mut self, line: &Line) -> Result<Result<Workload, String>> {
        let fitting = self.workload(line);
        if let Ok(workload) = &fitting {
            self.targets.look_at_area(workload)?;
            if let Err(reason) = self.tried(workload) {
                return Ok(Err(reason));
            }
        }
        Ok(fitting)
    }

    /// Whether an engine for the workload can be opened; tried once for each kind.
    fn tried(&mut self, workload: &Workload) -> Result<(), String> {
        let key = engine_key(workload);
        if let Some((_, known)) = self.engines.iter().find(|(tried, _)| *tried == key) {
            return known.clone();
        }
        let found = self.targets.try_engines(workload).map_err(|error| error.to_string());
        self.engines.push((key, found.clone()));
        found
    }

    fn workload(&mut self, line: &Line) -> Result<Workload, String> {
        if let Some(reason) = self.read_only.as_ref().filter(|_| writes(&line.spec)) {
            return Err(reason.clone());
        }
        let facts: Vec<&Target> = self.targets.all_facts().collect();
        let treatment = line.preparation.as_deref().and_then(treatment::find);
        if treatment.is_some() && self.targets.conditions().is_none() {
            return Err("its preparation works only on one machine".to_owned());
        }
        treatment.map_or(Ok(()), |treatment| treatment.fits(&facts))?;
        if line.spec.all().any(|(set, _)| set > 0) {
            return Err(
                "an additional job uses the targets of the first job; name no target in beside"
                    .to_owned(),
            );
        }
        if line.spec.all().any(|(_, spec)| spec.asked.polled || spec.asked.sqpoll) {
            engine::probe_default_engine().map_err(|error| error.to_string())?;
        }
        let smallest = facts.iter().map(|facts| facts.size_bytes).min().unwrap_or_default();
        let from_start = treatment.is_some_and(treatment::Treatment::appends);
        let workload = build(&line.spec, smallest).map_err(|error| error.to_string())?;
        let workload = Workload { from_start, ..workload };
        let alignment = self.targets.alignment();
        for job in workload.all() {
            check_alignment(job, alignment).map_err(|error| error.to_string())?;
            // Opened at its first use.
            let opened = self.modes.entry(job.cache).or_insert_with(|| {
                let opened = self.targets.open_mode(job.cache, self.writes);
                opened.map_err(|error| error.to_string())
            });
            opened.clone()?;
        }
        Ok(workload)
    }
}
