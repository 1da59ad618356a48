//! Detects slow USB bridges: the old protocol without queueing, a USB 2 link, no TRIM.
//!
//! The facts of the disk include driver and speed. This check adds whether the bridge passes on TRIM.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use record::{DeviceFacts, LayerKind, format_rate};

pub(super) const ROW: Check = Check {
    name: "usb_bridge",
    causes: &[6],
    layer: LayerKind::Device,
    reads: "driver and speed of the disk's USB device, queue/discard_max_bytes",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-usb",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

/// The speed of USB 2 in Mb/s, and the largest throughput of bulk transfers over it (USB 2.0
/// specification, table 5-10: 13 packets of 512 bytes in 125 µs).
const USB_2_MBPS: u64 = 480;
const USB_2_BYTES_PER_S: f64 = 53.2e6;
/// Share of that throughput from which the link delays requests: bridges reach 30 to 42 MB/s.
const NEAR_FULL: f64 = 0.4;
const SEVERAL: f64 = 1.5;

/// The speed of a USB disk's link in Mb/s: 480 for `usb 480 Mb/s`.
fn speed(disk: &DeviceFacts) -> Option<u64> {
    disk.link.as_deref()?.strip_prefix("usb ")?.split(' ').next()?.parse().ok()
}

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks().filter(|disk| speed(&disk.facts).is_some()) {
        let most = disk.number("queue/discard_max_bytes");
        reader.add(Fact::of(disk).number("largest discard", most, "B"));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let disk = view.disk()?;
    let speed = speed(disk)?;
    let driver = disk.driver.as_deref().unwrap_or("unknown");
    let no_trim = view.fact().is_some_and(|fact| fact.number("largest discard") == Some(0.0));
    let trim = if no_trim && view.is_flash() { "; the bridge does not pass TRIM on" } else { "" };
    if speed <= USB_2_MBPS {
        let bytes = view.load.bytes_per_s.unwrap_or(0.0);
        let full = bytes >= NEAR_FULL * USB_2_BYTES_PER_S;
        let says = format!(
            "The disk is on a {speed} Mb/s USB link (at most {}) and uses the driver \
             {driver}{trim}.",
            format_rate(USB_2_BYTES_PER_S)
        );
        let action =
            "Use a USB 3 port, cable and hub (5 Gb/s or more). `lsusb -t` shows the speed.";
        let claim = Claim::unusual(says, &Effect::FULL_LINK, action).only_if(full);
        return Some(claim.with("speed", speed as f64, "Mb/s"));
    }
    let several = view.load.depth.is_some_and(|depth| depth >= SEVERAL);
    if driver == "usb-storage" {
        let says = format!(
            "The USB bridge takes one command at a time: its driver is usb-storage, not uas{trim}."
        );
        let action = "Use a bridge with UAS. `dmesg` shows whether a kernel quirk disables UAS \
                      (usb-storage.quirks).";
        let claim = Claim::unusual(says, &Effect::ONE_AT_A_TIME, action).only_if(several);
        return Some(Claim { notable: false, ..claim });
    }
    if no_trim && view.is_flash() {
        let says = "The USB bridge does not pass TRIM on: the drive behind it never learns which \
                    blocks are free.";
        let action =
            "Use a bridge that passes TRIM on, or occasionally trim the drive on another port.";
        return Some(Claim::usual(says.to_owned(), &[Effect::SlowWrites], action));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine() -> Fake {
        let fake = Fake::new();
        let usb = "pci0000:00/0000:00:14.0/usb2/2-1";
        let block = format!("{usb}/2-1:1.0/host4/target4:0:0/4:0:0:0/block/sdb");
        fake.block(&block, "8:16", 1 << 20);
        fake.sys(&format!("devices/{usb}/bDeviceClass"), "00\n");
        fake.sys(&format!("devices/{usb}/speed"), "480\n");
        fake.sys(&format!("devices/{block}/queue/discard_max_bytes"), "0\n");
        fake
    }

    #[test]
    fn a_usb_2_link_caps_throughput_and_the_old_protocol_slows_several_requests() {
        let usb = |link: &str, driver: &str| {
            disk("sdb", |facts| {
                (facts.link, facts.driver) = (Some(link.to_owned()), Some(driver.to_owned()));
            })
        };
        let slow = usb("usb 480 Mb/s", "usb-storage");
        let read = facts("usb_bridge", &machine(), &slow);
        assert_eq!(read[0].number("largest discard"), Some(0.0));
        let now = Machine { facts: &read, disk: Some(&slow), ..Machine::default() };
        let full = Load { bytes_per_s: Some(38e6), ..Load::default() };
        let says = cause_only_with_effect("usb_bridge", now, Effect::CappedRate, full);
        assert!(says.contains("480 Mb/s") && says.contains("does not pass TRIM on"), "{says}");
        nothing("usb_bridge", now, Load { bytes_per_s: Some(2e6), ..Load::default() });
        let old = usb("usb 5000 Mb/s", "usb-storage");
        let now = Machine { facts: &[], disk: Some(&old), ..now };
        let deep = Load { depth: Some(4.0), ..Load::default() };
        cause_only_with_effect("usb_bridge", now, Effect::SlowReads, deep);
        nothing("usb_bridge", now, Load { depth: Some(1.0), ..Load::default() });
        let good = usb("usb 5000 Mb/s", "uas");
        nothing("usb_bridge", Machine { disk: Some(&good), ..now }, deep);
    }
}
