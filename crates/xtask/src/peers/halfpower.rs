//! One run of halfpower, and what it reports.

use super::{Load, Outcome, target::Target};
use crate::child::{self, Plant};
use anyhow::{Context, Result, ensure};
use record::{FindingCode, Severity, Trial};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Findings that a target in memory gives on purpose.
const EXPECTED: [FindingCode; 2] = [FindingCode::NoDevice, FindingCode::PageCacheServed];

/// What a run says besides its numbers.
pub(super) struct Notes {
    /// What the engine got from the kernel.
    pub(super) features: Vec<String>,
    /// Findings that say more than "worth knowing", but for those that the choice of a target in
    /// memory explains.
    pub(super) findings: Vec<String>,
    /// Requests that the device itself counted over ours; `None` without such counters.
    pub(super) counted_ratio: Option<f64>,
}

/// Runs one load.
pub(super) fn run(
    binary: &Path,
    target: &Target,
    load: &Load,
    runtime: Duration,
    plant: Plant,
) -> Result<(Outcome, Notes)> {
    let mut command = Command::new(binary);
    command
        .arg("run")
        .arg(&target.path)
        .args(["--rw", load.rw, "--bs", load.bs, "--numjobs", "1", "--ioengine", "io_uring"])
        .args(["--iodepth", &load.iodepth.to_string()])
        .args(["--cache", if target.direct { "device" } else { "all" }])
        .args(["--runtime", &format!("{}ms", runtime.as_millis())])
        .args(["--no-save", "--json"]);
    if load.writes() {
        command.arg("--overwrite");
    }
    let child = child::run(&mut command, plant)?;
    // Exit code 1 comes with a document: a finding such as "served by the page cache" is what
    // the tmpfs target is for. What would spoil the comparison is checked by itself.
    let trial: Trial = serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })?;
    let direction = if load.writes() { &trial.result.write } else { &trial.result.read };
    let direction = direction.as_ref().context("the trial has no result in this direction")?;
    ensure!(
        direction.errors == 0 && direction.short == 0,
        "{command:?}: {} errors and {} short transfers",
        direction.errors,
        direction.short
    );
    let response = direction.response_ns.as_ref().context("nothing completed")?;
    let outcome =
        Outcome { iops: direction.iops, response_ns: response.mean, cpu: child.cpu, runtime };
    Ok((outcome, notes(&trial)))
}

fn notes(trial: &Trial) -> Notes {
    Notes {
        features: trial
            .harness
            .value()
            .map(|harness| harness.engine_features.clone())
            .unwrap_or_default(),
        findings: trial
            .findings
            .iter()
            .filter(|finding| finding.severity > Severity::Info)
            .filter(|finding| !EXPECTED.contains(&finding.code))
            .map(|finding| finding.claim.clone())
            .collect(),
        counted_ratio: trial.device_counters.value().and_then(|counters| counters.ratio_ios),
    }
}
