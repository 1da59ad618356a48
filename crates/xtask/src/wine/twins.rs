//! Runs the same command lines with the Linux and the Windows program; their output must be byte-identical.
//!
//! In virtual time a document depends only on its command line, and conclusions depend only on documents. Any
//! difference is therefore a bug: a system math function, an unordered map, a path. Building the Windows
//! program takes minutes, so this is not part of `ci`. Rejected: comparing figures within a tolerance, which
//! would accept unexplained differences.

use super::{TARGET, command, in_folder, lacking};
use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Recordings of other tools, which both programs find in their folder.
const SAMPLES: [&str; 4] = ["typeperf.csv", "perfmon-layers.csv", "iostat.json", "sadf.csv"];
/// Command lines, in this order: later ones read what earlier ones saved.
const LINES: [&str; 18] = [
    "run sim:mm1 --runtime 2s --json",
    "run sim:sata-ssd --runtime 2s --iodepth 8 --rw randrw",
    "check sim:mm1",
    "check sim:sata-ssd --json",
    "predict last --rate-iops 3000 --bs 8k",
    "predict last --iodepth 16 --bs 64k --json",
    "predict last --rate-iops 90 --bs 8k --disks 4 --raid 5",
    "compare last~1 last",
    "show list",
    "show last --verbose",
    "report last --md",
    "sweep chung sim:sata-ssd --size 64m",
    "limits sim:sata-ssd",
    "zones sim:st15150w",
    "diagnose typeperf.csv --no-save",
    "diagnose perfmon-layers.csv --no-save",
    "diagnose iostat.json --no-save",
    "papers",
];

/// `cargo xtask twins`: returns whether all outputs agree.
pub(crate) fn run(_: &Arguments) -> Result<bool> {
    let loader = match lacking()? {
        Ok(loader) => loader,
        Err(lacks) => {
            testkit::skip("twins", &lacks);
            return Ok(true);
        }
    };
    let words = ["build", "--quiet", "-p", "halfpower"].map(str::to_owned);
    let build = command(&words)?.map_err(anyhow::Error::msg)?.status();
    ensure!(build.context("cannot run cargo")?.success(), "no build for Windows");
    let target = std::fs::canonicalize(place::target_folder())?;
    let windows = target.join(TARGET).join("debug/halfpower.exe");
    let linux = place::dev_binary()?;
    let wine = target.join("wine");
    let folders = ["linux", "windows"].map(|name| wine.join("twins").join(name));
    for folder in &folders {
        anew(folder)?;
    }
    let mut same = true;
    for line in LINES {
        let mut native = Command::new(&linux);
        let mut foreign = Command::new(loader);
        in_folder(foreign.arg(&windows), &wine, loader);
        let outcome = |command: &mut Command, folder: &Path| -> Result<(Option<i32>, Vec<u8>)> {
            command.args(line.split(' ')).current_dir(folder).stdin(Stdio::null());
            command.env("HALFPOWER_DB", "results.db").env("COLUMNS", "80").stderr(Stdio::null());
            let ended = command.output().with_context(|| format!("cannot run {line}"))?;
            Ok((ended.status.code(), ended.stdout))
        };
        let (one, other) =
            (outcome(&mut native, &folders[0])?, outcome(&mut foreign, &folders[1])?);
        // If both reject a line, nothing is compared, so this counts as a difference.
        let told = one == other && !one.1.is_empty();
        println!(
            "{}  {line} ({} bytes)",
            if told { "same     " } else { "DIFFERENT" },
            one.1.len()
        );
        same &= told;
    }
    Ok(same)
}

/// Makes an empty folder with the samples.
fn anew(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    let samples = place::root().join("crates/import/tests/samples");
    for sample in SAMPLES {
        std::fs::copy(samples.join(sample), folder.join(sample)).context(sample)?;
    }
    Ok(())
}
