//! Draws cases from seeds.
//!
//! Loads are shares of a device's unqueued rate: at most half of it if the device must be healthy. If it
//! must be overloaded, they are at least 0.93 of its maximum rate, or several times its parallelism in
//! queue depth. A slower device takes at least 1.5 times as long. Cases in between are drawn by
//! [`crate::scenarios::unclear`].

use crate::scenarios::building::{
    FINE, MORE, at_ease, bad_at_ease, closed, expect, fine, one, open, reads, room, well,
};
use crate::scenarios::case::{Case, Expect, Kind, Load};
use crate::scenarios::devices::{
    ALL, DRIVES, Device, FLASH, MAY_SLOW, PARALLEL, PARITY, QUEUES, SIZED, STRIPED,
};
use crate::scenarios::dice::Dice;
use crate::scenarios::scenario::GroupLimit;
use crate::scenarios::unclear;
use record::Strategy::{
    self, Alignment, CachedDisks, DeeperQueue, DirectIo, DiskArray, FasterDisks, LoadBalancing,
    MoreDisks, MoveNeighbour, RaiseCap, Restore, Scheduler, ShallowerQueue,
};
use record::Verdict::{
    self, Capped, Healthy, NotEnoughEvidence, NotTheDisk, Overloaded, Slow, SlowAndOverloaded,
};
use record::{Bytes, LimitedIo, Nanos, NoteCode, OpKind, Pattern};

/// The same if a program keeps a drive's queue full: a drive gains slightly the more requests it may choose
/// from.
const MORE_OR_LESS: [Strategy; 5] =
    [MoreDisks, DiskArray, FasterDisks, CachedDisks, ShallowerQueue];
/// Advice for a reader that waits behind a writer.
const ASIDE: [Strategy; 4] = [ShallowerQueue, MoveNeighbour, Scheduler, DirectIo];

/// Draws a case of a kind, or its opposite.
type Draw = fn(&mut Dice, bool) -> Case;

/// The kinds by their names on the command line.
const KINDS: [(Kind, &str, Draw); 30] = [
    (Kind::Healthy, "healthy", healthy),
    (Kind::Slower, "slower", slower),
    (Kind::OneWriter, "one-writer", one_writer),
    (Kind::DepthAlone, "depth-alone", depth_alone),
    (Kind::GroupLimit, "group-limit", group_limit),
    (Kind::TokenBucket, "token-bucket", token_bucket),
    (Kind::Neighbour, "neighbour", neighbour),
    (Kind::WriteBack, "write-back", write_back),
    (Kind::LargerRequests, "larger-requests", larger_requests),
    (Kind::TurnsRandom, "turns-random", turns_random),
    (Kind::Misaligned, "misaligned", misaligned),
    (Kind::Failing, "failing", failing),
    (Kind::StandsStill, "stands-still", stands_still),
    (Kind::LightOnBad, "light-on-bad", light_on_bad),
    (Kind::ApplicationBound, "application-bound", application_bound),
    (Kind::HotDisk, "hot-disk", hot_disk),
    (Kind::SlowDisk, "slow-disk", slow_disk),
    (Kind::NoProfile, "no-profile", no_profile),
    (Kind::TooLittle, "too-little", too_little),
    (Kind::SlowAndDeep, "slow-and-deep", slow_and_deep),
    (Kind::Together, "together", together),
    (Kind::Slightly, "slightly", unclear::slightly),
    (Kind::HardlyLoaded, "hardly-loaded", unclear::hardly_loaded),
    (Kind::HardlyWaits, "hardly-waits", unclear::hardly_waits),
    (Kind::OtherSettings, "other-settings", unclear::other_settings),
    (Kind::HeldByScheduler, "held-by-scheduler", unclear::held_by_scheduler),
    (Kind::Hosted, "hosted", unclear::hosted),
    (Kind::UnseenLimit, "unseen-limit", unclear::unseen_limit),
    (Kind::JustAllowed, "just-allowed", unclear::just_allowed),
    (Kind::Paced, "paced", paced),
];

impl Kind {
    /// All of them, in order.
    #[must_use]
    pub fn all() -> [Self; KINDS.len()] {
        KINDS.map(|(kind, ..)| kind)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|kind| kind.name() == name)
    }
}

/// The case of a seed, of any kind.
#[must_use]
pub fn draw(seed: u64) -> Case {
    draw_of(KINDS[seed as usize % KINDS.len()].0, seed)
}

