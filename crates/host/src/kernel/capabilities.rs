//! Lists what this machine can and cannot measure; also tries the soaker.

use crate::kernel::platform::capabilities::capabilities as of_system;
use crate::kernel::read::Roots;
use crate::kernel::soaker::Soaker;
use crate::kernel::soaking::Soaking;
use record::{Capability, DeviceFacts};

/// Capabilities of the kernel and of a disk.
#[must_use]
pub fn capabilities(roots: &Roots, disk: Option<&DeviceFacts>) -> Vec<Capability> {
    let started = Soaker::start(roots).map_err(|error| error.to_string());
    let tried =
        started.map(|soaker| Soaking { cpus: soaker.cpus(), doubts: soaker.doubts().join("; ") });
    of_system(roots, disk, &tried)
}
