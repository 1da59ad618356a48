//! Lists what this machine can and cannot measure; also tries the soaker.

use crate::kernel::platform::capabilities::capabilities as of_system;
use crate::kernel::platform::processors::usable;
use crate::kernel::read::Roots;
use crate::kernel::soaker::Soaker;
use record::{Capability, DeviceFacts};

/// Capabilities of the kernel and of a disk.
#[must_use]
pub fn capabilities(roots: &Roots, disk: Option<&DeviceFacts>) -> Vec<Capability> {
    of_system(roots, disk, upper_bound(roots))
}

/// Whether soakers can be started, and on how many processors.
fn upper_bound(roots: &Roots) -> Capability {
    let started = Soaker::start(roots).map(|soaker| {
        let on = format!("one idle-priority background thread on each of {} CPUs", soaker.cpus());
        let doubts = soaker.doubts();
        if doubts.is_empty() {
            format!("{on}; {} usable", usable(roots))
        } else {
            format!("{on}, but unreliable: {}", doubts.join("; "))
        }
    });
    let remedy = "--cpu-upper is not available, but the lower bound is";
    let outcome = started.map_err(|error| error.to_string());
    Capability::tried("upper bound of CPU cost", outcome, remedy)
}
