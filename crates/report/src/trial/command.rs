//! Formats a trial as the command that repeats it: `halfpower run` with flags for all non-default settings.
//!
//! A workload contains more than its flags state, and flags can state more than it contains. Run time, seed
//! and area are always written, because their defaults depend on the machine. Flags that protect data
//! (`--overwrite`, `--destroy-data-on`) are never written: the user who repeats the trial has to decide
//! again.

use crate::story::joined;
use record::{
    AreaZone, Arrival, Bytes, CacheMode, Data, Discipline, DropCache, FlushKind, NO_TIME_LIMIT,
    Nanos, Pattern, RebuildPace, Regions, ReplayPace, Target, TargetKind, Trial, Workload,
    mix_word, shell_word, time_word,
};

/// A flag with its value, which is empty for a switch; `None` if the flag is omitted.
type Flag = (&'static str, Option<String>);

pub(crate) fn command(trial: &Trial) -> String {
    let mut text = format!("halfpower run{}", words(trial, &trial.targets));
    for (index, job) in trial.workload.beside.iter().enumerate() {
        let Some(mut alone) = trial.job(index + 1) else { continue };
        // A recording includes its other requests.
        if alone.workload.replay.is_some() && alone.workload.instead.is_some() {
            continue;
        }
        // The first job's flags combine its targets.
        if job.targets == 0 && trial.workload.array.is_some() {
            (alone.workload.array, alone.workload.stripe_bytes) = (None, None);
            alone.workload.size_bytes = Bytes(0);
        }
        let own = if job.targets > 0 { alone.targets.as_slice() } else { &[] };
        let mut words = words(&alone, own);
        let delay = Some(job.delay_ns.0).filter(|delay| *delay > 0);
        words.extend(delay.map(|delay| format!(" --start-delay {}", time_word(delay))));
        text.push_str(&format!(" --beside {}", quoted(words.trim_start())));
    }
    format!("{text} --seed {}", trial.seed)
}

/// Quotes words as one argument. Double quotes, within which a line can be broken, are used if possible.
fn quoted(words: &str) -> String {
    if !words.contains(' ') || words.contains(['"', '$', '`', '\\', '!']) {
        return shell_word(words);
    }
    format!("\"{words}\"")
}

/// A job's targets and flags.
fn words(trial: &Trial, targets: &[Target]) -> String {
    let paths = joined(targets, "", |target| format!(" {}", shell_word(&target.path)));
    let all = [what(&trial.workload), place(&trial.workload, trial), course(&trial.workload)];
    let written = all.into_iter().flatten().filter_map(|(name, value)| Some((name, value?)));
    let flags = joined(written, "", |(name, value)| match value.as_str() {
        "" => format!(" --{name}"),
        value => format!(" --{name} {value}"),
    });
    paths + &flags
}

fn switch(on: bool) -> Option<String> {
    on.then(String::new)
}

/// A value, unless it is the default.
fn unless(usual: bool, value: impl ToString) -> Option<String> {
    (!usual).then(move || value.to_string())
}

/// Flags for the requests.
fn what(workload: &Workload) -> Vec<Flag> {
    if let Some(replay) = &workload.replay {
        let speed = match replay.pace {
            ReplayPace::AsFast => Some("max".to_owned()),
            ReplayPace::AtTimes { speed_milli } => {
                unless(speed_milli == 1_000, f64::from(speed_milli) / 1e3)
            }
        };
        return vec![
            ("replay", Some(shell_word(&replay.source))),
            ("replay-speed", speed),
            ("replay-wrap", switch(replay.wrap)),
            ("iodepth", Some(workload.iodepth.to_string())),
            ("numjobs", unless(workload.numjobs == 1, workload.numjobs)),
        ];
    }
    let sequential = workload.pattern == Pattern::Sequential;
    let order = if sequential { "" } else { "rand" };
    let op = match workload.read_percent {
        100.. => "read",
        0 if workload.instead.is_some() => "trim",
        0 => "write",
        _ => "rw",
    };
    let one_op = matches!(workload.read_percent, 0 | 100) || workload.write_rate_iops.is_some();
    let pattern = workload.pattern.name();
    let misalign = workload.misalign_bytes.0;
    let regions = if workload.regions == Regions::Own { "own" } else { "shared" };
    vec![
        ("rw", Some(format!("{order}{op}"))),
        ("rwmixread", unless(one_op, workload.read_percent)),
        ("pattern", unless(sequential || workload.pattern == Pattern::Random, pattern)),
        ("bs", Some(mix_word(&workload.bs))),
        ("iodepth", Some(workload.iodepth.to_string())),
        ("numjobs", unless(workload.numjobs == 1, workload.numjobs)),
        ("hit-size", workload.hit_bytes.map(|hit| hit.0.to_string())),
        ("zipf-theta", workload.zipf_theta_milli.map(|it| (f64::from(it) / 1e3).to_string())),
        ("hot-size", workload.hot.map(|hot| hot.bytes.0.to_string())),
        ("hot-share", workload.hot.map(|hot| format!("{}%", hot.percent))),
        ("stride", workload.stride_bytes.map(|stride| stride.0.to_string())),
        ("seq-share", workload.blend.map(|it| format!("{}%", it.sequential_percent))),
        ("zones", unless(workload.zones.is_empty(), zones(&workload.zones))),
        ("align", workload.align_bytes.map(|align| align.0.to_string())),
        ("backwards", switch(workload.backwards)),
        ("from-start", switch(workload.from_start)),
        ("without-replacement", switch(workload.without_replacement)),
        ("misalign", unless(misalign == 0, misalign)),
        ("regions", unless(workload.regions == Regions::PerJob, regions)),
    ]
}

/// Flags for the targets and the I/O method.
fn place(workload: &Workload, trial: &Trial) -> Vec<Flag> {
    // The size of a directory target is that of its test file. The area is the part after the offset.
    let made = trial.targets.iter().find(|target| target.kind == TargetKind::Directory);
    let size = made.map_or(workload.size_bytes.0, |target| target.size_bytes.0);
    let offset = workload.offset_bytes.0;
    let usual_drop = workload.drop_cache == DropCache::None;
    let array = workload.array;
    // The size applies to each target.
    let array_size = array.map(|array| array.leg_bytes.0.to_string());
    vec![
        ("cache", unless(workload.cache == CacheMode::Device, workload.cache.name())),
        ("ioengine", unless(trial.simulated, workload.engine.name())),
        ("hipri", switch(workload.polled)),
        ("sqthread-poll", switch(workload.sqpoll)),
        ("huge-pages", switch(workload.huge_pages)),
        ("raid", array.map(|array| array.level.number().to_string())),
        ("chunk", workload.stripe_bytes.map(|chunk| chunk.0.to_string())),
        ("failed", array.and_then(|array| array.failed).map(|leg| leg.to_string())),
        ("rebuild", array.and_then(|array| array.rebuild).map(rebuild_word)),
        ("offset", unless(offset == 0, offset)),
        ("size", array_size.or(unless(size == 0 || workload.stripe_bytes.is_some(), size))),
        ("offset-increment", workload.job_distance_bytes.map(|it| it.0.to_string())),
        ("drop-cache", unless(usual_drop, workload.drop_cache.name())),
        ("precondition", switch(trial.preconditioning.is_some())),
    ]
}

/// The value of `--rebuild`.
fn rebuild_word(pace: RebuildPace) -> String {
    pace.bytes_per_s.map_or_else(|| "max".to_owned(), |bytes| bytes.0.to_string())
}

/// Flags for arrivals, data and the end of the run.
fn course(workload: &Workload) -> Vec<Flag> {
    let rate = workload.rate_iops.map(|total| match workload.write_rate_iops {
        Some(writes) => format!("{},{writes}", total.saturating_sub(writes)),
        None => total.to_string(),
    });
    let poisson = workload.arrival == Arrival::Poisson;
    let arrival = rate.as_ref().map(|_| if poisson { "poisson" } else { "constant" }.to_owned());
    let any = workload.discipline == Discipline::Any;
    let zeros = format!("{}%", workload.compressible_percent);
    let processors = joined(&workload.processors, ",", u32::to_string);
    let flushes = |kind| workload.flush.filter(|it| it.kind == kind).map(|it| it.every.to_string());
    let (think, ramp, rules) = (workload.think_ns, workload.ramp_ns, &workload.stop);
    vec![
        ("rate-iops", rate),
        ("arrival", arrival),
        ("burst", workload.burst_milli.map(|it| (f64::from(it) / 1e3).to_string())),
        ("think-time", unless(think.0 == 0, time_word(think.0))),
        ("completion", unless(any, workload.discipline.name())),
        ("fsync", flushes(FlushKind::Fsync)),
        ("fdatasync", flushes(FlushKind::Fdatasync)),
        ("sync-file-range", flushes(FlushKind::SyncFileRange)),
        ("compressible", unless(workload.data != Data::Compressible, zeros)),
        ("zeros", switch(workload.data == Data::Zeros)),
        ("verify", switch(workload.data == Data::Tagged)),
        ("runtime", Some(run_time(workload.runtime_ns))),
        ("ramp-time", unless(ramp.0 == 0, time_word(ramp.0))),
        ("io-size", rules.max_bytes.map(|bytes| bytes.0.to_string())),
        ("passes", rules.passes.map(|passes| passes.to_string())),
        ("until-precision", rules.precision_ppm.map(|ppm| format!("{}%", f64::from(ppm) / 1e4))),
        ("keep-warm-up", switch(!rules.cut_warm_up)),
        ("interval", rules.interval_ns.map(|length| time_word(length.0))),
        ("io-priority", workload.io_priority.map(|priority| priority.to_string())),
        ("processors", unless(workload.processors.is_empty(), processors)),
        ("cgroup", workload.cgroup.as_deref().map(shell_word)),
        ("job-name", workload.name.as_deref().map(shell_word)),
    ]
}

/// Zones in the syntax of the flag.
pub(crate) fn zones(zones: &[AreaZone]) -> String {
    joined(zones, ":", |zone| format!("{}/{}", zone.request_percent, zone.area_percent))
}

/// The value of `--runtime`.
fn run_time(time: Nanos) -> String {
    if time == NO_TIME_LIMIT { "none".to_owned() } else { time_word(time.0) }
}
