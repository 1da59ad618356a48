//! Finds the PCI Express links between a disk's controller and the root, from sysfs.
//!
//! On the way up from the disk, sysfs shows each link at both ends. The first link is that of the
//! controller: an NVMe drive's own, or the one that all disks of a host adapter share.

use super::line_rate::pcie_peak;
use host::kernel::Roots;
use host::kernel::read::text;
use record::{Advertised, DeviceFacts};
use std::path::Path;

/// A link on the way to the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Address of the device at its lower end.
    pub address: String,
    /// Its peak in one direction.
    pub peak: Advertised,
}

/// The links above a disk that are not its own, nearest first; empty if sysfs shows none.
#[must_use]
pub fn buses(roots: &Roots, device: &DeviceFacts) -> Vec<Hop> {
    let disk = roots.sys.join("class/block").join(&device.disk);
    let Ok(disk) = std::fs::canonicalize(disk) else { return Vec::new() };
    let hops: Vec<Hop> = disk.ancestors().filter_map(hop).collect();
    // Each link appears at both ends. The first link of an NVMe drive is its own.
    let own = usize::from(device.link.as_deref().is_some_and(|link| link.contains("pcie ")));
    hops.into_iter().step_by(2).skip(own).collect()
}

fn hop(folder: &Path) -> Option<Hop> {
    let speed = text(&folder.join("current_link_speed"))?;
    let width = text(&folder.join("current_link_width"))?;
    let words = format!("{} x{width}", speed.trim_end_matches(" PCIe"));
    let peak = pcie_peak(&words)?;
    Some(Hop { address: folder.file_name()?.to_string_lossy().into_owned(), peak })
}
