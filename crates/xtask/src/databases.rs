//! What a check foretells of commits against real servers on the same disk, in pairs: PostgreSQL
//! (`pg_test_fsync`, `pgbench` with 1 to 32 clients) and etcd (its own histogram of the log's flushes).
//!
//! A pair is a check and, right after it, the servers. Nothing is fitted to them but one number that
//! no disk knows: what a transaction works on a processor, from one client that does not wait for its
//! commits. A rate is right within 15 %, a 99th percentile within 25 %, in the median of the pairs; how
//! often the stated interval held the measured value stands beside it.
//!
//! Servers run on a folder of their own, on local sockets, and are stopped on every exit path.

mod etcd;
pub(crate) mod postgres;

use crate::child::output;
use crate::{arguments::Arguments, kept, place};
use anyhow::{Context, Result, anyhow};
use etcd::Etcd;
use postgres::Postgres;
use record::{
    CommitPoint, CommitPrediction, Commits, Estimate, LogKind, PredictionDocument, Profile,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SWITCHES: [&str; 1] = ["--no-keep"];
pub(crate) const VALUES: [&str; 5] = ["--pairs", "--seconds", "--budget", "--folder", "--binary"];
const PAIRS: usize = 6;
/// Length of each load on a server.
const SECONDS: u32 = 4;
/// Budget of each check.
const BUDGET: &str = "30s";
const CLIENTS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Largest median error of a rate and of a percentile.
const RATE_GOAL: f64 = 0.15;
const TAIL_GOAL: f64 = 0.25;

/// What was foretold, with its interval, and what a server then did.
struct Pair {
    foretold: Estimate,
    measured: f64,
}

/// Pairs by what they are of; rates first.
type Pairs = BTreeMap<(bool, String), Vec<Pair>>;

/// Runs all pairs; whether each median error is within its goal.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let pairs = flags.value("--pairs")?.unwrap_or(PAIRS);
    let seconds = flags.value("--seconds")?.unwrap_or(SECONDS);
    let budget: String = flags.value("--budget")?.unwrap_or_else(|| BUDGET.to_owned());
    let binary = place::binary(flags.value::<PathBuf>("--binary")?, false)?;
    let parent: PathBuf = flags.value("--folder")?.unwrap_or_else(std::env::temp_dir);
    let folder = testkit::Folder::within(&parent, "halfpower-databases-")?;
    let postgres = Postgres::start(folder.path())?;
    let etcd = Etcd::start(folder.path())?;
    let mut found = Pairs::new();
    for pair in 1..=pairs {
        println!("pair {pair} of {pairs}");
        let (profile, database) = check(&binary, folder.path(), &budget)?;
        let commits = profile.commits.known().map_err(|why| anyhow!("no commits: {why}"))?;
        let mut note = |tail, what: String, foretold, measured: f64| {
            println!(
                "  {what}: foretold {}, measured {}",
                told(foretold),
                record::format_digits(measured)
            );
            found.entry((tail, what)).or_default().push(Pair { foretold, measured });
        };
        match &postgres {
            Ok(server) => {
                let (alone, rate) =
                    (one(commits, LogKind::Overwritten)?, server.test_fsync(seconds)?);
                note(false, "pg_test_fsync, fdatasync/s".to_owned(), alone.commits_per_s, rate);
                let (one_ns, many_ns) = server.work_ns(seconds)?;
                let [one_text, many_text] = [one_ns, many_ns].map(record::format_nanos);
                println!(
                    "  a transaction of pgbench works {one_text} alone, {many_text} beside others"
                );
                for clients in CLIENTS {
                    let work_ns = if clients == 1 { one_ns } else { many_ns };
                    let foretold = predict(&binary, &database, clients, work_ns, &[])?;
                    let (rate, p99_ns) = server.bench(clients, seconds)?;
                    let what = format!("pgbench {clients:2} clients");
                    note(false, format!("{what}, commits/s"), foretold.commits_per_s, rate);
                    note(true, format!("{what}, p99 ns"), foretold.transaction_p99_ns, p99_ns);
                }
            }
            Err(lacks) => println!("  SKIP PostgreSQL: {lacks}"),
        }
        match &etcd {
            Ok(server) => {
                let record = etcd::RECORD_BYTES.to_string();
                let more = ["--log", "new-blocks", "--record", &record];
                let foretold = predict(&binary, &database, 1, 0.0, &more)?;
                let flushes = server.put(seconds)?;
                let what = "etcd, flush of the log";
                note(false, format!("{what}, ns"), foretold.commit_ns, flushes.mean_ns);
                let p99 = foretold.commit_p99_ns;
                let (low, high) = flushes.p99_ns;
                // The server's histogram has a bucket per power of two, and nothing finer.
                let nearest = p99.value.clamp(low, high);
                note(true, format!("{what}, p99 ns (its bucket)"), p99, nearest);
            }
            Err(lacks) => println!("  SKIP etcd: {lacks}"),
        }
    }
    let good = table(&found);
    if !flags.has("--no-keep") {
        kept::keep("databases", &[("pairs", json!(pairs)), ("results", kept_pairs(&found))])?;
    }
    Ok(good && postgres.is_ok() && etcd.is_ok())
}

