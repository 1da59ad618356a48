//! Runs tests in a process of their own, to restrict it or because the kernel accounts per process.

use std::io::Result;
use std::process::{Command, Output};

const CHILD: &str = "HALFPOWER_TEST_CHILD";

/// Whether this process was started by [`in_child`].
#[must_use]
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs a test of this binary in a process of its own, through a command that restricts it, if any.
///
/// # Errors
/// If it cannot be started.
pub fn in_child(test: &str, through: &[&str]) -> Result<Output> {
    let program = std::env::current_exe()?;
    let mut words: Vec<std::ffi::OsString> = through.iter().map(Into::into).collect();
    if let Some(emulator) = crate::emulator() {
        words.extend(emulator.split_whitespace().map(Into::into));
    }
    words.push(program.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    command.output()
}

/// As [`in_child`], for a test that must pass there.
///
/// # Panics
/// If it fails, or is skipped there.
pub fn passes_in_child(test: &str, through: &[&str]) {
    let output = in_child(test, through).unwrap_or_else(|error| panic!("{test}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    // Cargo counts a skip as passed, and then no process would have run the test.
    let done = text.contains("1 passed") && !text.contains("SKIP ");
    assert!(output.status.success() && done, "{text}");
}
