//! `halfpower check`: measures the profile of a disk in about a minute.

use crate::failure::{interrupted, usage};
use crate::host_args::HostArgs;
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::recognise;
use crate::store_args::ResultArgs;
use crate::values::some_bytes;
use clap::Args;
use diagnose::Omitted;
use host::target::{Access, check_room};
use plan::session::{self, Driver, End, Session, StopFlag, Targets};
use plan::{
    CheckPlan, CheckSettings, CommitsPlan, DiagnosisPlan, LoneReadsPlan, MIN_BUDGET, Plan,
    SideBySide, SustainedPlan,
};
use record::{
    Bytes, CacheMode, DeviceFacts, Nanos, Profile, Sustained, TargetKind, TestFile, Trial, Written,
    format_bytes, format_nanos,
};
use std::path::Path;

/// Default measuring time: of the plain check, and of `--for-diagnosis`.
const QUICK_BUDGET: Nanos = Nanos(60_000_000_000);
const DIAGNOSIS_BUDGET: Nanos = Nanos(600_000_000_000);
/// Commits get this fraction of the budget (in a plain check, and with `--for-diagnosis`), up to a maximum:
/// ten thousand slow flushes, which a p99.9 needs, take minutes.
const COMMITS_PARTS: [u64; 2] = [6, 20];
const COMMITS_MOST: Nanos = Nanos(600_000_000_000);
/// QD 1 reads get this fraction of the budget, up to a maximum.
const LONE_READS_PART: u64 = 6;
const LONE_READS_MOST: Nanos = Nanos(10_000_000_000);
/// Budget in virtual time, which costs nothing: the plan ends when its data are sufficient.
const VIRTUAL_BUDGET: Nanos = Nanos(1_000_000_000_000_000);
/// Half-width of the 95 % interval of a cell's rate that counts as precise.
const TARGET_REL: f64 = 0.05;
/// Largest request of the plan. A target must be at least this large.
const LARGEST_REQUEST: Bytes = Bytes(64 << 10);
/// Minimum size of a test file that represents the disk, and the unit that test file sizes are rounded to.
const AREA_LEAST: Bytes = Bytes(64 << 20);
const AREA_UNIT: u64 = 1 << 20;
/// How the test files of a directory are written. Five are written like most files: their differences predict
/// how the next file differs. One is written with direct I/O, because some virtual disks place such a file
/// differently.
const AREAS: [Written; 6] = {
    use Written::{Grown, PastCache, ThroughCache};
    [ThroughCache, Grown, PastCache, ThroughCache, Grown, ThroughCache]
};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower check                       the disk under the current directory\n  \
    halfpower check /mnt/data --budget 2m\n  \
    halfpower check /dev/sdb              reads only, the whole device\n  \
    halfpower check --no-write --json > profile.json\n  \
    halfpower check sim:nvme-ssd          a simulated drive",
    after_long_help = simdisk::help_with_names("Examples:\n  \
    halfpower check                       the disk under the current directory\n  \
    halfpower check /mnt/data --budget 2m\n  \
    halfpower check /dev/sdb              reads only, the whole device\n  \
    halfpower check --no-write --json > profile.json"))]
pub(crate) struct CheckArgs {
    /// Directory (for temporary test files), file or block device (both only read), or sim:NAME.
    #[arg(default_value = ".")]
    target: String,
    /// Measuring time, at least 5s; writing the test files takes additional time [default: 60s;
    /// with --for-diagnosis 10m, or unlimited on a simulated target].
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,
    /// Also measure what predictions need: latency by queue depth and request size, read/write
    /// mixes, and open loops.
    #[arg(long)]
    for_diagnosis: bool,
    /// Continue the heaviest loads until their rate falls, for at most 10 minutes, to find a
    /// volume's burst credit or a flash drive's fast write cache. On a simulated target, this takes
    /// no real time.
    #[arg(long)]
    sustained: bool,
    /// Measure all six request sizes from 4 to 128 KiB, instead of three.
    #[arg(long)]
    full: bool,
    /// Do not measure writes. In a directory, the test files are still written.
    #[arg(long)]
    no_write: bool,
    /// Total size of the test files, or of the measured area [default: a tenth of the free space,
    /// 256 MiB to 2 GiB, for test files; otherwise the whole file or device].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: Option<Bytes>,
    /// Also measure this file on the same disk, without writing to it; can be repeated. Files on
    /// one disk differ in speed.
    #[arg(long, value_name = "PATH", conflicts_with = "hosts")]
    file: Vec<String>,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    results: ResultArgs,
}