/// The case of a seed, of a given kind.
#[must_use]
pub fn draw_of(kind: Kind, seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let opposite = dice.flip();
    let case = KINDS[kind as usize].2(&mut dice, opposite);
    Case { seed, kind, opposite, ..case }
}

fn healthy(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&ALL);
    let share = dice.between(0.04, 0.5);
    let mut case = at_ease(dice, device, share);
    if opposite {
        // Load for a part of the time, then idle.
        let end = case.seconds / 3 * 2;
        (case.disks[0].loads[0].to_s, case.expects[0].to_s) = (end, end);
    }
    case
}

/// A program whose load is a share of the device's maximum.
fn paced(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&ALL);
    let share = dice.between(0.01, 0.6);
    if opposite {
        let device = dice.pick(&QUEUES);
        let rate = dice.between(1.1, 1.5) * device.largest_per_s;
        let percent = reads(dice, device);
        let mut program = open(device, "program", rate, percent);
        program.spec.asked.iodepth = (device.side * 8).max(24);
        let advice = [room(percent), vec![ShallowerQueue]].concat();
        return well(dice, device, vec![program], &[Overloaded], &advice);
    }
    let rate = (share * device.ease_per_s()).max(3.0);
    let percent = reads(dice, device);
    let mut program = open(device, "program", rate, percent);
    match dice.whole(0, 2) {
        0 => {}
        1 => program.spec.arrival = Some(record::Arrival::Constant),
        _ => {
            // One request at a time, with a pause in between.
            program = closed(device, "program", 1, percent);
            let think = (1.0 / share.min(0.9) - 1.0).max(0.1);
            program.spec.asked.think_ns = Nanos((think * 1e9 / device.lone_per_s) as u64);
        }
    }
    well(dice, device, vec![program], &FINE, &[])
}

fn slower(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&MAY_SLOW);
    let (factor, share) = (dice.between(1.5, 3.0), dice.between(0.1, 0.5));
    if opposite {
        // The load that the slow one would have had.
        return at_ease(dice, device, share / factor);
    }
    bad_at_ease(dice, device, factor, share)
}

/// A queue depth far beyond the useful one.
fn many(dice: &mut Dice, device: Device) -> u32 {
    let times = dice.whole(5, 10) as u32;
    // Drives gain from depth up to large depths.
    if device.alike() { (device.side * times).clamp(24, 256) } else { times * 20 }
}

/// A load in the second third of the time.
fn middle(device: Device, load: Load) -> Load {
    let third = device.seconds / 3;
    load.during(third, 2 * third)
}

/// One load all of the time and another in the second third, with verdicts on the middle and on the time
/// before.
fn in_the_middle(
    dice: &mut Dice,
    (device, is): (Device, String),
    loads: Vec<Load>,
    (middle, around): (&[Verdict], &[Verdict]),
    advice: &[Strategy],
) -> Case {
    let mut case = one(dice, device, is, loads, middle, advice);
    let third = case.seconds / 3;
    case.expects = vec![expect(0, third, 2 * third, middle), expect(0, 0, third, around)];
    case
}

fn one_writer(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (quiet, little) = (dice.between(0.03, 0.1), dice.between(0.05, 0.1));
    let reader = open(device, "reader", (quiet * device.ease_per_s()).max(3.0), 100);
    let writer = if opposite {
        open(device, "writer", little * device.ease_per_s(), 0)
    } else {
        closed(device, "writer", many(dice, device), 0)
    };
    let (verdicts, advice): (&[_], &[_]) =
        if opposite { (&FINE, &[]) } else { (&[Overloaded], &ASIDE) };
    let loads = vec![reader, middle(device, writer)];
    let right = (verdicts, &[NotTheDisk][..]);
    let mut case = in_the_middle(dice, (device, device.text()), loads, right, advice);
    let third = case.seconds / 3;
    case.expects.push(expect(0, 2 * third, case.seconds, &[NotTheDisk]));
    case
}

fn depth_alone(dice: &mut Dice, opposite: bool) -> Case {
    let device = if opposite { dice.pick(&PARALLEL) } else { dice.pick(&ALL) };
    let percent = reads(dice, device);
    if opposite {
        let loads = vec![closed(device, "program", device.side / 2, percent)];
        return well(dice, device, loads, &[Healthy], &[]);
    }
    let loads = vec![closed(device, "program", many(dice, device), percent)];
    let advice = if device.alike() { &[ShallowerQueue][..] } else { &MORE_OR_LESS };
    well(dice, device, loads, &[Overloaded], advice)
}

