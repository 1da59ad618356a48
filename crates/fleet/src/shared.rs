//! One disk that several hosts share: their recordings on one clock, what they ask for together, and
//! whose load the latency of the others follows.
//!
//! No host sees what the others do. But their latencies rise and fall together, because the disk is one:
//! that gives the difference of their clocks where the recorded times do not agree, and what the others' latency does
//! between the time in which a host asks for little and that in which it asks for much shows whose load it follows.
//!
//! Rejected: the clock as recorded (virtual machines are seconds apart after a pause), and the largest
//! share as the cause (who sends most requests need not be who makes the others wait).

use record::{
    Estimate, Figure, Interval, Measured, OBSERVATION_SCHEMA, Observation, OpInterval, SharedHost,
};
use stats::{batch_means, mean, median};

/// Clocks that are further apart than this are taken for different times.
const LAG_MOST_S: f64 = 300.0;
/// Fewest common intervals of two recordings.
const OVERLAP_MIN: usize = 30;
/// Correlation from which on two latencies move together, and how far it must be above the next peak.
const CORRELATION_MIN: f64 = 0.3;
const STANDARD_ERRORS: f64 = 5.0;
const NEXT_PEAK: f64 = 0.8;
/// Ratio of latencies from which on a host is said to slow the others.
const EFFECT_MIN: f64 = 1.2;
const NS: f64 = 1e9;

/// What cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// Too few recordings.
    #[error("a shared disk needs the recordings of two hosts or more, each in a file of its own")]
    Few,
    /// More than one device, and none chosen.
    #[error(
        "{host} recorded {devices}; say which is the shared disk: --disk NAME, or HOST:NAME for one host"
    )]
    Which {
        /// The host or the recording.
        host: String,
        /// Its devices.
        devices: String,
    },
    /// Two recordings of one host.
    #[error("{host} stands in two recordings: give one file for each host")]
    Twice {
        /// The host.
        host: String,
    },
    /// The recordings have too little time in common.
    #[error(
        "{first} and {second} have {common} intervals in common, and 30 are needed: record at the same \
         time on all hosts"
    )]
    Apart {
        /// The first host.
        first: String,
        /// The other.
        second: String,
        /// What they have in common.
        common: usize,
    },
}

/// The load of all hosts on one disk.
#[derive(Clone, Debug)]
pub struct Together {
    /// What the disk had to do, as one observation.
    pub whole: Observation,
    /// The hosts, the largest effect first.
    pub hosts: Vec<SharedHost>,
    /// Who slows the others most.
    pub filled_by: Measured<String>,
}

/// One host's series on the common grid.
struct Host<'a> {
    name: String,
    device: &'a str,
    intervals: Vec<&'a Interval>,
    ahead_s: Measured<Estimate>,
    /// On the grid, once it is known.
    cells: Vec<Interval>,
}

