//! Detects shingled drives: their tracks overlap, and the drive rewrites whole bands.
//!
//! Host-managed drives report it (`queue/zoned`). Drive-managed ones are recognised by TRIM on a
//! rotating drive, which no other rotating drive needs.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "shingled",
    causes: &[21],
    layer: LayerKind::Device,
    reads: "queue/zoned; queue/discard_max_bytes of a rotating drive",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-queue-zoned",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const ZONED: &str = "zones";
const DISCARDS: &str = "largest discard";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks().filter(|disk| !disk.facts.virtual_disk) {
        let zoned = disk.text("queue/zoned").filter(|zoned| zoned != "none");
        let rotates = disk.facts.rotational == Some(true) && disk.facts.rotational_trusted;
        let discards = disk.number("queue/discard_max_bytes");
        let discards = discards.filter(|bytes| rotates && *bytes > 0.0);
        reader.add(Fact::of(disk).text(ZONED, zoned.as_deref()).number(DISCARDS, discards, "B"));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let explains = [Effect::SteppedDown, Effect::SlowWrites, Effect::StandsStill];
    let action = "Write sequentially and give the drive idle time, or use a drive with \
                  conventional recording (CMR) for random writes, arrays and ZFS.";
    let says = match fact.text(ZONED) {
        Some(zoned) => format!("The drive is shingled ({zoned})."),
        None => {
            fact.number(DISCARDS)?;
            "The drive rotates and supports TRIM, which suggests a shingled drive that does not \
             report itself as one."
                .to_owned()
        }
    };
    Some(Claim { notable: true, ..Claim::usual(says, &explains, action) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine(zoned: &str, discard: u64) -> Fake {
        let fake = Fake::new();
        let path = "pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        fake.block(path, "8:0", 1 << 20);
        fake.sys(&format!("devices/{path}/queue/rotational"), "1\n");
        fake.sys(&format!("devices/{path}/queue/zoned"), &format!("{zoned}\n"));
        fake.sys(&format!("devices/{path}/queue/discard_max_bytes"), &format!("{discard}\n"));
        fake
    }

    #[test]
    fn shingles_that_are_told_or_betrayed_by_trim_explain_slow_writes() {
        let sda = disk("sda", |facts| facts.rotational = Some(true));
        for (zoned, discard) in [("host-managed", 0), ("none", 2_147_450_880)] {
            let read = facts("shingled", &machine(zoned, discard), &sda);
            let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
            cause_only_with_effect("shingled", now, Effect::SlowWrites, Load::default());
        }
        let fine = facts("shingled", &machine("none", 0), &sda);
        nothing(
            "shingled",
            Machine { facts: &fine, disk: Some(&sda), ..Machine::default() },
            Load::default(),
        );
    }
}