/// A queue depth that certainly reaches a rate: twice the number of requests in service at that rate.
fn reaches(device: Device, per_s: f64) -> u32 {
    (2.0 * per_s / device.lone_per_s).ceil() as u32
}

/// A limit of this many requests per second for a load of one operation, in requests or in bytes.
fn limit_of(dice: &mut Dice, load: &Load, per_s: f64) -> GroupLimit {
    let (per_s, bytes) = ((per_s.round() as u64).max(5), dice.flip());
    let size = load.spec.asked.bs.first().map_or(4096, |size| size.bytes.0);
    let op = if load.spec.asked.read_percent == 0 { OpKind::Write } else { OpKind::Read };
    let limited = LimitedIo::of(op, bytes);
    GroupLimit { limited, per_s: if bytes { per_s * size } else { per_s } }
}

/// A tenant of a control group, held by its limit or below it.
fn tenant(dice: &mut Dice, device: Device, limit: f64, below: Option<f64>) -> Load {
    let percent = if device.alike() { dice.pick(&[100, 0]) } else { 100 };
    let mut held = match below {
        Some(asked) => open(device, "tenant", (asked * limit).max(3.0), percent),
        None => {
            let depth = dice.pick(&[8, 16, 32]).max(reaches(device, limit));
            closed(device, "tenant", depth, percent)
        }
    };
    held.limits = vec![limit_of(dice, &held, limit)];
    held
}

fn group_limit(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&ALL);
    let limit = dice.between(0.1, 0.6) * device.ease_per_s();
    let asked = dice.between(0.4, 0.8);
    let loads = vec![tenant(dice, device, limit, opposite.then_some(asked))];
    if opposite {
        return well(dice, device, loads, fine(device, (asked * limit).max(3.0)), &[]);
    }
    well(dice, device, loads, &[Capped], &[RaiseCap])
}

fn token_bucket(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&PARALLEL);
    let percent = reads(dice, device);
    let share = dice.between(0.3, 0.6);
    let cap = share * device.largest_per_s;
    let depth = many(dice, device);
    let below = dice.between(0.3, 0.6) * cap;
    let seen_below = dice.whole(1, 4) > 1;
    let third = device.seconds / 3;
    let begin = if seen_below { third } else { 0 };
    let mut loads = vec![closed(device, "program", depth, percent).during(begin, device.seconds)];
    if seen_below {
        loads.push(open(device, "program", below, percent).during(0, third));
    }
    let (is, verdict, around, advice): (_, _, &[_], &[_]) = if opposite {
        let is = device.slower(1.0 / share);
        (is, SlowAndOverloaded, &[Slow], &[Restore, ShallowerQueue])
    } else {
        let limit = match dice.flip() {
            true => format!("throughput={}", (cap * 4096.0).round()),
            false => format!("iops={}", cap.round()),
        };
        let advice = if seen_below { &[RaiseCap][..] } else { &[RaiseCap, Restore] };
        (format!("{},{limit}", device.text()), Capped, &FINE, advice)
    };
    let mut case = one(dice, device, is, loads, &[verdict], advice);
    case.expects[0].from_s = begin;
    if seen_below {
        case.expects.push(expect(0, 0, third, around));
    } else if !opposite {
        case.expects[0].undecided = vec![Slow, SlowAndOverloaded];
    }
    case
}

fn neighbour(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let ours = dice.between(0.05, 0.15);
    let percent = reads(dice, device);
    let total = dice.between(0.94, 0.97);
    let little = dice.between(0.05, 0.15);
    let theirs = if opposite { little } else { total - ours };
    let largest = device.largest_per_s;
    let other = dice.pick(&[100, 70, 50]);
    let loads = vec![
        open(device, "service", ours * largest, percent),
        middle(device, open(device, "neighbour", theirs * largest, other)),
    ];
    let verdicts = if opposite { &FINE[..] } else { &[Overloaded] };
    let right = (verdicts, &FINE[..]);
    let mut case = in_the_middle(dice, (device, device.text()), loads, right, &[]);
    if !opposite {
        case.advice = if case.traced { vec![MoveNeighbour] } else { MORE.to_vec() };
    }
    case
}

