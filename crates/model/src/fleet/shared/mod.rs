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
mod host;

use cells::{log_latency, sum};
use clock::{Trace, all_ahead};
use effect::{effect, explained};
use host::{Host, common_time, fill_cells, host, step_ns, value};
use record::{Figure, Interval, Measured, OBSERVATION_SCHEMA, Observation, SharedHost};
use stats::mean;

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
mod tests;
