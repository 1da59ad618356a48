//! `halfpower limits`: what every component between processor and medium carries, and which binds.
//!
//! The `limits` crate plans and concludes; this opens targets, carries out and keeps. A simulated
//! machine has no memory to measure. Its disks cannot be opened one by one, so that "on k disks" is
//! a machine with k of them, bound together so that each gets its part.

use crate::failure::{self, Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::{NOT_SAVED, StoreArgs, open_store};
use crate::values::{nanos, some_bytes};
use ::limits::bus::{self, Answer};
use ::limits::components::{self, Found, Peaks};
use ::limits::pap::{self, Stated};
use ::limits::plan::{Plan, Planned, Purpose, Settings, cached_area};
use ::limits::{memory, path};
use anyhow::Context;
use clap::Args;
use kernel::Roots;
use record::{
    Bytes, CacheMode, DeviceFacts, EngineName, Finding, FindingCode, HalfPower, LIMITS_SCHEMA,
    LimitsRun, Measured, MemoryTests, Nanos, PathComponent, Profile, Severity, Trial, format_rate,
};
use session::Display;
use session::{self, RealTargets, Session};
use simdisk::{Raid, SimKind, SimSpec};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::{Store, StoreError};
use target::Access;

/// Largest request of the plan: a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(1 << 20);
/// Size of the test file where the user names none: large enough to leave small caches behind.
const TEST_FILE: Bytes = Bytes(512 << 20);
/// Time for the trials where the user names none; virtual time costs little.
const BUDGET: Nanos = Nanos(30_000_000_000);
const SIMULATED_BUDGET: Nanos = Nanos(180_000_000_000);
/// Length of a visit of a memory test, and visits of each.
const MEMORY_VISIT: Duration = Duration::from_millis(25);
const MEMORY_ROUNDS: u32 = 5;
/// Time for reading ahead: on a disk that turns about two revolutions, elsewhere plenty.
const DELAY_TURNING: Nanos = Nanos(20_000_000);
const DELAY: Nanos = Nanos(1_000_000);
/// What progress calls the memory tests.
const MEMORY: &str = "memory";

/// `halfpower limits`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower limits                         memory, file-system cache, link and disk of this directory\n  \
    halfpower limits /dev/sdb /dev/sdc /dev/sdd   do three disks fill their controller?\n  \
    halfpower limits --pap device=3.5GB/s --pap memory=38.4GB/s\n  \
    halfpower limits sim:fireball,disks=4    the same on a simulated machine")]
pub(crate) struct LimitsArgs {
    /// Directories, files or block devices on different disks, or one sim:NAME.
    #[arg(default_value = ".")]
    targets: Vec<String>,
    /// States an advertised peak, as from a data sheet: processor, memory, file-cache, throttle,
    /// network, bus, link or device. Once for each.
    #[arg(long, value_name = "NAME=RATE", value_parser = Stated::parse)]
    pap: Vec<Stated>,
    /// Time for the trials [default: 30s; 180s of virtual time].
    #[arg(long, value_name = "TIME", value_parser = nanos)]
    budget: Option<Nanos>,
    /// Size of the test file [default: 512 MiB].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: Option<Bytes>,
    /// Measure the device's own limits now, although a profile of it is saved.
    #[arg(long)]
    fresh: bool,
    /// Measure no writes. A directory still gets its test file.
    #[arg(long)]
    no_write: bool,
    /// Leave out the memory tests.
    #[arg(long)]
    no_memory: bool,
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the document as JSON.
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Do not save the results.
    #[arg(long, help_heading = "Results")]
    no_save: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// Measures, saves and prints.
pub(crate) fn limits(arguments: &LimitsArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let simulated = simulated(arguments)?;
    let seed = session::seed(arguments.seed, simulated.is_some());
    let mut progress = Progress::new();
    let store = open_store(&arguments.keeping, arguments.no_save)?;
    let machines = match simulated {
        Some(spec) => Machines::simulated(&spec, seed, stop)?,
        None => Machines::real(arguments, seed, stop, &mut progress)?,
    };
    let run = Run { arguments, seed, machines, store, unsaved: None, progress };
    run.finish(stop)
}

/// The simulated machine, if the target is one, which then is the only one.
fn simulated(arguments: &LimitsArgs) -> anyhow::Result<Option<SimSpec>> {
    let specs = arguments
        .targets
        .iter()
        .map(|target| session::simulated(target))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(spec) = specs.iter().flatten().next() else { return Ok(None) };
    if specs.len() > 1 {
        let text = "a simulated target stands alone; give it more disks with disks=N";
        return Err(UsageError(text.to_owned()).into());
    }
    Ok(Some(spec.clone()))
}

/// What the trials run on.
struct Machines {
    /// The targets, or one simulated disk.
    all: Session,
    /// Simulated machines with more disks, from two on.
    more: Vec<Session>,
    /// Targets on disks of their own.
    targets: u32,
    /// What requests past the page cache must be multiples of.
    alignment: u64,
    /// Whether the targets may be written.
    write: bool,
    delay: Nanos,
    /// What was found on the way here.
    findings: Vec<Finding>,
}

impl Machines {
    /// A simulated disk, and machines with more of them.
    fn simulated(spec: &SimSpec, seed: u64, stop: &Arc<AtomicBool>) -> anyhow::Result<Self> {
        let session = |spec: &SimSpec| Session::simulated(spec, None, seed, stop);
        let (turning, disks) = match &spec.kind {
            SimKind::Machine(machine) => {
                let apart = matches!(machine.volume.raid, Raid::None | Raid::Raid0);
                (true, if apart { machine.disks } else { 1 })
            }
            SimKind::Queue(_) | SimKind::Flash(_) => (false, 1),
        };
        let with = |more: &str| SimSpec::parse(&format!("{},{more}", spec.text));
        let one = if disks > 1 { with("disks=1,raid=none")? } else { spec.clone() };
        let more = (2..=disks)
            .map(|count| Ok(session(&with(&format!("disks={count},raid=0"))?)))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            all: session(&one),
            more,
            targets: disks,
            alignment: 1,
            write: true,
            delay: if turning { DELAY_TURNING } else { DELAY },
            findings: Vec::new(),
        })
    }

    /// Real targets, with their test files.
    fn real(
        arguments: &LimitsArgs,
        seed: u64,
        stop: &Arc<AtomicBool>,
        progress: &mut Progress,
    ) -> anyhow::Result<Self> {
        let paths: Vec<&Path> = arguments.targets.iter().map(Path::new).collect();
        let fresh = paths.iter().any(|path| path.is_dir());
        let size = arguments.size.or(fresh.then_some(TEST_FILE));
        let mut targets = RealTargets::open(&paths, &Access::ReadOnly, size, LARGEST_REQUEST)?;
        let write = !arguments.no_write && targets.writable();
        for cache in [CacheMode::Device, CacheMode::All] {
            targets.open_mode(cache, write)?;
        }
        let alignment = targets.alignment();
        let (number, shared) = apart(&targets);
        let all = targets.into_session(EngineName::IoUring, seed, stop, progress)?;
        let turns = all
            .target()
            .device
            .as_ref()
            .is_some_and(|device| device.rotational == Some(true) && device.rotational_trusted);
        let delay = if turns { DELAY_TURNING } else { DELAY };
        // Depth comes from jobs there, and jobs are dealt out over all targets.
        let number = if all.engine == EngineName::Sync && number > 1 { 0 } else { number };
        let findings = all.findings.iter().cloned().chain(shared).collect();
        Ok(Self { all, more: Vec::new(), targets: number, alignment, write, delay, findings })
    }

    /// Where a trial runs.
    fn session(&mut self, purpose: Purpose) -> &mut Session {
        match purpose {
            Purpose::Again(disks) if disks > 1 && self.all.is_simulated() => {
                let index = disks as usize - 2;
                &mut self.more[index]
            }
            _ => &mut self.all,
        }
    }
}