pub(crate) fn check(arguments: &CheckArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let simulated = session::simulated(&arguments.target)?;
    if arguments.sustained && arguments.hosts.given() {
        return Err(usage("--sustained works only on one machine; omit --hosts or --sustained"));
    }
    if simulated.is_some() && !arguments.file.is_empty() {
        return Err(usage("--file does not apply to a simulated target; omit it"));
    }
    if simulated.is_some() && arguments.hosts.given() {
        return Err(usage("--hosts does not apply to a simulated target; omit it"));
    }
    let budget = arguments.budget.unwrap_or(match (arguments.for_diagnosis, simulated.is_some()) {
        (false, _) => QUICK_BUDGET,
        (true, false) => DIAGNOSIS_BUDGET,
        (true, true) => VIRTUAL_BUDGET,
    });
    if budget < MIN_BUDGET {
        let least = format_nanos(MIN_BUDGET.0 as f64);
        let text = format!("--budget must be at least {least}, because a check takes that long");
        return Err(usage(text));
    }
    let seed = session::seed(arguments.results.seed, simulated.is_some());
    let mut progress = Progress::new();
    let store = arguments.results.save.store()?;
    let (mut targets, names) = match simulated {
        Some(device) => {
            let session = Session::simulated(&device, arguments.size, seed, stop);
            (Targets::one(session), AreaNames::default())
        }
        None => open(arguments, seed, stop, &mut progress)?,
    };
    let area = targets.smallest();
    let session = targets.main()?;
    let write = !arguments.no_write && session.writable();
    let settings = CheckSettings {
        area: arguments.size.unwrap_or(area).min(area),
        areas: names.written,
        read_areas: names.read,
        engine: session.engine,
        alignment: session.alignment(),
        budget,
        write,
        full: arguments.full,
        target_rel: TARGET_REL,
        seed,
    };
    let request = format!(
        "profile {} {settings:?}{}",
        arguments.for_diagnosis,
        if arguments.sustained { " sustained" } else { "" }
    );
    let mut identity = session.identity(&request);
    let mut plans = beside(&settings, arguments, session);
    // QD 1 reads of a simulated device. No other load disturbs it and virtual time costs nothing, so they run
    // last and outside the budget.
    let mut after = match session.is_simulated() {
        true => LoneReadsPlan::new(&part_of(&settings, LONE_READS_PART, LONE_READS_MOST).0),
        false => None,
    };
    let left = plans.iter().fold(budget, |left, (_, part)| left.since(*part));
    let settings = CheckSettings { budget: left, ..settings };
    let requests: Option<Box<dyn Plan>> = match arguments.for_diagnosis {
        true => DiagnosisPlan::new(settings).map(|plan| Box::new(plan) as _),
        false => CheckPlan::new(settings).map(|plan| Box::new(plan) as _),
    };
    let requests = requests.ok_or_else(|| {
        usage(
            "the target is too small for any request of the matrix; name a larger target, or use \
             a larger --size",
        )
    })?;
    plans.insert(0, (requests, left));
    let mut plan = SideBySide::new(plans);
    let mut driver = Driver::new(targets, store, &mut progress);
    let mut finished = driver.run(&mut plan)?;
    if let (End::Completed, Some(plan)) = (finished.end, &mut after) {
        let lone = driver.run(plan)?;
        finished.trials.extend(lone.trials);
        finished.end = lone.end;
    }
    if finished.end == End::Interrupted && finished.trials.is_empty() {
        return Err(interrupted("no trial finished, so nothing is saved"));
    }
    session::something_completed(&finished.trials)?;
    let mut sustained = Vec::new();
    if arguments.sustained && finished.end == End::Completed {
        (sustained, finished.end) = go_on(&mut driver, &finished.trials, seed)?;
    }
    let session = driver.targets.main()?;
    if finished.end != End::Completed && session.is_simulated() {
        // The complete profile of the same request keeps its id.
        identity = session.identity(&format!("{request} partial"));
    }
    let omitted = Omitted {
        writes: arguments.no_write,
        points: u32::try_from(plan.skipped()).unwrap_or(u32::MAX),
        interrupted: finished.end != End::Completed,
    };
    let precision = (budget, TARGET_REL);
    let measured = (finished.trials.as_slice(), sustained);
    let profile = session::profile(&mut driver, identity, precision, measured, omitted)?;
    let ids: Vec<String> = finished.trials.iter().map(|trial| trial.id.clone()).collect();
    driver.keep(|store| store.add_profile(&profile, &ids));
    let save = &arguments.results.save;
    let story = || report::profile(&profile, &[]);
    let verdict = save.show(&mut driver, &profile, &profile.findings, story)?;
    if output::is_verbose() && !save.json {
        let next = next_steps(arguments, &profile, driver.store().is_some());
        output::print(&format!("\n{}", report::next_steps_text(&next, &output::style())))?;
    }
    if finished.end == End::Interrupted {
        let count = finished.trials.len();
        let kept = match driver.store() {
            Some(_) => {
                let show = format!("halfpower show {}", profile.id);
                format!("it is saved: `{}`", output::saved_by(&show))
            }
            None => "it is not saved".to_owned(),
        };
        return Err(interrupted(format!(
            "the profile covers the {count} trials that finished; {kept}"
        )));
    }
    Ok(verdict)
}

