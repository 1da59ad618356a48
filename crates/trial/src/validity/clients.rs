//! Whether the clients of a load made it together, and what each got of it.

use record::{
    Client, Clients, Confidence, Finding, FindingCode, LostKind, Trial, format_count, format_nanos,
    format_share,
};

/// Part of the window by which the begins of clients may differ, or their clocks be unsure: what each did
/// alone at its ends is then less than a hundredth of what all did.
const APART_MAX: f64 = 0.01;
/// Rate per job, as a share of the median of the others, below which a client straggles.
const STRAGGLES_BELOW: f64 = 0.8;
/// Jain's index of a shared target below which it serves clients unequally: one of two clients with three
/// times what the other gets has 0.8.
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
        LostKind::Failed => "could not go on",
    };
    let who = match count {
        1 => format!("{} {what}", first.host),
        _ => format!("{count} clients are missing ({}), the first {what}", names.join(", ")),
    };
    let told = reason.until_ns.map_or_else(String::new, |until| {
        format!(
            " By {} of its window it had told of {} requests, which are in no figure.",
            format_nanos(until.0 as f64),
            format_count(reason.ios as f64)
        )
    });
    let lacking = clients.each.len() - count;
    Some(
        Finding::invalid(
            FindingCode::ClientLost,
            format!(
                "{who}: {}. The figures are those of the other {lacking}, beside which its load ran for a \
                 part of the window.{told}",
                reason.reason
            ),
            "Look at that machine and at what carries the connection, then run it again.",
        )
        .with("clients lost", count as f64, "")
        .with("clients", clients.each.len() as f64, "")
        .with("requests told by the first", reason.ios as f64, ""),
    )
}

/// Clients whose windows have too little in common, or may have.
pub(super) fn apart(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let window = trial.result.duration_ns.0.max(1) as f64;
    let (spread, error) = (clients.start_spread_ns?, clients.start_spread_error_ns?);
    let (spread, error) = (spread.0 as f64, error.0 as f64);
    if spread > APART_MAX * window {
        return Some(
            Finding::warning(
                FindingCode::ClientsApart,
                format!(
                    "The clients began {} apart (±{}), {} of the window: at its ends some had the target \
                     for themselves.",
                    format_nanos(spread),
                    format_nanos(error),
                    format_share(spread / window)
                ),
                "Use a longer --runtime, or less busy machines.",
            )
            .with("apart", spread, "ns")
            .with("error", error, "ns"),
        );
    }
    (error > APART_MAX * window).then(|| {
        Finding::warning(
            FindingCode::ClientClockUnsure,
            format!(
                "The clocks of the clients are known to ±{} only, {} of the window: whether they began \
                 together is not known better.",
                format_nanos(error),
                format_share(error / window)
            ),
            "Use a longer --runtime, or a way to the machines with a shorter round trip.",
        )
        .with("error", error, "ns")
        .with("window", window, "ns")
    })
}

/// Clients that are much slower than the others.
pub(super) fn straggler(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let rated: Vec<(&Client, f64)> = rated(clients).collect();
    if rated.len() < 2 || trial.workload.rate_iops.is_some() {
        return None;
    }
    let slowest = rated.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let others = rated.iter().filter(|(client, _)| client.rank != slowest.0.rank);
    let others: Vec<f64> = others.map(|(_, rate)| *rate).collect();
    let median = stats::median(others);
    // Both rates with the half-widths of their intervals: what lies within them is no difference.
    let unsure: f64 = rated.iter().map(|(client, _)| half_width(trial, client)).fold(0.0, f64::max);
    let straggles = slowest.1 < STRAGGLES_BELOW * median
        && slowest.1 * (1.0 + unsure) < median * (1.0 - unsure);
    straggles.then(|| {
        Finding::warning(
            FindingCode::ClientStraggles,
            format!(
                "{} did {} requests per second and job, {} of the median of the others.",
                slowest.0.host,
                format_count(slowest.1.round()),
                format_share(slowest.1 / median)
            ),
            "Compare its own trial with another one's: latency, processors, network, mount options.",
        )
        .with("its rate per job", slowest.1, "1/s")
        .with("median of the others", median, "1/s")
        .confidence(Confidence::AlmostCertain)
    })
}

/// A shared target that serves its clients unequally.
pub(super) fn unequal(trial: &Trial) -> Option<Finding> {
    let clients = trial.clients.as_ref()?;
    let index = clients.jain_index.filter(|index| *index < UNEQUAL_BELOW)?;
    if clients.sharing != record::TargetSharing::Shared || trial.workload.rate_iops.is_some() {
        return None;
    }
    let rates = || rated(clients);
    let (most, high) = rates().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (least, low) = rates().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(
        Finding::warning(
            FindingCode::UnequalShares,
            format!(
                "The target served the clients unequally: a job of {} got {:.1} times what one of {} got \
                 (Jain's index {index:.2}; 1 is equal).",
                most.host,
                high / low.max(1e-9),
                least.host
            ),
            "Look for a slower path or machine; on equal ones, the target or its network is not fair.",
        )
        .with("Jain's index", index, "")
        .with("most per job", high, "1/s")
        .with("least per job", low, "1/s"),
    )
}

/// Clients that are not alike in what decides their speed.
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
            "Where one is slower, try it with the kernel of another.",
        )
        .with("kernels", kernels.len() as f64, "")
        .with("clients", clients.each.len() as f64, "")
    })
}

/// Those with a result, and their rate per job.
fn rated(clients: &Clients) -> impl Iterator<Item = (&Client, f64)> {
    clients.each.iter().filter_map(|client| Some((client, client.iops_per_job?)))
}

/// The relative half-width of the interval of a client's rate; zero where it has none.
fn half_width(trial: &Trial, client: &Client) -> f64 {
    let part = trial.parts.iter().find(|part| Some(&part.id) == client.trial_id.as_ref());
    let widths = part.into_iter().flat_map(Trial::directions).filter_map(|it| it.iops_ci95_rel);
    widths.fold(0.0, f64::max)
}
