//! The same command lines by the program for Linux and by that for Windows: their output must be the same bytes.
//!
//! In virtual time a document depends on its command line alone, and conclusions on documents alone, so that
//! any difference is a defect: a function of the system's mathematics, a map without an order, a path. The
//! build of the program for Windows takes minutes, so this is no part of `ci`. Rejected: comparing figures
//! within a tolerance, which would pass what no reader could explain.

use super::{TARGET, command, in_folder, lacking};
use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// What both have in their folder: recordings of other tools.
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

/// `cargo xtask twins`: whether all of them agree.
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
        // A line that both refuse compares nothing.
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

/// An empty folder with the samples.
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
