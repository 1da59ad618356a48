//! Reports concurrent jobs: each one, and all together.

use super::{FLUSHES, rate_within, workload_text};
use crate::story::{Section, Story, number};
use record::{DirectionResult, Finding, Trial, quantity};

/// One kind of requests of a job.
struct Row<'a> {
    job: &'a str,
    kind: &'static str,
    result: &'a DirectionResult,
}

/// The section about the jobs.
pub(super) fn section(story: &mut Story, trial: &Trial, jobs: &[(String, Trial)]) {
    let total = trial.together();
    let section = story.section("Concurrent jobs", "");
    let total = total.iter().map(|total| ("together", total));
    let all = jobs.iter().map(|(name, job)| (name.as_str(), job)).chain(total);
    let rows = all.flat_map(|(job, trial)| {
        trial.kinds().map(move |(_, kind, result)| Row { job, kind, result })
    });
    section.table(rows, |t| {
        t.left("job", |row| row.job);
        t.left("", |row| row.kind);
        let rate = |row: &Row<'_>| rate_within(row.kind, row.result).replace(" IOPS", "");
        t.left(quantity("iops").title, rate);
        t.left(quantity("bytes_per_s").title, |row| match row.kind {
            FLUSHES => String::new(),
            _ => number::rate(row.result.bytes_per_s),
        })
        .expendable(1);
        t.of("latency_mean_ns", |row| row.result.latency_ns.as_ref().map(|times| times.mean));
        t.of("latency_p99_ns", |row| row.result.latency_ns.as_ref().and_then(|times| times.p99));
    });
    for ((name, job), beside) in jobs.iter().skip(1).zip(&trial.workload.beside) {
        row(section, name, job, beside.delay_ns.0, beside.targets > 0);
    }
    let reason = trial.total.as_ref().and_then(|total| total.reason());
    section.rows("together", reason.map(|reason| format!("not measured: {reason}")));
}

/// The load of a job other than the first.
fn row(section: &mut Section, name: &str, job: &Trial, delay_ns: u64, elsewhere: bool) {
    let mut text = workload_text(&job.workload);
    text.extend(elsewhere.then(|| format!(", on {}", crate::target::summaries(&job.targets))));
    text.extend((delay_ns > 0).then(|| format!(", {} later", number::time(delay_ns as f64))));
    section.row(name, text);
}

/// The findings on all jobs; those of jobs other than the first have the job's name.
pub(super) fn findings(trial: &Trial, jobs: &[(String, Trial)]) -> Vec<Finding> {
    let mut all = trial.findings.clone();
    for (name, job) in jobs.iter().skip(1) {
        all.extend(job.findings.iter().map(|finding| {
            let mut finding = finding.clone();
            finding.claim = format!("{name}: {}", finding.claim);
            finding
        }));
    }
    all
}