/// Puts recordings of one disk together. `disks` names it: `NAME` for all hosts, or `HOST:NAME`.
///
/// # Errors
/// What is missing, and what to do.
pub fn together(
    observations: &[Observation],
    names: &[String],
    disks: &[String],
) -> Result<Together, SharedError> {
    if observations.len() < 2 {
        return Err(SharedError::Few);
    }
    let mut hosts = observations
        .iter()
        .zip(names)
        .map(|(observation, file)| host(observation, file, disks))
        .collect::<Result<Vec<_>, _>>()?;
    for (place, host) in hosts.iter().enumerate() {
        if hosts[..place].iter().any(|other| other.name == host.name) {
            return Err(SharedError::Twice { host: host.name.clone() });
        }
    }
    let step_ns = hosts
        .iter()
        .map(|host| median(host.intervals.iter().map(|it| it.duration_ns as f64).collect()))
        .fold(1.0, f64::max) as u64;
    let (first, rest) = hosts.split_at_mut(1);
    let reference = rise(&first[0].intervals, step_ns);
    for host in rest.iter_mut() {
        host.ahead_s = ahead(&reference, &rise(&host.intervals, step_ns), step_ns);
    }
    let shifted = |host: &Host<'_>, moment_ns: u64| -> u64 {
        let ahead_s = host.ahead_s.value().map_or(0.0, |ahead| ahead.value);
        (moment_ns as f64 - ahead_s * NS).max(0.0) as u64
    };
    let begin_of = |host: &Host<'_>| shifted(host, host.intervals[0].begin_ns);
    let end_of = |host: &Host<'_>| {
        let last = host.intervals[host.intervals.len() - 1];
        shifted(host, last.begin_ns + last.duration_ns)
    };
    let begin_ns = hosts.iter().map(begin_of).max().unwrap_or(0);
    let end_ns = hosts.iter().map(end_of).min().unwrap_or(0);
    let count = (end_ns.saturating_sub(begin_ns) / step_ns.max(1)) as usize;
    if count < OVERLAP_MIN {
        let late = hosts.iter().max_by_key(|host| begin_of(host));
        let name = |host: Option<&Host<'_>>| host.map_or_else(String::new, |it| it.name.clone());
        let early = hosts.iter().min_by_key(|host| end_of(host));
        return Err(SharedError::Apart { first: name(early), second: name(late), common: count });
    }
    for host in &mut hosts {
        let ahead_ns = host.ahead_s.value().map_or(0.0, |ahead| ahead.value * NS);
        host.cells = (0..count)
            .map(|cell| {
                within(&host.intervals, begin_ns + cell as u64 * step_ns, step_ns, ahead_ns)
            })
            .collect();
    }
    let whole = whole(&hosts, &observations[0], count);
    let mut parts: Vec<SharedHost> = (0..hosts.len()).map(|place| part(&hosts, place)).collect();
    let lowest = |host: &SharedHost| host.effect.value().map_or(0.0, |effect| effect.low);
    parts.sort_by(|a, b| lowest(b).total_cmp(&lowest(a)));
    let filled_by = match parts.iter().filter(|host| lowest(host) > EFFECT_MIN).collect::<Vec<_>>()
        [..]
    {
        [] => Measured::not(
            "no host's load makes the latency of the others rise by a fifth or more, or their loads \
             never change",
        ),
        [only] => Measured::Value(only.host.clone()),
        [first, second, ..] => Measured::not(format!(
            "{} and {} ask for more at the same times, and the recordings do not tell which of them \
             makes the others wait",
            first.host, second.host
        )),
    };
    Ok(Together { whole, hosts: parts, filled_by })
}

fn host<'a>(
    observation: &'a Observation,
    file: &String,
    disks: &[String],
) -> Result<Host<'a>, SharedError> {
    let name = observation.host.clone().unwrap_or_else(|| file.to_owned());
    let of_host = |disk: &'_ String| {
        [&name, file]
            .iter()
            .any(|host| disk.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with(':')))
    };
    let own_choice = disks.iter().find(|disk| of_host(disk));
    let chosen = match own_choice {
        Some(disk) => disk.split_once(':').map(|(_, disk)| disk),
        None => disks
            .iter()
            .map(String::as_str)
            .find(|disk| observation.devices.iter().any(|device| device.name == **disk)),
    };
    let own: Vec<&str> = observation
        .devices
        .iter()
        .filter(|it| it.partition_of.is_none() && it.built_of.is_empty())
        .map(|it| it.name.as_str())
        .collect();
    let device = match (chosen, own.as_slice()) {
        (Some(chosen), _) => {
            observation.devices.iter().map(|it| it.name.as_str()).find(|it| *it == chosen)
        }
        (None, [only]) => Some(*only),
        _ => None,
    };
    let intervals: Vec<&Interval> =
        observation.intervals.iter().filter(|it| Some(it.device.as_str()) == device).collect();
    match device {
        Some(device) if !intervals.is_empty() => Ok(Host {
            name,
            device,
            intervals,
            ahead_s: Measured::Value(Estimate::symmetric(0.0, 0.0, 1)),
            cells: Vec::new(),
        }),
        _ => Err(SharedError::Which { host: name, devices: own.join(", ") }),
    }
}

