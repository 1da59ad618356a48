//! Takes one host's recording of the shared disk, and the time that all hosts recorded.

use super::SharedError;
use super::cells::{Grid, cells, end_ns, on_clock};
use super::clock::OVERLAP_MIN;
use record::{Estimate, Figure, Interval, Measured, Observation};
use stats::median;
use std::collections::BTreeMap;

const NS: f64 = 1e9;

/// One host's recording.
pub(super) struct Host<'a> {
    pub(super) name: String,
    pub(super) device: &'a str,
    /// In order of time.
    pub(super) intervals: Vec<&'a Interval>,
    pub(super) ahead_s: Measured<Estimate>,
    /// Cells of the common time that it did not record.
    pub(super) not_recorded: u64,
    /// Its activity in the cells that all hosts recorded, once these are known.
    pub(super) cells: Vec<Interval>,
}

impl Host<'_> {
    fn ahead_ns(&self) -> i64 {
        self.ahead_s.value().map_or(0, |ahead| (ahead.value * NS) as i64)
    }
}

/// The recording of the shared disk in an observation.
pub(super) fn host<'a>(
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

/// The length of the common cells: the longest of the hosts' usual intervals. Intervals without requests
/// are ignored, because a recorder merges them.
pub(super) fn step_ns(hosts: &[Host<'_>]) -> u64 {
    let usual = |host: &Host<'_>| {
        let busy = host.intervals.iter().filter(|it| value(it.all.per_s) > 0.0);
        let lengths: Vec<f64> = busy.map(|it| it.duration_ns as f64).collect();
        (!lengths.is_empty()).then(|| median(lengths))
    };
    hosts.iter().filter_map(usual).fold(1.0, f64::max) as u64
}

/// The time that all recordings cover, on the common clock.
pub(super) fn common_time(hosts: &[Host<'_>], step_ns: u64) -> Result<Grid, SharedError> {
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
pub(super) fn fill_cells(hosts: &mut [Host<'_>], grid: Grid) -> Result<usize, SharedError> {
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

pub(super) fn value(figure: Option<Figure>) -> f64 {
    figure.map_or(0.0, |figure| figure.value)
}
