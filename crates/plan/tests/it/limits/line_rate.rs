//! The peaks of links by their standards.

use plan::limits::pap::link_peak;

#[test]
fn links_carry_what_their_standards_say() {
    for (link, megabytes) in [
        ("nvme pcie 8.0 GT/s x4", 3_938.0),
        ("nvme pcie 16.0 GT/s x4", 7_877.0),
        ("nvme pcie 5.0 GT/s x2", 1_000.0),
        ("pcie 2.5 GT/s x1", 250.0),
        ("sata 6.0 Gbps", 600.0),
        ("sata 1.5 Gbps", 150.0),
        ("usb 480 Mb/s", 60.0),
        ("usb 5000 Mb/s", 500.0),
        ("usb 10000 Mb/s", 1_212.0),
    ] {
        let found = link_peak(link).unwrap().bytes_per_s / 1e6;
        assert!((found - megabytes).abs() < 1.0, "{link}: {found}");
    }
}

#[test]
fn links_that_state_no_speed_have_no_peak() {
    for link in ["virtio", "loop", "sata", "sas", "usb", "nvme", "iscsi", "pcie 8.0 GT/s"] {
        assert_eq!(link_peak(link), None, "{link}");
    }
}
