//! Detects ZFS problems: throttled writers, transaction groups that take long to sync, a degraded pool.
//!
//! The kernel module keeps statistics of each pool, but they do not name the pool's disks. A fact of a pool
//! is therefore a fact of the machine. Only the program `zpool` reports how full and fragmented a pool is.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::{names, text};
use record::{LayerKind, format_count, format_nanos};

pub(super) const ROW: Check = Check {
    name: "zfs",
    causes: &[5],
    layer: LayerKind::FileSystem,
    reads: "/proc/spl/kstat/zfs/dmu_tx, /proc/spl/kstat/zfs/arcstats, state and txgs of each pool",
    source: "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/ZFS%20Transaction%20Delay.html",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const POOL: &str = "pool";
const STATE: &str = "state";
const SYNC: &str = "longest sync of a transaction group";
const DELAYED: &str = "delayed writers";
const STOPPED: &str = "stopped writers";
const HITS: &str = "cache hits";
const MISSES: &str = "cache misses";
/// `zfs_txg_timeout`: a group whose sync takes longer than this delays the next one.
const GROUP_NS: f64 = 5e9;
/// Throttled writers per second from which they matter.
const OFTEN_PER_S: f64 = 1.0;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let folder = host.roots.proc.join("spl/kstat/zfs");
    let Some(throttle) = text(&folder.join("dmu_tx")) else { return };
    let arc = text(&folder.join("arcstats")).unwrap_or_default();
    let delayed = named(&throttle, "dmu_tx_dirty_delay");
    let over =
        [named(&throttle, "dmu_tx_dirty_over_max"), named(&throttle, "dmu_tx_dirty_throttle")];
    let stopped = over.into_iter().flatten().reduce(|sum, more| sum + more);
    for pool in names(&folder).into_iter().filter(|name| folder.join(name).is_dir()) {
        let read = |file: &str| text(&folder.join(&pool).join(file));
        let groups = read("txgs").unwrap_or_default();
        let fact = Fact::of_machine()
            .text(POOL, pool.as_str())
            .text(STATE, read("state").as_deref())
            .number(SYNC, longest_sync(&groups), "ns")
            .number(DELAYED, delayed, "")
            .number(STOPPED, stopped, "")
            .number(HITS, named(&arc, "hits"), "")
            .number(MISSES, named(&arc, "misses"), "");
        reader.add(fact);
    }
}

