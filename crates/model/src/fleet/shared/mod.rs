//! Combines the recordings of several hosts that share a disk: on one clock, as one total load. Finds the
//! host whose load the latency of the others follows.
//!
//! No host sees the load of the others. But the requests of one host make the others wait, because the disk
//! is one. If the recorded times do not agree, this gives the clock difference ([`clock`]). The rise of the
//! others' latency from low to high load of a host shows whether they follow its load ([`effect`]). An
//! interval that one host did not record is left out for all: the load of the disk in it is unknown.
//!
//! Rejected: the clock as recorded (virtual machines are seconds apart after a pause), and the largest
//! share as the cause (the host that sends most requests need not be the one that makes the others wait).

mod cells;
mod clock;
mod effect;

use cells::{Grid, cells, end_ns, log_latency, on_clock, sum};
use clock::{OVERLAP_MIN, Trace, all_ahead};
use effect::{effect, explained};
use record::{Estimate, Figure, Interval, Measured, OBSERVATION_SCHEMA, Observation, SharedHost};
use stats::{mean, median};
use std::collections::BTreeMap;

const NS: f64 = 1e9;

/// Share of the others' extra waiting that must fall into the bursts of a host for it to be named.
const EXPLAINS_MIN: f64 = 0.6;

/// Why recordings cannot be combined.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// Too few recordings.
    #[error("a shared disk needs recordings of at least two hosts, each in a separate file")]
    Few,
    /// A recording has several devices, and the user selected none.
    #[error(
        "{host} recorded {devices}; select the shared disk with --disk NAME, or HOST:NAME for one \
         host"
    )]
    Which {
        /// The host or the recording.
        host: String,
        /// Its devices.
        devices: String,
    },
    /// Two recordings of one host.
    #[error("two recordings come from {host}; name one file per host")]
    Twice {
        /// The host.
        host: String,
    },
    /// The recordings have too little time in common.
    #[error(
        "{first} and {second} have {common} intervals in common, but 30 are needed: record at the \
         same time on all hosts, with clocks that agree within a few minutes"
    )]
    Apart {
        /// The first host.
        first: String,
        /// The other host.
        second: String,
        /// Number of intervals in common.
        common: u64,
    },
    /// Too few intervals were recorded by all hosts.
    #[error(
        "only {complete} of the {common} common intervals are complete in all recordings, but 30 \
         are needed; {host} lacks the most intervals"
    )]
    Gaps {
        /// Intervals of the common time.
        common: u64,
        /// Intervals that all hosts recorded.
        complete: usize,
        /// The host that recorded fewest.
        host: String,
    },
}

/// The load of all hosts on one disk.
#[derive(Clone, Debug)]
pub struct Together {
    /// The total load of the disk, as one observation.
    pub whole: Observation,
    /// The hosts, largest effect first.
    pub hosts: Vec<SharedHost>,
    /// The host that slows the others most.
    pub filled_by: Measured<String>,
    /// Intervals of the time that all recordings cover.
    pub intervals: u64,
    /// How many of these intervals are left out for all because a host did not record them.
    pub left_out: u64,
}

/// One host's recording.
struct Host<'a> {
    name: String,
    device: &'a str,
    /// In order of time.
    intervals: Vec<&'a Interval>,
    ahead_s: Measured<Estimate>,
    /// Cells of the common time that it did not record.
    not_recorded: u64,
    /// Its activity in the cells that all hosts recorded, once these are known.
    cells: Vec<Interval>,
}

impl Host<'_> {
    fn ahead_ns(&self) -> i64 {
        self.ahead_s.value().map_or(0, |ahead| (ahead.value * NS) as i64)
    }
}

/// Combines recordings of one disk. `disks` names the disk: `NAME` for all hosts, or `HOST:NAME`.
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
    let step_ns = step_ns(&hosts);
    let traces: Vec<Trace> = hosts.iter().map(|it| Trace::of(&it.intervals, step_ns)).collect();
    for (host, ahead_s) in hosts.iter_mut().zip(all_ahead(&traces, step_ns)) {
        host.ahead_s = ahead_s;
    }
    let grid = common_time(&hosts, step_ns)?;
    let complete = fill_cells(&mut hosts, grid)?;
    let mut parts: Vec<SharedHost> = (0..hosts.len()).map(|place| part(&hosts, place)).collect();
    let lowest = |host: &SharedHost| host.effect.value().map_or(0.0, |effect| effect.low);
    parts.sort_by(|a, b| lowest(b).total_cmp(&lowest(a)));
    Ok(Together {
        whole: whole(&hosts, &observations[0], complete),
        filled_by: clocks_disagree(&parts).map_or_else(|| filled_by(&parts), Measured::not),
        hosts: parts,
        intervals: grid.count,
        left_out: grid.count - complete as u64,
    })
}

