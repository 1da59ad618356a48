//! Checks whether the clients ran their load at the same time, and how the target served each of them.

use record::{
    Client, Clients, Confidence, Finding, FindingCode, LostKind, TargetSharing, Trial,
    format_count, format_nanos, format_share, jain_index,
};

/// Maximum difference between the begins of clients, or error of their clocks, as a share of the window.
/// What each client did alone at the ends is then less than a hundredth of the total.
const APART_MAX: f64 = 0.01;
/// Rate per job, as a share of the median of the others, below which a client straggles.
const STRAGGLES_BELOW: f64 = 0.8;
/// Jain's index of a shared target below which it serves clients unequally. If one of two clients gets
/// three times the rate of the other, the index is 0.8.
const UNEQUAL_BELOW: f64 = 0.9;

/// Clients whose numbers are missing.
pub(super) fn lost(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let lost = || clients.each.iter().filter_map(|client| Some((client, client.lost.as_ref()?)));
    let (first, reason) = lost().next()?;
    let count = lost().count();
    let names: Vec<&str> = lost().map(|(client, _)| client.host.as_str()).collect();
    let what = match reason.kind {
        LostKind::Ended => "was lost",
        LostKind::Silent => "stopped answering",
        LostKind::Failed => "could not continue",
    };
    let who = match count {
        1 => format!("{} {what}", first.host),
        _ => format!("{count} clients are missing ({}); the first {what}", names.join(", ")),
    };
    let told = reason.until_ns.map_or_else(String::new, |until| {
        format!(
            " After {} of its window, the lost client had reported {} requests, which the results \
             exclude.",
            format_nanos(until.0 as f64),
            format_count(reason.ios as f64)
        )
    });
    // Exclude clients that are lost and clients that had nothing to do.
    let counted = clients.each.iter().filter(|client| client.counted()).count();
    Some(
        Finding::invalid(
            FindingCode::ClientLost,
            format!(
                "{who}: {}. The results cover {counted} of {} clients; the lost client also \
                 loaded the target for part of the window.{told}",
                reason.reason,
                clients.each.len()
            ),
            "Check that machine and the connection to it, then run again.",
        )
        .with("clients lost", count as f64, "")
        .with("clients", clients.each.len() as f64, "")
        .with("requests reported by the first", reason.ios as f64, ""),
    )
}

/// Clients whose windows overlap too little, or possibly too little.
pub(super) fn apart(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let window = trial.result.duration_ns.0.max(1) as f64;
    let (spread, error) = (clients.start_spread_ns?, clients.start_spread_error_ns?);
    let (spread, error) = (spread.0 as f64, error.0 as f64);
    // The time outside the common window, beyond the error of the clocks.
    let common = clients.common_window_ns.map_or(window - spread - error, |it| it.0 as f64);
    let alone = (window - common - error).max(spread);
    if alone > APART_MAX * window {
        let why = if spread > APART_MAX * window {
            format!("The clients started {} apart (±{})", format_nanos(spread), format_nanos(error))
        } else {
            "Some clients ended before the others".to_owned()
        };
        return Some(
            Finding::warning(
                FindingCode::ClientsApart,
                format!(
                    "All clients ran at the same time for at least {} of {}. {why}. In the \
                     remaining time, fewer clients shared the target.",
                    format_nanos(common.max(0.0)),
                    format_nanos(window)
                ),
                "Use a longer --runtime, less busy machines, and no --io-size or --passes, which \
                 end each client when it is done.",
            )
            .with("in common", common.max(0.0), "ns")
            .with("apart", spread, "ns")
            .with("error", error, "ns"),
        );
    }
    (error > APART_MAX * window).then(|| {
        Finding::warning(
            FindingCode::ClientClockUnsure,
            format!(
                "The clocks of the clients are known only to ±{}, {} of the window, so their start \
                 times may differ by that much.",
                format_nanos(error),
                format_share(error / window)
            ),
            "Use a longer --runtime, or a connection with a shorter round trip.",
        )
        .with("error", error, "ns")
        .with("window", window, "ns")
    })
}

