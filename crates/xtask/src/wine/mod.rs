//! Builds the Windows program here and runs it under wine, to test its behaviour but not its speed.
//!
//! Any cargo command is passed on with the necessary target, linker and runner. Tests, the program itself and
//! the lints of its Windows code thus all work in the same way. Without arguments, it runs the tests of code
//! that differs between the systems. If the machine lacks something, that is printed and counted as a skip.
//! Rejected: running these tests only on a CI machine with Windows (developers on Linux would not run them
//! before a push).

use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-pc-windows-gnu";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Names and paths of wine's loader. Debian's 64-bit loader is not in PATH.
const LOADERS: [&str; 3] = ["wine64", "/usr/lib/wine/wine64", "wine"];
/// A replacement for a Windows library, and its file name.
const STUB: &str = include_str!("bcryptprimitives.c");
const STUB_LIBRARY: &str = "bcryptprimitives.dll";
/// The command for CI: tests of the engines and of the code that queries the system, whose calls differ.
const SHORT: &str = "test --no-fail-fast -p halfpower-engine -p halfpower-host";
/// Packages that the development profile optimizes. For the few tests under wine, the compiler would take
/// four times as long as it saves.
const OPTIMIZED: [&str; 8] = [
    "halfpower-stats",
    "halfpower-workload",
    "halfpower-engine",
    "serde_json",
    "serde_core",
    "memchr",
    "sha2",
    "libm",
];
/// Also run without arguments: whole trials on files. Trials on simulated devices are omitted, because they
/// are the same everywhere.
const TRIALS: &str = "test --no-fail-fast -p halfpower-trial --test trial -- closed:: \
                      flushed::every_engine lying:: stop:: targets::";

/// `cargo xtask wine WORDS`: with cargo's arguments, or with none.
pub(crate) fn run(words: &[String]) -> Result<bool> {
    let commands: Vec<Vec<&str>> = match words {
        [] => [SHORT, TRIALS].map(|words| words.split(' ').collect()).to_vec(),
        words => vec![words.iter().map(String::as_str).collect()],
    };
    let mut good = true;
    for words in commands {
        good &= command(&words)?.status().context("cannot run cargo")?.success();
    }
    Ok(good)
}

/// The tests of CI.
pub(crate) fn short() -> Result<Command> {
    command(&SHORT.split(' ').collect::<Vec<_>>())
}

/// A cargo command for Windows, whose programs run under wine.
fn command(words: &[&str]) -> Result<Command> {
    place::needs_programs(&[COMPILER], ": apt-get install gcc-mingw-w64-x86-64-win32")?;
    let loader = LOADERS.into_iter().find(|loader| place::has(loader));
    place::needs(loader.is_none().then(|| "needs wine: apt-get install wine64".to_owned()))?;
    let plain = OPTIMIZED.map(|name| format!("--config=profile.dev.package.{name}.opt-level=0"));
    // Cargo's own words end at `--`, and its command comes first.
    let mut words = words.to_vec();
    words.splice(1..1, plain.iter().map(String::as_str));
    let mut command = place::cross(TARGET, &words, COMPILER, loader.unwrap_or_default())?;
    let folder = place::target_folder().join("wine");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = std::fs::canonicalize(folder)?;
    build_stub(&folder)?;
    command
        .env("WINEPREFIX", folder.join("prefix"))
        .env("WINEDEBUG", "-all")
        // Drive Z is this machine's root.
        .env("WINEPATH", format!("Z:{}", folder.display()).replace('/', "\\"));
    Ok(command)
}

/// Builds the replacement for a library that wine may lack. wine prefers its own.
fn build_stub(folder: &Path) -> Result<()> {
    let (source, library) = (folder.join("stub.c"), folder.join(STUB_LIBRARY));
    std::fs::write(&source, STUB)?;
    let status = Command::new(COMPILER)
        .args(["-shared", "-O1", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ladvapi32")
        .status()
        .with_context(|| format!("cannot run {COMPILER}"))?;
    ensure!(status.success(), "{COMPILER} did not build {}", library.display());
    Ok(())
}
