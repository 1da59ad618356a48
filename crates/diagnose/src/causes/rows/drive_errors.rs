//! Counts commands that a disk failed or did not answer in time, from the kernel's SCSI layer.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::text;
use record::{LayerKind, counted};
use std::path::Path;

pub(super) const ROW: Check = Check {
    name: "drive_errors",
    causes: &[13],
    layer: LayerKind::Device,
    reads: "device/ioerr_cnt, device/iotmo_cnt and device/iodone_cnt of SCSI and ATA disks",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-block-device",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const ERRORS: &str = "failed commands";
const TIMEOUTS: &str = "timed-out commands";

/// A counter of the SCSI layer in hexadecimal: `0x1f`.
fn hexadecimal(file: &Path) -> Option<f64> {
    let text = text(file)?;
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(f64::from)
}

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        let count = |name: &str| hexadecimal(&disk.directory.join("device").join(name));
        let fact = Fact::of(disk)
            .number(ERRORS, count("ioerr_cnt"), "")
            .number(TIMEOUTS, count("iotmo_cnt"), "")
            .number("commands", count("iodone_cnt"), "");
        reader.add(fact);
    }
}

/// Only a rise within the observation counts. Polling SMART also raises the error count, because libata ends
/// such commands with a check condition. Errors alone are therefore weak evidence, and time-outs are strong.
fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let rose = |name: &str| fact.rise(name).filter(|rise| *rise > 0.0);
    let (errors, timeouts) = (rose(ERRORS), rose(TIMEOUTS));
    let most = errors.into_iter().chain(timeouts).reduce(f64::max)?;
    let timed_out = timeouts.is_some();
    let told = |count: f64, what: &str| format!("{} {what}", counted(count, "command"));
    let errors = errors.map(|count| told(count, "failed"));
    let timeouts = timeouts.map(|count| told(count, "timed out"));
    let each: Vec<String> = errors.into_iter().chain(timeouts).collect();
    let says = format!("During the observation, {} on this disk.", each.join(" and "));
    let claim = if timed_out {
        let explains =
            [Effect::StandsStill, Effect::SlowReads, Effect::SlowWrites, Effect::WaitsAbove];
        let action = "Check the kernel log and SMART of this disk, then its cable and slot. If the \
                      errors continue, back it up and replace it.";
        Claim::counted(says, &explains, action)
    } else {
        let action = "Check the kernel log for this disk. Programs that poll SMART also raise this \
                      count.";
        Claim::usual(says, &[Effect::StandsStill], action)
    };
    Some(claim.with("errors and time-outs", most, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{between, cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    const HOST: &str = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0";

    #[test]
    fn errors_of_the_observation_count_and_those_from_before_do_not() {
        let fake = Fake::new();
        fake.block(&format!("{HOST}/block/sda"), "8:0", 1 << 20);
        fake.sys_link(&format!("devices/{HOST}/block/sda/device"), &format!("devices/{HOST}"));
        let set = |errors: &str| {
            fake.sys(&format!("devices/{HOST}/ioerr_cnt"), errors);
            fake.sys(&format!("devices/{HOST}/iotmo_cnt"), "0x2\n");
            fake.sys(&format!("devices/{HOST}/iodone_cnt"), "0x3e8\n");
        };
        set("0x6\n");
        let sda = disk("sda", |_| {});
        let read = between("drive_errors", &fake, &sda, || set("0x1a\n"));
        let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
        let says =
            cause_only_with_effect("drive_errors", now, Effect::StandsStill, Load::default());
        assert_eq!(says, "During the observation, 20 commands failed on this disk.");
        let old = between("drive_errors", &fake, &sda, || {});
        nothing("drive_errors", Machine { facts: &old, ..now }, Load::default());
    }
}