/// Why no host can be named: the clock of a host with requests is unknown, and other hosts show that
/// recorded times are wrong here.
fn clocks_disagree(parts: &[SharedHost]) -> Option<String> {
    let unknown = parts.iter().find(|it| it.ahead_s.value().is_none() && it.per_s > 0.0)?;
    let (other, ahead) = parts
        .iter()
        .filter_map(|it| Some((it, it.ahead_s.value()?)))
        .find(|(_, ahead)| ahead.value.abs() > 2.0 * ahead.half_width())?;
    Some(format!(
        "the clock of {} could not be compared, and the clock of {} is {:.1} s off, so it is \
         unknown when each host loaded the disk; synchronize the clocks, or record for longer",
        unknown.host, other.host, ahead.value
    ))
}

/// The one host that slows the others, or why none is named.
fn filled_by(parts: &[SharedHost]) -> Measured<String> {
    match parts.iter().filter(|host| host.slows_others()).collect::<Vec<_>>()[..] {
        [] => Measured::not(
            "no host's load raises the latency of the other hosts by a fifth or more, or the loads \
             never change",
        ),
        [only] if only.explains.is_some_and(|share| share < EXPLAINS_MIN) => {
            Measured::not(format!(
                "the latency of the other hosts rises while {} transfers a lot, but much of their \
                 waiting occurs at other times: either a host without a recording loads the disk, \
                 or the disk itself slows down",
                only.host
            ))
        }
        [only] => Measured::Value(only.host.clone()),
        [first, second, ..] => Measured::not(format!(
            "{} and {} raise their load at the same times, so the recordings do not show which of \
             them slows the others",
            first.host, second.host
        )),
    }
}

/// The length of the common cells: the longest of the hosts' usual intervals. Intervals without requests
/// are ignored, because a recorder merges them.
fn step_ns(hosts: &[Host<'_>]) -> u64 {
    let usual = |host: &Host<'_>| {
        let busy = host.intervals.iter().filter(|it| value(it.all.per_s) > 0.0);
        let lengths: Vec<f64> = busy.map(|it| it.duration_ns as f64).collect();
        (!lengths.is_empty()).then(|| median(lengths))
    };
    hosts.iter().filter_map(usual).fold(1.0, f64::max) as u64
}

/// The time that all recordings cover, on the common clock.
fn common_time(hosts: &[Host<'_>], step_ns: u64) -> Result<Grid, SharedError> {
    let begin_of = |host: &Host<'_>| on_clock(host.intervals[0].begin_ns, host.ahead_ns());
    let end_of = |host: &Host<'_>| {
        let last = host.intervals.iter().map(|it| end_ns(it)).max().unwrap_or(0);
        on_clock(last, host.ahead_ns())
    };
    let begin_ns = hosts.iter().map(begin_of).max().unwrap_or(0);
    let end_ns = hosts.iter().map(end_of).min().unwrap_or(0);
    let count = end_ns.saturating_sub(begin_ns) / step_ns;
    if count < OVERLAP_MIN as u64 {
        let late = hosts.iter().max_by_key(|host| begin_of(host));
        let name = |host: Option<&Host<'_>>| host.map_or_else(String::new, |it| it.name.clone());
        let early = hosts.iter().min_by_key(|host| end_of(host));
        return Err(SharedError::Apart { first: name(early), second: name(late), common: count });
    }
    Ok(Grid { begin_ns, step_ns, count })
}

