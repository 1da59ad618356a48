//! The PCI Express links between a disk's controller and the root, from sysfs.
//!
//! Going up from the disk, the directories alternate: the endpoint, the port above it (which shows
//! the same link from the other side), a switch's upper port (the next link), and so on. The first
//! link is that of the controller: for an NVMe drive it is the drive's own, for a host adapter it
//! is what all its disks share.

use super::line_rate::pcie_peak;
use crate::memory::text;
use kernel::Roots;
use record::{Advertised, DeviceFacts};
use std::path::Path;

/// A link on the way to the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Address of the device at its lower end.
    pub address: String,
    /// What it carries in one direction.
    pub peak: Advertised,
}

/// The links above a disk that are not its own, nearest first; empty where sysfs shows none.
#[must_use]
pub fn buses(roots: &Roots, device: &DeviceFacts) -> Vec<Hop> {
    let disk = roots.sys.join("class/block").join(&device.disk);
    let Ok(disk) = std::fs::canonicalize(disk) else { return Vec::new() };
    let hops: Vec<Hop> = disk.ancestors().filter_map(hop).collect();
    // Each link is shown at both its ends; that of an NVMe drive is the drive's own.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in which `path` leads to the disk and some folders of it have a link.
    fn tree(path: &str, links: &[(&str, &str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path().join("sys");
        std::fs::create_dir_all(sys.join(path)).unwrap();
        std::fs::create_dir_all(sys.join("class/block")).unwrap();
        let disk = Path::new(path).file_name().unwrap();
        std::os::unix::fs::symlink(sys.join(path), sys.join("class/block").join(disk)).unwrap();
        for (at, speed, width) in links {
            std::fs::write(sys.join(at).join("current_link_speed"), speed).unwrap();
            std::fs::write(sys.join(at).join("current_link_width"), width).unwrap();
        }
        let roots = Roots { sys, ..Roots::default() };
        (folder, roots)
    }

    fn disk(name: &str, link: &str) -> DeviceFacts {
        DeviceFacts { disk: name.to_owned(), link: Some(link.to_owned()), ..DeviceFacts::default() }
    }

    #[test]
    fn a_host_adapters_link_is_a_bus_of_its_disks() {
        let top = "devices/pci0000:00/0000:00:01.0";
        let adapter = format!("{top}/0000:01:00.0");
        let path = format!("{adapter}/host0/target0/block/sda");
        let (_folder, roots) =
            tree(&path, &[(&adapter, "8.0 GT/s PCIe\n", "8\n"), (top, "8.0 GT/s PCIe\n", "8\n")]);
        let found = buses(&roots, &disk("sda", "sas"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].address, "0000:01:00.0");
        assert!((found[0].peak.bytes_per_s / 7.877e9 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn behind_a_switch_the_drive_shares_the_link_above() {
        let root = "devices/pci0000:00/0000:00:01.0";
        let upper = format!("{root}/0000:01:00.0");
        let lower = format!("{upper}/0000:02:00.0");
        let drive = format!("{lower}/0000:03:00.0");
        let path = format!("{drive}/nvme/nvme0/nvme0n1");
        let links = [
            (drive.as_str(), "16.0 GT/s PCIe", "4"),
            (lower.as_str(), "16.0 GT/s PCIe", "4"),
            (upper.as_str(), "8.0 GT/s PCIe", "16"),
            (root, "8.0 GT/s PCIe", "16"),
        ];
        let (_folder, roots) = tree(&path, &links);
        let found = buses(&roots, &disk("nvme0n1", "nvme pcie 16.0 GT/s x4"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].address, "0000:01:00.0");
    }

    #[test]
    fn a_disk_without_links_above_it_has_no_buses() {
        let (_folder, roots) = tree("devices/virtual/block/vda", &[]);
        assert!(buses(&roots, &disk("vda", "virtio")).is_empty());
        assert!(buses(&roots, &disk("gone", "virtio")).is_empty());
    }
}