/// Continues the heaviest loads until their rate falls. After an interruption, the finished ones remain.
fn go_on(
    driver: &mut Driver<'_>,
    trials: &[Trial],
    seed: u64,
) -> anyhow::Result<(Vec<Sustained>, End)> {
    let Some(mut plan) = SustainedPlan::new(trials, seed) else { return Ok(Default::default()) };
    let end = driver.run(&mut plan)?.end;
    Ok((plan.sustained(), end))
}

/// The plans that run in addition to a profile's requests, each with its part of the budget.
fn beside(
    settings: &CheckSettings,
    arguments: &CheckArgs,
    session: &Session,
) -> Vec<(Box<dyn Plan>, Nanos)> {
    let mut plans: Vec<(Box<dyn Plan>, Nanos)> = Vec::new();
    if settings.write && !session.is_simulated() {
        let part = COMMITS_PARTS[usize::from(arguments.for_diagnosis)];
        let (settings, budget) = part_of(settings, part, COMMITS_MOST);
        let plan = CommitsPlan::new(settings, engine::COMMIT_FLUSH);
        plans.extend(plan.map(|plan| (Box::new(plan) as _, budget)));
    }
    // Several machines that read in turn leave the device no idle time.
    if !arguments.hosts.given() && !session.is_simulated() {
        let (settings, budget) = part_of(settings, LONE_READS_PART, LONE_READS_MOST);
        plans.extend(LoneReadsPlan::new(&settings).map(|plan| (Box::new(plan) as _, budget)));
    }
    plans
}

/// The settings with `1/part` of the budget, at most `most`, and that budget.
fn part_of(settings: &CheckSettings, part: u64, most: Nanos) -> (CheckSettings, Nanos) {
    let budget = Nanos(settings.budget.0 / part).min(most);
    let (areas, read_areas) = (Vec::new(), Vec::new());
    (CheckSettings { budget, areas, read_areas, ..settings.clone() }, budget)
}

/// Names of the target sets that are measured in addition to the command's targets.
#[derive(Default)]
struct AreaNames {
    /// Test files.
    written: Vec<Vec<String>>,
    /// The user's files, which are only read.
    read: Vec<Vec<String>>,
}