/// Gives each host its activity in the cells that all hosts recorded; returns their number.
fn fill_cells(hosts: &mut [Host<'_>], grid: Grid) -> Result<usize, SharedError> {
    let all: Vec<Vec<(u64, Interval)>> =
        hosts.iter().map(|host| cells(&host.intervals, grid, host.ahead_ns())).collect();
    let mut recorded_by: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, _) in all.iter().flatten() {
        *recorded_by.entry(*at).or_default() += 1;
    }
    let of_all = hosts.len();
    for (host, cells) in hosts.iter_mut().zip(all) {
        host.not_recorded = grid.count - cells.len() as u64;
        let complete = cells.into_iter().filter(|(at, _)| recorded_by[at] == of_all);
        host.cells = complete.map(|(_, cell)| cell).collect();
    }
    let complete = hosts[0].cells.len();
    if complete < OVERLAP_MIN {
        let most = hosts.iter().max_by_key(|host| host.not_recorded);
        let host = most.map_or_else(String::new, |host| host.name.clone());
        return Err(SharedError::Gaps { common: grid.count, complete, host });
    }
    Ok(complete)
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
    // A user who recorded one device or directory means the top device. Its parts are recorded with it.
    let named = match observation.paths.as_slice() {
        [only] => only.devices.first().map(String::as_str),
        _ => None,
    };
    let there = |name: &&str| observation.devices.iter().any(|it| it.name == *name);
    let device = match (chosen.or(named.filter(there)), own.as_slice()) {
        (Some(chosen), _) => {
            observation.devices.iter().map(|it| it.name.as_str()).find(|it| *it == chosen)
        }
        (None, [only]) => Some(*only),
        _ => None,
    };
    let mut intervals: Vec<&Interval> =
        observation.intervals.iter().filter(|it| Some(it.device.as_str()) == device).collect();
    intervals.sort_by_key(|it| it.begin_ns);
    match device {
        Some(device) if !intervals.is_empty() => Ok(Host {
            name,
            device,
            intervals,
            ahead_s: Measured::Value(Estimate::symmetric(0.0, 0.0, 1)),
            not_recorded: 0,
            cells: Vec::new(),
        }),
        _ => {
            let all: Vec<&str> = observation.devices.iter().map(|it| it.name.as_str()).collect();
            Err(SharedError::Which { host: name, devices: all.join(", ") })
        }
    }
}

