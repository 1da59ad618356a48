//! Presents all clients as one backend of trials: divides the requested load among them, and combines their
//! results into one measurement.

use crate::fleet::{Agents, Limits, interrupted};
use crate::link::Link;
use crate::protocol::Request;
use crate::split::{Share, split};
use plan::session::SessionError;
use record::{
    Client, ClientClock, Clients, FindingCode, Nanos, TargetSharing, Trial, Workload, jain_index,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trial::{Measurement, Precision, TrialBackend, TrialError, together};

/// Time that a trial may take in addition to its run time, its ramp and the I/O timeout.
const BESIDE: Duration = Duration::from_secs(60);

pub(crate) struct ClientsBackend {
    agents: Rc<RefCell<Agents>>,
    set: u32,
    sharing: (TargetSharing, String),
    last: Option<(Clients, Vec<Trial>)>,
}

impl ClientsBackend {
    pub(crate) fn new(
        agents: Rc<RefCell<Agents>>,
        set: u32,
        sharing: (TargetSharing, String),
    ) -> Self {
        Self { agents, set, sharing, last: None }
    }
}

impl TrialBackend for ClientsBackend {
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        _stop: &AtomicBool,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        let mut agents = self.agents.borrow_mut();
        // A plan continues with all of its clients, or not at all.
        if agents.links.iter().any(|link| link.lost.is_some()) {
            return Err(TrialError::Interrupted);
        }
        // Clocks drift by microseconds a second, so each trial needs a new reading.
        agents.read_clocks(Link::set_clock).map_err(|error| told(&error))?;
        let shares = split(workload, seed, agents.links.len() as u32, self.sharing.0);
        let (set, precision) = (self.set, Precision::of(workload));
        let request = |share: &Share| {
            (share.jobs > 0).then(|| Request::Trial {
                set,
                workload: Box::new(share.workload.clone()),
                seed: share.seed,
                first_job: share.first_job,
                jobs: share.jobs,
                judged: precision.asked(),
            })
        };
        let requests: Vec<_> = shares.iter().map(request).collect();
        let window = workload.runtime_ns;
        let spans = [window, workload.ramp_ns, workload.stop.io_timeout_ns];
        let longest = spans.iter().fold(BESIDE, |sum, span| sum + Duration::from_nanos(span.0));
        let limits = Limits { window, longest, precision };
        let trials = agents.trial(&requests, limits, tick).map_err(|error| told(&error))?;
        let before: Vec<Reading> = agents.links.iter().map(Reading::of).collect();
        let mut after: Vec<Option<Reading>> = vec![None; shares.len()];
        agents
            .read_clocks(|link, clock, at| after[link.rank] = Some(Reading { clock, at }))
            .or_else(|error| if error.interrupted() { Ok(()) } else { Err(told(&error)) })?;
        let back = trials.each;
        let parts = back.iter().flatten().map(|(_, totals)| totals.as_ref().clone());
        let Some(mut measurement) = together(&parts.collect::<Vec<_>>()) else {
            agents.nobody_lost().map_err(|error| told(&error))?;
            return Err(told(&interrupted()));
        };
        if measurement.ended_by == Some(record::EndedBy::Bytes) && workload.stop.passes.is_some() {
            // On a shared target, passes are divided as bytes.
            measurement.ended_by = Some(record::EndedBy::Passes);
        }
        let skew = |rank: usize| {
            let (_, totals) = back[rank].as_ref()?;
            let window = (totals.window.begin, totals.end.since(totals.window.begin));
            Some(Skew::of(trials.begin, window, before[rank], after[rank]))
        };
        let skews: Vec<Option<Skew>> = (0..shares.len()).map(skew).collect();
        let each = (0..shares.len()).map(|rank| {
            let (link, share) = (&agents.links[rank], &shares[rank]);
            let drift = after[rank].map(|after| after.clock.offset_ns - link.clock.offset_ns);
            // A client lost after it delivered its result is not missing, and neither is one without jobs.
            let missing = share.jobs > 0 && back[rank].is_none();
            Client {
                rank: rank as u32,
                host: link.host.clone(),
                hostname: link.hostname.clone(),
                first_job: share.rank_first_job,
                jobs: share.jobs,
                depth: Some(share.jobs * share.workload.iodepth),
                clock: ClientClock { drift_ns: drift, ..link.clock },
                begin_skew_ns: skews[rank].map(|skew| skew.late_ns),
                share: None,
                iops_per_job: None,
                trial_id: back[rank].as_ref().map(|(trial, _)| trial.id.clone()),
                lost: link.lost.clone().filter(|_| missing),
            }
        });
        let mut clients = Clients {
            sharing: self.sharing.0,
            sharing_reason: self.sharing.1.clone(),
            launched_by: agents.launched_by.clone(),
            start_spread_ns: None,
            start_spread_error_ns: None,
            common_window_ns: None,
            jain_index: None,
            each: each.collect(),
        };
        spread(&mut clients, &skews.into_iter().flatten().collect::<Vec<_>>());
        let mut trials: Vec<Trial> = back.into_iter().flatten().map(|(trial, _)| *trial).collect();
        shares_of(&mut clients, &trials);
        if agents.on_one_kernel() {
            // On one kernel, the counters of a device cover all clients: what one client reports as foreign
            // I/O comes from the other clients.
            for trial in &mut trials {
                trial.findings.retain(|finding| finding.code != FindingCode::ForeignIo);
            }
        }
        self.last = Some((clients, trials));
        Ok(measurement)
    }

    fn clients(&mut self) -> Option<(Clients, Vec<Trial>)> {
        self.last.take()
    }

    fn simulated(&self) -> bool {
        false
    }
}