/// How the logarithm of the latency changes from one step to the next, with the moment of the first.
fn rise(intervals: &[&Interval], step_ns: u64) -> (u64, Vec<Option<f64>>) {
    let begin_ns = intervals[0].begin_ns;
    let last = intervals[intervals.len() - 1];
    let steps = (last.begin_ns + last.duration_ns - begin_ns) / step_ns.max(1);
    let level: Vec<Option<f64>> = (0..steps)
        .map(|step| {
            let cell = within(intervals, begin_ns + step * step_ns, step_ns, 0.0);
            cell.all.latency_ns.map(|latency| latency.value.max(1.0).ln())
        })
        .collect();
    let changes = level.windows(2).map(|pair| Some(pair[1]? - pair[0]?)).collect();
    (begin_ns, changes)
}

/// By how much the clock of `other` is ahead of that of `first`.
fn ahead(
    first: &(u64, Vec<Option<f64>>),
    other: &(u64, Vec<Option<f64>>),
    step_ns: u64,
) -> Measured<Estimate> {
    let step_s = step_ns as f64 / NS;
    // The step of the other's series that stands at the first's first, if the clocks agree.
    let apart = (first.0 as f64 - other.0 as f64) / step_ns as f64;
    let most = (LAG_MOST_S / step_s) as i64;
    let mut found: Vec<(i64, f64, usize)> = Vec::new();
    for lag in -most..=most {
        let shift = apart.round() as i64 + lag;
        let pairs: Vec<(f64, f64)> = first
            .1
            .iter()
            .enumerate()
            .filter_map(|(at, one)| {
                let place = usize::try_from(at as i64 + shift).ok()?;
                Some(((*one)?, (*other.1.get(place)?)?))
            })
            .collect();
        if pairs.len() >= OVERLAP_MIN {
            found.push((lag, correlation(&pairs), pairs.len()));
        }
    }
    let Some(&(lag, height, count)) = found.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Measured::not("the recordings have less than 30 intervals in common");
    };
    if height < CORRELATION_MIN.max(STANDARD_ERRORS / (count as f64).sqrt()) {
        return Measured::not(
            "their latencies do not rise and fall together, so the recorded times are taken as they are",
        );
    }
    let next = found.iter().filter(|(other, ..)| (other - lag).abs() > 3);
    if next.map(|(_, height, _)| *height).fold(0.0, f64::max) > NEXT_PEAK * height {
        return Measured::not(
            "their latencies rise and fall together at more than one difference of the clocks, so the \
             recorded times are taken as they are",
        );
    }
    // Between steps: the top of the parabola through the peak and its neighbours.
    let at =
        |lag: i64| found.iter().find(|(other, ..)| *other == lag).map(|(_, height, _)| *height);
    let between = match (at(lag - 1), at(lag + 1)) {
        (Some(before), Some(after)) if 2.0 * height > before + after => {
            0.5 * (before - after) / (before - 2.0 * height + after)
        }
        _ => 0.0,
    };
    let rounded = apart.round() - apart;
    let steps = lag as f64 + between + rounded;
    Measured::Value(Estimate::symmetric(steps * step_s, step_s / 2.0, count as u32))
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|(a, b)| f(a - mean_a, b - mean_b)).sum()
    };
    let product = (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt();
    if product > 0.0 { sum(|a, b| a * b) / product } else { 0.0 }
}

