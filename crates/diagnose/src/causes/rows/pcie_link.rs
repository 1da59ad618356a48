//! Detects a PCIe link of a drive or its controller that is narrower or slower than both ends support.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::{number, text};
use record::{LayerKind, format_rate};
use std::path::{Path, PathBuf};

pub(super) const ROW: Check = Check {
    name: "pcie_link",
    causes: &[16],
    layer: LayerKind::Device,
    reads: "current_link_speed, current_link_width, max_link_speed and max_link_width of the PCI device and of its \
            port",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const SPEED: &str = "speed";
const WIDTH: &str = "lanes";
const SPEED_MAX: &str = "speed of the drive";
const WIDTH_MAX: &str = "lanes of the drive";
const PORT_SPEED: &str = "speed of the port";
const PORT_WIDTH: &str = "lanes of the port";
/// Share of a link's throughput from which it delays requests: headers take the rest.
const NEAR_FULL: f64 = 0.6;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks().filter(|disk| disk.is_nvme()) {
        let linked = |directory: &&PathBuf| gts(directory, "current").is_some();
        let Some(device) = disk.above.iter().find(linked) else { continue };
        let port = device.parent().filter(|port| gts(port, "max").is_some());
        let of_port = |file: &str| port.and_then(|port| number(&port.join(file)));
        let fact = Fact::of(disk)
            .number(SPEED, gts(device, "current"), "GT/s")
            .number(WIDTH, lanes(device, "current"), "")
            .number(SPEED_MAX, gts(device, "max"), "GT/s")
            .number(WIDTH_MAX, lanes(device, "max"), "")
            .number(PORT_SPEED, port.and_then(|port| gts(port, "max")), "GT/s")
            .number(PORT_WIDTH, of_port("max_link_width").map(|it| it as f64), "");
        reader.add(fact);
    }
}

/// Transfer rate in GT/s: 8.0 for `8.0 GT/s PCIe`.
fn gts(directory: &Path, which: &str) -> Option<f64> {
    let speed = text(&directory.join(format!("{which}_link_speed")))?;
    speed.split_once(" GT/s")?.0.trim().parse().ok()
}

fn lanes(directory: &Path, which: &str) -> Option<f64> {
    let lanes = number(&directory.join(format!("{which}_link_width")))?;
    (lanes > 0).then_some(lanes as f64)
}

/// Bytes per second of a link: 8b/10b coding up to 5 GT/s, 128b/130b above (PCI Express base specification).
fn carries(gts: f64, lanes: f64) -> f64 {
    let coding = if gts <= 5.0 { 0.8 } else { 128.0 / 130.0 };
    gts * 1e9 * coding / 8.0 * lanes
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let value = |name: &str| fact.number(name);
    let (speed, width) = (value(SPEED)?, value(WIDTH)?);
    let (most_speed, most_width) = (value(SPEED_MAX)?, value(WIDTH_MAX)?);
    let (now, could) = (carries(speed, width), carries(most_speed, most_width));
    if now >= 0.99 * could {
        return None;
    }
    let full = view.load.bytes_per_s.is_some_and(|bytes| bytes >= NEAR_FULL * now);
    // Idle drives save power with a slower link, but a narrower link is permanent.
    let slot = match (value(PORT_SPEED), value(PORT_WIDTH)) {
        (Some(port_speed), Some(port_width)) if carries(port_speed, port_width) <= 1.01 * now => {
            " The port cannot go faster: move the drive to another slot."
        }
        _ => {
            " The port can go faster: reseat the drive, and check the riser or cable and the \
             firmware settings."
        }
    };
    let says = format!(
        "The PCIe link runs at {speed} GT/s x{width} ({}), but the drive supports {most_speed} \
         GT/s x{most_width}.",
        format_rate(now)
    );
    let claim = Claim::unusual(says, &Effect::FULL_LINK, slot.trim_start()).only_if(full);
    Some(claim.by(could / now).with(SPEED, speed, "GT/s").with(WIDTH, width, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{
        cause_only_with_effect, disk, effects, facts, nothing,
    };
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine(speed: &str, width: u32, port_width: u32) -> Fake {
        let fake = Fake::new();
        let port = "pci0000:00/0000:00:1d.0";
        fake.block(&format!("{port}/0000:01:00.0/nvme/nvme0/nvme0n1"), "259:0", 1 << 20);
        let set = |directory: &str, which: &str, speed: &str, width: u32| {
            let text = format!("{speed} GT/s PCIe\n");
            fake.sys(&format!("devices/{directory}/{which}_link_speed"), &text);
            fake.sys(&format!("devices/{directory}/{which}_link_width"), &format!("{width}\n"));
        };
        let device = format!("{port}/0000:01:00.0");
        set(&device, "current", speed, width);
        set(&device, "max", "8.0", 4);
        set(port, "current", speed, width);
        set(port, "max", "8.0", port_width);
        fake
    }

    #[test]
    fn a_narrow_link_caps_throughput_and_leaves_small_loads_alone() {
        let drive = disk("nvme0n1", |_| {});
        let narrow = facts("pcie_link", &machine("8.0", 1, 4), &drive);
        let now = Machine { facts: &narrow, disk: Some(&drive), ..Machine::default() };
        let full = Load { bytes_per_s: Some(850e6), ..Load::default() };
        let says = cause_only_with_effect("pcie_link", now, Effect::CappedRate, full);
        assert!(says.contains("8 GT/s x1") && says.contains("x4"), "{says}");
        nothing("pcie_link", now, Load { bytes_per_s: Some(50e6), ..Load::default() });
        let wide = facts("pcie_link", &machine("8.0", 4, 4), &drive);
        nothing("pcie_link", Machine { facts: &wide, ..now }, full);
    }

    #[test]
    fn a_slot_that_can_do_no_more_is_told_from_a_link_that_was_trained_badly() {
        let drive = disk("nvme0n1", |_| {});
        for (port_width, says) in [(1, "another slot"), (4, "reseat")] {
            let read = facts("pcie_link", &machine("8.0", 1, port_width), &drive);
            let machine = Machine { facts: &read, disk: Some(&drive), ..Machine::default() };
            let (effects, own) = (effects(&[], Load::default()), machine.own_facts());
            let view = View::of("pcie_link", machine, &own, &effects);
            assert!(judge(&view).unwrap().action.contains(says));
        }
    }
}
