//! Compares kernel settings with those of the profile, and checks write-back throttling.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use crate::words;
use record::{ComparedCondition, LayerKind, format_nanos};

pub(super) const ROW: Check = Check {
    name: "kernel_settings",
    causes: &[15],
    layer: LayerKind::Queue,
    reads: "queue/wbt_lat_usec; scheduler, nr_requests, read_ahead_kb, max_sectors_kb, nomerges and the kernel's \
            version, compared with the profile's",
    source: "https://docs.kernel.org/block/queue-sysfs.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const WBT: &str = "write-back throttling";
/// Kernel settings among the conditions of a profile.
const SETTINGS: [&str; 6] =
    ["scheduler", "kernel's queue", "read-ahead", LARGEST, "merging", "kernel"];
const LARGEST: &str = "largest request";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        let target = disk.number("queue/wbt_lat_usec");
        reader.add(Fact::of(disk).number(WBT, target.map(|us| us * 1e3), "ns"));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let changed: Vec<&ComparedCondition> =
        view.machine.changed.iter().filter(|one| SETTINGS.contains(&one.what.as_str())).collect();
    if !changed.is_empty() {
        let told = words::changed(changed.iter().copied());
        let says = format!("Changed since the profile was made: {told}.");
        let action = "Restore the old setting and compare. If the kernel is newer, boot the older \
                      one and compare.";
        let mut explains =
            vec![Effect::SlowReads, Effect::SlowWrites, Effect::CappedRate, Effect::WaitsBefore];
        if changed.iter().any(|one| one.what == LARGEST) {
            explains.insert(0, Effect::CutRequests);
        }
        // A different kernel version alone is rarely slower, and a note on conditions lists all
        // changes anyway.
        let set = changed.iter().any(|one| one.what != "kernel");
        let weight = if set { 2.0 } else { 1.0 };
        return Some(Claim { weight, ..Claim::usual(says, &explains, action) });
    }
    let target_ns = view.fact()?.number(WBT).filter(|ns| *ns > 0.0)?;
    // It throttles page-cache writes if there are reads too.
    let both = view.load.reads_per_s > 0.0 && view.load.writes_per_s > 0.0;
    both.then(|| {
        let says = format!(
            "The kernel throttles page-cache writes while reads take longer than {} (wbt).",
            format_nanos(target_ns)
        );
        let action = "If writes matter more, disable wbt (echo 0 > \
                      /sys/block/DISK/queue/wbt_lat_usec) and check whether reads get slower.";
        Claim::usual(says, &[Effect::WaitsBefore], action).by(1.0 / target_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    #[test]
    fn a_setting_that_changed_explains_slowness_and_write_back_throttling_waits_of_a_mix() {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.sys("devices/pci0000:00/block/sda/queue/wbt_lat_usec", "75000\n");
        let sda = disk("sda", |_| {});
        let wbt = facts("kernel_settings", &fake, &sda);
        let condition = |what: &str| ComparedCondition {
            what: what.to_owned(),
            a: "none".to_owned(),
            b: "bfq".to_owned(),
        };
        let changed = [condition("firmware"), condition("scheduler")];
        let now =
            Machine { facts: &wbt, disk: Some(&sda), changed: &changed, ..Machine::default() };
        let says =
            cause_only_with_effect("kernel_settings", now, Effect::SlowReads, Load::default());
        assert_eq!(says, "Changed since the profile was made: scheduler none, now bfq.");
        let smaller = [condition(LARGEST)];
        let cut = Machine { changed: &smaller, ..now };
        cause_only_with_effect("kernel_settings", cut, Effect::CutRequests, Load::default());
        let now = Machine { changed: &[], ..now };
        let mix = Load { reads_per_s: 50.0, writes_per_s: 50.0, ..Load::default() };
        cause_only_with_effect("kernel_settings", now, Effect::WaitsBefore, mix);
        nothing("kernel_settings", now, Load { reads_per_s: 50.0, ..Load::default() });
    }
}
