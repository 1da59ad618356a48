//! Where the repository and the release binary are.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository that this was started from; two folders above the crate.
pub(crate) fn root() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_folder.ancestors().nth(2).map_or(crate_folder.clone(), Path::to_owned)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds the release binary, if it is not there as it should be, and says where it is.
pub(crate) fn release_binary() -> Result<PathBuf> {
    release("halfpower")
}

/// The same of this program.
pub(crate) fn release_xtask() -> Result<PathBuf> {
    release("xtask")
}

fn release(package: &str) -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--quiet", "--package", package])
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the release build of {package} failed");
    let binary = target_folder().join("release").join(package);
    ensure!(binary.is_file(), "the build left no {}", binary.display());
    Ok(binary)
}
