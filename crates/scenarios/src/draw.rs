//! Cases from seeds.
//!
//! Loads are shares of what a device does at ease: at most half of it where it has to be fine, at
//! least 0.93 of its largest rate, or several times as many outstanding as it serves side by side,
//! where it has to be overloaded. A device that is slower takes at least 1.5 times as long. Between
//! lie the cases on which people disagree; they are not drawn.

use crate::case::{Case, Disk, Expect, FirstAdvice, Kind, Load, ProfileOf};
use crate::devices::{
    ALL, DRIVES, Device, FLASH, MAY_SLOW, PARALLEL, PARITY, QUEUES, SIZED, STRIPED,
};
use crate::dice::Dice;
use crate::scenario::GroupLimit;
use record::{
    Arrival, Bytes, EngineName, LimitedIo, Nanos, NoteCode, OpKind, Pattern, Strategy, Verdict,
};
use workload::Spec;

/// The area of every load and every profile.
pub(crate) const AREA: Bytes = Bytes(2 << 30);
/// Most requests that an open load may have outstanding.
const OPEN_DEPTH: u32 = 256;
/// Both of a device that is as profiled and not asked for too much.
const FINE: [Verdict; 2] = [Verdict::Healthy, Verdict::NotTheDisk];
/// Around a fifth of the largest rate the two meet.
const SPARE: (f64, f64) = (0.14, 0.27);
/// What makes room for a load that is too large.
const MORE: [Strategy; 5] = [
    Strategy::MoreDisks,
    Strategy::DiskArray,
    Strategy::FasterDisks,
    Strategy::CachedDisks,
    Strategy::ShallowerQueue,
];

/// The case of a seed, of any kind.
#[must_use]
pub fn draw(seed: u64) -> Case {
    let count = Kind::ALL.len() as u64;
    draw_of(Kind::ALL[(seed % count) as usize], seed)
}

/// The case of a seed, of a kind.
#[must_use]
pub fn draw_of(kind: Kind, seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let opposite = dice.flip();
    let dice = &mut dice;
    let mut case = match kind {
        Kind::Healthy => healthy(dice, opposite),
        Kind::Slower => slower(dice, opposite),
        Kind::OneWriter => one_writer(dice, opposite),
        Kind::DepthAlone => depth_alone(dice, opposite),
        Kind::GroupLimit => group_limit(dice, opposite),
        Kind::TokenBucket => token_bucket(dice, opposite),
        Kind::Neighbour => neighbour(dice, opposite),
        Kind::WriteBack => write_back(dice, opposite),
        Kind::LargerRequests => larger_requests(dice, opposite),
        Kind::TurnsRandom => turns_random(dice, opposite),
        Kind::Misaligned => misaligned(dice, opposite),
        Kind::Failing => failing(dice, opposite),
        Kind::LightOnBad => light_on_bad(dice, opposite),
        Kind::ApplicationBound => application_bound(dice, opposite),
        Kind::HotDisk => hot_disk(dice, opposite),
        Kind::SlowDisk => slow_disk(dice, opposite),
        Kind::NoProfile => no_profile(dice, opposite),
        Kind::TooLittle => too_little(dice, opposite),
        Kind::SlowAndDeep => slow_and_deep(dice, opposite),
        Kind::Together => together(dice, opposite),
    };
    (case.seed, case.kind, case.opposite) = (seed, kind, opposite);
    case
}

fn one_of(strategies: &[Strategy]) -> FirstAdvice {
    FirstAdvice::OneOf(strategies.to_vec())
}

/// A load on a device, all of the time.
fn load(device: Device, name: &str, change: impl FnOnce(&mut Spec)) -> Load {
    let mut spec = Spec { engine: EngineName::Sim, size: Some(AREA), ..Spec::default() };
    change(&mut spec);
    if spec.rate_iops.is_some() {
        spec.arrival = Some(Arrival::Poisson);
        spec.iodepth = OPEN_DEPTH;
    }
    Load {
        name: name.to_owned(),
        spec,
        from_s: 0,
        to_s: device.seconds(),
        limits: Vec::new(),
        write_back: false,
    }
}

/// Random requests at a rate.
fn open(device: Device, name: &str, rate: f64, read_percent: u8) -> Load {
    load(device, name, |spec| {
        spec.rate_iops = Some((rate.round() as u64).max(1));
        spec.read_percent = read_percent;
    })
}

