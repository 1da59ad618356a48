//! Paths of the repository and of the built binaries.
//!
//! Figures come from release builds. Programs that only have to run (smoke runs, the commands of the
//! documentation) use the development build, which the tests have already made. A release build from scratch
//! takes as long as all tests.

use anyhow::{Context, Error, Result, ensure};
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository that this was started from, two folders above the crate.
pub(crate) fn root() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_folder.ancestors().nth(2).map_or(crate_folder.clone(), Path::to_owned)
}

pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// cargo's output folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The development build, as the tests build it. Built alone, the package would select other features of its
/// dependencies, and they would all be rebuilt.
pub(crate) fn dev_binary() -> Result<PathBuf> {
    built(&["test", "--no-run", "--quiet"], "debug")
}

/// The program: the named one, or else the development build for a smoke run and the release build for
/// figures.
pub(crate) fn binary(named: Option<&Path>, smoke: bool) -> Result<PathBuf> {
    match named {
        // Absolute, because commands run in other folders.
        Some(binary) => std::fs::canonicalize(binary).with_context(|| binary.display().to_string()),
        None if smoke => dev_binary(),
        None => built(&["build", "--release", "--quiet", "--package=halfpower"], "release"),
    }
}

fn built(words: &[&str], folder: &str) -> Result<PathBuf> {
    let status = cargo().args(words).status().context("cannot run cargo")?;
    ensure!(status.success(), "the {folder} build failed");
    let binary = target_folder().join(folder).join("halfpower");
    ensure!(binary.is_file(), "the build left no {}", binary.display());
    Ok(binary)
}

/// Whether a program can be run.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|told| told.status.success())
}

/// Fails if one of these programs cannot be run, with a hint how to install it.
pub(crate) fn needs_programs(programs: &[&str], hint: &str) -> Result<()> {
    let missing = programs.iter().find(|program| !has(program));
    needs(missing.map(|program| format!("needs {program}{hint}")))
}

/// A cargo command for another target, with its linker and the runner of its programs.
pub(crate) fn cross(target: &str, words: &[&str], linker: &str, runner: &str) -> Result<Command> {
    needs_library(target)?;
    let (verb, rest) = words.split_first().context("no command of cargo")?;
    let mut cargo = cargo();
    cargo.args([verb, "--target", target]).args(rest);
    for (name, program) in [("LINKER", linker), ("RUNNER", runner)] {
        let target = target.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{target}_{name}"), program);
    }
    Ok(cargo)
}

/// Something that this machine lacks, as an error. A verb that ends with it is skipped.
#[derive(Debug)]
struct Lacks(String);

impl Display for Lacks {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// Fails if the machine lacks something.
pub(crate) fn needs(lack: Option<String>) -> Result<()> {
    lack.map_or(Ok(()), |lack| Err(Error::msg(Lacks(lack))))
}

/// Separates what the machine lacks from other errors.
pub(crate) fn lacked<T>(done: Result<T>) -> Result<std::result::Result<T, String>> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(error) => Ok(Err(error.downcast::<Lacks>()?.0)),
    }
}

/// Fails with how to install Rust's standard library for a target, if it is missing.
fn needs_library(target: &str) -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print=target-libdir", "--target", target]).current_dir(root());
    let there = rustc
        .output()
        .is_ok_and(|library| Path::new(String::from_utf8_lossy(&library.stdout).trim()).is_dir());
    needs((!there).then(|| format!("needs Rust's {target}: rustup target add {target}")))
}
