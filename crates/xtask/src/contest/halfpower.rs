//! Runs halfpower once, and parses its report.

use super::{Bout, Outcome};
use crate::child::{self, Finished, Plant};
use anyhow::{Context, Result, ensure};
use record::Trial;
use std::process::Command;
use std::time::Duration;

impl Bout<'_> {
    /// Runs halfpower; also returns the document that it printed.
    pub(crate) fn told(&self, runtime: Duration, plant: Plant) -> Result<(Outcome, Trial)> {
        let Self { binary, target, load, settings } = self;
        let mut command = child::pinned(binary.as_os_str(), settings.core);
        command
            .arg("run")
            .arg(&target.path)
            .args(["--rw", load.rw, "--bs", load.bs, "--numjobs", "1"])
            .args(["--ioengine", load.via.name(), "--iodepth", &load.iodepth.to_string()])
            .args(["--cache", if self.direct() { "device" } else { "all" }])
            .args(["--no-save", "--json"]);
        match target.ends_after {
            Some(bytes) => command.args(["--io-size", &bytes.to_string()]),
            None => command.args(["--runtime", &format!("{}ms", runtime.as_millis())]),
        };
        if load.writes() {
            match &target.device_name {
                Some(name) => command.args(["--destroy-data-on", name]),
                None => command.arg("--overwrite"),
            };
        }
        let child = child::run(&mut command, plant)?;
        // Exit code 1 is accepted with a document: the tmpfs target is meant to cause a finding such as
        // "served by the page cache". Problems that would spoil the comparison are checked separately.
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
        let outcome = Outcome { iops, latency_ns, cpu: child.cpu, runtime };
        Ok((outcome, trial))
    }
}

/// The document that a run printed.
pub(crate) fn trial(command: &Command, child: &Finished) -> Result<Trial> {
    serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })
}