/// Random requests, so many outstanding.
fn closed(device: Device, name: &str, depth: u32, read_percent: u8) -> Load {
    load(device, name, |spec| {
        spec.iodepth = depth.max(1);
        spec.read_percent = read_percent;
    })
}

impl Load {
    fn during(mut self, from_s: u64, to_s: u64) -> Self {
        (self.from_s, self.to_s) = (from_s, to_s);
        self
    }
}

/// A share of reads that the device takes without other figures.
fn reads(dice: &mut Dice, device: Device) -> u8 {
    if device.alike() { dice.pick(&[100, 100, 70, 50, 20]) } else { 100 }
}

/// A case with one disk, all of whose time has one verdict.
fn one(
    dice: &mut Dice,
    device: Device,
    is: String,
    loads: Vec<Load>,
    verdicts: &[Verdict],
    advice: FirstAdvice,
) -> Case {
    let seconds = device.seconds();
    Case {
        seed: 0,
        kind: Kind::Healthy,
        opposite: false,
        disks: vec![Disk { device, is, array: None, loads, profile: ProfileOf::Itself }],
        seconds,
        interval_s: if seconds >= 60 && dice.flip() { 2 } else { 1 },
        traced: dice.flip(),
        expects: vec![expect(0, 0, seconds, verdicts)],
        advice,
        expected_note: None,
    }
}

fn expect(disk: usize, from_s: u64, to_s: u64, verdicts: &[Verdict]) -> Expect {
    Expect { disk, from_s, to_s, verdicts: verdicts.to_vec(), undecided: Vec::new() }
}

/// Verdicts on a rate that a fine device bears.
fn fine(device: Device, rate: f64) -> Vec<Verdict> {
    let share = rate / device.largest_per_s();
    if share < SPARE.0 {
        vec![Verdict::NotTheDisk]
    } else if share > SPARE.1 {
        vec![Verdict::Healthy]
    } else {
        FINE.to_vec()
    }
}

/// A fine device under an open load of this share of what it does at ease.
fn at_ease(dice: &mut Dice, device: Device, share: f64) -> Case {
    let rate = (share * device.ease_per_s()).max(3.0);
    let percent = reads(dice, device);
    let loads = vec![open(device, "service", rate, percent)];
    one(dice, device, device.text(), loads, &fine(device, rate), FirstAdvice::Silence)
}

/// The same on a device that is this many times slower.
fn bad_at_ease(dice: &mut Dice, device: Device, factor: f64, share: f64) -> Case {
    let rate = (share * device.ease_per_s() / factor).max(3.0);
    let percent = reads(dice, device);
    let loads = vec![open(device, "service", rate, percent)];
    let is = device.slower(factor);
    one(dice, device, is, loads, &[Verdict::Slow], one_of(&[Strategy::Restore]))
}

fn healthy(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&ALL);
    let share = dice.between(0.04, 0.5);
    if !opposite {
        return at_ease(dice, device, share);
    }
    // Work for a part of the time, and rest.
    let mut case = at_ease(dice, device, share);
    let third = case.seconds / 3;
    case.disks[0].loads[0].to_s = 2 * third;
    case.expects[0].to_s = 2 * third;
    case
}

fn slower(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&MAY_SLOW);
    let (factor, share) = (dice.between(1.5, 3.0), dice.between(0.1, 0.5));
    if opposite {
        // As much work as the slow one would have had.
        return at_ease(dice, device, share / factor);
    }
    bad_at_ease(dice, device, factor, share)
}

/// Requests outstanding that are far more than help.
fn many(dice: &mut Dice, device: Device) -> u32 {
    let times = dice.whole(5, 10);
    match device {
        Device::Queue(queue) => queue.servers.saturating_mul(times as u32).clamp(24, 256),
        // Drives gain from depth for long.
        Device::Known(_) => times as u32 * 20,
    }
}

/// A load from the second third of the time on, as long as that.
fn middle(device: Device, load: Load) -> Load {
    let third = device.seconds() / 3;
    load.during(third, 2 * third)
}