/// What the intervals say of one stretch of the common clock.
fn within(intervals: &[&Interval], begin_ns: u64, length_ns: u64, ahead_ns: f64) -> Interval {
    let own_begin = begin_ns as f64 + ahead_ns;
    let own_end = own_begin + length_ns as f64;
    let from = intervals.partition_point(|it| (it.begin_ns + it.duration_ns) as f64 <= own_begin);
    let parts: Vec<(&Interval, f64)> = intervals[from..]
        .iter()
        .take_while(|it| (it.begin_ns as f64) < own_end)
        .map(|it| {
            let (begin, end) = (it.begin_ns as f64, (it.begin_ns + it.duration_ns) as f64);
            (*it, (end.min(own_end) - begin.max(own_begin)).max(0.0) / length_ns as f64)
        })
        .collect();
    sum(&parts, begin_ns, length_ns)
}

/// Several intervals as one, each with a weight: parts of one host's time, or several hosts at once.
fn sum(parts: &[(&Interval, f64)], begin_ns: u64, duration_ns: u64) -> Interval {
    let figure = |of: &dyn Fn(&Interval) -> Option<Figure>| -> Option<Figure> {
        let there: Vec<(Figure, f64)> =
            parts.iter().filter_map(|(it, weight)| Some((of(it)?, *weight))).collect();
        (!there.is_empty()).then(|| {
            let total = |value: fn(&Figure) -> f64| -> f64 {
                there.iter().map(|(figure, weight)| value(figure) * weight).sum()
            };
            Figure::derived(total(|it| it.value), total(|it| it.resolution))
        })
    };
    let op = |pick: fn(&Interval) -> &OpInterval| -> OpInterval {
        let per_s = figure(&|it| pick(it).per_s);
        // Means weigh as many requests as there were.
        let mean = |of: fn(&OpInterval) -> Option<Figure>| -> Option<Figure> {
            let there: Vec<(Figure, f64)> = parts
                .iter()
                .filter_map(|(it, weight)| {
                    let requests = pick(it).per_s?.value * weight;
                    (requests > 0.0).then_some((of(pick(it))?, requests))
                })
                .collect();
            let requests: f64 = there.iter().map(|(_, requests)| requests).sum();
            (requests > 0.0).then(|| {
                let total = |value: fn(&Figure) -> f64| -> f64 {
                    there.iter().map(|(figure, requests)| value(figure) * requests).sum::<f64>()
                };
                Figure::derived(
                    total(|it| it.value) / requests,
                    total(|it| it.resolution) / requests,
                )
            })
        };
        OpInterval {
            per_s,
            bytes_per_s: figure(&|it| pick(it).bytes_per_s),
            request_bytes: mean(|it| it.request_bytes),
            merged_per_s: figure(&|it| pick(it).merged_per_s),
            latency_ns: mean(|it| it.latency_ns),
        }
    };
    Interval {
        device: parts.first().map_or_else(String::new, |(it, _)| it.device.clone()),
        begin_ns,
        duration_ns,
        read: op(|it| &it.read),
        write: op(|it| &it.write),
        all: op(|it| &it.all),
        discards_per_s: figure(&|it| it.discards_per_s),
        flushes_per_s: figure(&|it| it.flushes_per_s),
        busy_share: figure(&|it| it.busy_share),
        concurrency: figure(&|it| it.concurrency),
        in_flight: figure(&|it| it.in_flight),
        splits_per_s: figure(&|it| it.splits_per_s),
        ..Interval::default()
    }
}

