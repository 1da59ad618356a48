//! Runs the same check in a guest of the lab, on a file system on a disk with 4 ms latency.

use crate::{arguments::Arguments, kept, lab, place};
use anyhow::{Context, Result};
use std::time::Duration;

/// Emulated CPUs take several times as long.
const LONGEST: Duration = Duration::from_secs(2400);
const FIO: &str = "/usr/bin/fio";
/// Used by root to start a server as another user.
const SETPRIV: &str = "/usr/bin/setpriv";
/// Folders of PostgreSQL's programs and data files, as placed by Debian.
const POSTGRES: [&str; 2] = ["/usr/lib/postgresql", "/usr/share/postgresql"];

pub(super) fn run(flags: &Arguments) -> Result<bool> {
    let binary = place::binary(flags.value("--binary")?, false)?;
    let guest = match lab::guest(binary) {
        Ok(guest) => guest,
        Err(lacks) => {
            testkit::skip("truth in the lab", &lacks);
            return Ok(true);
        }
    };
    if !std::path::Path::new(FIO).exists() {
        testkit::skip("truth in the lab", "needs fio");
        return Ok(true);
    }
    // In the guest, it is found by its file name.
    let folder = testkit::disk_folder()?;
    let own = folder.path().join("xtask");
    std::fs::copy(std::env::current_exe()?, &own)?;
    let own: &str = own.display().to_string().leak();
    let postgres = POSTGRES.iter().all(|folder| std::path::Path::new(folder).exists());
    let trees: &[&str] = if postgres { &POSTGRES } else { &[] };
    let case = lab::TRUTH.with(vec![FIO, SETPRIV, own].leak(), trees);
    let mut answers = lab::boot(&guest, &case, LONGEST)?;
    let (code, table) = answers.remove("table").context("the guest has not answered")?;
    println!("{table}");
    let (_, result) = answers.remove("result").context("the guest has no result")?;
    if !flags.has("--no-keep") {
        kept::write("truth-lab", result.trim_start())?;
    }
    Ok(code == 0)
}