fn one_writer(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (quiet, little) = (dice.between(0.03, 0.1), dice.between(0.05, 0.1));
    let rate = (quiet * device.ease_per_s()).max(3.0);
    let reader = open(device, "reader", rate, 100);
    let writer = if opposite {
        open(device, "writer", little * device.ease_per_s(), 0)
    } else {
        let depth = many(dice, device);
        closed(device, "writer", depth, 0)
    };
    let advice = if opposite {
        FirstAdvice::Silence
    } else {
        one_of(&[
            Strategy::ShallowerQueue,
            Strategy::MoveNeighbour,
            Strategy::Scheduler,
            Strategy::DirectIo,
        ])
    };
    let verdicts: &[Verdict] = if opposite { &FINE } else { &[Verdict::Overloaded] };
    let loads = vec![reader, middle(device, writer)];
    let mut case = one(dice, device, device.text(), loads, verdicts, advice);
    let third = case.seconds / 3;
    case.expects = vec![
        expect(0, third, 2 * third, verdicts),
        expect(0, 0, third, &[Verdict::NotTheDisk]),
        expect(0, 2 * third, case.seconds, &[Verdict::NotTheDisk]),
    ];
    case
}

fn depth_alone(dice: &mut Dice, opposite: bool) -> Case {
    if opposite {
        let device = dice.pick(&PARALLEL);
        let percent = reads(dice, device);
        let depth = (device.side() / 2.0) as u32;
        let loads = vec![closed(device, "program", depth, percent)];
        let text = device.text();
        return one(dice, device, text, loads, &[Verdict::Healthy], FirstAdvice::Silence);
    }
    let device = dice.pick(&ALL);
    let percent = reads(dice, device);
    let depth = many(dice, device);
    let loads = vec![closed(device, "program", depth, percent)];
    // A drive does more, if little, the more of them it may choose from.
    let advice = if device.alike() { one_of(&[Strategy::ShallowerQueue]) } else { one_of(&MORE) };
    one(dice, device, device.text(), loads, &[Verdict::Overloaded], advice)
}

/// Requests outstanding that reach a rate with certainty: twice as many as are then worked on.
fn reaches(device: Device, per_s: f64) -> u32 {
    (2.0 * per_s / device.lone_per_s()).ceil() as u32
}

/// A limit of this many requests per second of a load of one operation, in requests or in bytes.
fn limit_of(dice: &mut Dice, load: &Load, per_s: f64) -> GroupLimit {
    let (per_s, bytes) = ((per_s.round() as u64).max(5), dice.flip());
    let size = load.spec.bs.first().map_or(4096, |size| size.bytes.0);
    let op = if load.spec.read_percent == 0 { OpKind::Write } else { OpKind::Read };
    GroupLimit {
        limited: LimitedIo::of(op, bytes),
        per_s: if bytes { per_s * size } else { per_s },
    }
}

/// A tenant of a control group whose limit holds it, or does not.
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
    let held = tenant(dice, device, limit, opposite.then_some(asked));
    let (verdicts, advice) = if opposite {
        (fine(device, (asked * limit).max(3.0)), FirstAdvice::Silence)
    } else {
        (vec![Verdict::Capped], one_of(&[Strategy::RaiseCap]))
    };
    one(dice, device, device.text(), vec![held], &verdicts, advice)
}

fn token_bucket(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&PARALLEL);
    let percent = reads(dice, device);
    let share = dice.between(0.3, 0.6);
    let cap = share * device.largest_per_s();
    let depth = many(dice, device);
    let below = dice.between(0.3, 0.6) * cap;
    let seen_below = dice.pick(&[true, true, false]);
    let third = device.seconds() / 3;
    let begin = if seen_below { third } else { 0 };
    let mut loads = vec![closed(device, "program", depth, percent).during(begin, device.seconds())];
    if seen_below {
        loads.push(open(device, "program", below, percent).during(0, third));
    }
    if opposite {
        let is = device.slower(1.0 / share);
        let deep = [Verdict::SlowAndOverloaded];
        let advice = one_of(&[Strategy::Restore, Strategy::ShallowerQueue]);
        let mut case = one(dice, device, is, loads, &deep, advice);
        case.expects = vec![expect(0, begin, case.seconds, &deep)];
        if seen_below {
            case.expects.push(expect(0, 0, third, &[Verdict::Slow]));
        }
        return case;
    }
    let bytes = dice.flip();
    let is = if bytes {
        format!("{},throughput={}", device.text(), (cap * 4096.0).round())
    } else {
        format!("{},iops={}", device.text(), cap.round())
    };
    let advice = if seen_below {
        one_of(&[Strategy::RaiseCap])
    } else {
        one_of(&[Strategy::RaiseCap, Strategy::Restore])
    };
    let capped = [Verdict::Capped];
    let mut case = one(dice, device, is, loads, &capped, advice);
    let mut held = expect(0, begin, case.seconds, &capped);
    if seen_below {
        case.expects = vec![held, expect(0, 0, third, &FINE)];
    } else {
        held.undecided = vec![Verdict::Slow, Verdict::SlowAndOverloaded];
        case.expects = vec![held];
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
    let largest = device.largest_per_s();
    let other = dice.pick(&[100, 70, 50]);
    let loads = vec![
        open(device, "service", ours * largest, percent),
        middle(device, open(device, "neighbour", theirs * largest, other)),
    ];
    let verdicts: &[Verdict] = if opposite { &FINE } else { &[Verdict::Overloaded] };
    let mut case = one(dice, device, device.text(), loads, verdicts, FirstAdvice::Silence);
    if !opposite {
        case.advice = if case.traced { one_of(&[Strategy::MoveNeighbour]) } else { one_of(&MORE) };
    }
    let third = case.seconds / 3;
    case.expects = vec![expect(0, third, 2 * third, verdicts), expect(0, 0, third, &FINE)];
    case
}

