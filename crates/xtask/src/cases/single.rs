//! Draws cases with one device in one state for the whole time.

use crate::cases::building::{FINE, at_ease, bad_at_ease, closed, many, open, reads, room, well};
use crate::cases::case::Case;
use crate::cases::devices::{ALL, FLASH, MAY_SLOW, PARALLEL, PARITY, QUEUES, STRIPED};
use crate::cases::dice::Dice;
use record::Strategy::{
    self, Alignment, CachedDisks, DeeperQueue, DiskArray, FasterDisks, MoreDisks, Restore,
    ShallowerQueue,
};
use record::Verdict::{
    Capped, Healthy, NotEnoughEvidence, NotTheDisk, Overloaded, Slow, SlowAndOverloaded,
};
use record::{Bytes, Nanos};

/// Advice for a program that keeps a queue full: a drive gains slightly the more requests it may choose
/// from.
const MORE_OR_LESS: [Strategy; 5] =
    [MoreDisks, DiskArray, FasterDisks, CachedDisks, ShallowerQueue];

pub(crate) fn healthy(dice: &mut Dice, opposite: bool) -> Case {
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
pub(crate) fn paced(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn slower(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&MAY_SLOW);
    let (factor, share) = (dice.between(1.5, 3.0), dice.between(0.1, 0.5));
    if opposite {
        // The load that the slow one would have had.
        return at_ease(dice, device, share / factor);
    }
    bad_at_ease(dice, device, factor, share)
}

pub(crate) fn depth_alone(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn misaligned(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn failing(dice: &mut Dice, opposite: bool) -> Case {
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
pub(crate) fn stands_still(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn light_on_bad(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn application_bound(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn no_profile(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn too_little(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&[QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], STRIPED, FLASH]);
    let (few, enough) = (dice.whole(4, 18), dice.whole(15, 25) as f64);
    if opposite {
        let program = open(device, "program", enough, 100);
        return well(dice, device, vec![program], &[NotTheDisk], &[]);
    }
    let program = open(device, "program", 1.0, 100).during(0, few);
    well(dice, device, vec![program], &[NotEnoughEvidence], &[])
}
