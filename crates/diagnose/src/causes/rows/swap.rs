//! Detects swapping to the same disk: too little memory causes requests that no program made.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel;
use host::kernel::read::{base_name, count};
use record::{LayerKind, format_count};
use std::path::Path;

pub(super) const ROW: Check = Check {
    name: "swap",
    causes: &[24],
    layer: LayerKind::PageCache,
    reads: "pswpin and pswpout of /proc/vmstat, /proc/swaps",
    source: "https://docs.kernel.org/filesystems/proc.html",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const IN: &str = "pages swapped in";
const OUT: &str = "pages swapped out";
/// Pages swapped per second from which swapping counts, as a share of the disk's requests.
const SHARE: f64 = 0.05;
/// The share from which the disk mostly swaps.
const MOST: f64 = 0.5;
/// Fill level of a zram swap area from which pages go to the next area.
const ZRAM_FULL: f64 = 0.9;
/// Fewest pages per second that count: occasional pages do not matter.
const PAGES_PER_S: f64 = 10.0;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let Some(vmstat) = host.proc("vmstat") else {
        return reader.not_read(None, "/proc/vmstat cannot be read");
    };
    let pages = |name: &str| count(&vmstat, name).map(|pages| pages as f64);
    let swaps = host.proc("swaps").unwrap_or_default();
    // `/dev/sda2  partition  8388604  1024  -2`, below a header line.
    let areas: Vec<[&str; 4]> = swaps
        .lines()
        .skip(1)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            words.get(..4)?.try_into().ok()
        })
        .collect();
    // The kernel also counts pages to zram, and uses zram before a disk until zram is full.
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    if areas.iter().any(|[path, _, size, used]| {
        path.contains("/zram") && number(used) < ZRAM_FULL * number(size)
    }) {
        return;
    }
    for [path, kind, _, used] in areas {
        if number(used) == 0.0 {
            continue;
        }
        let node = host.roots.locate(Path::new(path));
        let node = std::fs::canonicalize(&node).unwrap_or(node);
        let known = match kind {
            "file" => node
                .parent()
                .and_then(|folder| kernel::disk_of(host.roots, folder))
                .map(|on| on.name),
            _ => Some(base_name(&node)),
        };
        let fact = match known.map(|name| host.device(&name)) {
            Some(Some(device)) => Fact::of(device),
            // On a disk that is not observed.
            Some(None) => continue,
            None => Fact::of_machine(),
        };
        reader.add(fact.number(IN, pages("pswpin"), "").number(OUT, pages("pswpout"), ""));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let per_s = view.per_s(fact.rise(IN)? + fact.rise(OUT)?);
    let requests = view.load.reads_per_s + view.load.writes_per_s;
    if per_s < PAGES_PER_S || per_s < SHARE * requests {
        return None;
    }
    let place = match &fact.device {
        Some(device) => format!("to and from {device}, on this disk"),
        None => "to and from a file, perhaps on this disk".to_owned(),
    };
    let says = format!("The machine swaps {} pages per second {place}.", format_count(per_s));
    let action = "Add memory, give the programs less, or raise the memory limit of the group that \
                  swaps. Otherwise move swap to another disk or to zram; vm.swappiness sets how early the kernel swaps.";
    let explains = [
        Effect::WaitsAbove,
        Effect::SlowReads,
        Effect::SlowWrites,
        Effect::CappedRate,
        Effect::StandsStill,
        Effect::Overloaded,
    ];
    let claim = match fact.device {
        // If the disk does little else, no note calls that harmless, even if the device keeps up.
        Some(_) => {
            let notable = per_s < MOST * requests;
            Claim { notable, ..Claim::unusual(says, &explains, action) }
        }
        None => Claim::usual(says, &explains, action),
    };
    Some(claim.with("swapped", per_s, "pages/s").by(per_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{between, cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    #[test]
    fn swapping_on_the_disk_is_a_cause_and_swap_that_rests_is_none() {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.block("pci0000:00/block/sda/sda2", "8:2", 1 << 19);
        fake.sys("devices/pci0000:00/block/sda/sda2/partition", "2\n");
        fake.proc(
            "swaps",
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda2                               \
             partition\t8388604\t\t1024\t\t-2\n",
        );
        let set = |pages: u32| {
            fake.proc("vmstat", &format!("nr_dirty 5\npswpin {pages}\npswpout {}\n", 2 * pages));
        };
        let sda = disk("sda", |_| {});
        let load = Load { seconds: 10.0, reads_per_s: 500.0, ..Load::default() };
        set(1_000);
        let swapping = between("swap", &fake, &sda, || set(11_000));
        let now = Machine { facts: &swapping, disk: Some(&sda), ..Machine::default() };
        cause_only_with_effect("swap", now, Effect::Overloaded, load);
        let says = cause_only_with_effect("swap", now, Effect::WaitsAbove, load);
        assert!(says.contains("3.00k pages per second to and from sda2"), "{says}");
        let at_rest = between("swap", &fake, &sda, || {});
        nothing("swap", Machine { facts: &at_rest, ..now }, load);
    }
}
