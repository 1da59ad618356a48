//! A test in a process of its own, where it measures what the kernel counts of a whole process.

use std::process::Command;

/// Set in such a process.
const ALONE: &str = "HALFPOWER_TEST_ALONE";

/// Whether this process runs the test alone. Where it does not, one that does is started, and must pass.
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", test]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}