fn write_back(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let depth = many(dice, device);
    let mut flush = middle(device, closed(device, "writer", depth, 0));
    flush.write_back = !opposite;
    // A program that waits for them (fsync) looks the same; this is so in one of ten cases.
    let waits = !opposite && dice.whole(1, 10) == 1;
    let (verdicts, advice): (&[_], &[_]) =
        if opposite { (&[Overloaded], &[ShallowerQueue]) } else { (&FINE, &[]) };
    let mut case = well(dice, device, vec![flush], verdicts, advice);
    let third = case.seconds / 3;
    (case.expects[0].from_s, case.expects[0].to_s) = (third, 2 * third);
    if waits {
        case.expects[0].verdicts = vec![Overloaded];
        case.may_be_silent = true;
    }
    case.expected_note = (!opposite).then_some(NoteCode::WriteBackBursts);
    case
}

fn sized(device: Device, rate: f64, kib: u64) -> Load {
    let mut load = open(device, "program", rate, 100);
    load.spec = load.spec.clone().with_bs(kib << 10);
    load
}

/// A load that changes into another one at half time, on a healthy device.
fn becomes(dice: &mut Dice, device: Device, before: Load, after: Load, note: NoteCode) -> Case {
    let (half, end) = (device.seconds / 2, device.seconds);
    let loads = vec![before.during(0, half), after.during(half, end)];
    let mut case = well(dice, device, loads, &FINE, &[]);
    case.expects = vec![expect(0, half, end, &FINE), expect(0, 0, half, &FINE)];
    case.expected_note = Some(note);
    case
}

fn larger_requests(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&SIZED);
    let kib = dice.pick(&[64, 128, 256]);
    let rate = dice.between(0.1, 0.4) * device.largest_at(kib << 10);
    if opposite {
        let factor = dice.between(1.6, 3.0);
        let small = (dice.between(0.1, 0.4) * device.ease_per_s() / factor).max(3.0);
        let loads = vec![sized(device, small, 4)];
        return one(dice, device, device.slower(factor), loads, &[Slow], &[Restore]);
    }
    let (before, after) = (sized(device, rate, 4), sized(device, rate, kib));
    becomes(dice, device, before, after, NoteCode::SizesGrew)
}

fn turns_random(dice: &mut Dice, opposite: bool) -> Case {
    if opposite {
        let share = dice.between(0.15, 0.5);
        return bad_at_ease(dice, DRIVES[1], 1.65, share);
    }
    let device = dice.pick(&DRIVES);
    let kib = dice.pick(&[8, 16, 32]);
    let rate = dice.between(0.15, 0.45) * device.ease_per_s();
    let (mut stream, random) = (sized(device, rate, kib), sized(device, rate, kib));
    stream.spec.asked.pattern = Pattern::Sequential;
    becomes(dice, device, stream, random, NoteCode::PatternChanged)
}

fn misaligned(dice: &mut Dice, opposite: bool) -> Case {
    let parity = dice.flip();
    let device = if parity { PARITY } else { FLASH };
    let rate = if parity { dice.between(8.0, 16.0) } else { dice.between(800.0, 3_000.0) };
    let shift = if parity { 8 << 10 } else { dice.pick(&[512, 1024, 2048]) };
    let mut writes = open(device, "writer", rate, 0);
    if parity {
        writes.spec = writes.spec.clone().with_bs(64 << 10);
    }
    writes.spec.asked.misalign_bytes = Bytes(if opposite { 0 } else { shift });
    let (verdicts, advice): (&[_], &[_]) =
        if opposite { (&FINE, &[]) } else { (&[Slow], &[Alignment, Restore]) };
    well(dice, device, vec![writes], verdicts, advice)
}

fn failing(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.1, 0.35);
    let (stall, every) = (dice.whole(300, 900), dice.whole(2, 4));
    let mut case = at_ease(dice, device, share);
    if !opposite {
        case.disks[0].is = format!("{},stall={stall}ms,stall-every={every}s", device.text());
        case.expects[0].verdicts = vec![Slow, SlowAndOverloaded];
        case.advice = vec![Restore];
    }
    case
}