fn write_back(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let depth = many(dice, device);
    let mut flush = middle(device, closed(device, "writer", depth, 0));
    flush.write_back = !opposite;
    let verdicts: &[Verdict] = if opposite { &[Verdict::Overloaded] } else { &FINE };
    let advice = if opposite { one_of(&[Strategy::ShallowerQueue]) } else { FirstAdvice::Silence };
    let mut case = one(dice, device, device.text(), vec![flush], verdicts, advice);
    let third = case.seconds / 3;
    case.expects = vec![expect(0, third, 2 * third, verdicts)];
    case.expected_note = (!opposite).then_some(NoteCode::WriteBackBursts);
    case
}

fn sized(device: Device, rate: f64, kib: u64) -> Load {
    let mut load = open(device, "program", rate, 100);
    load.spec = load.spec.clone().with_bs(kib << 10);
    load
}

fn larger_requests(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&SIZED);
    let kib = dice.pick(&[64, 128, 256]);
    let rate = dice.between(0.1, 0.4) * device.largest_at(kib << 10);
    let half = device.seconds() / 2;
    if opposite {
        let factor = dice.between(1.6, 3.0);
        let small = (dice.between(0.1, 0.4) * device.ease_per_s() / factor).max(3.0);
        let loads = vec![sized(device, small, 4)];
        let advice = one_of(&[Strategy::Restore]);
        return one(dice, device, device.slower(factor), loads, &[Verdict::Slow], advice);
    }
    let loads = vec![
        sized(device, rate, 4).during(0, half),
        sized(device, rate, kib).during(half, device.seconds()),
    ];
    let mut case = one(dice, device, device.text(), loads, &FINE, FirstAdvice::Silence);
    case.expects = vec![expect(0, half, case.seconds, &FINE), expect(0, 0, half, &FINE)];
    case.expected_note = Some(NoteCode::SizesGrew);
    case
}

fn turns_random(dice: &mut Dice, opposite: bool) -> Case {
    if opposite {
        let share = dice.between(0.15, 0.5);
        return bad_at_ease(dice, DRIVES[1], 1.65, share);
    }
    let device = dice.pick(&DRIVES);
    let kib = dice.pick(&[8, 16, 32]);
    let rate = dice.between(0.15, 0.45) * device.ease_per_s();
    let half = device.seconds() / 2;
    let mut stream = sized(device, rate, kib).during(0, half);
    stream.spec.pattern = Pattern::Sequential;
    let random = sized(device, rate, kib).during(half, device.seconds());
    let loads = vec![stream, random];
    let mut case = one(dice, device, device.text(), loads, &FINE, FirstAdvice::Silence);
    case.expects = vec![expect(0, half, case.seconds, &FINE), expect(0, 0, half, &FINE)];
    case.expected_note = Some(NoteCode::PatternChanged);
    case
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
    writes.spec.misalign = Bytes(if opposite { 0 } else { shift });
    if opposite {
        let text = device.text();
        return one(dice, device, text, vec![writes], &FINE, FirstAdvice::Silence);
    }
    let advice = one_of(&[Strategy::Alignment, Strategy::Restore]);
    one(dice, device, device.text(), vec![writes], &[Verdict::Slow], advice)
}

