//! Detects TRIM problems: a storm of discards among other requests, or a flash drive that never gets one.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::device_calls::mounted;
use record::{LayerKind, format_count};

pub(super) const ROW: Check = Check {
    name: "discards",
    causes: &[19],
    layer: LayerKind::FileSystem,
    reads: "discards of /proc/diskstats, queue/discard_max_bytes, mount option discard",
    source: "https://docs.kernel.org/admin-guide/iostats.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const MOST: &str = "largest discard";
const MOUNTED: &str = "mount option";
/// Share of discards among the requests from which they delay the others.
const STORM: f64 = 0.05;
/// Least discards per second: file systems that discard in the background send a few.
const STORM_LEAST: f64 = 10.0;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let mounts = mounted(host.roots);
    for disk in host.disks().filter(|disk| disk.facts.rotational == Some(false)) {
        let on_disk = |source: &str| {
            let name = source.rsplit('/').next().unwrap_or_default();
            host.device(name).is_some_and(|device| device.disks.contains(&disk.name))
        };
        let discards = |options: &str| {
            options.split(',').any(|option| option == "discard" || option.starts_with("discard="))
        };
        let option = mounts.iter().any(|(source, options)| discards(options) && on_disk(source));
        let fact = Fact::of(disk).number(MOST, disk.number("queue/discard_max_bytes"), "B");
        reader.add(fact.text(MOUNTED, option.then_some("discard")));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let requests = view.load.reads_per_s + view.load.writes_per_s;
    let storm =
        view.load.discards_per_s.filter(|discards| *discards >= STORM_LEAST.max(STORM * requests));
    let fact = view.fact();
    if let Some(discards) = storm.filter(|_| view.works()) {
        let mounted = fact.is_some_and(|fact| fact.text(MOUNTED).is_some());
        let by = if mounted { ", and a file system is mounted with `discard`" } else { "" };
        let says = format!(
            "The drive gets {} discards and {} other requests per second{by}.",
            format_count(discards),
            format_count(requests)
        );
        let action = "Trim during quiet hours (fstrim.timer) instead of on each deletion (mount \
                      option discard), or limit the size of a trim (fstrim --length, \
                      queue/discard_max_bytes).";
        let explains =
            [Effect::SlowReads, Effect::SlowWrites, Effect::StandsStill, Effect::WaitsAbove];
        let claim = Claim::unusual(says, &explains, action).with("discards", discards, "per s");
        return Some(claim.by(discards));
    }
    (view.is_flash() && fact?.number(MOST)? == 0.0).then(|| {
        let says =
            "No TRIM reaches this flash drive (discard_max_bytes 0): it never learns which blocks \
             are free.";
        let action =
            "Find what blocks TRIM (a RAID controller, a USB bridge), then trim the drive once.";
        Claim::usual(says.to_owned(), &[Effect::SlowWrites, Effect::SteppedDown], action)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{
        cause_only_with_effect, disk, facts, judged_by, nothing, seen,
    };
    use crate::causes::{Effects, Load, Machine};
    use testkit::Fake;

    fn machine(most: u64, options: &str) -> Fake {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.sys("devices/pci0000:00/block/sda/queue/rotational", "0\n");
        fake.sys("devices/pci0000:00/block/sda/queue/discard_max_bytes", &format!("{most}\n"));
        let mount = format!("25 1 8:0 / /srv {options} - ext4 /dev/sda {options}\n");
        fake.proc("self/mountinfo", &mount);
        fake
    }

    #[test]
    fn a_storm_of_discards_and_a_drive_that_never_gets_one_explain_slowness_alone() {
        let sda = disk("sda", |_| {});
        let read = facts("discards", &machine(2_147_450_880, "rw,discard"), &sda);
        let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
        let load = |discards: f64| Load {
            reads_per_s: 1_000.0,
            discards_per_s: Some(discards),
            ..Load::default()
        };
        let says = cause_only_with_effect("discards", now, Effect::SlowReads, load(400.0));
        assert!(says.contains("mounted with `discard`"), "{says}");
        nothing("discards", now, load(2.0));
        // A nearly idle disk delays nothing, whatever the programs of the machine wait for.
        let idle = Load { busy: Some(0.02), ..load(400.0) };
        nothing("discards", now, idle);
        // The profile was made without discards, so they are new.
        let slow =
            Effects { load: load(400.0), seen: vec![seen(Effect::SlowReads, true)], holder: None };
        let storm = judged_by("discards", now, Some(now), &slow).unwrap();
        assert!(storm.seen.is_some(), "{storm:?}");
        let never = facts("discards", &machine(0, "rw"), &sda);
        let now = Machine { facts: &never, ..now };
        cause_only_with_effect("discards", now, Effect::SlowWrites, load(0.0));
    }
}