fn told(error: &SessionError) -> TrialError {
    if error.interrupted() {
        TrialError::Interrupted
    } else {
        TrialError::Clients(error.to_string())
    }
}

/// A reading of a client's clock, and its time by the coordinator's clock.
#[derive(Clone, Copy)]
struct Reading {
    clock: ClientClock,
    at: Nanos,
}

impl Reading {
    fn of(link: &Link) -> Self {
        Self { clock: link.clock, at: link.clock_read }
    }
}

/// When a client began, relative to the agreed moment.
#[derive(Clone, Copy)]
struct Skew {
    late_ns: i64,
    error_ns: u64,
    /// From its begin to its end.
    length: Nanos,
}

impl Skew {
    /// The begin by the clock of the coordinator. If the clock was read again after the run, the offset is
    /// interpolated linearly between both readings. A clock does not drift evenly, so the error also allows
    /// for a drift, up to the begin or after it, from zero to twice the mean.
    fn of(
        agreed: Nanos,
        (began, length): (Nanos, Nanos),
        before: Reading,
        after: Option<Reading>,
    ) -> Self {
        let after = after.unwrap_or(before);
        let drift = after.clock.offset_ns - before.clock.offset_ns;
        let (passed, between) = (agreed.since(before.at), after.at.since(before.at));
        let way = if between.0 == 0 { 0.0 } else { passed.0 as f64 / between.0 as f64 };
        let way = way.clamp(0.0, 1.0);
        let offset = i128::from(before.clock.offset_ns) + (drift as f64 * way).round() as i128;
        let late = i128::from(began.0) - offset - i128::from(agreed.0);
        let uneven = drift.unsigned_abs() as f64 * way.min(1.0 - way);
        let error = before.clock.error_ns.max(after.clock.error_ns).0 + uneven.ceil() as u64;
        Self { late_ns: i64::try_from(late).unwrap_or_default(), error_ns: error, length }
    }

    /// When it ended, relative to the agreed moment.
    fn end(&self) -> i128 {
        i128::from(self.late_ns) + i128::from(self.length.0)
    }
}

/// Sets the spread of the begins, and the common part of the windows.
fn spread(clients: &mut Clients, skews: &[Skew]) {
    let first = skews.iter().map(|skew| skew.late_ns).min();
    let last = skews.iter().map(|skew| skew.late_ns).max();
    let end = skews.iter().map(Skew::end).min();
    let (Some(first), Some(last), Some(end)) = (first, last, end) else { return };
    // The two clients with the largest errors may be any two, not only the outermost.
    let mut errors: Vec<u64> = skews.iter().map(|skew| skew.error_ns).collect();
    errors.sort_unstable();
    let error = errors.iter().rev().take(2).sum::<u64>();
    let error = if skews.len() < 2 { 0 } else { error };
    let common = (end - i128::from(last) - i128::from(error)).max(0);
    clients.start_spread_ns = Some(Nanos(last.abs_diff(first)));
    clients.start_spread_error_ns = Some(Nanos(error));
    clients.common_window_ns = Some(Nanos(u64::try_from(common).unwrap_or(u64::MAX)));
}

fn shares_of(clients: &mut Clients, trials: &[Trial]) {
    let of = |id: &Option<String>| trials.iter().find(|trial| Some(&trial.id) == id.as_ref());
    let all: u64 = trials.iter().map(Trial::completed).sum();
    for client in &mut clients.each {
        let Some(trial) = of(&client.trial_id) else { continue };
        let seconds = trial.result.duration_ns.as_secs_f64();
        let per_job = trial.completed() as f64 / seconds / f64::from(client.jobs.max(1));
        client.share = (all > 0).then(|| trial.completed() as f64 / all as f64);
        client.iops_per_job = (seconds > 0.0).then_some(per_job);
    }
    let rated = if clients.equally_deep() { clients.per_job() } else { clients.per_slot() };
    let rates: Vec<f64> = rated.into_iter().map(|(_, rate)| rate).collect();
    clients.jain_index = jain_index(&rates);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, offset_ns: i64, error: u64) -> Reading {
        let clock = ClientClock { offset_ns, error_ns: Nanos(error), ..ClientClock::default() };
        Reading { clock, at: Nanos(at) }
    }

    #[test]
    fn the_offset_at_the_begin_lies_between_the_readings_where_the_begin_does() {
        let before = reading(1_000, 500, 10);
        // A tenth of the time, in which the clock gained 400.
        let skew = |after| Skew::of(Nanos(2_000), (Nanos(2_540), Nanos(8_000)), before, after);
        let both = skew(Some(reading(11_000, 900, 20)));
        assert_eq!((both.late_ns, both.error_ns), (0, 20 + 40));
        let one = skew(None);
        assert_eq!((one.late_ns, one.error_ns), (40, 10));
    }

    fn clients() -> Clients {
        Clients {
            sharing: TargetSharing::Shared,
            sharing_reason: String::new(),
            launched_by: String::new(),
            start_spread_ns: None,
            start_spread_error_ns: None,
            common_window_ns: None,
            jain_index: None,
            each: Vec::new(),
        }
    }

    #[test]
    fn the_common_window_is_from_the_last_begin_to_the_first_end() {
        let skew = |late_ns, length| Skew { late_ns, error_ns: 3, length: Nanos(length) };
        for (skews, common) in [
            (&[skew(0, 1_000), skew(20, 1_000)][..], 1_000 - 20 - 6),
            // The client that began first ended long before the other.
            (&[skew(-10, 400), skew(20, 1_000)], 390 - 20 - 6),
            (&[skew(0, 100), skew(500, 1_000)], 0),
            (&[skew(7, 100)], 100),
        ] {
            let mut clients = clients();
            spread(&mut clients, skews);
            assert_eq!(clients.common_window_ns, Some(Nanos(common)));
        }
    }
}