fn failing(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.1, 0.35);
    let (stall, every) = (dice.whole(300, 900), dice.whole(2, 4));
    let mut case = at_ease(dice, device, share);
    if opposite {
        return case;
    }
    case.disks[0].is = format!("{},stall={stall}ms,stall-every={every}s", device.text());
    case.expects[0].verdicts = vec![Verdict::Slow, Verdict::SlowAndOverloaded];
    case.advice = one_of(&[Strategy::Restore]);
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
    let rate = dice.between(0.94, 0.97) * device.largest_per_s();
    let loads = vec![open(device, "service", rate, percent)];
    let text = device.text();
    one(dice, device, text, loads, &[Verdict::Overloaded], one_of(&MORE))
}

fn application_bound(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&[QUEUES[0], QUEUES[1], QUEUES[2], FLASH]);
    let percent = reads(dice, device);
    if opposite {
        let depth = many(dice, device);
        let loads = vec![closed(device, "program", depth, percent)];
        let advice = one_of(&[Strategy::ShallowerQueue]);
        return one(dice, device, device.text(), loads, &[Verdict::Overloaded], advice);
    }
    let thinks = dice.flip();
    let times = dice.whole(4, 20) as f64;
    let mut program = closed(device, "program", 1, percent);
    if thinks {
        program.spec.think = Nanos((times * 1e9 / device.lone_per_s()) as u64);
    }
    let advice = if thinks { FirstAdvice::Silence } else { one_of(&[Strategy::DeeperQueue]) };
    one(dice, device, device.text(), vec![program], &[Verdict::NotTheDisk], advice)
}

/// Several disks of one kind, each at a share of what it does at ease.
fn several(dice: &mut Dice, device: Device, share: f64, count: u64) -> Case {
    let mut case = at_ease(dice, device, share);
    let verdicts = case.expects[0].verdicts.clone();
    for disk in 1..count as usize {
        case.disks.push(case.disks[0].clone());
        case.expects.push(expect(disk, 0, case.seconds, &verdicts));
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
    let rate = dice.between(0.94, 0.97) * device.largest_per_s();
    let depth = many(dice, device);
    let percent = reads(dice, device);
    let hot = if deep {
        closed(device, "program", depth, percent)
    } else {
        open(device, "service", rate, percent)
    };
    case.disks[0].loads = vec![hot];
    case.expects[0].verdicts = vec![Verdict::Overloaded];
    case.advice = if deep {
        one_of(&[Strategy::LoadBalancing, Strategy::ShallowerQueue])
    } else {
        one_of(&[Strategy::LoadBalancing])
    };
    case
}

fn slow_disk(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (count, share) = (dice.whole(2, 4), dice.between(0.05, 0.25));
    let factor = dice.between(1.6, 2.5);
    let mut case = several(dice, device, share, count);
    if !opposite {
        case.disks[0].is = device.slower(factor);
        case.expects[0].verdicts = vec![Verdict::Slow];
        case.advice = one_of(&[Strategy::Restore]);
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
        // The profile is of a device that is four times as slow.
        case.disks[0].is = device.slower(0.25);
    } else {
        case.disks[0].profile = ProfileOf::Nothing;
    }
    case.expects[0].verdicts = vec![Verdict::NotEnoughEvidence];
    case
}

fn too_little(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&[QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], STRIPED, FLASH]);
    let (few, enough) = (dice.whole(4, 18), dice.whole(15, 25) as f64);
    let rate = if opposite { enough } else { 1.0 };
    let mut program = open(device, "program", rate, 100);
    let verdict = if opposite {
        Verdict::NotTheDisk
    } else {
        program.to_s = few;
        Verdict::NotEnoughEvidence
    };
    let text = device.text();
    one(dice, device, text, vec![program], &[verdict], FirstAdvice::Silence)
}

fn slow_and_deep(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = dice.between(1.5, 3.0);
    let percent = dice.pick(&[100, 0]);
    let depth = many(dice, device);
    let mut program = closed(device, "program", depth, percent);
    if opposite {
        let limit = dice.between(0.1, 0.5) * device.ease_per_s() / factor;
        program.limits = vec![limit_of(dice, &program, limit)];
        let advice = one_of(&[Strategy::RaiseCap]);
        let is = device.slower(factor);
        return one(dice, device, is, vec![program], &[Verdict::Capped], advice);
    }
    let verdicts = [Verdict::SlowAndOverloaded];
    let advice = one_of(&[Strategy::Restore, Strategy::ShallowerQueue]);
    one(dice, device, device.slower(factor), vec![program], &verdicts, advice)
}

