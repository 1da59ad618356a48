//! Programs that a test makes and then runs.

use std::io::{Error, Result};
use std::path::Path;
use std::process::Command;

/// Copies a program to where anybody may run it (mode 755).
///
/// `install` copies it, not this process: what this process has open for writing is open as well,
/// for a moment, in every child that another thread starts, and the kernel runs no file that
/// somebody may write ("Text file busy").
///
/// # Errors
/// If the copy cannot be made.
pub fn install_program(program: &Path, to: &Path) -> Result<()> {
    let status = Command::new("install").args(["-m", "755"]).arg(program).arg(to).status()?;
    status.success().then_some(()).ok_or_else(|| Error::other("install has failed"))
}
