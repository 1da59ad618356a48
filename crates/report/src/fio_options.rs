//! Writes the load of a trial as the options of a fio job, for fio's JSON.
//!
//! `workload::fio` converts these options back into the same load, so that a result is compared with results
//! of the same load only. Parts of a load that fio does not have are omitted: a small area that is read
//! repeatedly, shifted requests, and bursts.

use crate::story::joined;
use crate::trial::zones;
use record::{
    Arrival, Data, DropCache, EngineName, FlushKind, Instead, IoClass, NO_TIME_LIMIT, Nanos,
    OpKind, Pattern, Regions, TargetKind, Trial, Workload, mix_word,
};
use serde_json::{Map, Value};

/// An option with its value; `None` if it is omitted.
type FioOption = (&'static str, Option<String>);

/// The options of a job that runs the load of a trial.
pub(crate) fn options(name: &str, trial: &Trial) -> Map<String, Value> {
    let workload = &trial.workload;
    let name = vec![("name", Some(name.to_owned()))];
    let all = [name, requests(workload), place(trial), method(workload), course(workload)];
    let written = all.into_iter().flatten().filter_map(|(key, value)| Some((key, value?)));
    written.map(|(key, value)| (key.to_owned(), Value::String(value))).collect()
}

fn switch(on: bool) -> Option<String> {
    on.then(|| "1".to_owned())
}

/// A number, unless it is zero.
fn above_zero(number: u64) -> Option<String> {
    (number > 0).then(|| number.to_string())
}

/// Direction, order and sizes of the requests.
fn requests(workload: &Workload) -> Vec<FioOption> {
    let mixed = workload.only_op().is_none();
    let uniform = workload.pattern == Pattern::Random && workload.zones.is_empty();
    vec![
        ("rw", Some(rw(workload))),
        ("rwmixread", mixed.then(|| workload.read_percent.to_string())),
        (if workload.bs.len() == 1 { "bs" } else { "bssplit" }, Some(mix_word(&workload.bs))),
        ("blockalign", workload.align_bytes.map(|align| align.0.to_string())),
        (
            "percentage_random",
            workload.blend.map(|blend| (100 - blend.sequential_percent).to_string()),
        ),
        ("random_distribution", distribution(workload)),
        ("norandommap", switch(uniform && !workload.without_replacement)),
    ]
}

/// The value of `rw`, with the step of a strided load.
fn rw(workload: &Workload) -> String {
    let order = match workload.pattern {
        Pattern::Sequential | Pattern::Strided => "",
        Pattern::Random | Pattern::Hit | Pattern::Zipf | Pattern::Hot => "rand",
    };
    let kind = match workload.only_op() {
        Some(OpKind::Read) => "read",
        Some(OpKind::Write) if workload.instead == Some(Instead::Trim) => "trim",
        Some(OpKind::Write) => "write",
        None => "rw",
    };
    let size = workload.max_bs().0;
    // fio counts the step from the end of a request.
    let step = workload.stride_bytes.map(|stride| match workload.backwards {
        true => format!(":-{}", stride.0 + size),
        false => format!(":{}", stride.0.saturating_sub(size)),
    });
    format!("{order}{kind}{}", step.unwrap_or_default())
}

/// The distribution of random positions, if it is not uniform.
fn distribution(workload: &Workload) -> Option<String> {
    let zipf = workload.zipf_theta_milli.map(|theta| format!("zipf:{}", f64::from(theta) / 1e3));
    let hot = workload.hot.map(|hot| {
        let rest = workload.size_bytes.0.saturating_sub(hot.bytes.0);
        format!("zoned_abs:{}/{}:{}/{rest}", hot.percent, hot.bytes.0, 100 - hot.percent)
    });
    let zoned = (!workload.zones.is_empty()).then(|| format!("zoned:{}", zones(&workload.zones)));
    zipf.or(hot).or(zoned)
}

/// The files, and the area of each job in them.
fn place(trial: &Trial) -> Vec<FioOption> {
    let workload = &trial.workload;
    let (jobs, targets) = (u64::from(workload.numjobs.max(1)), u64::from(workload.targets.max(1)));
    let striped = workload.stripe_bytes.is_some();
    let made = trial.targets.iter().any(|target| target.kind == TargetKind::Directory);
    // fio's size is that of all files of a job, but its offsets are those in each file.
    let files = if striped { targets } else { 1 };
    let all = workload.size_bytes.0.saturating_mul(targets / files);
    let ordered = matches!(workload.pattern, Pattern::Sequential | Pattern::Strided);
    let apart = match workload.regions {
        Regions::Own => true,
        Regions::PerJob => ordered,
        Regions::Shared => false,
    };
    let apart = apart && jobs > 1 && workload.job_distance_bytes.is_none();
    let size = if apart { all / jobs } else { all };
    let step = match workload.job_distance_bytes {
        Some(distance) => distance.0 / files,
        // Jobs in a directory have separate files anyway.
        None if apart && !made => size / files,
        None => 0,
    };
    let several = if made && striped { &trial.targets[..1] } else { &trial.targets[..] };
    let names = joined(several, ":", |target| target.path.replace(':', "\\:"));
    let (directory, filename) = if made { (Some(names), None) } else { (None, Some(names)) };
    vec![
        ("filename", filename.filter(|names| !names.is_empty())),
        ("directory", directory),
        // Without a job number, the jobs have one file.
        ("filename_format", (made && jobs > 1 && !apart).then(|| "halfpower".to_owned())),
        ("nrfiles", (made && striped).then(|| targets.to_string())),
        ("size", above_zero(size)),
        ("offset", above_zero(workload.offset_bytes.0 / files)),
        ("offset_increment", above_zero(step)),
    ]
}

/// Engine, depth, caches and data.
fn method(workload: &Workload) -> Vec<FioOption> {
    let engine = match workload.engine {
        EngineName::Sync => "psync",
        EngineName::Threads => "posixaio",
        EngineName::Iocp => "windowsaio",
        other => other.name(),
    };
    let direct = workload.cache.direct();
    let drops = "echo 3 > /proc/sys/vm/drop_caches";
    let share = Some(workload.compressible_percent).filter(|share| *share > 0);
    let class = workload.io_priority.map(|priority| match priority.class {
        IoClass::Realtime => "1",
        IoClass::BestEffort => "2",
        IoClass::Idle => "3",
    });
    let level = workload.io_priority.filter(|priority| priority.class != IoClass::Idle);
    let processors = joined(&workload.processors, ",", u32::to_string);
    vec![
        ("ioengine", Some(engine.to_owned())),
        ("iodepth", Some(workload.iodepth.to_string())),
        ("numjobs", Some(workload.numjobs.to_string())),
        ("hipri", switch(workload.polled)),
        ("sqthread_poll", switch(workload.sqpoll)),
        ("mem", workload.huge_pages.then(|| "mmaphuge".to_owned())),
        ("direct", Some(u8::from(direct).to_string())),
        ("sync", workload.cache.synchronous().then(|| "dsync".to_owned())),
        ("invalidate", (!direct && workload.drop_cache == DropCache::None).then(|| "0".to_owned())),
        ("exec_prerun", (workload.drop_cache == DropCache::DropCaches).then(|| drops.to_owned())),
        ("zero_buffers", switch(workload.data == Data::Zeros)),
        ("buffer_compress_percentage", share.map(|share| share.to_string())),
        ("verify", (workload.data == Data::Tagged).then(|| "crc32c".to_owned())),
        ("prioclass", class.map(str::to_owned)),
        ("prio", level.map(|priority| priority.level.to_string())),
        ("cpus_allowed", (!processors.is_empty()).then_some(processors)),
    ]
}

/// Arrivals, flushes, and the end of the run.
fn course(workload: &Workload) -> Vec<FioOption> {
    let jobs = u64::from(workload.numjobs.max(1));
    let rules = &workload.stop;
    // fio's rates are those of each job and direction.
    let rate = workload.rate_iops.map(|total| {
        let each = |of_all: u64| (of_all / jobs).max(1);
        if workload.only_op().is_some() {
            return each(total).to_string();
        }
        let by_mix = total * u64::from(100 - workload.read_percent) / 100;
        let writes = workload.write_rate_iops.unwrap_or(by_mix);
        format!("{},{}", each(total.saturating_sub(writes)), each(writes))
    });
    let poisson = workload.arrival == Arrival::Poisson;
    let flushes = |kind| workload.flush.filter(|it| it.kind == kind).map(|it| it.every.to_string());
    let by_time = rules.max_bytes.is_none()
        && rules.passes.is_none()
        && workload.arrival != Arrival::Recorded;
    let loops = rules.passes.map(|passes| (u64::from(passes) / jobs).max(1).to_string());
    vec![
        ("rate_iops", rate),
        ("rate_process", poisson.then(|| "poisson".to_owned())),
        ("thinktime", above_zero(workload.think_ns.0.div_ceil(1_000))),
        ("fsync", flushes(FlushKind::Fsync)),
        ("fdatasync", flushes(FlushKind::Fdatasync)),
        (
            "sync_file_range",
            flushes(FlushKind::SyncFileRange).map(|every| format!("write,wait_after:{every}")),
        ),
        ("runtime", (workload.runtime_ns != NO_TIME_LIMIT).then(|| time(workload.runtime_ns))),
        ("ramp_time", (workload.ramp_ns.0 > 0).then(|| time(workload.ramp_ns))),
        ("time_based", switch(by_time)),
        ("io_size", rules.max_bytes.map(|bytes| (bytes.0 / jobs).to_string())),
        ("loops", loops),
    ]
}

/// A time: whole seconds, or milliseconds. fio has no fractions.
fn time(time: Nanos) -> String {
    match time.0 % 1_000_000_000 {
        0 => (time.0 / 1_000_000_000).to_string(),
        _ => format!("{}ms", time.0.div_ceil(1_000_000)),
    }
}