fn together(dice: &mut Dice, opposite: bool) -> Case {
    match dice.whole(0, 3) {
        0 => slow_and_a_neighbour(dice, opposite),
        1 => slow_and_written_back(dice, opposite),
        2 => slow_and_hot(dice, opposite),
        _ => capped_beside_another(dice, opposite),
    }
}

/// A service all of the time and something else in the second third, on a slow device or on one as
/// profiled: verdicts on the middle and around it.
fn in_the_middle(
    dice: &mut Dice,
    (device, is): (Device, String),
    loads: Vec<Load>,
    (middle, around): (&[Verdict], &[Verdict]),
    advice: FirstAdvice,
) -> Case {
    let mut case = one(dice, device, is, loads, middle, advice);
    let third = case.seconds / 3;
    case.expects = vec![expect(0, third, 2 * third, middle), expect(0, 0, third, around)];
    case
}

fn slow_and_a_neighbour(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = if opposite { 1.0 } else { dice.between(1.6, 3.0) };
    let (ours, total) = (dice.between(0.05, 0.15), dice.between(0.94, 0.97));
    let largest = device.largest_per_s() / factor;
    let percent = reads(dice, device);
    let loads = vec![
        open(device, "service", ours * largest, percent),
        middle(device, open(device, "neighbour", (total - ours) * largest, percent)),
    ];
    if opposite {
        let mut more = MORE.to_vec();
        more.push(Strategy::MoveNeighbour);
        let right: (&[Verdict], &[Verdict]) = (&[Verdict::Overloaded], &FINE);
        return in_the_middle(dice, (device, device.text()), loads, right, one_of(&more));
    }
    let right: (&[Verdict], &[Verdict]) = (&[Verdict::SlowAndOverloaded], &[Verdict::Slow]);
    let advice = one_of(&[Strategy::Restore]);
    in_the_middle(dice, (device, device.slower(factor)), loads, right, advice)
}

fn slow_and_written_back(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let factor = dice.between(1.6, 3.0);
    let depth = many(dice, device);
    let rate = (dice.between(0.15, 0.3) * device.ease_per_s() / factor).max(3.0);
    let mut flush = middle(device, closed(device, "writer", depth, 0));
    flush.write_back = true;
    let loads = vec![open(device, "reader", rate, 100), flush];
    if opposite {
        // The device is fine: the reader waits behind the writes.
        let advice = one_of(&[
            Strategy::ShallowerQueue,
            Strategy::MoveNeighbour,
            Strategy::Scheduler,
            Strategy::DirectIo,
        ]);
        let right: (&[Verdict], &[Verdict]) = (&[Verdict::Overloaded], &FINE);
        return in_the_middle(dice, (device, device.text()), loads, right, advice);
    }
    let right: (&[Verdict], &[Verdict]) = (&[Verdict::SlowAndOverloaded], &[Verdict::Slow]);
    let advice = one_of(&[Strategy::Restore]);
    in_the_middle(dice, (device, device.slower(factor)), loads, right, advice)
}

/// One slow disk and another hot one; or the slow one alone.
fn slow_and_hot(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.05, 0.25);
    let mut case = several(dice, device, share, 2);
    case.disks[0].is = device.slower(dice.between(1.6, 2.5));
    case.expects[0].verdicts = vec![Verdict::Slow];
    case.advice = one_of(&[Strategy::Restore]);
    if !opposite {
        let depth = many(dice, device);
        let percent = reads(dice, device);
        case.disks[1].loads = vec![closed(device, "program", depth, percent)];
        case.expects[1].verdicts = vec![Verdict::Overloaded];
    }
    case
}

/// A tenant at its limit, or below, and another without one.
fn capped_beside_another(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let limit = dice.between(0.1, 0.3) * device.ease_per_s();
    let (asked, others) = (dice.between(0.3, 0.7), dice.between(0.02, 0.15));
    let held = tenant(dice, device, limit, opposite.then_some(asked));
    let free = (others * device.ease_per_s()).max(3.0);
    let percent = held.spec.read_percent;
    let loads = vec![held, open(device, "other", free, percent)];
    let (verdicts, advice) = if opposite {
        (fine(device, asked * limit + free), FirstAdvice::Silence)
    } else {
        (vec![Verdict::Capped], one_of(&[Strategy::RaiseCap]))
    };
    let mut case = one(dice, device, device.text(), loads, &verdicts, advice);
    // Counters of a device do not tell whose requests they count.
    case.traced = true;
    case
}
