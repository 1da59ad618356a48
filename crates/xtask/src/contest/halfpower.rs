//! One run of halfpower, and what it reports.

use super::{Bout, Outcome};
use crate::child::{self, Finished, Plant};
use anyhow::{Context, Result, ensure};
use record::{FindingCode, Severity, Trial};
use std::process::Command;
use std::time::Duration;

/// Findings that a target in memory, a short run or a null engine gives on purpose.
const EXPECTED: [FindingCode; 2] = [FindingCode::NoDevice, FindingCode::PageCacheServed];

/// What a run says besides its numbers.
pub(crate) struct Notes {
    /// What the engine got from the kernel.
    pub(crate) features: Vec<String>,
    /// Findings that say more than "worth knowing", but for those that the choice of a target in
    /// memory explains.
    pub(crate) findings: Vec<String>,
    /// Requests that the device itself counted over ours; `None` without such counters.
    pub(crate) counted_ratio: Option<f64>,
    /// Its own two bounds of CPU time per request in µs.
    pub(crate) bounds_us: (Option<f64>, Option<f64>),
}

/// Runs one load; `more` are further flags.
pub(super) fn run(
    bout: &Bout<'_>,
    runtime: Duration,
    plant: Plant,
    more: &[&str],
) -> Result<(Outcome, Notes)> {
    let Bout { binary, target, load, settings } = bout;
    let mut command = child::pinned(binary.as_os_str(), settings.core);
    command
        .arg("run")
        .arg(&target.path)
        .args(["--rw", load.rw, "--bs", load.bs, "--numjobs", "1"])
        .args(["--ioengine", load.via.name(), "--iodepth", &load.iodepth.to_string()])
        .args(["--cache", if bout.direct() { "device" } else { "all" }])
        .args(["--runtime", &format!("{}ms", runtime.as_millis()), "--no-save", "--json"])
        .args(more);
    if load.writes() {
        match &target.device_name {
            Some(name) => command.args(["--destroy-data-on", name]),
            None => command.arg("--overwrite"),
        };
    }
    let child = child::run(&mut command, plant)?;
    // Exit code 1 comes with a document: a finding such as "served by the page cache" is what
    // the tmpfs target is for. What would spoil the comparison is checked by itself.
    let trial = trial(&command, &child)?;
    let direction = if load.writes() { &trial.result.write } else { &trial.result.read };
    let direction = direction.as_ref().context("the trial has no result in this direction")?;
    ensure!(
        direction.errors == 0 && direction.short == 0,
        "{command:?}: {} errors and {} short transfers",
        direction.errors,
        direction.short
    );
    let latency = direction.latency_ns.as_ref().context("nothing completed")?;
    let (iops, latency_ns) = (direction.iops, latency.mean);
    let outcome = Outcome { iops, latency_ns, cpu: child.cpu, busy: child.busy, runtime };
    Ok((outcome, notes(&trial)))
}

/// The document that a run printed.
pub(crate) fn trial(command: &Command, child: &Finished) -> Result<Trial> {
    serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })
}

fn notes(trial: &Trial) -> Notes {
    let cpu = trial.cpu.value();
    Notes {
        features: trial.harness.value().map(|it| it.engine_features.clone()).unwrap_or_default(),
        findings: trial
            .findings
            .iter()
            .filter(|finding| finding.severity > Severity::Info)
            .filter(|finding| !EXPECTED.contains(&finding.code))
            .map(|finding| finding.claim.clone())
            .collect(),
        counted_ratio: trial.device_counters.value().and_then(|counters| counters.ratio_ios),
        bounds_us: (
            cpu.and_then(|cpu| cpu.lower_us_per_io),
            cpu.and_then(|cpu| cpu.upper_us_per_io),
        ),
    }
}