/// The disk under all of them.
fn whole(hosts: &[Host<'_>], first: &Observation, count: usize) -> Observation {
    let device = hosts[0].device;
    let intervals = (0..count)
        .map(|cell| {
            let parts: Vec<(&Interval, f64)> =
                hosts.iter().map(|host| (&host.cells[cell], 1.0)).collect();
            let (begin_ns, duration_ns) = (parts[0].0.begin_ns, parts[0].0.duration_ns);
            let mut all = sum(&parts, begin_ns, duration_ns);
            device.clone_into(&mut all.device);
            // No host knows when the others kept the disk busy: taken for independent.
            let idle: Option<f64> =
                parts.iter().map(|(it, _)| Some(1.0 - it.busy_share?.value.min(1.0))).product();
            all.busy_share = idle.map(|idle| Figure::derived(1.0 - idle, 0.0));
            all
        })
        .collect();
    let own = first.devices.iter().filter(|it| it.name == device).cloned().collect();
    Observation {
        schema: OBSERVATION_SCHEMA.to_owned(),
        id: hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join("+"),
        time: first.time.clone(),
        source: format!("{} hosts that share it", hosts.len()),
        host: None,
        devices: own,
        intervals,
        ..Observation::default()
    }
}

fn value(figure: Option<Figure>) -> f64 {
    figure.map_or(0.0, |figure| figure.value)
}

fn part(hosts: &[Host<'_>], place: usize) -> SharedHost {
    let host = &hosts[place];
    let rate = |host: &Host<'_>, of: fn(&Interval) -> Option<Figure>| -> f64 {
        mean(&host.cells.iter().map(|cell| value(of(cell))).collect::<Vec<_>>())
    };
    let share = |of: fn(&Interval) -> Option<Figure>| -> f64 {
        let all: f64 = hosts.iter().map(|host| rate(host, of)).sum();
        if all > 0.0 { rate(host, of) / all } else { 0.0 }
    };
    let parts: Vec<(&Interval, f64)> = host.cells.iter().map(|cell| (cell, 1.0)).collect();
    SharedHost {
        host: host.name.clone(),
        device: host.device.to_owned(),
        ahead_s: host.ahead_s.clone(),
        per_s: rate(host, |it| it.all.per_s),
        bytes_per_s: rate(host, |it| it.all.bytes_per_s),
        latency_ns: sum(&parts, 0, 1).all.latency_ns.map(|figure| figure.value),
        in_flight: rate(host, |it| it.concurrency),
        request_share: share(|it| it.all.per_s),
        byte_share: share(|it| it.all.bytes_per_s),
        effect: effect(hosts, place),
    }
}

/// What the latency of each other host does between the time in which this host asks for little and that
/// in which it asks for much; the mean over the others.
fn effect(hosts: &[Host<'_>], place: usize) -> Measured<Estimate> {
    let own: Vec<f64> = hosts[place].cells.iter().map(|cell| value(cell.all.bytes_per_s)).collect();
    let mut order = own.clone();
    order.sort_by(f64::total_cmp);
    let (low, high) = (mean(&order[..order.len() / 3]), mean(&order[order.len() * 9 / 10..]));
    if high <= 1.5 * low {
        return Measured::not("it asks for much the same all of the time");
    }
    let middle = (low + high) / 2.0;
    // Host by host: who is there only while this one is loud must not pass for a rise of the others.
    let rise = |other: &Host<'_>| -> Option<(f64, f64, u32)> {
        let of = |loud: bool| {
            let cells = other.cells.iter().zip(&own).filter(|(_, own)| (**own > middle) == loud);
            let logs: Vec<f64> = cells
                .filter_map(|(cell, _)| Some(cell.all.latency_ns?.value.max(1.0).ln()))
                .collect();
            batch_means(&logs)
        };
        let (calm, loud) = (of(false)?, of(true)?);
        Some((loud.value - calm.value, calm.se.hypot(loud.se), calm.n.min(loud.n)))
    };
    let others = hosts.iter().enumerate().filter(|(other, _)| *other != place);
    let rises: Vec<(f64, f64, u32)> = others.filter_map(|(_, host)| rise(host)).collect();
    if rises.is_empty() {
        return Measured::not("too few intervals of the others");
    }
    let count = rises.len() as f64;
    let value = rises.iter().map(|(rise, ..)| rise).sum::<f64>() / count;
    let se = rises.iter().map(|(_, se, _)| se * se).sum::<f64>().sqrt() / count;
    let n = rises.iter().map(|(.., n)| *n).min().unwrap_or(0);
    Measured::Value(Estimate::exp_of(&Estimate::from_se(value, se, n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::ObservedDevice;
    use stats::SplitMix64;

    const SECOND: u64 = 1_000_000_000;

    /// Three hosts on one queue; the third asks for much in bursts, and its clock is ahead.
    fn recordings(ahead_s: f64, bursts: bool) -> Vec<Observation> {
        let mut random = SplitMix64::new(11);
        let mut burst = 1.0;
        let rates: Vec<[f64; 3]> = (0..400)
            .map(|_| {
                if random.unit() < 0.15 {
                    burst = if random.unit() < 0.5 && bursts { 6.0 } else { 1.0 };
                }
                [100.0, 120.0, 110.0 * burst].map(|rate| rate * (0.1 * random.normal()).exp())
            })
            .collect();
        (0..3)
            .map(|host| {
                let offset = if host == 2 { ahead_s } else { 0.0 };
                let intervals = rates
                    .iter()
                    .enumerate()
                    .map(|(at, rates)| {
                        let load: f64 = rates.iter().sum::<f64>() / 1200.0;
                        let latency = 1e6 / (1.0 - load.min(0.95)) * (0.05 * random.normal()).exp();
                        let op = OpInterval {
                            per_s: Some(Figure::measured(rates[host], 0.0)),
                            bytes_per_s: Some(Figure::measured(rates[host] * 4096.0, 0.0)),
                            request_bytes: Some(Figure::measured(4096.0, 0.0)),
                            merged_per_s: None,
                            latency_ns: Some(Figure::measured(latency, 0.0)),
                        };
                        Interval {
                            device: "sdb".to_owned(),
                            begin_ns: (1000.0 * NS + (at as f64 + offset) * NS) as u64,
                            duration_ns: SECOND,
                            read: op,
                            all: op,
                            concurrency: Some(Figure::derived(rates[host] * latency / NS, 0.0)),
                            busy_share: Some(Figure::measured(0.5, 0.0)),
                            ..Interval::default()
                        }
                    })
                    .collect();
                Observation {
                    host: Some(format!("h{host}")),
                    devices: vec![ObservedDevice { name: "sdb".to_owned(), ..Default::default() }],
                    intervals,
                    ..Observation::default()
                }
            })
            .collect()
    }

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn clocks_are_put_right_and_the_host_that_slows_the_others_is_named() {
        for ahead_s in [0.0, 7.3, -42.0] {
            let all = together(&recordings(ahead_s, true), &names(), &[]).unwrap();
            let third = all.hosts.iter().find(|host| host.host == "h2").unwrap();
            let found = third.ahead_s.value().unwrap();
            assert!((found.value - ahead_s).abs() <= 0.5, "{ahead_s}: {found:?}");
            assert_eq!(all.filled_by, Measured::Value("h2".to_owned()));
            assert!(third.effect.value().unwrap().value > 1.3, "{third:?}");
            let sum: f64 = all.hosts.iter().map(|host| host.per_s).sum();
            let whole =
                mean(&all.whole.intervals.iter().map(|it| value(it.all.per_s)).collect::<Vec<_>>());
            assert!((whole / sum - 1.0).abs() < 1e-9, "{whole} {sum}");
        }
    }

    #[test]
    fn nobody_is_named_where_all_do_the_same_all_of_the_time() {
        let all = together(&recordings(0.0, false), &names(), &[]).unwrap();
        assert!(all.filled_by.value().is_none(), "{:?}", all.filled_by);
    }

    #[test]
    fn what_is_no_shared_disk_is_refused() {
        let mut all = recordings(0.0, true);
        assert!(matches!(together(&all[..1], &names(), &[]), Err(SharedError::Few)));
        all[1].devices.push(ObservedDevice { name: "sdc".to_owned(), ..Default::default() });
        assert!(matches!(together(&all, &names(), &[]), Err(SharedError::Which { .. })));
        let chosen = ["h1:sdb".to_owned()];
        assert!(together(&all, &names(), &chosen).is_ok());
        all[1].intervals.iter_mut().for_each(|it| it.begin_ns += 10_000 * SECOND);
        assert!(matches!(together(&all, &names(), &chosen), Err(SharedError::Apart { .. })));
    }
}