/// How many targets lie on disks of their own: all of them or, where two share one, the first.
fn apart(targets: &RealTargets) -> (u32, Option<Finding>) {
    let disks: Vec<&str> = targets
        .all_facts()
        .map(|target| target.device.as_ref().map_or("", |device| device.disk.as_str()))
        .collect();
    let different: BTreeSet<&str> = disks.iter().copied().collect();
    if disks.len() == different.len() {
        return (u32::try_from(disks.len()).unwrap_or(u32::MAX), None);
    }
    let finding = Finding::new(
        FindingCode::TargetsShareDisk,
        Severity::Warning,
        format!(
            "{} targets lie on {} disk{}: what they do together says nothing of a bus, which was \
             tested with the first target alone.",
            disks.len(),
            different.len(),
            if different.len() == 1 { "" } else { "s" }
        ),
        "Name targets on different disks.",
    )
    .with("targets", disks.len() as f64, "")
    .with("disks", different.len() as f64, "");
    (1, Some(finding))
}

/// A run under way.
struct Run<'a> {
    arguments: &'a LimitsArgs,
    seed: u64,
    machines: Machines,
    store: Option<Store>,
    /// Why the store took no more; it is not asked again.
    unsaved: Option<StoreError>,
    progress: Progress,
}

impl Run<'_> {
    fn finish(mut self, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
        let (id, time) = self.machines.all.identity("limits");
        let memory = self.memory(stop)?;
        let profile = self.profile();
        let answers = self.trials(profile.is_none())?;
        self.progress.clear();
        let trials: Vec<Trial> = answers.iter().map(|(_, trial)| trial.clone()).collect();
        session::something_completed(&trials)?;
        let run = self.document(id, time, memory, &answers, profile.as_ref());
        self.keep(|store| store.add_document(&run));
        let text = if self.arguments.json {
            output::json(&run)?
        } else {
            output::page(&report::limits(&run))
        };
        output::print(&text)?;
        if let Some(error) = self.unsaved {
            return Err(error).context(NOT_SAVED);
        }
        Ok(Verdict::of(run.findings.iter().all(|finding| finding.severity < Severity::Invalid)))
    }

    /// The memory tests.
    fn memory(&mut self, stop: &Arc<AtomicBool>) -> anyhow::Result<Measured<MemoryTests>> {
        if self.machines.all.is_simulated() {
            return Ok(Measured::not("simulated target"));
        }
        if self.arguments.no_memory {
            return Ok(Measured::not("--no-memory"));
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let settings = memory::Settings {
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            visit: MEMORY_VISIT,
            rounds: MEMORY_ROUNDS,
            seed: self.seed,
        };
        let progress = &mut self.progress;
        let outcome = memory::measure(&Roots::default(), &settings, stop, &mut |share, what| {
            progress.show(MEMORY, share, what);
        });
        progress.clear();
        match outcome {
            Ok(tests) => Ok(Measured::Value(tests)),
            Err(memory::MemoryError::Interrupted) => {
                Err(Interruption("nothing of it is kept".to_owned()).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The latest profile of the same disk and kind of target, unless its limits are to be measured
    /// anew.
    fn profile(&self) -> Option<Profile> {
        if self.arguments.fresh || self.machines.all.is_simulated() {
            return None;
        }
        let device = self.machines.all.target().device.as_ref()?;
        let same = |other: &DeviceFacts| {
            (&other.disk, &other.model, &other.serial)
                == (&device.disk, &device.model, &device.serial)
        };
        let rows = self.store.as_ref()?.profiles().ok()?;
        let of_disk = rows.iter().rev().filter(|row| row.device.as_ref() == Some(&device.disk));
        let profiles = of_disk.filter_map(|row| self.store.as_ref()?.profile(&row.id).ok());
        profiles
            .filter(|profile| profile.limits.read_bytes_per_s.is_some())
            .find(|profile| profile.target.device.as_ref().is_some_and(same))
    }

    /// Carries out the plan.
    fn trials(&mut self, device: bool) -> anyhow::Result<Vec<Answer>> {
        let simulated = self.machines.all.is_simulated();
        let default = if simulated { SIMULATED_BUDGET } else { BUDGET };
        let area = self.machines.all.targets.iter().map(|target| target.size_bytes).min();
        let settings = Settings {
            area: area.unwrap_or_default(),
            engine: self.machines.all.engine,
            alignment: self.machines.alignment,
            targets: self.machines.targets,
            write: self.machines.write && !self.arguments.no_write,
            device,
            cached: !simulated,
            delay: self.machines.delay,
            budget: self.arguments.budget.unwrap_or(default),
            seed: self.seed,
        };
        let mut plan = Plan::new(&settings);
        let mut answers = Vec::new();
        while let Some(planned) = plan.next_trial() {
            let (total, number) = plan.progress();
            let what = plan::describe(&planned.workload);
            self.progress.show("measure", (number - 1) as f64 / total as f64, &what);
            let trial = match self.trial(&planned) {
                Err(error) if failure::is_interrupted(&error) => {
                    self.progress.clear();
                    let text = "a path with holes would mislead: nothing of it is kept but the \
                                trials that had finished";
                    return Err(Interruption(text.to_owned()).into());
                }
                other => other?,
            };
            self.keep(|store| store.add_trial(&trial));
            answers.push((planned.purpose, trial));
        }
        Ok(answers)
    }

    fn trial(&mut self, planned: &Planned) -> anyhow::Result<Trial> {
        let session = self.machines.session(planned.purpose);
        let cached = matches!(planned.purpose, Purpose::Cached(_));
        if cached {
            let area = cached_area(session.target().size_bytes);
            session.read_into_cache(Bytes(0), area)?;
        }
        let trial = session.trial(&planned.workload, planned.seed, &mut |_| ())?;
        if cached && planned.workload.only_op().is_none_or(|op| op != record::OpKind::Read) {
            // What was written to memory is not to disturb the next trial.
            session.flush()?;
        }
        Ok(trial)
    }

    /// Has the store keep something, as long as it takes what it is given.
    fn keep(&mut self, add: impl FnOnce(&mut Store) -> Result<(), StoreError>) {
        if let Some(store) = &mut self.store
            && let Err(error) = add(store)
        {
            self.unsaved = Some(error);
            self.store = None;
        }
    }

    fn document(
        &self,
        id: String,
        time: Option<String>,
        memory: Measured<MemoryTests>,
        answers: &[Answer],
        profile: Option<&Profile>,
    ) -> LimitsRun {
        let session = &self.machines.all;
        let medium = profile.and_then(|profile| profile.limits.read_bytes_per_s);
        let bus = bus::bus_test(answers, medium);
        let throttles = session.environment.as_ref().map(|all| all.cgroup_limits.as_slice());
        let components = components::components(&Found {
            target: session.target(),
            targets: self.machines.targets.max(1),
            memory: &memory,
            bus: &bus,
            answers,
            profile,
            throttles: throttles.unwrap_or_default(),
            peaks: &self.peaks(),
        });
        let mut findings = self.machines.findings.clone();
        findings.extend(components.iter().filter_map(half_power_finding));
        let mut trial_ids = Vec::new();
        for (_, trial) in answers {
            if !trial_ids.contains(&trial.id) {
                trial_ids.push(trial.id.clone());
            }
        }
        LimitsRun {
            schema: LIMITS_SCHEMA.to_owned(),
            halfpower_version: session::VERSION.to_owned(),
            id,
            time,
            seed: self.seed,
            simulated: session.is_simulated(),
            targets: self.targets(),
            environment: session.environment.clone(),
            binding: path::binding(&components),
            components,
            memory,
            bus,
            hits: bus::hit_test(answers, self.machines.delay),
            profile_id: profile.map(|profile| profile.id.clone()),
            trial_ids,
            findings,
        }
    }

    /// The targets as the user named them.
    fn targets(&self) -> Vec<record::Target> {
        let mut targets = self.machines.all.targets.clone();
        if self.machines.all.is_simulated() {
            targets[0].path.clone_from(&self.arguments.targets[0]);
        }
        targets
    }

    /// What is advertised here.
    fn peaks(&self) -> Peaks {
        let stated = self.arguments.pap.clone();
        let target = self.machines.all.target();
        if self.machines.all.is_simulated() {
            let not = || Measured::not("a simulated part advertises nothing; give it by --pap");
            return Peaks { memory: not(), buses: Vec::new(), link: not(), network: not(), stated };
        }
        let roots = Roots::default();
        let device = target.device.as_ref();
        let link = device.and_then(|device| device.link.as_deref());
        let link = match (link, link.and_then(pap::link_peak)) {
            (_, Some(peak)) => Measured::Value(peak),
            (Some(link), None) => Measured::not(format!("{link} states no speed")),
            (None, None) => Measured::not("sysfs shows no link"),
        };
        let filesystem = target.filesystem.as_ref();
        Peaks {
            memory: pap::memory_peak(&roots),
            buses: device.map(|device| pap::buses(&roots, device)).unwrap_or_default(),
            link,
            network: filesystem
                .map_or(Measured::not("no file system"), |f| pap::network_peak(&roots, f)),
            stated,
        }
    }
}

/// A component that gives less than half of what is advertised.
fn half_power_finding(component: &PathComponent) -> Option<Finding> {
    let pap = component.pap.value()?;
    let rap = component.rap_bytes_per_s.value()?;
    if component.half_power != HalfPower::Missed {
        return None;
    }
    Some(
        Finding::new(
            FindingCode::HalfPowerMissed,
            Severity::Warning,
            format!(
                "The {} gives {} of the {} that are advertised: less than half.",
                component.name,
                format_rate(rap.value),
                format_rate(pap.bytes_per_s)
            ),
            "Try larger requests and more of them outstanding (halfpower check); look for a link \
             that runs below its speed.",
        )
        .with("measured", rap.value, "bytes/s")
        .with("advertised", pap.bytes_per_s, "bytes/s")
        .with("of it", rap.value / pap.bytes_per_s, "share"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_above_half_is_no_finding() {
        let component = |half_power| PathComponent {
            kind: record::ComponentKind::Link,
            name: "link".to_owned(),
            pap: Measured::Value(record::Advertised {
                bytes_per_s: 6e8,
                source: "a test".to_owned(),
            }),
            rap_bytes_per_s: Measured::Value(record::Estimate::symmetric(2e8, 1e6, 3)),
            rap_is_lower_bound: false,
            rap_method: String::new(),
            others: Vec::new(),
            ratio: Some(1.0 / 3.0),
            half_power,
            disks: None,
        };
        assert!(half_power_finding(&component(HalfPower::Reached)).is_none());
        assert!(half_power_finding(&component(HalfPower::CannotTell)).is_none());
        let found = half_power_finding(&component(HalfPower::Missed)).unwrap();
        assert!(found.claim.contains("200 MB/s of the 600 MB/s"), "{}", found.claim);
    }
}
