//! Reads the SATA link of a disk: its speed, whether the kernel slowed it down after errors, and
//! whether the drive queues commands (NCQ).

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When, is_numbered};
use host::kernel;
use host::kernel::read::{names, text};
use record::{LayerKind, format_rate};

pub(super) const ROW: Check = Check {
    name: "sata_link",
    causes: &[7],
    layer: LayerKind::Device,
    reads: "sata_spd, sata_spd_limit and hw_sata_spd_limit of the ata_link, device/queue_depth",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-ata",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const SPEED: &str = "speed";
const LIMIT: &str = "limit of the port";
const LOWERED: &str = "limit set by the kernel";
const QUEUE: &str = "queue depth";
/// Bytes per second at 1 Gb/s: ten bits carry a byte (8b/10b coding).
const BYTES_PER_GBPS: f64 = 1e8;
/// Share of a link's throughput from which it delays large requests.
const NEAR_FULL: f64 = 0.6;
/// Requests in flight from which they wait for each other on a drive without NCQ.
const SEVERAL: f64 = 1.5;
/// How much worse a link is without NCQ, for comparing it with the link when the profile was made.
const WITHOUT_NCQ: f64 = 2.0;
/// The speed of a modern SATA link.
const USUAL_GBPS: f64 = 6.0;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        let Some(port) = disk.above.iter().find(|directory| is_numbered(directory, "ata")) else {
            continue;
        };
        let links: Vec<String> =
            names(port).into_iter().filter(|name| name.starts_with("link")).collect();
        let [link] = links.as_slice() else {
            reader.not_read(
                Some(disk),
                "the drive is behind a port multiplier, so its own link is unknown",
            );
            continue;
        };
        let link = port.join(link);
        let attributes = link.join("ata_link").join(kernel::read::base_name(&link));
        let gbps = |file: &str| {
            text(&attributes.join(file))?.strip_suffix("Gbps")?.trim().parse::<f64>().ok()
        };
        let fact = Fact::of(disk)
            .number(SPEED, gbps("sata_spd"), "Gb/s")
            .number(LIMIT, gbps("hw_sata_spd_limit"), "Gb/s")
            .number(LOWERED, gbps("sata_spd_limit"), "Gb/s")
            .number(QUEUE, disk.number("device/queue_depth"), "");
        reader.add(fact);
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let speed = fact.number(SPEED)?;
    // The kernel sets a limit of its own only after errors. A port without a limit reads "<unknown>".
    let (port, lowered) = (fact.number(LIMIT), fact.number(LOWERED));
    let slowed = lowered.is_some_and(|limit| port.is_none_or(|port| limit < port));
    let usual = if slowed || view.is_flash() { USUAL_GBPS } else { speed };
    let could = port.filter(|_| slowed).unwrap_or(usual).max(speed);
    let carries = speed * BYTES_PER_GBPS;
    let full = view.load.bytes_per_s.is_some_and(|bytes| bytes >= NEAR_FULL * carries);
    let alone = fact.number(QUEUE) == Some(1.0);
    let several = view.load.depth.is_some_and(|depth| depth >= SEVERAL);
    // The same for both claims, so that a queue that became 1 since the profile is news on a slow link, too.
    let degree = could / speed * if alone { WITHOUT_NCQ } else { 1.0 };
    // Requests that wait for each other do not wait for a link that is not full.
    if speed < could && (full || !(alone && several)) {
        let after = if slowed { "; the kernel slowed it down after errors" } else { "" };
        let says = format!(
            "The SATA link runs at {speed} of a possible {could} Gb/s (at most {}){after}.",
            format_rate(carries)
        );
        // Small requests hardly need the link: without a high throughput, it explains only errors.
        let explains: &[Effect] = match (full, slowed) {
            (true, _) => &Effect::FULL_LINK,
            (false, true) => &[Effect::StandsStill],
            (false, false) => &[],
        };
        let action = "Replace the cable or use another port, then check whether the speed \
                      recovers. `libata.force` on the kernel command line can also limit it.";
        let claim = Claim::unusual(says, explains, action).with(SPEED, speed, "Gb/s");
        return Some(Claim { notable: slowed, ..claim.by(degree) });
    }
    if alone {
        let says =
            "The drive gets one command at a time because NCQ is off (queue_depth 1).".to_owned();
        let action = "Enable NCQ (echo 31 > /sys/block/DISK/device/queue_depth). If the kernel \
                      disabled it, the kernel log gives the reason. Set the controller to AHCI.";
        let claim = Claim::unusual(says, &Effect::ONE_AT_A_TIME, action).only_if(several);
        return Some(claim.with(QUEUE, 1.0, "").by(degree));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{
        cause_only_with_effect, disk, facts, judged_by, nothing, seen,
    };
    use crate::causes::{Effects, Load, Machine};
    use testkit::Fake;

    const PORT: &str = "devices/pci0000:00/0000:00:1f.2/ata1";

    fn machine(speed: &str, queue: u32, limit: &str) -> Fake {
        let fake = Fake::new();
        let disk = "host0/target0:0:0/0:0:0:0/block/sda";
        fake.block(&format!("pci0000:00/0000:00:1f.2/ata1/{disk}"), "8:0", 1 << 20);
        let device = format!("{PORT}/host0/target0:0:0/0:0:0:0");
        fake.sys_link(&format!("{PORT}/{disk}/device"), &device);
        fake.sys(&format!("{device}/queue_depth"), &format!("{queue}\n"));
        for (file, text) in
            [("sata_spd", speed), ("sata_spd_limit", limit), ("hw_sata_spd_limit", "<unknown>")]
        {
            fake.sys(&format!("{PORT}/link1/ata_link/link1/{file}"), &format!("{text}\n"));
        }
        fake
    }

    #[test]
    fn a_slow_link_explains_a_cap_near_what_it_carries_and_no_slow_small_requests() {
        let sda = disk("sda", |_| {});
        let slow = facts("sata_link", &machine("1.5 Gbps", 32, "1.5 Gbps"), &sda);
        let now = Machine { facts: &slow, disk: Some(&sda), ..Machine::default() };
        let full = Load { bytes_per_s: Some(141e6), ..Load::default() };
        let says = cause_only_with_effect("sata_link", now, Effect::CappedRate, full);
        assert!(
            says.contains("1.5 of a possible 6 Gb/s") && says.contains("after errors"),
            "{says}"
        );
        let small = Load { bytes_per_s: Some(4e6), ..Load::default() };
        let of = Effects { load: small, seen: vec![seen(Effect::SlowReads, true)], holder: None };
        assert!(judged_by("sata_link", now, None, &of).unwrap().seen.is_none());
        let fine = facts("sata_link", &machine("6.0 Gbps", 32, "<unknown>"), &sda);
        nothing("sata_link", Machine { facts: &fine, ..now }, full);
    }

    #[test]
    fn a_link_that_was_as_slow_when_the_profile_was_made_does_not_explain_what_is_slower_now() {
        let sda = disk("sda", |_| {});
        let slow = facts("sata_link", &machine("3.0 Gbps", 32, "3.0 Gbps"), &sda);
        let fast = facts("sata_link", &machine("6.0 Gbps", 32, "<unknown>"), &sda);
        let now = Machine { facts: &slow, disk: Some(&sda), ..Machine::default() };
        let load = Load { bytes_per_s: Some(280e6), ..Load::default() };
        let of = Effects { load, seen: vec![seen(Effect::SlowReads, true)], holder: None };
        assert!(judged_by("sata_link", now, Some(now), &of).unwrap().seen.is_none());
        let then = Machine { facts: &fast, ..now };
        assert!(judged_by("sata_link", now, Some(then), &of).unwrap().seen.is_some());
    }

    #[test]
    fn a_queue_of_one_explains_slow_requests_where_several_are_in_flight() {
        let sda = disk("sda", |_| {});
        let one = facts("sata_link", &machine("6.0 Gbps", 1, "<unknown>"), &sda);
        let now = Machine { facts: &one, disk: Some(&sda), ..Machine::default() };
        let deep = Load { depth: Some(8.0), ..Load::default() };
        cause_only_with_effect("sata_link", now, Effect::SlowReads, deep);
        nothing("sata_link", now, Load { depth: Some(1.0), ..Load::default() });
        // Also on a slow link that is not full.
        let slow = facts("sata_link", &machine("1.5 Gbps", 1, "1.5 Gbps"), &sda);
        let says = cause_only_with_effect(
            "sata_link",
            Machine { facts: &slow, ..now },
            Effect::SlowReads,
            deep,
        );
        assert!(says.contains("NCQ is off"), "{says}");
        // The link was as slow when the profile was made, but the queue was not.
        let queued = facts("sata_link", &machine("1.5 Gbps", 32, "1.5 Gbps"), &sda);
        let of = Effects { load: deep, seen: vec![seen(Effect::SlowReads, true)], holder: None };
        for (then, news) in [(&queued, true), (&slow, false)] {
            let [now, then] = [&slow, then].map(|facts| Machine { facts, ..now });
            assert_eq!(judged_by("sata_link", now, Some(then), &of).unwrap().seen.is_some(), news);
        }
    }
}
