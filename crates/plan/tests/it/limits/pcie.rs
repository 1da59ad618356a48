//! PCIe links that several drives share.

use host::kernel::Roots;
use plan::limits::pap::buses;
use record::DeviceFacts;
use testkit::Fake;

/// A machine in which `path` leads to the disk and some of its folders have a link.
fn machine(path: &str, links: &[(&str, &str, &str)]) -> Fake {
    let fake = Fake::new();
    let disk = path.rsplit('/').next().unwrap();
    fake.sys_link(&format!("class/block/{disk}"), path);
    for (at, speed, width) in links {
        fake.sys(&format!("{at}/current_link_speed"), speed);
        fake.sys(&format!("{at}/current_link_width"), width);
    }
    fake
}

fn disk(name: &str, link: &str) -> DeviceFacts {
    DeviceFacts { disk: name.to_owned(), link: Some(link.to_owned()), ..DeviceFacts::default() }
}

#[test]
fn a_host_adapters_link_is_a_bus_of_its_disks() {
    let top = "devices/pci0000:00/0000:00:01.0";
    let adapter = format!("{top}/0000:01:00.0");
    let path = format!("{adapter}/host0/target0/block/sda");
    let fake =
        machine(&path, &[(&adapter, "8.0 GT/s PCIe\n", "8\n"), (top, "8.0 GT/s PCIe\n", "8\n")]);
    let found = buses(&Roots::below(fake.root()), &disk("sda", "sas"));
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
    let fake = machine(&path, &links);
    let found = buses(&Roots::below(fake.root()), &disk("nvme0n1", "nvme pcie 16.0 GT/s x4"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].address, "0000:01:00.0");
}

#[test]
fn a_disk_without_links_above_it_has_no_buses() {
    let fake = machine("devices/virtual/block/vda", &[]);
    assert!(buses(&Roots::below(fake.root()), &disk("vda", "virtio")).is_empty());
    assert!(buses(&Roots::below(fake.root()), &disk("gone", "virtio")).is_empty());
}
