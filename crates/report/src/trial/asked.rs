//! Describes a workload in words without its default settings, so that what is special about it stands out.

use crate::story::{joined, number};
use record::{
    AreaZone, Arrival, Bytes, Data, Discipline, Flush, HotArea, Instead, Regions, Replay,
    ReplayPace, SizeShare, Workload, format_bytes,
};

/// `random read of 4 KiB, depth 32 (8 in each of 4 jobs), cache device (H), io_uring`.
pub(crate) fn workload_text(workload: &Workload) -> String {
    let (pattern, operation) = (workload.pattern.name(), operation(workload));
    if !workload.options_known() {
        return format!("{operation} of {}, other options unknown", sizes(&workload.bs));
    }
    let requests = match &workload.replay {
        Some(replay) => replay_text(replay, &operation),
        None => format!("{pattern} {operation} of {}{}", sizes(&workload.bs), place(workload)),
    };
    let think = Some(workload.think_ns.0 as f64).filter(|think| *think > 0.0);
    let parts = [
        Some(requests),
        Some(depth(workload)),
        arrival(workload),
        think.map(|think| format!("think time {}", number::time(think))),
        workload.flush.map(|it| flush(it, workload.iodepth)),
        Some(format!("cache {} ({})", workload.cache.name(), workload.cache.letter())),
        Some(engine(workload)),
        data(workload),
        targets(workload),
        workload.io_priority.map(|priority| format!("I/O priority {priority}")),
        workload.cgroup.as_ref().map(|group| format!("control group {group}")),
        beside(workload),
    ];
    joined(parts.into_iter().flatten(), ", ", |part| part)
}

/// `replay of log.io: 12.3k requests (70 % read, 30 % write) at 2 times the recorded speed`.
fn replay_text(replay: &Replay, operation: &str) -> String {
    let requests = number::counted(replay.requests as f64, "request");
    let pace = match replay.pace {
        ReplayPace::AsFast => "each as soon as another completes".to_owned(),
        ReplayPace::AtTimes { speed_milli: 1_000 } => "at the recorded times".to_owned(),
        ReplayPace::AtTimes { speed_milli } => {
            format!("at {} times the recorded speed", number::digits(f64::from(speed_milli) / 1e3))
        }
    };
    let left_out = [(replay.flushes_left_out, "flush"), (replay.discards_left_out, "discard")];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0).map(|(count, one)| {
        let several = match (count, one) {
            (1, _) => "",
            (_, "flush") => "es",
            _ => "s",
        };
        format!("{} {one}{several}", number::count(count as f64))
    });
    let left_out = joined(left_out, " and ", |part| part);
    let without = if left_out.is_empty() { left_out } else { format!(" without its {left_out}") };
    format!("replay of {}{without}: {requests} ({operation}) {pace}", replay.source)
}

fn beside(workload: &Workload) -> Option<String> {
    let count = workload.beside.len();
    (count > 0).then(|| format!("beside {}", number::counted(count as f64, "other job")))
}

fn flush(flush: Flush, depth: u32) -> String {
    let kind = flush.kind.name();
    // This matters if the rate is compared with fio's.
    let waits = match depth {
        0..=1 => "",
        _ => " (waits for the writes in flight; fio's io_uring does not)",
    };
    match flush.every {
        1 => format!("{kind} after every write{waits}"),
        every => format!("{kind} after every {every} writes{waits}"),
    }
}

fn operation(workload: &Workload) -> String {
    match workload.read_percent {
        100.. => "read".to_owned(),
        0 if workload.instead == Some(Instead::Trim) => "trim".to_owned(),
        0 if workload.instead == Some(Instead::Flush) => "flush".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read, {} % write", 100 - percent),
    }
}

/// `4 KiB 60 % + 16 KiB 40 %`.
pub(crate) fn sizes(mix: &[SizeShare]) -> String {
    match mix {
        [] => "unknown size".to_owned(),
        [only] => format_bytes(only.bytes.0),
        many => joined(many, " + ", |it| format!("{} {} %", format_bytes(it.bytes.0), it.percent)),
    }
}

