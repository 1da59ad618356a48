//! Reports one load from several machines: what each did, how well they coincided, and the share of each.

use crate::story::{Cell, Section, Story, joined, number};
use record::{
    Bytes, Client, Clients, Finding, LostKind, TargetSharing, Trial, quantity, shell_word, word,
};

/// A row of the table: a client, and its trial if it has one.
type Row<'a> = (&'a Client, Option<&'a Trial>);

/// The section about the clients.
pub(super) fn section(story: &mut Story, trial: &Trial) {
    let Some(clients) = &trial.clients else { return };
    let section = story.section("Clients", "");
    let rows: Vec<Row<'_>> =
        clients.each.iter().enumerate().map(|(rank, it)| (it, trial.part(rank))).collect();
    section.table(rows, |t| {
        t.left("client", |row| row.0.host.clone());
        t.right("jobs", |row| number::count(f64::from(row.0.jobs))).expendable(2);
        if !clients.equally_deep() {
            let count = |depth: u32| number::count(f64::from(depth));
            t.right("depth", |row| Cell::or_empty(row.0.depth, count));
        }
        t.left(quantity("iops").title, |row| {
            let rate = row.1.map(|it| number::per_second(it.iops()).replace(" IOPS", ""));
            rate.unwrap_or_else(|| why_none(row.0))
        });
        t.right("share", |row| Cell::or_empty(row.0.share, number::percent));
        t.of("latency_mean_ns", |row| row.1.and_then(Trial::latency_ns));
        t.of("latency_p99_ns", |row| row.1.and_then(|it| it.histogram().percentile(0.99)));
        t.right("began", |row| Cell::or_empty(row.0.begin_skew_ns, signed));
        t.right("clock", |row| format!("±{}", number::time(row.0.clock.error_ns.0 as f64)))
            .expendable(1);
    });
    section.row("target", target_text(clients));
    section.row("fairness", fairness_text(clients));
    section.row("begin", begin_text(clients));
    section.row("common window", window_text(trial, clients));
    section.row("started by", clients.launched_by.clone());
    lost(section, clients);
}

fn why_none(client: &Client) -> String {
    match &client.lost {
        None => "idle".to_owned(),
        Some(lost) if lost.kind == LostKind::Ended => "LOST".to_owned(),
        Some(lost) => word(lost.kind).to_uppercase(),
    }
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    format!("{sign}{}", number::time(ns.unsigned_abs() as f64))
}

fn target_text(clients: &Clients) -> String {
    let what = match clients.sharing {
        TargetSharing::Shared => "shared by all, with jobs numbered across the clients",
        TargetSharing::Own => "each client has its own",
    };
    format!("{what} ({})", clients.sharing_reason)
}

/// Jain's index in words: for n clients of which k share everything equally it is k/n.
fn fairness_text(clients: &Clients) -> String {
    let Some(index) = clients.jain_index else {
        return "not measured: fewer than two clients have a result".to_owned();
    };
    let (rated, per) = match clients.equally_deep() {
        true => (clients.per_job(), "per job"),
        // Deeper jobs do more, so they are compared per request in flight.
        false => (clients.per_slot(), "per request in flight, because the queue depths differ,"),
    };
    let as_if = index * rated.len() as f64;
    let slowest = rated.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = rated.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let ends = slowest.zip(fastest).map_or_else(String::new, |ends| {
        let [slow, fast] = <[_; 2]>::from(ends)
            .map(|(client, rate)| format!("{} from {}", number::per_second(*rate), client.host));
        format!("; {per} {slow} (least) to {fast} (most)")
    });
    let all = rated.len();
    format!("Jain's index {index:.3}, as if {as_if:.1} of {all} clients shared equally{ends}")
}

fn begin_text(clients: &Clients) -> String {
    let Some(both) = clients.start_spread_ns.zip(clients.start_spread_error_ns) else {
        return "not measured: no client started".to_owned();
    };
    let [spread, error] = <[_; 2]>::from(both).map(|it| number::time(it.0 as f64));
    format!("{spread} ±{error} from the first client to the last, by an agreed time")
}

