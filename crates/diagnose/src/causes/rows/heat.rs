//! Reads drive temperatures from the kernel's hwmon: drivetemp for ATA disks, the NVMe driver for
//! NVMe drives.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When};
use host::kernel::read::{names, number};
use record::LayerKind;
use std::path::PathBuf;

pub(super) const ROW: Check = Check {
    name: "heat",
    causes: &[20],
    layer: LayerKind::Device,
    reads: "temp1_input, temp1_max and temp1_crit in the hwmon directory of each drive in use",
    source: "https://docs.kernel.org/hwmon/sysfs-interface.html",
    basis: Basis::Facts { when: When::InUse, read, judge },
};

const NOW: &str = "temperature";
const MOST: &str = "limit";
const CRITICAL: &str = "critical";
/// Drives slow down this many degrees below the limit that they report.
const NEAR: f64 = 3.0;
/// Number of directories above a disk that belong to the drive: itself and its device.
const NEAREST: usize = 2;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        let Some(chip) = chip(disk) else { continue };
        // The drive itself answers, which may restart its standby timer.
        if !reader.may_ask(disk) {
            continue;
        }
        let celsius = |file: &str| number(&chip.join(file)).map(|milli| milli as f64 / 1e3);
        // The kernel prints 65,261.85 °C if the drive reports no limit.
        let limit = |file: &str| celsius(file).filter(|celsius| (20.0..200.0).contains(celsius));
        let fact = Fact::of(disk)
            .number(NOW, celsius("temp1_input"), "°C")
            .number(MOST, limit("temp1_max"), "°C")
            .number(CRITICAL, limit("temp1_crit"), "°C");
        reader.add(fact);
    }
}

/// Directory of the drive's sensor chip: below its SCSI device (drivetemp) or its NVMe controller.
fn chip(disk: &HostDevice) -> Option<PathBuf> {
    let below = |folder: PathBuf| {
        let mut chips = names(&folder).into_iter().filter(|name| name.starts_with("hwmon"));
        chips.find(|name| name != "hwmon").map(|name| folder.join(name))
    };
    // Directories further up contain chips of other devices.
    let mut near = disk.above.iter().take(NEAREST);
    near.find_map(|device| below(device.join("hwmon")).or_else(|| below(device.clone())))
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let now = fact.number(NOW)?;
    let limit = fact.number(MOST).or(fact.number(CRITICAL))?;
    if now < limit - NEAR {
        return None;
    }
    let says = format!("The drive is at {now:.0} °C, and its limit is {limit:.0} °C.");
    let explains = [Effect::SteppedDown, Effect::SlowWrites, Effect::SlowReads, Effect::CappedRate];
    let action = "Improve the airflow or add a heat sink: the drive throttles itself near its \
                  limit.";
    Some(Claim::unusual(says, &explains, action).with(NOW, now, "°C").by(now / limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    const CONTROLLER: &str = "devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0";

    fn machine(milli_celsius: u32) -> Fake {
        let fake = Fake::new();
        fake.block("pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1", "259:0", 1 << 20);
        fake.sys_link(&format!("{CONTROLLER}/nvme0n1/device"), CONTROLLER);
        for (file, text) in [
            ("name", "nvme".to_owned()),
            ("temp1_input", milli_celsius.to_string()),
            ("temp1_max", "81850".to_owned()),
            ("temp1_crit", "84850".to_owned()),
        ] {
            fake.sys(&format!("{CONTROLLER}/hwmon1/{file}"), &format!("{text}\n"));
        }
        fake
    }

    #[test]
    fn a_drive_at_its_limit_is_too_hot_where_it_is_slow_and_a_warm_one_is_not() {
        let drive = disk("nvme0n1", |_| {});
        let hot = facts("heat", &machine(82_850), &drive);
        let now = Machine { facts: &hot, disk: Some(&drive), ..Machine::default() };
        let says = cause_only_with_effect("heat", now, Effect::SteppedDown, Load::default());
        assert_eq!(says, "The drive is at 83 °C, and its limit is 82 °C.");
        let warm = facts("heat", &machine(62_850), &drive);
        nothing("heat", Machine { facts: &warm, ..now }, Load::default());
    }
}
