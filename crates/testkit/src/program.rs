//! Installs programs that a test creates and then runs.

use std::io::{Error, Result};
use std::path::Path;
use std::process::Command;

/// Copies a program to a place where any user may run it (mode 755).
///
/// `install` makes the copy, not this process. A file that this process has open for writing is for a
/// moment also open in every child that another thread starts. The kernel does not execute a file that is
/// open for writing ("Text file busy").
///
/// # Errors
/// If the copy cannot be created.
pub fn install_program(program: &Path, to: &Path) -> Result<()> {
    let status = Command::new("install").args(["-m", "755"]).arg(program).arg(to).status()?;
    status.success().then_some(()).ok_or_else(|| Error::other("install has failed"))
}
