//! Detects costs of encrypted volumes (dm-crypt): work queues that each request passes twice, and
//! CPUs without AES instructions.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::device_calls::dm_lines;
use host::kernel::read::field;
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "dm_crypt",
    causes: &[8],
    layer: LayerKind::Volume,
    reads: "dm/uuid of the volume, flags in its table from DM_TABLE_STATUS (root; the key is \
            dropped), flags in /proc/cpuinfo",
    source: "https://docs.kernel.org/admin-guide/device-mapper/dm-crypt.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const NAME: &str = "name";
const AES: &str = "AES instructions";
const QUEUES: &str = "work queues";
/// Flags that let requests bypass the work queues.
const PAST: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let cpuinfo = host.proc("cpuinfo").unwrap_or_default();
    let flags = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features"));
    let aes = flags.map(|flags| flags.split_ascii_whitespace().any(|flag| flag == "aes"));
    for volume in &host.devices {
        // dm-verity and dm-integrity belong to the same family but do not encrypt.
        let encrypts = |uuid: &str| {
            uuid.starts_with("CRYPT-")
                && !["CRYPT-VERITY-", "CRYPT-INTEGRITY-"].iter().any(|kind| uuid.starts_with(kind))
        };
        if !volume.text("dm/uuid").is_some_and(|uuid| encrypts(&uuid)) {
            continue;
        }
        let lines = reader.known(Some(volume), dm_lines(host.roots, &volume.directory, true));
        let queues = lines.map(|lines| {
            let words = lines.iter().flat_map(|line| line.line.split_ascii_whitespace());
            match PAST.map(|flag| words.clone().any(|word| word == flag)) {
                [true, true] => "passed",
                [false, false] => "for reads and writes",
                [true, false] => "for writes",
                [false, true] => "for reads",
            }
        });
        let fact = Fact::of(volume)
            .text(NAME, volume.text("dm/name").as_deref())
            .text(AES, aes.map(|aes| if aes { "yes" } else { "no" }))
            .text(QUEUES, queues);
        reader.add(fact);
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact_of_holder()?;
    let name = fact.text(NAME).or(fact.device.as_deref()).unwrap_or_default();
    let explains = [Effect::VolumeHolds];
    if fact.text(AES) == Some("no") {
        let says = format!("{name} is encrypted, and the CPU has no AES instructions.");
        let action = "Use a cipher that is fast without them (Adiantum: xchacha12,aes-adiantum), a \
                      CPU with AES instructions, or a self-encrypting drive.";
        return Some(Claim::unusual(says, &explains, action));
    }
    let passed = fact.text(QUEUES) == Some("passed");
    let queues = match fact.text(QUEUES) {
        Some("passed") => "; its requests bypass the work queues".to_owned(),
        Some(which) => format!("; work queues {which} add latency"),
        None => String::new(),
    };
    let says = format!("{name} is encrypted (dm-crypt){queues}.");
    let action = if passed {
        "Check whether the CPUs that encrypt are saturated. If they are, add CPUs or use a \
         self-encrypting drive."
    } else {
        "On flash, bypass the work queues: cryptsetup refresh NAME --perf-no_read_workqueue \
         --perf-no_write_workqueue. Repeat every option that the volume has now (such as \
         --allow-discards: see dmsetup table), because refresh disables the options that you omit."
    };
    Some(Claim::usual(says, &explains, action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{
        cause_only_with_effect, disk, effects, facts, judged_by, nothing, read_of,
    };
    use crate::causes::{Effects, Load, Machine};
    use testkit::Fake;

    fn machine(uuid: &str, flags: &str) -> Fake {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.block("virtual/block/dm-0", "253:0", 1 << 19);
        fake.sys("devices/virtual/block/dm-0/dm/uuid", &format!("{uuid}\n"));
        fake.sys("devices/virtual/block/dm-0/dm/name", "luks-home\n");
        fake.sys_link("devices/virtual/block/dm-0/slaves/sda", "devices/pci0000:00/block/sda");
        fake.proc("cpuinfo", &format!("processor\t: 0\nflags\t\t: fpu {flags} sse2\n"));
        fake
    }

    #[test]
    fn an_encrypted_volume_that_holds_requests_is_named_with_what_slows_it() {
        let sda = disk("sda", |_| {});
        let crypt = "CRYPT-LUKS2-9f1a6c9c3a5e4a6f8d0f2b7c1d4e5f60-luks-home";
        for (flags, word) in [("", "no AES instructions"), ("aes", "is encrypted (dm-crypt)")] {
            let read = facts("dm_crypt", &machine(crypt, flags), &sda);
            let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
            let says =
                cause_only_with_effect("dm_crypt", now, Effect::VolumeHolds, Load::default());
            assert!(says.contains(word), "{says}");
        }
        let other = machine("LVM-abc", "aes");
        assert_eq!(facts("dm_crypt", &other, &sda), []);
        nothing("dm_crypt", Machine { disk: Some(&sda), ..Machine::default() }, Load::default());
    }

    #[test]
    fn an_encrypted_volume_beside_the_one_that_holds_requests_is_no_cause() {
        let sda = disk("sda", |_| {});
        let crypt = "CRYPT-LUKS2-9f1a6c9c3a5e4a6f8d0f2b7c1d4e5f60-luks-home";
        let read = facts("dm_crypt", &machine(crypt, "aes"), &sda);
        let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
        let held_by = |holder: &str| {
            let holder = Some(holder.to_owned());
            let holds = Effects { holder, ..effects(&[Effect::VolumeHolds], Load::default()) };
            judged_by("dm_crypt", now, None, &holds)
        };
        assert!(held_by("dm-0").is_some_and(|one| one.seen.is_some()));
        assert!(held_by("dm-1").is_none());
    }

    #[test]
    fn flags_that_take_root_are_said_to_be_not_read() {
        let fake = machine("CRYPT-LUKS2-9f1a6c9c3a5e4a6f8d0f2b7c1d4e5f60-luks-home", "aes");
        let found = read_of(&fake, &[disk("sda", |_| {})], crate::causes::reading::Round::Once);
        let one = found.not_read.iter().find(|one| one.check == "dm_crypt").unwrap();
        assert_eq!(one.device.as_deref(), Some("dm-0"));
    }
}