/// Opens a real target, prints its description, and writes the test files. The test files of a directory are
/// written in different ways, like the files of a real disk.
fn open(
    arguments: &CheckArgs,
    seed: u64,
    stop: &StopFlag,
    progress: &mut Progress,
) -> anyhow::Result<(Targets, AreaNames)> {
    let path = Path::new(&arguments.target);
    let named = std::iter::once(&arguments.target).chain(&arguments.file).cloned().collect();
    recognise::refuse_as_targets(&[(named, Access::ReadOnly)])?;
    let opener = arguments.hosts.opener(stop, progress)?;
    let open = |path: &Path, size: Option<Bytes>, write: bool| {
        let mut target = opener.open(&[path], &Access::ReadOnly, size, LARGEST_REQUEST)?;
        let write = write && target.writable();
        for cache in [CacheMode::Device, CacheMode::All, CacheMode::None] {
            target.open_mode(cache, write)?;
        }
        anyhow::Ok(target)
    };
    let mut first = open(path, arguments.size, !arguments.no_write)?;
    // All files together, as the description below states their size.
    check_room(first.facts())?;
    let is_directory = first.facts().kind == TargetKind::Directory;
    let (disk, whole) = (first.facts().device.clone(), first.facts().size_bytes);
    let style = report::Style::default();
    let about = report::target_text(first.facts(), first.conditions(), &style);
    if !output::is_quiet() {
        output::say(about.trim_end());
    }
    let busy = first.busy_finding();
    if busy.is_some() && !output::is_quiet() {
        output::say(report::findings_text(busy.as_slice(), &style).trim_end());
    }
    let mut names = AreaNames::default();
    let mut others = Vec::new();
    // With several machines, each has one file.
    let files = if is_directory && !arguments.hosts.given() { areas_of(whole) } else { 1 };
    if files > 1 {
        let size = Bytes(whole.0 / files as u64 / AREA_UNIT * AREA_UNIT);
        first = open(path, Some(size), !arguments.no_write)?;
        for (number, written) in (1..).zip(AREAS.into_iter().take(files).skip(1)) {
            let mut target = open(path, Some(size), !arguments.no_write)?;
            target.write_as(TestFile { number, written });
            let name = vec![format!("{} {number}", arguments.target)];
            names.written.push(name.clone());
            others.push((name, target));
        }
    }
    let compresses = first.facts().filesystem.as_ref().is_some_and(|it| it.compresses)
        || first.facts().device.as_ref().is_some_and(|it| it.driver.as_deref() == Some("zram"));
    if files > 1 && compresses {
        let mut target = open(path, Some(first.facts().size_bytes), true)?;
        target.write_as(TestFile { number: files as u32, written: Written::Text });
        // Writes would replace the text.
        let name = vec![format!("{} {files}", arguments.target)];
        names.read.push(name.clone());
        others.push((name, target));
    }
    for file in &arguments.file {
        let target = open(Path::new(file), None, false)?;
        let facts = target.facts();
        if facts.kind == TargetKind::Directory || facts.size_bytes < AREA_LEAST {
            let least = format_bytes(AREA_LEAST.0);
            let text = format!("--file {file}: name a file of at least {least}; it is only read");
            return Err(usage(text));
        }
        let name = |device: &Option<DeviceFacts>| device.as_ref().map(|it| it.name.clone());
        if name(&facts.device) != name(&disk) {
            return Err(usage(format!(
                "--file {file} and {} are on different disks, but a profile covers only one disk; \
                 check each disk separately",
                arguments.target
            )));
        }
        names.read.push(vec![file.clone()]);
        others.push((vec![file.clone()], target));
    }
    let mut session = first.into_session(engine::DEFAULT_ENGINE, seed, stop, progress)?;
    session.findings.extend(busy);
    let engine = session.engine;
    let mut targets = Targets::one(session);
    for ((name, target), more) in others.into_iter().zip(1..) {
        // Different data in each file: a device below several files would otherwise see the same blocks
        // twice.
        let seed = seed.wrapping_add(more);
        targets.add(name, target.into_session(engine, seed, stop, progress)?);
    }
    Ok((targets, names))
}

/// Number of test files that share this size: one per entry of `AREAS`, but each at least `AREA_LEAST`.
fn areas_of(whole: Bytes) -> usize {
    let fit = usize::try_from(whole.0 / AREA_LEAST.0).unwrap_or(usize::MAX);
    fit.clamp(1, AREAS.len())
}

/// Commands to run next.
fn next_steps(arguments: &CheckArgs, profile: &Profile, saved: bool) -> Vec<String> {
    let target = &arguments.target;
    let runtime = if profile.simulated { "" } else { " --runtime 30s" };
    let depth = profile.depth_curves.first().and_then(|curve| curve.knee);
    let run = depth
        .map(|depth| format!("halfpower run {target} --rw randread --iodepth {depth}{runtime}"));
    let show = format!("halfpower show {} --verbose", profile.id);
    let show = saved.then(|| output::saved_by(&show));
    run.into_iter().chain(show).collect()
}
