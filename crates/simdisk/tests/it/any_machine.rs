//! Tests that on any machine every request ends exactly once, and that the same seed gives the same run.
//!
//! Machines are random: drives, RAID levels, a failed disk, chunks, file systems, cache modes, states of
//! the file, a network, mixed sizes and directions. No rates are checked; the tests look for lost and
//! doubled requests, time that goes back, and machines that stop.

use record::{CacheMode, Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Conditions, Device, Ended, SimSpec};
use workload::Rng;

fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn target(rng: &mut Rng) -> String {
    let drive = one(rng, &["st15150w", "st34371w", "atlas10k", "fireball"]);
    let (raid, disks) = one(
        rng,
        &[("none", 1), ("none", 3), ("0", 2), ("0", 5), ("1", 2), ("1", 3), ("5", 3), ("5", 6)],
    );
    let chunk = one(rng, &["4k", "16k", "64k", "7k"]);
    let align = one(rng, &["0", "12k", "512"]);
    let failed = if matches!(raid, "1" | "5") && rng.below(2) == 0 { "1" } else { "none" };
    let at = one(rng, &["host", "adapter", "array"]);
    let fs = one(rng, &["none", "nt4sp3", "nt4sp6", "w2k"]);
    let file = one(rng, &["written", "written", "extend", "last-first"]);
    let net = one(rng, &["none", "none", "gigabit"]);
    let wce = one(rng, &["on", "off"]);
    let mirror = one(rng, &["twinstor", "plain"]);
    format!(
        "{drive},disks={disks},raid={raid},chunk={chunk},align={align},failed={failed},\
         raidat={at},fs={fs},file={file},net={net},wce={wce},mirror={mirror}"
    )
}

struct Asked {
    conditions: Conditions,
    depth: u32,
    requests: u32,
    sequential: bool,
    write_percent: u64,
    seed: u64,
}

/// Runs a loop; returns every end in order. Panics if a request is lost or doubled.
fn run(device: &mut AnyDevice, asked: &Asked, target: &str) -> Vec<(u64, u32)> {
    let mut rng = Rng::new(asked.seed);
    device.begin(&asked.conditions);
    let area = asked.conditions.working_bytes;
    let mut next = 0;
    let mut open: Vec<Option<u32>> = vec![None; asked.depth as usize];
    let (mut now, mut issued, mut ends) = (Nanos(0), 0, Vec::new());
    let mut ended: Vec<Ended> = Vec::new();
    let mut issue = |device: &mut AnyDevice, now, token: u32, open: &mut Vec<Option<u32>>| {
        let bytes = one(&mut rng, &[512_u64, 2_048, 4_096, 8_192, 65_536, 200_704]);
        if next + bytes > area {
            next = 0;
        }
        let place = if asked.sequential { next } else { rng.below((area - bytes) / 512) * 512 };
        next = place + bytes;
        let write = rng.below(100) < asked.write_percent;
        let op = if write { OpKind::Write } else { OpKind::Read };
        let offset = asked.conditions.offset_bytes + place;
        open[token as usize] = Some(bytes as u32);
        device.arrive(now, &Arrival { token, op, offset, bytes: bytes as u32 });
    };
    for token in 0..asked.depth {
        issue(device, now, token, &mut open);
        issued += 1;
    }
    while open.iter().any(Option::is_some) {
        let event = device.next_event().unwrap_or_else(|| panic!("{target} stands still"));
        assert!(event >= now, "{target}: time goes back");
        now = event;
        device.advance(now, &mut ended);
        for end in ended.drain(..) {
            let bytes = open[end.token as usize].take();
            assert_eq!(bytes, Some(end.outcome as u32), "{target}: ended twice or short");
            ends.push((end.at.0, end.token));
            if issued < asked.requests {
                issue(device, now, end.token, &mut open);
                issued += 1;
            }
        }
    }
    assert_eq!(ends.len() as u32, asked.requests, "{target}");
    ends
}

/// Runs a short loop of a random load; panics if a request is lost, or if requests stop ending.
pub fn run_some(device: &mut AnyDevice, rng: &mut Rng, name: &str) {
    let size = device.size();
    let cache = one(rng, &[CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None]);
    let working_bytes = one(rng, &[1_u64 << 20, 8 << 20, 64 << 20]).min(size);
    let offset_bytes = rng.below((size - working_bytes) / 512 + 1) * 512;
    let asked = Asked {
        conditions: Conditions { cache, offset_bytes, working_bytes },
        depth: one(rng, &[1, 2, 8, 33]),
        requests: 120,
        sequential: rng.below(2) == 0,
        write_percent: one(rng, &[0, 50, 100]),
        seed: rng.below(1 << 20),
    };
    run(device, &asked, name);
}

#[test]
fn every_request_ends_once_in_any_machine() {
    let mut rng = Rng::new(20);
    for round in 0..testkit::draws(60, 400) {
        let target = target(&mut rng);
        let spec = SimSpec::parse(&target).unwrap();
        let mut device = spec.build(1);
        // A small area, so that zeroing a randomly extended file is quick.
        let area = one(&mut rng, &[1_u64 << 20, 8 << 20, 64 << 20]);
        let cache =
            one(&mut rng, &[CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None]);
        // Two trials on one device: the second begins in the state that the first left.
        for trial in 0..2 {
            let asked = Asked {
                conditions: Conditions { cache, offset_bytes: 3 << 20, working_bytes: area },
                depth: one(&mut rng, &[1, 2, 8, 33]),
                requests: 120,
                sequential: rng.below(2) == 0,
                write_percent: one(&mut rng, &[0, 50, 100]),
                seed: round * 2 + trial,
            };
            run(&mut device, &asked, &target);
        }
    }
}

#[test]
fn the_same_machine_and_seed_give_the_same_ends_to_the_nanosecond() {
    let mut rng = Rng::new(4);
    for _ in 0..20 {
        let target = target(&mut rng);
        let conditions =
            Conditions { cache: CacheMode::All, offset_bytes: 0, working_bytes: 32 << 20 };
        let asked = Asked {
            conditions,
            depth: 8,
            requests: 200,
            sequential: false,
            write_percent: 50,
            seed: 9,
        };
        let once = || run(&mut SimSpec::parse(&target).unwrap().build(1), &asked, &target);
        assert_eq!(once(), once(), "{target}");
    }
}
