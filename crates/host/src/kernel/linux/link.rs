//! Finds out how a disk is attached, by which driver, and whether its own description can be trusted.
//!
//! sysfs puts a device below everything that it is attached to, so the path is read upwards. The first
//! driver that is not a mere class driver (`sd`) names the attachment. Tables list the drivers and models
//! of virtual disks. The rotational flag is a claim of the layer that presents the disk, so it is trusted
//! only for directly attached ones. Rejected: a timing test, which would be a measurement.

use crate::kernel::read::{Roots, base_name, link_name, names, number, text};
use record::DeviceFacts;
use std::path::{Path, PathBuf};

/// Drivers of virtual disks, the name of their link, and the kernel name of disks without a driver in
/// sysfs.
const VIRTUAL_DRIVERS: [(&str, &str, &str); 16] = [
    ("virtio_blk", "virtio", "vd"),
    ("virtio_scsi", "virtio scsi", ""),
    ("vbd", "xen", "xvd"),
    ("vscsi", "xen scsi", ""),
    ("hv_storvsc", "hyper-v", ""),
    ("storvsc", "hyper-v", ""),
    ("vmw_pvscsi", "vmware scsi", ""),
    ("loop", "loop", "loop"),
    ("zram", "memory (zram)", "zram"),
    ("brd", "memory", "ram"),
    ("null_blk", "null", "nullb"),
    ("nbd", "network (nbd)", "nbd"),
    ("rbd", "network (rbd)", "rbd"),
    ("drbd", "network (drbd)", "drbd"),
    ("ublk", "user space (ublk)", "ublkb"),
    ("zvol", "zfs volume", "zd"),
];

/// Drivers that serve a class of disks and do not show the attachment.
const CLASS_DRIVERS: [&str; 3] = ["sd", "sr", "st"];

/// Drivers of RAID controllers: their disks may be arrays.
const RAID_DRIVERS: [&str; 7] =
    ["megaraid_sas", "mpi3mr", "hpsa", "smartpqi", "aacraid", "arcmsr", "cciss"];

/// Prefixes of the models or vendors of virtual disks.
const VIRTUAL_MODELS: [&str; 14] = [
    "QEMU",
    "VMware",
    "VBOX",
    "Virtual",
    "Msft",
    "MSFT NVMe Accelerator",
    "Amazon Elastic Block Store",
    "nvme_card",
    "Google",
    "PersistentDisk",
    "EphemeralDisk",
    "BlockVolume",
    "Alibaba Cloud Elastic Block Storage",
    "XENSRC",
];

/// Sets how a whole disk is attached, from its (resolved) sysfs directory. Model and vendor must be set.
pub(crate) fn describe_attachment(roots: &Roots, disk: &Path, facts: &mut DeviceFacts) {
    let path = upward_path(roots, disk);
    let driver = path
        .iter()
        .filter_map(|directory| link_name(&directory.join("driver")))
        .find(|driver| !CLASS_DRIVERS.contains(&driver.as_str()))
        .or_else(|| driver_by_name(&base_name(disk)));
    let known = driver.as_deref();
    let virtual_link =
        VIRTUAL_DRIVERS.iter().find(|(name, ..)| Some(*name) == known).map(|(_, link, _)| *link);
    let virtual_model = [&facts.model, &facts.vendor]
        .into_iter()
        .flatten()
        .any(|claim| VIRTUAL_MODELS.iter().any(|model| claim.starts_with(model)));
    facts.virtual_disk = virtual_link.is_some() || virtual_model;
    let transport = path.iter().find_map(|directory| Transport::of_directory(directory));
    let direct = transport.as_ref().is_none_or(|transport| transport.direct)
        && !known.is_some_and(|driver| RAID_DRIVERS.contains(&driver));
    let (pcie, slower) = pcie_link(&path);
    facts.link = virtual_link.map(str::to_owned).or_else(|| {
        let name = transport.map(|transport| transport.name);
        // The PCIe link of a SATA or USB host adapter is not the disk's own link.
        match (name, pcie) {
            (Some(name), Some(pcie)) if name == "nvme" => Some(format!("nvme {pcie}")),
            (Some(name), _) => Some(name),
            (None, pcie) => pcie,
        }
    });
    let by_pcie = facts.link.as_deref().is_some_and(|link| link.contains("pcie"));
    facts.layers.extend(slower.filter(|_| by_pcie));
    facts.rotational_trusted = direct && !facts.virtual_disk && facts.rotational.is_some();
    facts.driver = driver;
}