/// A profile of the folder's disk, and the database that holds it.
fn check(binary: &Path, folder: &Path, budget: &str) -> Result<(Profile, PathBuf)> {
    let database = folder.join("halfpower.db");
    let mut command = Command::new(binary);
    command.arg("check").arg(folder).args(["--size", "512m", "--budget", budget, "--json", "--db"]);
    let text = output(command.arg(&database), &[0, 1])?;
    Ok((serde_json::from_slice(&text).context("the profile of a check")?, database))
}

fn predict(
    binary: &Path,
    database: &Path,
    clients: u32,
    work_ns: f64,
    more: &[&str],
) -> Result<CommitPrediction> {
    let mut command = Command::new(binary);
    command.args(["predict", "last", "--json", "--sessions", &clients.to_string()]);
    command.args(more).args(["--work", &format!("{work_ns:.0}ns"), "--db"]).arg(database);
    let document: PredictionDocument = serde_json::from_slice(&output(&mut command, &[0])?)?;
    document.commits.context("a prediction without commits")
}

fn one(commits: &Commits, log: LogKind) -> Result<&CommitPoint> {
    commits.point(log, 1).with_context(|| format!("no committer alone ({})", log.name()))
}

fn told(value: Estimate) -> String {
    record::with_range(&value, record::format_digits)
}

/// One line per kind; whether all are within their goals.
fn table(found: &Pairs) -> bool {
    println!("\n{:44} {:>12} {:>10} {:>6}  goal", "", "median error", "in interval", "pairs");
    let mut good = true;
    for ((tail, what), pairs) in found {
        let (error, held) = (median_error(pairs), held(pairs));
        let goal = if *tail { TAIL_GOAL } else { RATE_GOAL };
        good &= error.abs() <= goal;
        let missed = if error.abs() <= goal { "" } else { "  MISSED" };
        println!(
            "{what:44} {:>+11.1} % {held:>7} of {:>2} {:>6}  {:.0} %{missed}",
            error * 100.0,
            pairs.len(),
            pairs.len(),
            goal * 100.0
        );
    }
    good
}

/// The median of the foretold over the measured, less one.
fn median_error(pairs: &[Pair]) -> f64 {
    stats::median(pairs.iter().map(|pair| pair.foretold.value / pair.measured - 1.0).collect())
}

fn held(pairs: &[Pair]) -> usize {
    pairs.iter().filter(|pair| pair.foretold.includes(pair.measured)).count()
}

fn kept_pairs(found: &Pairs) -> Value {
    let kinds = found.iter().map(|((_, what), pairs)| {
        let all: Vec<Value> = pairs
            .iter()
            .map(|pair| json!({ "foretold": pair.foretold, "measured": pair.measured }))
            .collect();
        json!({
            "what": what,
            "median_error_rel": median_error(pairs),
            "in_interval": held(pairs),
            "pairs": all,
        })
    });
    Value::Array(kinds.collect())
}