/// A device with stalls of about 25 service times. They are so rare that the mean hardly shows them, but
/// frequent enough to hit one request in a thousand. A program keeps half of its servers busy.
fn stands_still(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&PARALLEL);
    let (times, seldom) = (dice.between(20.0, 30.0), dice.between(12.0, 25.0));
    let depth = device.side / 2;
    let loads = vec![closed(device, "program", depth, reads(dice, device))];
    let mut case = well(dice, device, loads, &[Healthy], &[]);
    case.traced = dice.pick(&[true, true, false]);
    if !opposite {
        let stall_ms = times * 1e3 / device.lone_per_s;
        let (stall, every) = (stall_ms.round(), (stall_ms * seldom).round());
        case.disks[0].is = format!("{},stall={stall}ms,stall-every={every}ms", device.text());
        case.expects[0].verdicts = vec![Slow];
        // Few profiles have enough requests to show the usual latency of one in a thousand.
        case.expects[0].undecided = FINE.to_vec();
        case.may_be_silent = true;
        case.advice = vec![Restore];
        // A limit with exhausted credit gives the same tail; this is so in one of ten cases.
        if dice.whole(1, 10) == 1 {
            case.expects[0].verdicts = vec![Capped];
            case.expects[0].undecided.extend([Slow]);
        }
    }
    case
}

fn light_on_bad(dice: &mut Dice, opposite: bool) -> Case {
    if !opposite {
        let device = dice.pick(&MAY_SLOW);
        let (factor, share) = (dice.between(1.6, 4.0), dice.between(0.03, 0.1));
        return bad_at_ease(dice, device, factor, share);
    }
    let device = dice.pick(&QUEUES);
    let percent = reads(dice, device);
    let rate = dice.between(0.94, 0.97) * device.largest_per_s;
    let loads = vec![open(device, "service", rate, percent)];
    well(dice, device, loads, &[Overloaded], &room(percent))
}

fn application_bound(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&[QUEUES[0], QUEUES[1], QUEUES[2], FLASH]);
    let percent = reads(dice, device);
    if opposite {
        let loads = vec![closed(device, "program", many(dice, device), percent)];
        return well(dice, device, loads, &[Overloaded], &[ShallowerQueue]);
    }
    let thinks = dice.flip();
    let times = dice.whole(4, 20) as f64;
    let mut program = closed(device, "program", 1, percent);
    if thinks {
        program.spec.asked.think_ns = Nanos((times * 1e9 / device.lone_per_s) as u64);
    }
    let advice = if thinks { &[][..] } else { &[DeeperQueue] };
    well(dice, device, vec![program], &[NotTheDisk], advice)
}

/// Several disks of one kind, each at a share of its unqueued rate.
fn several(dice: &mut Dice, device: Device, share: f64, count: u64) -> Case {
    let mut case = at_ease(dice, device, share);
    for disk in 1..count as usize {
        case.disks.push(case.disks[0].clone());
        case.expects.push(Expect { disk, ..case.expects[0].clone() });
    }
    case
}

fn hot_disk(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let count = dice.whole(2, 4);
    if opposite {
        let share = dice.between(0.2, 0.45);
        return several(dice, device, share, count);
    }
    let share = dice.between(0.05, 0.15);
    let mut case = several(dice, device, share, count);
    let deep = dice.flip();
    let rate = dice.between(0.94, 0.97) * device.largest_per_s;
    let depth = many(dice, device);
    let percent = reads(dice, device);
    case.advice = vec![LoadBalancing];
    let hot = if deep {
        case.advice.push(ShallowerQueue);
        closed(device, "program", depth, percent)
    } else {
        open(device, "service", rate, percent)
    };
    case.disks[0].loads = vec![hot];
    case.expects[0].verdicts = vec![Overloaded];
    case
}

/// Makes the first disk of a case slower than profiled.
fn slows_down(case: &mut Case, factor: f64) {
    case.disks[0].is = case.disks[0].device.slower(factor);
    case.expects[0].verdicts = vec![Slow];
    case.advice = vec![Restore];
}

fn slow_disk(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (count, share) = (dice.whole(2, 4), dice.between(0.05, 0.25));
    let factor = dice.between(1.6, 2.5);
    let mut case = several(dice, device, share, count);
    if !opposite {
        slows_down(&mut case, factor);
    }
    case
}

fn no_profile(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.05, 0.45);
    let other = dice.flip();
    let mut case = at_ease(dice, device, share);
    if opposite {
        return case;
    }
    if other {
        // The profile is of a slower device.
        case.disks[0].is = device.slower(dice.between(0.25, 0.6));
    } else {
        case.disks[0].profiled = false;
    }
    case.disks[0].facts = Some(Box::new([device.facts(), device.facts()]));
    case.expects[0].verdicts = FINE.to_vec();
    case
}