/// The directories from the device's parent device up to the root of sysfs, nearest first.
pub(crate) fn upward_path(roots: &Roots, disk: &Path) -> Vec<PathBuf> {
    let top = std::fs::canonicalize(&roots.sys).unwrap_or_else(|_| roots.sys.clone());
    let mut start = std::fs::canonicalize(disk.join("device")).unwrap_or_else(|_| disk.to_owned());
    // An NVMe disk with several paths is below a virtual subsystem, which lists its controllers (`nvme0`)
    // next to it (`nvme0n1`).
    if base_name(&start).starts_with("nvme-subsys") {
        let is_controller = |name: &String| {
            name.strip_prefix("nvme").is_some_and(|number| number.parse::<u32>().is_ok())
        };
        if let Some(controller) = names(&start).into_iter().find(is_controller) {
            start = std::fs::canonicalize(start.join(controller)).unwrap_or(start);
        }
    }
    start
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with(&top) && *ancestor != top)
        .map(Path::to_owned)
        .collect()
}

fn driver_by_name(name: &str) -> Option<String> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // Virtio and Xen disks have letters (vda), the others numbers (loop0).
    let is = |prefix: &str| stem == prefix || prefix.ends_with("vd") && stem.starts_with(prefix);
    let known = VIRTUAL_DRIVERS.iter().find(|(.., prefix)| is(prefix)).map(|(driver, ..)| *driver);
    known.or((stem == "md").then_some("md")).map(str::to_owned)
}

/// The protocol between host and disk.
struct Transport {
    name: String,
    /// Whether the disk itself responds, not a bridge or network storage.
    direct: bool,
}

/// Protocols by directory names on the way up.
const TRANSPORTS: [(&str, &str, bool); 5] = [
    ("session", "iscsi", false),
    ("rport-", "fibre channel", false),
    ("end_device-", "sas", true),
    ("mmc", "mmc", true),
    ("ndbus", "persistent memory", true),
];

impl Transport {
    fn of_directory(directory: &Path) -> Option<Self> {
        let name = base_name(directory);
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if numbered("nvme") {
            let transport = text(&directory.join("transport")).unwrap_or_else(|| "pcie".to_owned());
            let direct = transport == "pcie";
            let name = if direct { "nvme".to_owned() } else { format!("nvme over {transport}") };
            return Some(Self { name, direct });
        }
        if numbered("ata") {
            return Some(Self { name: sata_link(directory), direct: true });
        }
        // Only a USB device has a speed, not its interfaces.
        if directory.join("bDeviceClass").exists() {
            let speed = number(&directory.join("speed"));
            let name = speed.map_or("usb".to_owned(), |speed| format!("usb {speed} Mb/s"));
            return Some(Self { name, direct: false });
        }
        let is =
            |prefix: &str| numbered(prefix) || prefix.ends_with('-') && name.starts_with(prefix);
        let known = TRANSPORTS.iter().find(|(prefix, ..)| is(prefix));
        known.map(|&(_, name, direct)| Self { name: name.to_owned(), direct })
    }
}

/// `sata 6.0 Gbps`; the speed is at ataN/linkN/ata_link/linkN/sata_spd.
fn sata_link(port: &Path) -> String {
    let speed = names(port).into_iter().filter(|name| name.starts_with("link")).find_map(|link| {
        text(&port.join(&link).join("ata_link").join(&link).join("sata_spd"))
            .filter(|speed| speed.starts_with(|c: char| c.is_ascii_digit()))
    });
    speed.map_or("sata".to_owned(), |speed| format!("sata {speed}"))
}

/// The nearest PCIe link as `pcie 8.0 GT/s x4`, and a sentence if it runs below the device's maximum.
fn pcie_link(path: &[PathBuf]) -> (Option<String>, Option<String>) {
    let read = |directory: &Path, which: &str| {
        let speed = text(&directory.join(format!("{which}_link_speed")))
            .and_then(|speed| speed.find("GT/s").map(|at| speed[..at + 4].to_owned()))?;
        let width = number(&directory.join(format!("{which}_link_width")))?;
        (width > 0).then(|| format!("{speed} x{width}"))
    };
    let linked = path.iter().find_map(|directory| Some((directory, read(directory, "current")?)));
    let Some((directory, current)) = linked else { return (None, None) };
    let most = read(directory, "max").filter(|most| *most != current);
    let slower = most.map(|most| {
        format!("the PCIe link runs at {current}, but the device supports up to {most}")
    });
    (Some(format!("pcie {current}")), slower)
}
