//! Detects LVM thin volumes, snapshots and caches, which copy or allocate before they write.
//!
//! LVM appends the kind of a device to its device-mapper UUID, so the kind can be read without
//! root. The fill level of a pool needs an ioctl.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When};
use host::kernel::device_calls::dm_lines;
use host::kernel::read::names;
use record::{LayerKind, format_share};

pub(super) const ROW: Check = Check {
    name: "thin_pool",
    causes: &[26],
    layer: LayerKind::Volume,
    reads: "dm/uuid of the volume and of the devices below it; DM_TABLE_STATUS of the pool or snapshot (root)",
    source: "https://docs.kernel.org/admin-guide/device-mapper/thin-provisioning.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const KIND: &str = "kind";
const FULL: &str = "used";
const METADATA: &str = "metadata used";
/// UUID suffixes of LVM's inner devices, and the kind of volume above each. The first match among
/// the devices below a volume counts: a cached volume has an origin (`-real`), too.
const INNER: [(&str, &str); 5] = [
    ("-tpool", "a thin volume"),
    ("-cdata", "a cached volume"),
    ("-cvol", "a cached volume"),
    ("-cow", "a snapshot"),
    ("-real", "a volume with a snapshot"),
];
/// Share in use from which a pool is nearly full.
const NEARLY_FULL: f64 = 0.9;

fn uuid(device: &HostDevice) -> Option<String> {
    device.text("dm/uuid").filter(|uuid| uuid.starts_with("LVM-"))
}

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for volume in host.devices.iter().filter(|device| uuid(device).is_some()) {
        let below: Vec<&HostDevice> = names(&volume.directory.join("slaves"))
            .iter()
            .filter_map(|name| host.device(name))
            .collect();
        let inner = |device: &HostDevice| {
            let uuid = uuid(device)?;
            INNER.iter().find(|(end, _)| uuid.ends_with(end)).map(|(end, kind)| (*end, *kind))
        };
        // Skip LVM's inner devices, whose facts belong to the volume above, and pools, which only
        // serve volumes.
        if inner(volume).is_some() || uuid(volume).is_some_and(|uuid| uuid.ends_with("-pool")) {
            continue;
        }
        let found = INNER.iter().find_map(|&(end, kind)| {
            let ends = |device: &&&HostDevice| uuid(device).is_some_and(|uuid| uuid.ends_with(end));
            Some((*below.iter().find(ends)?, end, kind))
        });
        let Some((pool, end, kind)) = found else { continue };
        let state = (end == "-tpool" || end == "-cow")
            .then(|| dm_lines(host.roots, &pool.directory, false));
        let lines = state.and_then(|state| reader.known(Some(pool), state)).unwrap_or_default();
        // `TRANSACTION META_USED/META_ALL DATA_USED/DATA_ALL ...`
        let line = lines.iter().find(|line| line.kind == "thin-pool");
        let share = |at: usize| share(line?.line.split_ascii_whitespace().nth(at)?);
        let fact = Fact::of(volume)
            .text(KIND, kind)
            .text("name", volume.text("dm/name").as_deref())
            .number(FULL, share(2), "")
            .number(METADATA, share(1), "");
        reader.add(fact);
    }
}

/// `12/4096` as a share.
fn share(of: &str) -> Option<f64> {
    let (used, all) = of.split_once('/')?;
    let (used, all): (f64, f64) = (used.parse().ok()?, all.parse().ok()?);
    (all > 0.0).then_some(used / all)
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact_of_holder()?;
    let kind = fact.text(KIND)?;
    let name = fact.text("name").or(fact.device.as_deref()).unwrap_or_default();
    let full = fact.number(FULL).filter(|share| *share >= NEARLY_FULL);
    let room = full.map(|share| format!(", whose pool is {} full", format_share(share)));
    let says = format!("{name} is {kind}{}.", room.unwrap_or_default());
    let explains = [Effect::VolumeHolds];
    let action = "The first write to a thin or snapshotted block must allocate or copy it. Remove \
                  unused snapshots, give the pool more space and larger chunks, or use a plain \
                  volume for this load.";
    let claim = Claim::usual(says, &explains, action);
    Some(if full.is_some() { Claim { weight: 2.0, notable: true, ..claim } } else { claim })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    /// An LVM volume on an inner LVM device on a disk.
    fn machine(inner: &str) -> Fake {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        let id = "LVM-l1EZV4gWJ3NwEaDiUqPKCYqyXsfmZnTDpHqp4QXhOGmKhI8TrMGvU5vYXfpHkvDP";
        for (name, numbers, below, uuid, mapped) in [
            (
                "dm-1",
                "253:1",
                "devices/pci0000:00/block/sda",
                format!("{id}{inner}"),
                "vg-pool-tpool",
            ),
            ("dm-2", "253:2", "devices/virtual/block/dm-1", id.to_owned(), "vg-data"),
        ] {
            fake.block(&format!("virtual/block/{name}"), numbers, 1 << 19);
            fake.sys(&format!("devices/virtual/block/{name}/dm/uuid"), &format!("{uuid}\n"));
            fake.sys(&format!("devices/virtual/block/{name}/dm/name"), &format!("{mapped}\n"));
            let below_name = below.rsplit('/').next().unwrap();
            fake.sys_link(&format!("devices/virtual/block/{name}/slaves/{below_name}"), below);
        }
        fake
    }

    #[test]
    fn a_thin_volume_that_holds_requests_is_named_and_a_plain_one_is_not() {
        let sda = disk("sda", |_| {});
        for (inner, kind) in [("-tpool", "a thin volume"), ("-real", "a volume with a snapshot")] {
            let read = facts("thin_pool", &machine(inner), &sda);
            let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
            let says =
                cause_only_with_effect("thin_pool", now, Effect::VolumeHolds, Load::default());
            assert_eq!(says, format!("vg-data is {kind}."));
        }
        assert_eq!(facts("thin_pool", &machine(""), &sda), []);
        let plain = Machine { disk: Some(&sda), ..Machine::default() };
        nothing("thin_pool", plain, Load::default());
    }

    #[test]
    fn the_room_of_a_pool_is_the_third_word_of_its_state() {
        assert_eq!(share("155/4096"), Some(155.0 / 4096.0));
        assert_eq!((share("-"), share("1/0")), (None, None));
    }
}
