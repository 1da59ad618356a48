//! A design on targets: which of its combinations can be run, as which trials, and on what.
//!
//! Real targets are opened once for each list of them that a design uses, before anything runs, so
//! that what is missing is known before the first trial. Simulated ones are made anew for each trial
//! (see [`crate::Targets`]).

mod conclusion;
mod lines;
mod rounding;

pub use conclusion::conclude;
pub use lines::{LeftOut, Line, Maxima, Parse, ReadLine, set_rates};
pub use rounding::rounding_findings;

use crate::{Display, RealTargets, Result, Session, VERSION, simulated, treatment, with_engine};
use lines::lines;
use record::{
    Bytes, CacheMode, EXPERIMENT_SCHEMA, EngineName, Experiment, PlannedTrial, Target, TargetKind,
    Workload, hex_digest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use target::{Access, TargetError};
use workload::{BuildError, Design, Spec, check_alignment};

/// Refused for safety.
const REFUSED: u8 = 3;

/// A line and the workload that it is on its targets.
#[derive(Clone, Debug)]
pub struct ReadyLine {
    /// The line.
    pub line: Line,
    /// What it asks of its targets.
    pub workload: Workload,
}

/// A design whose targets are open and not written to yet.
pub struct OpenedDesign {
    real: BTreeMap<Vec<String>, RealTargets>,
    /// What can be run.
    pub ready: Vec<ReadyLine>,
    /// What cannot, and why.
    pub left_out: LeftOut,
}

impl OpenedDesign {
    /// Opens what a design needs of these targets and finds out which of its lines can be run. The
    /// first target says whether they are simulated; `allowed` is used for lists that are written.
    ///
    /// # Errors
    /// If a target cannot be opened, or no target could carry out the design.
    pub fn open(
        design: &Design,
        targets: &[String],
        allowed: &Access,
        parse: Parse<'_>,
    ) -> Result<Self> {
        let (lines, mut left_out) = lines(design, targets, None, parse)?;
        let mut real = BTreeMap::new();
        let mut ready = Vec::new();
        if simulated(&targets[0])?.is_some() {
            for line in lines {
                let size = simulated(&line.targets[0])?.map_or(Bytes(0), |spec| spec.size());
                let shown = line.combination.levels.clone();
                match build(&line.spec, size) {
                    Ok(workload) => ready.push(ReadyLine { line, workload }),
                    Err(error) => left_out.add(error.to_string(), &shown),
                }
            }
            return Ok(Self { real, ready, left_out });
        }
        let lists: BTreeSet<Vec<String>> = lines.iter().map(|line| line.targets.clone()).collect();
        let fallback = engine::probe_uring().is_err();
        for list in lists {
            let of_list: Vec<&Line> = lines.iter().filter(|line| line.targets == list).collect();
            let mut opened = TargetList::open(&list, &of_list, allowed)?;
            for line in of_list {
                let line = if fallback && line.spec.asked.engine == EngineName::IoUring {
                    let spec = with_engine(line.spec.clone(), EngineName::Sync);
                    Line { spec, ..line.clone() }
                } else {
                    line.clone()
                };
                let shown = line.combination.levels.clone();
                match opened.fits(&line)? {
                    Ok(workload) => ready.push(ReadyLine { line, workload }),
                    Err(reason) => left_out.add(reason, &shown),
                }
            }
            real.insert(list, opened.targets);
        }
        // In the order of the design again.
        let order = |ready: &ReadyLine| {
            lines.iter().position(|line| line.combination == ready.line.combination)
        };
        ready.sort_by_key(order);
        Ok(Self { real, ready, left_out })
    }

    /// The experiment of what can be run on these targets, in the order that the seed gives.
    #[must_use]
    pub fn experiment(
        &self,
        design: &Design,
        targets: &[String],
        seed: u64,
        note: &str,
    ) -> Experiment {
        let order = plan::blocks_in_order(self.ready.len(), design.blocks, design.order, seed);
        let planned = |((block, at), position): ((u32, usize), u32)| {
            let ReadyLine { line, workload } = &self.ready[at];
            let differ = line.targets != targets;
            PlannedTrial {
                block,
                levels: line.combination.levels.clone(),
                workload: workload.clone(),
                seed: plan::trial_seed(seed, position),
                preparation: line.preparation.clone(),
                targets: if differ { line.targets.clone() } else { Vec::new() },
            }
        };
        let (simulated, design_text) = (self.real.is_empty(), design.to_toml());
        let (id, time) = if simulated {
            let text = format!("experiment {} {seed} {design_text}", targets.join(" "));
            (hex_digest(&text), None)
        } else {
            (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string()))
        };
        let environment = self.real.values().next().map(|targets| targets.environment().clone());
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

    /// Facts of a target, simulated or real; `None` for one that nothing uses.
    fn facts(&self, path: &str) -> Option<Target> {
        if let Some(spec) = simulated(path).ok().flatten() {
            return Some(Target {
                path: path.to_owned(),
                kind: TargetKind::Simulated,
                size_bytes: spec.size(),
                device: None,
                filesystem: None,
                extents: None,
            });
        }
        let mut all = self.real.values().flat_map(RealTargets::all_facts);
        all.find(|facts| facts.path == path).cloned()
    }

    /// Whether all of these combinations can be run.
    pub fn runs_all<'a>(
        &self,
        mut combinations: impl Iterator<Item = &'a BTreeMap<String, String>>,
    ) -> bool {
        combinations
            .all(|levels| self.ready.iter().any(|ready| ready.line.combination.levels == *levels))
    }

    /// What targets are written with until they are steady: a line that reads, else the first.
    #[must_use]
    pub fn steady_workload(&self) -> Workload {
        let reads = self.ready.iter().find(|ready| !ready.workload.writes());
        reads.or(self.ready.first()).map(|ready| ready.workload.clone()).unwrap_or_default()
    }

    /// Writes the test files; the sets of targets by their names as they are typed.
    ///
    /// # Errors
    /// If a test file cannot be written, or the user interrupts it.
    pub fn into_sessions(
        self,
        seed: u64,
        stop: &Arc<AtomicBool>,
        display: &mut dyn Display,
    ) -> Result<Vec<(Vec<String>, Session)>> {
        let ready = |(names, targets): (Vec<String>, RealTargets)| {
            Ok((names, targets.into_session(EngineName::IoUring, seed, stop, display)?))
        };
        self.real.into_iter().map(ready).collect()
    }
}