/// Clients that are much slower than the others.
///
/// If a depth was divided unequally, a client with twice the depth gets between one and two times the
/// requests per second. So a client is slow only if it is slow by two measures: per job, which penalizes
/// low depths, and per request in flight, which penalizes high depths.
pub(super) fn straggler(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    if trial.workload.rate_iops.is_some() {
        return None;
    }
    let rated = clients.each.iter().filter(|client| client.iops_per_job.is_some());
    straggler_of(clients, rated.map(|client| half_width(trial, client)).fold(0.0, f64::max))
}

/// As [`straggler`]; `unsure` is the widest relative half-width of the interval of a client's rate.
fn straggler_of(clients: &Clients, unsure: f64) -> Option<Finding> {
    let of_jobs = clients.per_job();
    if clients.equally_deep() {
        let (slowest, rate, median) = slowest(&of_jobs, None, unsure)?;
        return Some(straggles(slowest, (rate, median), "job"));
    }
    let (slowest_by_slot, rate, median) = slowest(&clients.per_slot(), None, unsure)?;
    slowest(&of_jobs, Some(slowest_by_slot), unsure)?;
    Some(straggles(slowest_by_slot, (rate, median), "request in flight"))
}

/// The slowest client, or the named one, with its rate and the median of the others, if its rate is much
/// lower than that.
fn slowest<'a>(
    rated: &[(&'a Client, f64)],
    named: Option<&Client>,
    unsure: f64,
) -> Option<(&'a Client, f64, f64)> {
    let candidates = rated.iter().filter(|(it, _)| named.is_none_or(|named| named.rank == it.rank));
    let (slowest, rate) = *candidates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let others = rated.iter().filter(|(client, _)| client.rank != slowest.rank);
    let others: Vec<f64> = others.map(|(_, rate)| *rate).collect();
    if others.is_empty() {
        return None;
    }
    let median = stats::median(others);
    // Differences within the half-widths of both intervals do not count.
    let straggles =
        rate < STRAGGLES_BELOW * median && rate * (1.0 + unsure) < median * (1.0 - unsure);
    straggles.then_some((slowest, rate, median))
}

fn straggles(client: &Client, (rate, median): (f64, f64), per: &str) -> Finding {
    Finding::warning(
        FindingCode::ClientStraggles,
        format!(
            "{} achieved {} IOPS per {per}, {} of the median of the others.",
            client.host,
            format_count(rate.round()),
            format_share(rate / median)
        ),
        "Compare its trial with that of another client: latency, CPUs, network, mount options.",
    )
    .with(&format!("its rate per {per}"), rate, "1/s")
    .with("median of the others", median, "1/s")
    .confidence(Confidence::AlmostCertain)
}

/// A shared target that serves its clients unequally. If their jobs have different depths, both measures of
/// [`straggler`] must show it.
pub(super) fn unequal(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    if clients.sharing != TargetSharing::Shared || trial.workload.rate_iops.is_some() {
        return None;
    }
    unequal_of(clients)
}

fn unequal_of(clients: &Clients) -> Option<Finding> {
    let index = clients.jain_index.filter(|index| *index < UNEQUAL_BELOW)?;
    let (rated, per) = match clients.equally_deep() {
        true => (clients.per_job(), "job"),
        false => {
            let of_jobs: Vec<f64> = clients.per_job().iter().map(|(_, rate)| *rate).collect();
            jain_index(&of_jobs).filter(|index| *index < UNEQUAL_BELOW)?;
            (clients.per_slot(), "request in flight")
        }
    };
    let (most, high) = rated.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (least, low) = rated.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(
        Finding::warning(
            FindingCode::UnequalShares,
            format!(
                "The target served the clients unequally: a {per} of {} got {:.1} times as much as \
                 one of {} (Jain's index {index:.2}; 1 is equal).",
                most.host,
                high / low.max(1e-9),
                least.host
            ),
            "Look for a slower path or machine. If paths and machines are equal, the target or \
             its network is unfair.",
        )
        .with("Jain's index", index, "")
        .with(&format!("most per {per}"), *high, "1/s")
        .with(&format!("least per {per}"), *low, "1/s"),
    )
}

/// Clients that differ in what decides their speed.
pub(super) fn differ(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let kernels = trial.parts.iter().filter_map(|part| Some(&part.environment.as_ref()?.kernel));
    let mut kernels: Vec<&String> = kernels.collect();
    kernels.sort_unstable();
    kernels.dedup();
    (kernels.len() > 1).then(|| {
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.as_str()).collect();
        Finding::note(
            FindingCode::ClientsDiffer,
            format!("The clients have different kernels: {}.", names.join(", ")),
            "If a client is slower, boot it with the kernel of a faster one.",
        )
        .with("kernels", kernels.len() as f64, "")
        .with("clients", clients.each.len() as f64, "")
    })
}

