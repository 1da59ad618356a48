//! A trial as the command that repeats it: `halfpower run` with flags for all that is not usual.
//!
//! What a workload holds is more than its flags say and less than they can: run time, seed and area
//! are written out, because their defaults come from the machine. Flags that guard data
//! (`--overwrite`, `--destroy-data-on`) are never written: whoever repeats it decides anew.

use crate::story::quoted;
use record::{
    Arrival, CacheMode, Data, Discipline, DropCache, Nanos, Pattern, Regions, TargetKind, Trial,
    Workload,
};

/// The command line.
pub(crate) fn command(trial: &Trial) -> String {
    let mut words = vec!["halfpower".to_owned(), "run".to_owned()];
    words.extend(trial.targets.iter().map(|target| quoted(&target.path)));
    words.extend(flags(&trial.workload, trial));
    words.extend(["--seed".to_owned(), trial.seed.to_string()]);
    words.join(" ")
}

fn flags(workload: &Workload, trial: &Trial) -> Vec<String> {
    let mut flags = Vec::new();
    let mut flag = |name: &str, value: String| {
        flags.push(format!("--{name}"));
        if !value.is_empty() {
            flags.push(value);
        }
    };
    let rw = match (workload.pattern == Pattern::Sequential, workload.read_percent) {
        (true, 100..) => "read",
        (true, 0) => "write",
        (true, _) => "rw",
        (false, 100..) => "randread",
        (false, 0) => "randwrite",
        (false, _) => "randrw",
    };
    flag("rw", rw.to_owned());
    if !matches!(workload.read_percent, 0 | 100) && workload.write_rate_iops.is_none() {
        flag("rwmixread", workload.read_percent.to_string());
    }
    if !matches!(workload.pattern, Pattern::Sequential | Pattern::Random) {
        flag("pattern", workload.pattern.name().to_owned());
    }
    let sizes: Vec<String> = match workload.bs.as_slice() {
        [only] => vec![only.bytes.0.to_string()],
        many => many.iter().map(|s| format!("{}/{}", s.bytes.0, s.percent)).collect(),
    };
    flag("bs", sizes.join(":"));
    flag("iodepth", workload.iodepth.to_string());
    if workload.numjobs != 1 {
        flag("numjobs", workload.numjobs.to_string());
    }
    if let Some(hit) = workload.hit_bytes {
        flag("hit-size", hit.0.to_string());
    }
    if let Some(theta) = workload.zipf_theta_milli {
        flag("zipf-theta", (f64::from(theta) / 1e3).to_string());
    }
    if let Some(hot) = workload.hot {
        flag("hot-size", hot.bytes.0.to_string());
        flag("hot-share", format!("{}%", hot.percent));
    }
    if let Some(stride) = workload.stride_bytes {
        flag("stride", stride.0.to_string());
    }
    if workload.misalign_bytes.0 > 0 {
        flag("misalign", workload.misalign_bytes.0.to_string());
    }
    match workload.regions {
        Regions::Own => flag("regions", "own".to_owned()),
        Regions::Shared => flag("regions", "shared".to_owned()),
        Regions::PerJob => {}
    }
    place(workload, trial, &mut flag);
    arrivals(workload, &mut flag);
    match workload.data {
        Data::Random => {}
        Data::Compressible => flag("compressible", format!("{}%", workload.compressible_percent)),
        Data::Zeros => flag("zeros", String::new()),
        Data::Tagged => flag("verify", String::new()),
    }
    flag("runtime", nanos(workload.runtime_ns));
    if workload.ramp_ns.0 > 0 {
        flag("ramp-time", nanos(workload.ramp_ns));
    }
    stop(workload, &mut flag);
    flags
}

fn place(workload: &Workload, trial: &Trial, flag: &mut impl FnMut(&str, String)) {
    if workload.cache != CacheMode::Device {
        flag("cache", workload.cache.name().to_owned());
    }
    if !trial.simulated {
        flag("ioengine", workload.engine.name().to_owned());
    }
    if workload.polled {
        flag("hipri", String::new());
    }
    if workload.sqpoll {
        flag("sqthread-poll", String::new());
    }
    if let Some(chunk) = workload.stripe_bytes {
        flag("stripe", chunk.0.to_string());
    }
    if workload.offset_bytes.0 > 0 {
        flag("offset", workload.offset_bytes.0.to_string());
    }
    // The size of a directory is that of its test file, of which the offset leaves the area.
    let made = trial.targets.iter().find(|target| target.kind == TargetKind::Directory);
    let size = made.map_or(workload.size_bytes.0, |target| target.size_bytes.0);
    if size > 0 && workload.stripe_bytes.is_none() {
        flag("size", size.to_string());
    }
    if workload.drop_cache != DropCache::None {
        flag("drop-cache", workload.drop_cache.name().to_owned());
    }
    if trial.preconditioning.is_some() {
        flag("precondition", String::new());
    }
}

fn arrivals(workload: &Workload, flag: &mut impl FnMut(&str, String)) {
    if let Some(total) = workload.rate_iops {
        let rate = match workload.write_rate_iops {
            Some(writes) => format!("{},{writes}", total.saturating_sub(writes)),
            None => total.to_string(),
        };
        flag("rate-iops", rate);
        let arrival = if workload.arrival == Arrival::Poisson { "poisson" } else { "constant" };
        flag("arrival", arrival.to_owned());
    }
    if workload.think_ns.0 > 0 {
        flag("think-time", nanos(workload.think_ns));
    }
    if workload.discipline != Discipline::Any {
        flag("completion", workload.discipline.name().to_owned());
    }
}

fn stop(workload: &Workload, flag: &mut impl FnMut(&str, String)) {
    let rules = &workload.stop;
    if let Some(bytes) = rules.max_bytes {
        flag("io-size", bytes.0.to_string());
    }
    if let Some(passes) = rules.passes {
        flag("passes", passes.to_string());
    }
    if let Some(ppm) = rules.precision_ppm {
        flag("until-precision", format!("{}%", f64::from(ppm) / 1e4));
    }
    if !rules.cut_warm_up {
        flag("keep-warm-up", String::new());
    }
    if let Some(interval) = rules.interval_ns {
        flag("interval", nanos(interval));
    }
}

/// A time as the flags take it, exactly.
fn nanos(time: Nanos) -> String {
    for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if time.0.is_multiple_of(unit) {
            return format!("{}{name}", time.0 / unit);
        }
    }
    format!("{}ns", time.0)
}
