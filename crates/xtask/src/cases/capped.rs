//! Draws cases with a limit: of a control group, or inside the device.

use crate::cases::building::{FINE, closed, expect, fine, many, one, open, reads, well};
use crate::cases::case::{Case, Load};
use crate::cases::devices::{ALL, Device, PARALLEL, QUEUES};
use crate::cases::dice::Dice;
use plan::scenarios::GroupLimit;
use record::Strategy::{RaiseCap, Restore, ShallowerQueue};
use record::Verdict::{Capped, Slow, SlowAndOverloaded};
use record::{LimitedIo, OpKind};

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

pub(crate) fn group_limit(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&ALL);
    let limit = dice.between(0.1, 0.6) * device.ease_per_s();
    let asked = dice.between(0.4, 0.8);
    let loads = vec![tenant(dice, device, limit, opposite.then_some(asked))];
    if opposite {
        return well(dice, device, loads, fine(device, (asked * limit).max(3.0)), &[]);
    }
    well(dice, device, loads, &[Capped], &[RaiseCap])
}

pub(crate) fn token_bucket(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn slow_and_deep(dice: &mut Dice, opposite: bool) -> Case {
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

/// A tenant at its limit or below it, and another without a limit.
pub(crate) fn capped_beside_another(dice: &mut Dice, opposite: bool) -> Case {
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
