//! The clients as one backend of trials: what a plan asks is dealt out, and what comes back is one
//! measurement.

use crate::fleet::{Agents, interrupted};
use crate::protocol::Request;
use crate::split::{Share, split};
use record::{
    Client, ClientClock, Clients, FindingCode, Nanos, TargetSharing, Trial, Workload, jain_index,
};
use session::SessionError;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trial::{Measurement, PartTotals, TrialBackend, TrialError, together};

/// Time that a trial may take beside its own, its ramp and the time that a device may be silent.
const BESIDE: Duration = Duration::from_secs(60);

/// Runs workloads on all agents.
pub(crate) struct ClientsBackend {
    agents: Rc<RefCell<Agents>>,
    set: u32,
    sharing: (TargetSharing, String),
    /// Of the last run.
    last: Option<(Clients, Vec<Trial>)>,
}

/// A client that came back.
struct Back {
    trial: Trial,
    totals: PartTotals,
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
        // A plan goes on with all of its clients, or not at all.
        if agents.links.iter().any(|link| link.lost.is_some()) {
            return Err(TrialError::Interrupted);
        }
        // Clocks drift by microseconds a second: those of the first trial do for no later one.
        agents.read_clocks(|_, link, clock| link.clock = clock).map_err(|error| told(&error))?;
        let shares = split(workload, seed, agents.links.len() as u32, self.sharing.0);
        let set = self.set;
        let request = |share: &Share| {
            (share.jobs > 0).then(|| Request::Trial {
                set,
                workload: Box::new(share.workload.clone()),
                seed: share.seed,
                first_job: share.first_job,
                jobs: share.jobs,
            })
        };
        let requests: Vec<_> = shares.iter().map(request).collect();
        let window = workload.runtime_ns;
        let spans = [window, workload.ramp_ns, workload.stop.io_timeout_ns];
        let longest = spans.iter().fold(BESIDE, |sum, span| sum + Duration::from_nanos(span.0));
        let trials =
            agents.trial(&requests, (window, longest), tick).map_err(|error| told(&error))?;
        let mut after: Vec<Option<ClientClock>> = vec![None; shares.len()];
        agents
            .read_clocks(|rank, _, clock| after[rank] = Some(clock))
            .or_else(|error| if error.interrupted() { Ok(()) } else { Err(told(&error)) })?;
        let back: Vec<Option<Back>> = trials
            .each
            .into_iter()
            .map(|it| it.map(|(trial, totals)| Back { trial: *trial, totals: *totals }))
            .collect();
        let parts: Vec<PartTotals> =
            back.iter().flatten().map(|back| back.totals.clone()).collect();
        let Some(mut measurement) = together(&parts) else {
            agents.nobody_lost().map_err(|error| told(&error))?;
            return Err(told(&interrupted()));
        };
        if measurement.ended_by == Some(record::EndedBy::Bytes) && workload.stop.passes.is_some() {
            // Of a shared target, passes are dealt out as bytes.
            measurement.ended_by = Some(record::EndedBy::Passes);
        }
        let skews: Vec<Option<Skew>> = (0..shares.len())
            .map(|rank| {
                let totals = &back[rank].as_ref()?.totals;
                let clock = agents.links[rank].clock;
                Some(Skew::of(trials.begin, totals.window.begin, clock, after[rank]))
            })
            .collect();
        let each = (0..shares.len()).map(|rank| {
            let (link, share) = (&agents.links[rank], &shares[rank]);
            let drift = after[rank].map(|after| after.offset_ns - link.clock.offset_ns);
            Client {
                rank: rank as u32,
                host: link.host.clone(),
                hostname: link.hostname.clone(),
                first_job: share.rank_first_job,
                jobs: share.jobs,
                clock: ClientClock { drift_ns: drift, ..link.clock },
                begin_skew_ns: skews[rank].map(|skew| skew.late_ns),
                share: None,
                iops_per_job: None,
                trial_id: back[rank].as_ref().map(|back| back.trial.id.clone()),
                lost: link.lost.clone(),
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
        spread(&mut clients, &skews.into_iter().flatten().collect::<Vec<_>>(), &measurement);
        let mut trials: Vec<Trial> = back.into_iter().flatten().map(|back| back.trial).collect();
        shares_of(&mut clients, &trials);
        let boots: Vec<_> = agents.links.iter().map(|link| link.boot.as_ref()).collect();
        if boots.windows(2).all(|pair| pair[0].is_some() && pair[0] == pair[1]) {
            // On one kernel the counters of a device are those of all clients: what one finds foreign
            // there is what the others did.
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

/// When a client began, against the agreed moment.
#[derive(Clone, Copy)]
struct Skew {
    late_ns: i64,
    error_ns: u64,
}

impl Skew {
    /// Its begin by the clock of the coordinator: by the offset before, or, where the clock was read again,
    /// halfway to the one after, with half of the drift as a further error.
    fn of(agreed: Nanos, began: Nanos, before: ClientClock, after: Option<ClientClock>) -> Self {
        let drift = after.map_or(0, |after| after.offset_ns - before.offset_ns);
        let offset = i128::from(before.offset_ns) + i128::from(drift / 2);
        let late = i128::from(began.0) - offset - i128::from(agreed.0);
        let error = before.error_ns.max(after.map_or(Nanos(0), |after| after.error_ns));
        let late_ns = i64::try_from(late).unwrap_or_default();
        Self { late_ns, error_ns: error.0 + drift.unsigned_abs().div_ceil(2) }
    }
}

/// How far apart they began, and what their windows have in common.
fn spread(clients: &mut Clients, skews: &[Skew], measurement: &Measurement) {
    let first = skews.iter().min_by_key(|skew| skew.late_ns);
    let last = skews.iter().max_by_key(|skew| skew.late_ns);
    let (Some(first), Some(last)) = (first, last) else { return };
    let apart = last.late_ns.abs_diff(first.late_ns);
    // The two that seem to be the outermost need not be.
    let mut errors: Vec<u64> = skews.iter().map(|skew| skew.error_ns).collect();
    errors.sort_unstable();
    let error = errors.iter().rev().take(2).sum::<u64>();
    let error = if skews.len() < 2 { 0 } else { error };
    clients.start_spread_ns = Some(Nanos(apart));
    clients.start_spread_error_ns = Some(Nanos(error));
    clients.common_window_ns = Some(Nanos(measurement.end.0.saturating_sub(apart + error)));
}

/// What each did of all.
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
    let rates: Vec<f64> = clients.each.iter().filter_map(|client| client.iops_per_job).collect();
    clients.jain_index = jain_index(&rates);
}