/// The workload of a spec on a target of this size, whose area it cuts to what is there.
fn build(spec: &Spec, size: Bytes) -> Result<Workload, BuildError> {
    let room = Bytes(size.0.saturating_sub(spec.asked.offset_bytes.0));
    let wanted = if spec.asked.stripe_bytes.is_some() { size } else { room };
    let size_asked = spec.size.map(|asked| asked.min(wanted));
    Spec { size: size_asked, ..spec.clone() }.build(size)
}

/// One list of real targets on its way.
struct TargetList {
    targets: RealTargets,
    /// Why nothing may be written, where that is so.
    read_only: Option<String>,
    /// Cache modes that were tried, and why one cannot be used.
    modes: BTreeMap<CacheMode, Option<String>>,
    writes: bool,
}

impl TargetList {
    fn open(list: &[String], lines: &[&Line], allowed: &Access) -> Result<Self> {
        let paths: Vec<&Path> = list.iter().map(Path::new).collect();
        let writing = |line: &&&Line| line.spec.asked.read_percent < 100;
        let writes = lines.iter().filter(writing).count();
        // The largest that is asked for, if all ask: else what the target has.
        let sizes: Option<Vec<Bytes>> = lines.iter().map(|line| line.spec.size).collect();
        let size = sizes.and_then(|sizes| sizes.into_iter().max());
        let least = lines.iter().map(|line| line.spec.asked.max_bs()).max().unwrap_or_default();
        let descriptors = |line: &&Line| u64::from(line.spec.asked.numjobs) * 4;
        let most = lines.iter().map(descriptors).max().unwrap_or(0);
        kernel::allow_descriptors(list.len() as u64 * 6 + most + 64).map_err(TargetError::from)?;
        let access = if writes > 0 { allowed.clone() } else { Access::ReadOnly };
        let opened = RealTargets::open(&paths, &access, size, least);
        let (targets, read_only) = match opened {
            Ok(targets) => (targets, None),
            Err(error) if writes < lines.len() && error.exit_code() == REFUSED => {
                let targets = RealTargets::open(&paths, &Access::ReadOnly, size, least)?;
                (targets, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        let writes = writes > 0 && read_only.is_none();
        Ok(Self { targets, read_only, modes: BTreeMap::new(), writes })
    }

    /// The workload of a line, or why it cannot be run here.
    fn fits(&mut self, line: &Line) -> Result<Result<Workload, String>> {
        if line.spec.asked.read_percent < 100
            && let Some(reason) = &self.read_only
        {
            return Ok(Err(reason.clone()));
        }
        let treatment = line.preparation.as_deref().and_then(treatment::find);
        if let Some(treatment) = treatment {
            let facts: Vec<&Target> = self.targets.all_facts().collect();
            if let Err(reason) = treatment.fits(&facts) {
                return Ok(Err(reason));
            }
        }
        if (line.spec.asked.polled || line.spec.asked.sqpoll)
            && let Err(error) = engine::probe_uring()
        {
            return Ok(Err(error.to_string()));
        }
        let smallest = self.targets.all_facts().map(|facts| facts.size_bytes).min();
        let from_start = treatment.is_some_and(treatment::Treatment::appends);
        let workload = match build(&line.spec, smallest.unwrap_or_default()) {
            Ok(workload) => Workload { from_start, ..workload },
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Err(error) = check_alignment(&workload, self.targets.alignment()) {
            return Ok(Err(error.to_string()));
        }
        if let Some(reason) = self.mode(workload.cache) {
            return Ok(Err(reason));
        }
        self.targets.look_at_area(&workload)?;
        Ok(Ok(workload))
    }

    /// Opens a cache mode at its first use; why it cannot be used.
    fn mode(&mut self, cache: CacheMode) -> Option<String> {
        let (targets, writes) = (&mut self.targets, self.writes);
        let opened = self.modes.entry(cache).or_insert_with(|| {
            targets.open_mode(cache, writes).err().map(|error| error.to_string())
        });
        opened.clone()
    }
}
