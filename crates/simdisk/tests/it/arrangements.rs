//! Tests other measurements of the papers on these machines: parallel buses, PCI, phases of a bus, random
//! requests by queue depth. The tolerance is 15 % if a single value represents a figure.

use crate::closed::{Gave, Loop};
use record::OpKind;

const READ: OpKind = OpKind::Read;
const WRITE: OpKind = OpKind::Write;

/// Asserts that a value is within `share` of the published one.
fn near(what: &str, value: f64, published: f64, share: f64) {
    let deviation = value / published - 1.0;
    assert!(deviation.abs() <= share, "{what}: {value:.2}, published {published}");
}

fn sequential(target: &str, op: OpKind, kib: u64, depth: u32) -> Gave {
    Loop::sequential(op, kib, depth).run(target)
}

fn random(target: &str, op: OpKind, depth: u32) -> f64 {
    Loop::random(op, 8, depth).run(target).per_s()
}

#[test]
fn each_bus_adds_its_disks_until_pci_is_full() {
    // Riedel 1997, section 4 and figure 9; MiB/s.
    for (target, published) in [
        ("st15150w,disks=4,raid=0,buses=2", 24.0),
        ("st15150w,disks=6,raid=0,buses=2", 32.0),
        ("st34371w,disks=6,raid=0,buses=2", 60.0),
        ("st34371w,disks=9,raid=0,buses=3", 72.0),
        ("st34371w,disks=12,raid=0,buses=4", 72.0),
    ] {
        near(target, sequential(target, READ, 192, 8).mib_per_s(), published, 0.15);
    }
    let nine = sequential("st34371w,disks=9,raid=0,buses=3", READ, 192, 8);
    assert!(nine.busy("PCI 0") > 0.97, "PCI binds: {}", nine.busy("PCI 0"));
    let more = sequential("st34371w,disks=9,raid=0,buses=3,pci=3", READ, 192, 8);
    assert!(more.mib_per_s() > 1.05 * nine.mib_per_s(), "with one each the buses would");
}

#[test]
fn the_time_of_a_bus_divides_into_phases_as_the_analyser_saw() {
    // Riedel 1997, Table 4, 64 KB: utilization, Data In, Message In, Message Out, Command. Two and three
    // disks are unaligned stripes: one request is two commands.
    let cases = [
        ("st34371w", 1, 0.301, [0.893, 0.074, 0.014, 0.005]),
        ("st34371w,disks=2,raid=0,align=12k", 3, 0.678, [0.822, 0.114, 0.028, 0.010]),
        ("st34371w,disks=3,raid=0,align=12k", 3, 0.993, [0.804, 0.091, 0.036, 0.011]),
    ];
    for (target, depth, busy, phases) in cases {
        let gave = sequential(target, READ, 64, depth);
        near(target, gave.busy("bus 0"), busy, 0.15);
        let names = ["Data In", "Message In", "Message Out", "Command"];
        for (name, published) in names.into_iter().zip(phases) {
            near(name, gave.phase("bus 0", name), published, 0.30);
        }
    }
}

#[test]
fn two_random_reads_outstanding_are_no_faster_than_one_and_more_are() {
    // Chung 2000, figures 11 and 20, Table 9, section 8.1.
    let atlas = |depth| random("atlas10k", READ, depth);
    near("Atlas, 1 deep", atlas(1), 105.0, 0.15);
    near("Atlas, 2 deep", atlas(2), atlas(1), 0.04);
    near("Atlas, 32 deep", atlas(32), 1.1 * 10_000.0 / 60.0, 0.15);
    let fireball = |depth| random("fireball", READ, depth);
    near("Fireball, 1 deep", fireball(1), 66.0, 0.15);
    near("Fireball, 2 deep", fireball(2), fireball(1), 0.04);
    near("Fireball, 32 deep", fireball(32), 100.0, 0.15);
    near("Atlas, writes", random("atlas10k", WRITE, 1), 105.0, 0.15);
    near("Fireball, writes", random("fireball", WRITE, 1), 90.0, 0.15);
}

#[test]
fn a_mirror_serves_two_random_reads_better_than_a_stripe() {
    // Chung 2000, figure 34: 66, 99 and 119 per second.
    let stripe = random("fireball,disks=2,raid=0", READ, 2);
    let mirror = random("fireball,disks=2,raid=1", READ, 2);
    near("stripe", stripe, 99.0, 0.15);
    near("mirror", mirror, 119.0, 0.15);
    assert!(mirror > 1.2 * stripe);
}

#[test]
fn disks_add_up_until_adapter_or_pci_is_full() {
    // Chung 2000, figures 15, 17, 18, 28 and 32; MB/s of 10^6.
    let mb = |target: &str, op, kib, depth| sequential(target, op, kib, depth).mb_per_s();
    near("Atlas, 2 KB, 1 deep", mb("atlas10k", READ, 2, 1), 17.7, 0.15);
    near("Atlas, 2 KB, 2 deep", mb("atlas10k", READ, 2, 2), 23.0, 0.15);
    near("Atlas, writes", mb("atlas10k", WRITE, 64, 1), 22.5, 0.15);
    near("Atlas, no cache", mb("atlas10k,wce=off", WRITE, 64, 1), 10.0, 0.15);
    near("no cache, deep", mb("atlas10k,wce=off", WRITE, 256, 4), 10.0, 0.15);
    for (disks, read, write) in [(3, 73.0, 49.7), (4, 87.0, 52.5)] {
        let target = format!("atlas10k,disks={disks},raid=0");
        near(&target, mb(&target, READ, 64, 8), read, 0.15);
        near(&target, mb(&target, WRITE, 64, 8), write, 0.15);
    }
    for (disks, read, write) in [(2, 39.0, 36.0), (3, 55.0, 40.0), (4, 58.9, 41.0)] {
        let target = format!("fireball,disks={disks},raid=0");
        near(&target, mb(&target, READ, 64, 8), read, 0.15);
        near(&target, mb(&target, WRITE, 64, 8), write, 0.15);
    }
}

#[test]
fn the_disk_of_friedmans_table_1_gives_his_table_4() {
    // Service times in ms: sequential with one request, random over the disk with four.
    let ms = |gave: Gave| 1e3 / gave.per_s();
    for (kib, read, write) in [(4, 0.20, 0.27), (16, 0.51, 0.63), (64, 1.38, 1.39)] {
        near("read", ms(sequential("friedman10k", READ, kib, 1)), read, 0.15);
        near("write", ms(sequential("friedman10k", WRITE, kib, 1)), write, 0.15);
    }
    let random = |op, kib| ms(Loop::random(op, kib, 4).run("friedman10k"));
    near("random read of 4 KB", random(READ, 4), 7.14, 0.15);
    for (kib, write) in [(4, 5.00), (16, 5.62), (64, 5.56)] {
        near("random write", random(WRITE, kib), write, 0.15);
    }
}
