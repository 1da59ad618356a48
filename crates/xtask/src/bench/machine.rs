//! What the figures belong to: this machine, these versions; and the processor they are bound to.

use crate::place;
use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::process::Command;

/// The first line that a command prints, if it succeeds.
fn says(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(place::root()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The machine and the versions of all that took part.
pub(super) fn description() -> Value {
    let environment = kernel::environment(&kernel::Roots::default(), None);
    json!({
        "machine": {
            "cpu": environment.cpu,
            "processors": std::thread::available_parallelism().map(usize::from).ok(),
            "kernel": environment.kernel,
            "virtualization": environment.virtualization,
        },
        "versions": {
            "halfpower": says("git", &["describe", "--always", "--dirty"]),
            "rustc": says("rustc", &["--version"]),
            "fio": says("fio", &["--version"]),
        },
    })
}

/// The calling thread bound to one processor until this is dropped.
pub(super) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    pub(super) fn to(core: usize) -> Result<Self> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).context("cannot read the affinity")?;
        let mut set = CpuSet::new();
        set.set(core)?;
        sched_setaffinity(this, &set)
            .with_context(|| format!("cannot bind to processor {core}"))?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(Pid::from_raw(0), &self.before) {
            eprintln!("this thread stays bound to one processor: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_to_one_processor_and_let_go_again() {
        let count = || {
            let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap()).count()
        };
        let before = count();
        let pinned = Pinned::to(crate::child::core().unwrap()).unwrap();
        assert_eq!(count(), 1);
        drop(pinned);
        assert_eq!(count(), before);
    }
}