fn too_little(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&[QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], STRIPED, FLASH]);
    let (few, enough) = (dice.whole(4, 18), dice.whole(15, 25) as f64);
    if opposite {
        let program = open(device, "program", enough, 100);
        return well(dice, device, vec![program], &[NotTheDisk], &[]);
    }
    let program = open(device, "program", 1.0, 100).during(0, few);
    well(dice, device, vec![program], &[NotEnoughEvidence], &[])
}

fn slow_and_deep(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = dice.between(1.5, 3.0);
    let percent = dice.pick(&[100, 0]);
    let mut program = closed(device, "program", many(dice, device), percent);
    let (verdict, advice): (_, &[_]) = if opposite {
        let limit = dice.between(0.1, 0.5) * device.ease_per_s() / factor;
        program.limits = vec![limit_of(dice, &program, limit)];
        (Capped, &[RaiseCap])
    } else {
        (SlowAndOverloaded, &[Restore, ShallowerQueue])
    };
    one(dice, device, device.slower(factor), vec![program], &[verdict], advice)
}

fn together(dice: &mut Dice, opposite: bool) -> Case {
    match dice.whole(0, 3) {
        0 => slow_and_a_neighbour(dice, opposite),
        1 => slow_and_written_back(dice, opposite),
        2 => slow_and_hot(dice, opposite),
        _ => capped_beside_another(dice, opposite),
    }
}

fn slow_and_a_neighbour(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = if opposite { 1.0 } else { dice.between(1.6, 3.0) };
    let (ours, total) = (dice.between(0.05, 0.15), dice.between(0.94, 0.97));
    let largest = device.largest_per_s / factor;
    let percent = reads(dice, device);
    let loads = vec![
        open(device, "service", ours * largest, percent),
        middle(device, open(device, "neighbour", (total - ours) * largest, percent)),
    ];
    let advice = [room(percent), vec![MoveNeighbour]].concat();
    slow_in_the_middle(dice, device, (!opposite).then_some(factor), loads, &advice)
}

/// An additional load in the middle, on a slow or a healthy device, with the advice for that time.
fn slow_in_the_middle(
    dice: &mut Dice,
    device: Device,
    factor: Option<f64>,
    loads: Vec<Load>,
    advice: &[Strategy],
) -> Case {
    let Some(factor) = factor else {
        let right = (&[Overloaded][..], &FINE[..]);
        return in_the_middle(dice, (device, device.text()), loads, right, advice);
    };
    let right = (&[SlowAndOverloaded][..], &[Slow][..]);
    in_the_middle(dice, (device, device.slower(factor)), loads, right, &[Restore])
}

/// On a healthy device the reader waits behind the writes.
fn slow_and_written_back(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = dice.between(1.6, 3.0);
    let depth = many(dice, device);
    let rate = (dice.between(0.15, 0.3) * device.ease_per_s() / factor).max(3.0);
    let mut flush = middle(device, closed(device, "writer", depth, 0));
    flush.write_back = true;
    let loads = vec![open(device, "reader", rate, 100), flush];
    slow_in_the_middle(dice, device, (!opposite).then_some(factor), loads, &ASIDE)
}

/// One slow disk and another hot one, or only the slow one.
fn slow_and_hot(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.05, 0.25);
    let mut case = several(dice, device, share, 2);
    slows_down(&mut case, dice.between(1.6, 2.5));
    if !opposite {
        let depth = many(dice, device);
        let percent = reads(dice, device);
        case.disks[1].loads = vec![closed(device, "program", depth, percent)];
        case.expects[1].verdicts = vec![Overloaded];
    }
    case
}

/// A tenant at its limit or below it, and another without a limit.
fn capped_beside_another(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let limit = dice.between(0.1, 0.3) * device.ease_per_s();
    let (asked, others) = (dice.between(0.3, 0.7), dice.between(0.02, 0.15));
    let held = tenant(dice, device, limit, opposite.then_some(asked));
    let free = (others * device.ease_per_s()).max(3.0);
    let percent = held.spec.asked.read_percent;
    let loads = vec![held, open(device, "other", free, percent)];
    let (verdicts, advice): (&[_], &[_]) =
        if opposite { (fine(device, asked * limit + free), &[]) } else { (&[Capped], &[RaiseCap]) };
    // A device's counters do not show which program sent the requests.
    Case { traced: true, ..well(dice, device, loads, verdicts, advice) }
}