/// The value in a row `name type value` of a kstat table.
fn named(table: &str, name: &str) -> Option<f64> {
    let row = table.lines().find(|line| line.split_ascii_whitespace().next() == Some(name))?;
    row.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// The longest sync among the latest transaction groups, in nanoseconds: column `stime` of
/// committed groups (state C).
fn longest_sync(groups: &str) -> Option<f64> {
    let titles = groups.lines().find(|line| line.trim_start().starts_with("txg"))?;
    let column = |title: &str| titles.split_ascii_whitespace().position(|word| word == title);
    let (state, sync) = (column("state")?, column("stime")?);
    let rows = groups.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let done = rows.filter(|row| row.get(state) == Some(&"C"));
    done.filter_map(|row| row.get(sync)?.parse::<f64>().ok()).reduce(f64::max)
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let pool_of = |fact: &&record::SystemFact| fact.text(POOL).unwrap_or("unknown").to_owned();
    let lacks = |state: &&str| *state != "ONLINE";
    let degraded = view.facts.iter().find_map(|fact| Some((fact, fact.text(STATE).filter(lacks)?)));
    if let Some((fact, state)) = degraded {
        let says =
            format!("The ZFS pool {} is {state}: some of its disks are missing.", pool_of(fact));
        // The pool's disks are unknown, so the slow disk may be another one.
        let explains = [Effect::WaitsAbove];
        return Some(Claim::unusual(says, &explains, "Replace the failed disk (`zpool status`)."));
    }
    let sync_ns = |fact: &&record::SystemFact| fact.number(SYNC).unwrap_or(0.0);
    let worst = view.facts.iter().max_by(|a, b| sync_ns(a).total_cmp(&sync_ns(b)))?;
    // These counters cover all pools together, so each fact has the same ones.
    let rise = |name: &str| {
        let each = view.facts.iter().filter_map(|fact| fact.rise(name));
        view.per_s(each.fold(0.0, f64::max))
    };
    let (delayed, stopped) = (rise(DELAYED), rise(STOPPED));
    let sync_ns = sync_ns(worst);
    if delayed.max(stopped) < OFTEN_PER_S && sync_ns < GROUP_NS {
        return None;
    }
    let throttled = if delayed.max(stopped) >= OFTEN_PER_S {
        format!(
            "ZFS throttles writers because too much data is dirty: {} transactions delayed and {} \
             stopped per second",
            format_count(delayed),
            format_count(stopped)
        )
    } else {
        "ZFS transaction groups take a long time".to_owned()
    };
    let says = format!(
        "{throttled}; the longest sync of a transaction group in pool {} took {}.",
        pool_of(worst),
        format_nanos(sync_ns)
    );
    let action = "Find the slow disk in the pool (`zpool iostat -vl 1`). For synchronous writes, \
                  add a log device with power-loss protection. If the pool is over 80 % full or \
                  fragmented (`zpool list`), free space. zfs_dirty_data_max limits the dirty \
                  data.";
    let explains = [Effect::WaitsAbove, Effect::SlowWrites, Effect::SlowFlushes];
    let claim = Claim::unusual(says, &explains, action).with(SYNC, sync_ns, "ns");
    Some(claim.by(delayed + stopped + sync_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{between, cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    /// Output of OpenZFS 2.2.
    fn set(fake: &Fake, delayed: u32, sync_ns: u64, state: &str) {
        fake.proc(
            "spl/kstat/zfs/dmu_tx",
            &format!(
                "5 1 0x01 12 3264 8215322 98123451\nname                            type data\n\
                 dmu_tx_assigned                 4    39321636\ndmu_tx_dirty_throttle           4    0\n\
                 dmu_tx_dirty_delay              4    {delayed}\ndmu_tx_dirty_over_max           4    7\n"
            ),
        );
        fake.proc(
            "spl/kstat/zfs/arcstats",
            "13 1 0x01 96 26112 1 2\nname type data\nhits                            4    8772612\n\
             misses                          4    604635\n",
        );
        fake.proc("spl/kstat/zfs/tank/state", &format!("{state}\n"));
        fake.proc(
            "spl/kstat/zfs/tank/txgs",
            &format!(
                "22 0 0x01 100 11200 9132541 98123451\ntxg      birth            state ndirty       nread        \
                 nwritten     reads    writes   otime        qtime        wtime        stime\n\
                 1001     100              C     1048576      0            2097152      0        40       \
                 5000000000   1000         2000         {sync_ns}\n\
                 1002     5000             O     0            0            0            0        0        0            \
                 0            0            0\n"
            ),
        );
    }

    #[test]
    fn throttled_writers_long_groups_and_a_degraded_pool_explain_waits_and_a_quiet_pool_does_not() {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        let sda = disk("sda", |_| {});
        let load = Load { seconds: 10.0, ..Load::default() };
        let staged = |delayed: u32, sync_ns: u64, state: &str| {
            set(&fake, 100, 1_000_000, "ONLINE");
            between("zfs", &fake, &sda, || set(&fake, delayed, sync_ns, state))
        };
        for (delayed, sync_ns, state, word) in [
            (
                900,
                3_000_000_000,
                "ONLINE",
                "throttles writers because too much data is dirty: 80 transactions delayed",
            ),
            (100, 9_000_000_000, "ONLINE", "took 9.00 s"),
            (100, 1_000_000, "DEGRADED", "is DEGRADED"),
        ] {
            let facts = staged(delayed, sync_ns, state);
            let now = Machine { facts: &facts, disk: Some(&sda), ..Machine::default() };
            let says = cause_only_with_effect("zfs", now, Effect::WaitsAbove, load);
            assert!(says.contains(word), "{says}");
        }
        let fine = staged(101, 400_000_000, "ONLINE");
        nothing("zfs", Machine { facts: &fine, disk: Some(&sda), ..Machine::default() }, load);
    }
}