fn window_text(trial: &Trial, clients: &Clients) -> String {
    // A warm-up that was cut off belongs to the window.
    let cut = trial.result.warm_up.as_ref().map_or(0.0, |warm_up| warm_up.duration_ns.0 as f64);
    let whole = trial.result.duration_ns.0 as f64 + cut;
    let Some(common) = clients.common_window_ns else {
        return "not measured: no client started".to_owned();
    };
    let other = number::time((whole - common.0 as f64).max(0.0));
    format!(
        "the whole window except at most {other}, from the last start to the first end; each client's \
         window begins when that client starts, and rates cover all of it"
    )
}

fn lost(section: &mut Section, clients: &Clients) {
    for client in &clients.each {
        let Some(lost) = &client.lost else { continue };
        let (ios, bytes) = (number::count(lost.ios as f64), number::size(lost.bytes as f64));
        let until = match lost.until_ns.map(|until| number::time(until.0 as f64)) {
            Some(time) => format!("by {time} it had reported {ios} requests and {bytes}"),
            None => "it had reported no request".to_owned(),
        };
        section.row(&client.host, format!("{}; {until}", lost.reason));
    }
}

/// Findings of the clients' own trials, with their names. Findings common to all are stated once,
/// and those that the whole trial has already are left out.
pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    let Some(clients) = &trial.clients else { return Vec::new() };
    let mut told: Vec<Finding> = Vec::new();
    let said = |finding: &Finding| trial.findings.iter().any(|it| it.code == finding.code);
    for (rank, client) in clients.each.iter().enumerate() {
        let Some(part) = trial.part(rank) else { continue };
        for finding in part.findings.iter().filter(|finding| !said(finding)) {
            let of = |it: &&Trial| it.findings.iter().any(|other| other.code == finding.code);
            let count = trial.parts.iter().filter(of).count();
            let all = count == trial.parts.len() && count > 1;
            if all && told.iter().any(|it| it.code == finding.code) {
                continue;
            }
            let mut finding = finding.clone();
            let who =
                if all { format!("all clients; {}", client.host) } else { client.host.clone() };
            finding.claim = format!("{who}: {}", finding.claim);
            told.push(finding);
        }
    }
    told
}

/// The command that repeats it: the load of each client, and the clients. `None` if flags cannot
/// express that load, as when a queue depth was divided unevenly.
pub(super) fn command(trial: &Trial) -> Option<String> {
    let Some(clients) = &trial.clients else {
        return trial.workload.options_known().then(|| super::command(trial));
    };
    let count = clients.each.len() as u32;
    let workload = &trial.workload;
    let mut one = Trial { clients: None, parts: Vec::new(), ..trial.clone() };
    let even = |total: u64| total.is_multiple_of(u64::from(count.max(1)));
    let totals = [
        Some(u64::from(workload.numjobs)),
        workload.rate_iops,
        workload.write_rate_iops,
        workload.stop.max_bytes.map(|bytes| bytes.0),
    ];
    if count == 0 || !totals.into_iter().flatten().all(even) {
        return None;
    }
    let each = |total: u64| total / u64::from(count);
    one.workload.numjobs /= count;
    one.workload.rate_iops = workload.rate_iops.map(each);
    one.workload.write_rate_iops = workload.write_rate_iops.map(each);
    one.workload.stop.max_bytes = workload.stop.max_bytes.map(|bytes| Bytes(each(bytes.0)));
    let hosts = shell_word(&joined(&clients.each, ",", |it| it.host.clone()));
    let (load, launch) = (super::command(&one), shell_word(&clients.launched_by));
    let sharing = clients.sharing.name();
    Some(format!("{load} --hosts {hosts} --launch {launch} --targets-are {sharing}"))
}
