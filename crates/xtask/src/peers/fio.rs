//! One run of fio, and what it reports.

use super::{Load, Outcome, target::Target};
use crate::child::{self, Plant};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// Runs one load with the same conditions as halfpower.
pub(super) fn run(
    target: &Target,
    load: &Load,
    features: &[String],
    runtime: Duration,
) -> Result<Outcome> {
    let got = |what: &str| u8::from(features.iter().any(|feature| feature.contains(what)));
    let mut command = Command::new("fio");
    command
        .args(["--name=peer", "--output-format=json", "--thread", "--time_based"])
        .args(["--ioengine=io_uring", "--norandommap", "--randrepeat=0", "--fallocate=none"])
        .arg("--allow_file_create=0")
        .arg(format!("--filename={}", target.path.display()))
        .arg(format!("--size={}", target.size_bytes))
        .arg(format!("--direct={}", u8::from(target.direct)))
        .arg(format!("--rw={}", load.rw))
        .arg(format!("--bs={}", load.bs))
        .arg(format!("--iodepth={}", load.iodepth))
        // All that can be submitted in one call, and all that is done out of one look, as
        // halfpower does; fio by itself makes a system call per request, which memory shows.
        .arg(format!("--iodepth_batch_submit={}", load.iodepth))
        .arg(format!("--iodepth_batch_complete_max={}", load.iodepth))
        .arg(format!("--runtime={}ms", runtime.as_millis()))
        .arg(format!("--registerfiles={}", got("registered file")))
        .arg(format!("--fixedbufs={}", got("registered buffers")));
    let child = child::run(&mut command, Plant::Nothing)?;
    ensure!(child.status.success(), "{command:?} failed: {}", child.stderr.trim());
    let direction = if load.writes() { "write" } else { "read" };
    let (iops, response_ns) = parse(&child.stdout, direction)
        .with_context(|| format!("{command:?} was not understood: {}", child.stderr.trim()))?;
    Ok(Outcome { iops, response_ns, cpu: child.cpu, runtime })
}

/// IOPS and mean response time in ns from fio's JSON. Warnings may stand before it.
fn parse(output: &str, direction: &str) -> Result<(f64, f64)> {
    let json = &output[output.find('{').context("no JSON")?..];
    let document: Value = serde_json::from_str(json)?;
    let job = &document["jobs"][0];
    ensure!(job["error"] == 0, "fio reports error {}", job["error"]);
    let number = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
    let iops = number(&job[direction]["iops"]).context("no iops")?;
    // Submission to completion, as halfpower's response time in a closed loop.
    let response_ns = number(&job[direction]["lat_ns"]["mean"]).context("no lat_ns")?;
    Ok((iops, response_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fios_json_is_read_behind_a_warning_and_an_error_in_it_is_an_error() {
        let text = |error| {
            format!(
                "fio: a warning\n{{\"jobs\": [{{\"error\": {error}, \"read\": {{\"iops\": 50.5, \
                 \"lat_ns\": {{\"mean\": 20000.0}}}}}}]}}"
            )
        };
        assert_eq!(parse(&text(0), "read").unwrap(), (50.5, 20_000.0));
        assert!(parse(&text(5), "read").is_err());
        assert!(parse(&text(0), "write").is_err());
        assert!(parse("fio: no such engine", "read").is_err());
    }
}