/// The total load of the disk.
fn whole(hosts: &[Host<'_>], first: &Observation, count: usize) -> Observation {
    let device = hosts[0].device;
    let intervals = (0..count)
        .map(|cell| {
            let parts: Vec<(&Interval, f64)> =
                hosts.iter().map(|host| (&host.cells[cell], 1.0)).collect();
            let (begin_ns, duration_ns) = (parts[0].0.begin_ns, parts[0].0.duration_ns);
            let mut all = sum(&parts, begin_ns, duration_ns);
            device.clone_into(&mut all.device);
            // No host knows when the others kept the disk busy, so the busy times count as independent.
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
    let load: Vec<f64> = host.cells.iter().map(|cell| value(cell.all.bytes_per_s)).collect();
    let latencies = |other: &Host<'_>| -> Vec<Option<f64>> {
        other.cells.iter().map(|cell| cell.all.latency_ns.map(log_latency)).collect()
    };
    let others = hosts.iter().enumerate().filter(|(other, _)| *other != place);
    let others: Vec<_> = others.map(|(_, other)| latencies(other)).collect();
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
        effect: effect(&load, &others),
        explains: explained(&load, &others),
        not_recorded: host.not_recorded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{ObservedDevice, OpInterval};
    use stats::SplitMix64;

    const SECOND: u64 = 1_000_000_000;

    /// The third host's load between bursts and in bursts, in multiples of its usual rate.
    const NEVER: [f64; 2] = [1.0, 1.0];
    const BURSTS: [f64; 2] = [1.0, 6.0];
    const BURSTS_ALONE: [f64; 2] = [0.0, 6.0];

    /// Three hosts on one queue. The third sends bursts, and its clock is ahead.
    fn recordings(ahead_s: f64, [calm, loud]: [f64; 2]) -> Vec<Observation> {
        let mut random = SplitMix64::new(11);
        let mut burst = calm;
        let rates: Vec<[f64; 4]> = (0..400)
            .map(|_| {
                if random.unit() < 0.15 {
                    burst = if random.unit() < 0.5 { loud } else { calm };
                }
                [100.0, 120.0, 110.0 * burst, 0.0].map(|rate| rate * (0.1 * random.normal()).exp())
            })
            .collect();
        observations(&rates, ahead_s, &mut random)
    }

    /// What three hosts record of the load of four on one queue. The third host's clock is ahead.
    fn observations(rates: &[[f64; 4]], ahead_s: f64, random: &mut SplitMix64) -> Vec<Observation> {
        (0..3)
            .map(|host| {
                let offset = if host == 2 { ahead_s } else { 0.0 };
                let intervals = rates
                    .iter()
                    .enumerate()
                    .map(|(at, rates)| {
                        let load: f64 = rates.iter().sum::<f64>() / 1200.0;
                        let latency = 1e6 / (1.0 - load.min(0.95)) * (0.05 * random.normal()).exp();
                        let has_requests = rates[host] > 0.0;
                        let op = OpInterval {
                            per_s: Some(Figure::measured(rates[host], 0.0)),
                            bytes_per_s: Some(Figure::measured(rates[host] * 4096.0, 0.0)),
                            request_bytes: Some(Figure::measured(4096.0, 0.0)),
                            merged_per_s: None,
                            latency_ns: has_requests.then(|| Figure::measured(latency, 0.0)),
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

    /// Recordings of `seconds` seconds. An unrecorded host also sends bursts; both `bursts` and
    /// `unrecorded` are multiples of the usual rate.
    fn beside_an_unrecorded_one(
        seed: u64,
        seconds: usize,
        bursts: f64,
        unrecorded: f64,
    ) -> Vec<Observation> {
        let mut random = SplitMix64::new(seed);
        let mut states = [1.0, 0.0];
        let rates: Vec<[f64; 4]> = (0..seconds)
            .map(|_| {
                for (state, [calm, loud]) in
                    states.iter_mut().zip([[1.0, bursts], [0.0, unrecorded]])
                {
                    if random.unit() < 0.15 {
                        *state = if random.unit() < 0.4 { loud } else { calm };
                    }
                }
                [100.0, 120.0, 110.0 * states[0], 110.0 * states[1]]
                    .map(|rate| rate * (0.1 * random.normal()).exp())
            })
            .collect();
        observations(&rates, 0.0, &mut random)
    }

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn clocks_are_put_right_and_the_host_that_slows_the_others_is_named() {
        for (ahead_s, load) in [
            (0.0, BURSTS),
            (7.3, BURSTS),
            (-42.0, BURSTS),
            (7.3, BURSTS_ALONE),
            (-0.5, BURSTS_ALONE),
        ] {
            let all = together(&recordings(ahead_s, load), &names(), &[]).unwrap();
            let third = all.hosts.iter().find(|host| host.host == "h2").unwrap();
            let found = third.ahead_s.value().unwrap();
            assert!((found.value - ahead_s).abs() <= 0.5, "{ahead_s} {load:?}: {found:?}");
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
        let all = together(&recordings(0.0, NEVER), &names(), &[]).unwrap();
        assert!(all.filled_by.value().is_none(), "{:?}", all.filled_by);
    }

    #[test]
    fn nobody_is_named_where_one_clock_is_off_and_another_is_not_known() {
        let mut all = recordings(7.3, BURSTS);
        for interval in &mut all[1].intervals {
            interval.all.latency_ns = Some(Figure::measured(1e6, 0.0));
            interval.concurrency = Some(Figure::derived(0.1, 0.0));
        }
        let found = together(&all, &names(), &[]).unwrap();
        let why = found.filled_by.reason().unwrap_or_default();
        assert!(why.contains("clock of h1") && why.contains("h2 is 7."), "{:?}", found.filled_by);
    }

    /// Much of the waiting is outside the known bursts, though the bursts of both may coincide by chance.
    #[test]
    fn a_host_whose_bursts_explain_little_of_the_waiting_is_not_named() {
        let named = |seeds: u64, bursts: f64, unrecorded: f64| {
            let of = |seed: u64| {
                let all = beside_an_unrecorded_one(seed, 300, bursts, unrecorded);
                let found = together(&all, &names(), &[]).unwrap();
                let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
                (third.slows_others(), found.filled_by.value().is_some(), third.explains)
            };
            (0..seeds).map(of).collect::<Vec<_>>()
        };
        // The third host alone, and together with unrecorded bursts half as large.
        for unrecorded in [0.0, 3.0] {
            let all = named(10, 6.0, unrecorded);
            assert!(all.iter().all(|(slows, named, _)| *slows && *named), "{all:?}");
        }
        let all = named(100, 2.0, 5.0);
        let met: Vec<_> = all.iter().filter(|(slows, ..)| *slows).collect();
        let wrong = met.iter().filter(|(_, named, _)| *named).count();
        assert!(met.len() >= 4 && wrong < met.len(), "{wrong} of {met:?}");
    }

    /// Counters have ticks: with few fast requests, some intervals have no tick and others one.
    #[test]
    fn ticks_of_an_idle_disk_hide_no_clock() {
        let mut all = recordings(7.3, BURSTS);
        let mut random = SplitMix64::new(5);
        for interval in all.iter_mut().flat_map(|one| &mut one.intervals) {
            let latency = interval.all.latency_ns.map_or(0.0, |it| it.value);
            let tick = 1e5;
            let seen =
                if latency > 2e6 { 40.0 * latency } else { tick * (random.unit() * 2.0).floor() };
            interval.all.latency_ns = Some(Figure::measured(seen, tick));
        }
        let found = together(&all, &names(), &[]).unwrap();
        for host in &found.hosts {
            let truth = if host.host == "h2" { 7.3 } else { 0.0 };
            let ahead = host.ahead_s.value().unwrap_or_else(|| panic!("{host:?}"));
            assert!((ahead.value - truth).abs() <= 0.5, "{host:?}");
        }
        assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
        // The comparison uses a tick, not zero.
        let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
        assert!(third.effect.value().unwrap().value < 2e3, "{third:?}");
    }

    /// An interval that one host did not record does not count as idle.
    #[test]
    fn a_gap_of_one_host_is_left_out_for_all_and_counted() {
        for kind in ["missing", "unknown", "slept"] {
            let mut all = recordings(7.3, BURSTS);
            let intervals = &mut all[1].intervals;
            match kind {
                "missing" => drop(intervals.drain(100..180)),
                // Counters that were reset.
                "unknown" => intervals[100..180].iter_mut().for_each(|it| it.all.per_s = None),
                // One interval in which the time of the requests is unknown.
                _ => {
                    intervals.drain(101..180);
                    intervals[100].duration_ns = 80 * SECOND;
                }
            }
            let found = together(&all, &names(), &[]).unwrap();
            // A clock that is found to be slightly ahead moves the ends.
            let (count, left_out) = (found.intervals, found.left_out);
            assert!((398..=400).contains(&count) && (80..=82).contains(&left_out), "{found:?}");
            let second = found.hosts.iter().find(|host| host.host == "h1").unwrap();
            assert_eq!(second.not_recorded, left_out, "{kind}");
            assert!(found.hosts.iter().all(|host| host.host == "h1" || host.not_recorded == 0));
            assert_eq!(found.whole.intervals.len() as u64, count - left_out);
            // Its rate refers to the time in which it recorded.
            assert!((second.per_s / 120.0 - 1.0).abs() < 0.05, "{kind}: {second:?}");
            assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
            let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
            assert!((third.ahead_s.value().unwrap().value - 7.3).abs() <= 0.5, "{kind}");
        }
        let mut all = recordings(0.0, BURSTS);
        all[1].intervals.drain(20..391);
        let refused = together(&all, &names(), &[]);
        let is_so = |refused: &_| matches!(refused, SharedError::Gaps { host, complete: ..30, .. } if host == "h1");
        assert!(refused.as_ref().is_err_and(is_so), "{refused:?}");
    }

    /// A recorder merges intervals without requests into long ones, which count as recorded.
    #[test]
    fn a_host_that_asks_for_nothing_has_recorded_that() {
        let mut all = recordings(0.0, BURSTS);
        let intervals = &mut all[0].intervals;
        let mut joined = intervals[0].clone();
        joined.duration_ns = 400 * SECOND;
        for op in [&mut joined.all, &mut joined.read] {
            *op = OpInterval { per_s: Some(Figure::measured(0.0, 0.0)), ..OpInterval::default() };
        }
        joined.concurrency = Some(Figure::derived(0.0, 0.0));
        *intervals = vec![joined];
        let found = together(&all, &names(), &[]).unwrap();
        assert!(found.intervals >= 398 && found.left_out == 0, "{found:?}");
        assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
        let first = found.hosts.iter().find(|host| host.host == "h0").unwrap();
        assert_eq!((first.per_s, first.latency_ns), (0.0, None));
    }

    /// As if the machine's clock was set after its start.
    #[test]
    fn an_interval_of_another_year_costs_neither_time_nor_memory() {
        let mut all = recordings(0.0, BURSTS);
        for observation in &mut all {
            observation.intervals[0].begin_ns = 0;
            for interval in &mut observation.intervals[1..] {
                interval.begin_ns += 1_700_000_000 * SECOND;
            }
        }
        let found = together(&all, &names(), &[]).unwrap();
        assert!((398..=400).contains(&found.whole.intervals.len()));
        assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
    }

    #[test]
    fn what_is_no_shared_disk_is_refused() {
        let mut all = recordings(0.0, BURSTS);
        assert!(matches!(together(&all[..1], &names(), &[]), Err(SharedError::Few)));
        all[1].devices.push(ObservedDevice { name: "sdc".to_owned(), ..Default::default() });
        assert!(matches!(together(&all, &names(), &[]), Err(SharedError::Which { .. })));
        let chosen = ["h1:sdb".to_owned()];
        assert!(together(&all, &names(), &chosen).is_ok());
        all[1].intervals.iter_mut().for_each(|it| it.begin_ns += 10_000 * SECOND);
        assert!(matches!(together(&all, &names(), &chosen), Err(SharedError::Apart { .. })));
    }
}
