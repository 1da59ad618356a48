//! The program for Windows, built here and run under wine: what it does, never how fast.
//!
//! Any command of cargo is passed on with the target, the linker and the runner that it takes, so that
//! tests, the program itself and the lints of its Windows side have one way. Without words, the tests
//! run that are worth their time there: those of what differs between the systems. Where the machine
//! lacks something, that is said and counted as a skip. Rejected: a machine of a CI service with Windows as
//! the only place of these tests (nobody who works on Linux would run them before a push).

pub(crate) mod twins;

use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "x86_64-pc-windows-gnu";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Debian puts the 64-bit loader where no path leads.
const LOADERS: [&str; 3] = ["wine64", "/usr/lib/wine/wine64", "wine"];
/// What stands in for a library of Windows, and its name there.
const STUB: &str = include_str!("bcryptprimitives.c");
const STUB_LIBRARY: &str = "bcryptprimitives.dll";
/// What CI runs: the engines, and what is asked of the system, whose calls differ.
const SHORT: [&str; 6] =
    ["test", "--no-fail-fast", "-p", "halfpower-engine", "-p", "halfpower-host"];
/// What runs beside it without words: whole trials on files, not those of simulated devices, which are the
/// same everywhere.
const TRIALS: [&str; 12] = [
    "test",
    "--no-fail-fast",
    "-p",
    "halfpower-trial",
    "--test",
    "trial",
    "--",
    "closed::",
    "flushed::every_engine",
    "lying::",
    "stop::",
    "targets::",
];

/// `cargo xtask wine WORDS`: cargo's words, or none.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let commands = match arguments.rest() {
        [] => vec![SHORT.map(str::to_owned).to_vec(), TRIALS.map(str::to_owned).to_vec()],
        words => vec![words.to_vec()],
    };
    let mut good = true;
    for words in commands {
        match command(&words)? {
            Ok(mut command) => good &= command.status().context("cannot run cargo")?.success(),
            Err(lacks) => {
                testkit::skip("wine", &lacks);
                break;
            }
        }
    }
    Ok(good)
}

/// The tests of CI; what this machine lacks for them.
pub(crate) fn short() -> Result<std::result::Result<Command, String>> {
    command(&SHORT.map(str::to_owned))
}

/// A command of cargo for Windows, whose programs run under wine.
fn command(words: &[String]) -> Result<std::result::Result<Command, String>> {
    let loader = match lacking()? {
        Ok(loader) => loader,
        Err(lacks) => return Ok(Err(lacks)),
    };
    let folder = place::target_folder().join("wine");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = std::fs::canonicalize(folder)?;
    build_stub(&folder)?;
    let (verb, rest) = words.split_first().context("no command of cargo")?;
    let mut command = place::cargo();
    command.args([verb, "--target", TARGET]).args(rest);
    in_folder(&mut command, &folder, loader);
    Ok(Ok(command))
}

/// Tells a command where wine keeps its things.
fn in_folder(command: &mut Command, folder: &Path, loader: &str) {
    command
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", COMPILER)
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", loader)
        .env("WINEPREFIX", folder.join("prefix"))
        .env("WINEDEBUG", "-all")
        // Drive Z is the root of this machine.
        .env("WINEPATH", format!("Z:{}", folder.display()).replace('/', "\\"));
}

/// The loader of wine, or what is missing and how it comes here.
fn lacking() -> Result<std::result::Result<&'static str, String>> {
    let words = ["--print", "target-libdir", "--target", TARGET];
    let library = Command::new("rustc").args(words).current_dir(place::root()).output();
    let library = library.context("cannot run rustc")?.stdout;
    if !PathBuf::from(String::from_utf8_lossy(&library).trim()).is_dir() {
        return Ok(Err(format!("needs Rust's {TARGET}: rustup target add {TARGET}")));
    }
    if !there(COMPILER) {
        return Ok(Err(format!("needs {COMPILER}: apt-get install gcc-mingw-w64-x86-64-win32")));
    }
    let loader = LOADERS.into_iter().find(|loader| there(loader));
    Ok(loader.ok_or_else(|| "needs wine: apt-get install wine64".to_owned()))
}

fn there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Builds what stands in for the library that wine may lack; wine prefers its own.
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
