//! Detects a disabled write cache: a RAID controller with a failed battery, or a drive whose cache
//! was switched off.
//!
//! The facts of the disk include the mode. The kernel's setting can differ from what the SCSI disk
//! reports, because a user can change it, so both are read.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::{names, text};
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "cache_mode",
    causes: &[22],
    layer: LayerKind::Device,
    reads: "queue/write_cache, scsi_disk/*/cache_type",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-scsi_disk",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const TYPE: &str = "cache type";
const THROUGH: &str = "write through";
const BACK: &str = "write back";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        let folder = disk.directory.join("device/scsi_disk");
        let address = names(&folder).into_iter().next();
        let kind = address.and_then(|address| text(&folder.join(address).join("cache_type")));
        reader.add(Fact::of(disk).text(TYPE, kind.as_deref()));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let own = view.fact().and_then(|fact| fact.text(TYPE));
    let told = own.or(view.disk()?.write_cache.as_deref())?;
    if !told.starts_with(THROUGH) {
        return None;
    }
    let was_back = view.changed("write cache").is_some_and(|one| one.a == BACK);
    let explains = [Effect::SlowWrites, Effect::SlowFlushes];
    let action = "On a RAID controller, check the battery and the cache policy (storcli, perccli, \
                  ssacli). On a drive, enable the write cache (hdparm -W1, sdparm --set WCE) if \
                  the cache is power-loss protected or you can afford to lose the data.";
    if was_back {
        let says =
            format!("The write cache was {BACK} when the profile was made and is {told} now.");
        return Some(Claim::unusual(says, &explains, action));
    }
    // Drives without a volatile cache report the same mode, and are the fastest of all.
    let rotates =
        view.disk().is_some_and(|disk| disk.rotational == Some(true) && disk.rotational_trusted);
    rotates.then(|| {
        let says =
            format!("The disk acknowledges a write only when it is on the medium (cache {told}).");
        Claim::usual(says, &explains, action)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use record::ComparedCondition;
    use testkit::Fake;

    fn machine(kind: &str) -> Fake {
        let fake = Fake::new();
        let device = "pci0000:00/0000:03:00.0/host0/target0:2:0/0:2:0:0";
        fake.block(&format!("{device}/block/sda"), "8:0", 1 << 20);
        fake.sys_link(&format!("devices/{device}/block/sda/device"), &format!("devices/{device}"));
        let file = format!("devices/{device}/scsi_disk/0:2:0:0/cache_type");
        fake.sys(&file, &format!("{kind}\n"));
        fake
    }

    #[test]
    fn a_cache_that_is_off_now_explains_slow_writes_and_one_of_flash_does_not() {
        let sda = disk("sda", |_| {});
        let through = facts("cache_mode", &machine("write through"), &sda);
        let changed = [ComparedCondition {
            what: "write cache".to_owned(),
            a: BACK.to_owned(),
            b: THROUGH.to_owned(),
        }];
        let now =
            Machine { facts: &through, disk: Some(&sda), changed: &changed, ..Machine::default() };
        let says = cause_only_with_effect("cache_mode", now, Effect::SlowWrites, Load::default());
        assert!(says.contains("write through now"), "{says}");
        nothing("cache_mode", Machine { changed: &[], ..now }, Load::default());
        let back = facts("cache_mode", &machine("write back"), &sda);
        nothing("cache_mode", Machine { facts: &back, ..now }, Load::default());
        let rotating = disk("sda", |facts| {
            (facts.rotational, facts.rotational_trusted) = (Some(true), true);
        });
        let now = Machine { disk: Some(&rotating), changed: &[], ..now };
        cause_only_with_effect("cache_mode", now, Effect::SlowWrites, Load::default());
    }
}