/// The place within the area, unless the pattern's name states it.
fn place(workload: &Workload) -> String {
    let mut text = String::new();
    let bytes = |bytes: Bytes| format_bytes(bytes.0);
    text.extend(workload.hit_bytes.map(|hit| format!(", area re-read {}", bytes(hit))));
    text.extend(workload.zipf_theta_milli.map(|it| format!(", theta {}", f64::from(it) / 1e3)));
    let adjacent = workload.blend.filter(|blend| blend.sequential_percent > 0);
    text.extend(adjacent.map(|it| format!(", {} % of them adjacent", it.sequential_percent)));
    let hot = |hot: HotArea| format!(", {} % of them within {}", hot.percent, bytes(hot.bytes));
    text.extend(workload.hot.map(hot));
    text.extend(workload.stride_bytes.map(|stride| format!(" every {}", bytes(stride))));
    if !workload.zones.is_empty() {
        let share = |zone: &AreaZone| {
            format!("{} % of them in {} % of the area", zone.request_percent, zone.area_percent)
        };
        text.push_str(&format!(", {}", joined(&workload.zones, ", ", share)));
    }
    text.extend(workload.align_bytes.map(|align| format!(", at multiples of {}", bytes(align))));
    text.extend(workload.backwards.then_some(", backwards"));
    text.extend(workload.from_start.then_some(", from the start"));
    text.extend(workload.without_replacement.then_some(", each block once"));
    text.extend(match workload.job_distance_bytes.filter(|_| workload.numjobs > 1) {
        None => None,
        Some(Bytes(0)) => Some(", each job over the whole area".to_owned()),
        Some(distance) => Some(format!(", each job {} after the one before", bytes(distance))),
    });
    let misalign = Some(workload.misalign_bytes).filter(|misalign| misalign.0 > 0);
    text.extend(misalign.map(|misalign| format!(", misaligned by {}", bytes(misalign))));
    text.extend(match workload.regions {
        Regions::Shared if workload.numjobs > 1 => Some(", one stream for all jobs"),
        Regions::Own if workload.numjobs > 1 => Some(", each job in its own part"),
        _ => None,
    });
    text
}

fn depth(workload: &Workload) -> String {
    let jobs = match workload.numjobs {
        0 | 1 => String::new(),
        jobs => format!(" ({} in each of {jobs} jobs)", workload.iodepth),
    };
    let discipline = match workload.discipline {
        Discipline::Any => String::new(),
        other => format!(", completion {}", other.name()),
    };
    let word = if workload.arrival == Arrival::Closed { "depth" } else { "depth up to" };
    format!("{word} {}{jobs}{discipline}", workload.depth)
}

fn arrival(workload: &Workload) -> Option<String> {
    let kind = match workload.arrival {
        Arrival::Closed | Arrival::Recorded => return None,
        Arrival::Constant => "evenly",
        Arrival::Poisson if workload.burst_milli.is_some() => "in bursts",
        Arrival::Poisson => "as a Poisson process",
    };
    let rate = |per_s: u64| number::per_second(per_s as f64);
    let total = workload.rate_iops.unwrap_or_default();
    let rates = match workload.write_rate_iops {
        Some(writes) => {
            let reads = rate(total.saturating_sub(writes));
            format!("{reads} of reads and {} of writes", rate(writes))
        }
        None => rate(total),
    };
    let burst = workload.burst_milli.map(|it| number::digits(f64::from(it) / 1e3));
    let burst = burst.map(|burst| format!(" of {burst} on average")).unwrap_or_default();
    Some(format!("{rates} arriving {kind}{burst}"))
}

fn engine(workload: &Workload) -> String {
    let polled = if workload.polled { " polled" } else { "" };
    let sqpoll = if workload.sqpoll { " with a submission thread" } else { "" };
    let pages = if workload.huge_pages { " with huge pages" } else { "" };
    format!("{}{polled}{sqpoll}{pages}", workload.engine.name())
}

fn data(workload: &Workload) -> Option<String> {
    match workload.data {
        _ if !workload.carries() => None,
        Data::Random => None,
        Data::Compressible => Some(format!("data {} % zeros", workload.compressible_percent)),
        Data::Zeros => Some("data zeros".to_owned()),
        Data::Tagged => Some("data tagged".to_owned()),
    }
}

fn targets(workload: &Workload) -> Option<String> {
    let (targets, chunk) = (workload.targets, workload.stripe_bytes);
    match chunk.map(|chunk| format_bytes(chunk.0)) {
        Some(chunk) if let Some(array) = workload.array => {
            let failed = array.failed.map_or_else(String::new, |leg| match array.rebuild {
                Some(_) => format!(", target {leg} being rebuilt"),
                None => format!(", target {leg} failed"),
            });
            let level = array.level.number();
            Some(format!("RAID {level} over {targets} targets by {chunk}{failed}"))
        }
        Some(chunk) => Some(format!("striped over {targets} targets by {chunk}")),
        None => (targets > 1).then(|| format!("on {targets} targets")),
    }
}