/// The relative half-width of the interval of a client's rate; zero without an interval.
fn half_width(trial: &Trial, client: &Client) -> f64 {
    let part = trial.parts.iter().find(|part| Some(&part.id) == client.trial_id.as_ref());
    let widths = part.into_iter().flat_map(Trial::directions).filter_map(|it| it.iops_ci95_rel);
    widths.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::ClientClock;

    /// Clients of one job each, with these depths and rates.
    fn clients(depths: &[u32], rates: &[f64]) -> Clients {
        let client = |((rank, depth), rate): ((u32, &u32), &f64)| Client {
            rank,
            host: rank.to_string(),
            hostname: String::new(),
            first_job: rank,
            jobs: 1,
            depth: Some(*depth),
            clock: ClientClock::default(),
            begin_skew_ns: Some(0),
            share: None,
            iops_per_job: Some(*rate),
            trial_id: Some(rank.to_string()),
            lost: None,
        };
        let mut all = Clients {
            sharing: TargetSharing::Shared,
            sharing_reason: String::new(),
            launched_by: String::new(),
            start_spread_ns: None,
            start_spread_error_ns: None,
            common_window_ns: None,
            jain_index: None,
            each: (0..).zip(depths).zip(rates).map(client).collect(),
        };
        let rated = if all.equally_deep() { all.per_job() } else { all.per_slot() };
        let rates: Vec<f64> = rated.into_iter().map(|(_, rate)| rate).collect();
        all.jain_index = jain_index(&rates);
        all
    }

    /// Depths 4 and 8 divided among three clients, and some more.
    const DEALT: [&[u32]; 5] = [&[2, 1, 1], &[3, 3, 2], &[2, 2, 1], &[2, 1], &[1, 1, 1]];

    #[test]
    fn equal_clients_with_unequal_shares_of_a_depth_are_judged_equal() {
        for depths in DEALT {
            // From a target with a constant service time to one that serves one request at a time.
            for power in 0..=10 {
                let rate = |depth: &u32| 1_000.0 * f64::from(*depth).powf(f64::from(power) / 10.0);
                let rates: Vec<f64> = depths.iter().map(rate).collect();
                let all = clients(depths, &rates);
                assert_eq!(straggler_of(&all, 0.01), None, "{depths:?}, {rates:?}");
                assert_eq!(unequal_of(&all), None, "{depths:?}, {rates:?}");
            }
        }
    }

    #[test]
    fn a_slow_client_with_another_depth_than_the_others_is_found() {
        for depths in DEALT {
            for slow in 0..depths.len() {
                let mut rates: Vec<f64> =
                    depths.iter().map(|depth| 1_000.0 * f64::from(*depth)).collect();
                rates[slow] /= 10.0;
                let all = clients(depths, &rates);
                let found = straggler_of(&all, 0.01).expect("it is slow");
                assert!(found.claim.starts_with(&format!("{slow} achieved ")), "{}", found.claim);
                assert!(unequal_of(&all).is_some(), "{depths:?}, {rates:?}");
            }
        }
    }
}
