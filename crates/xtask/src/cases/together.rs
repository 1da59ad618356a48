//! Draws cases with several disks, and with two problems at once.

use crate::cases::building::{
    ASIDE, FINE, at_ease, closed, in_the_middle, many, middle, open, reads, room,
};
use crate::cases::capped::capped_beside_another;
use crate::cases::case::{Case, Expect, Load};
use crate::cases::devices::{Device, QUEUES};
use crate::cases::dice::Dice;
use record::Strategy::{self, LoadBalancing, MoveNeighbour, Restore, ShallowerQueue};
use record::Verdict::{Overloaded, Slow, SlowAndOverloaded};

/// Several disks of one kind, each at a share of its unqueued rate.
fn several(dice: &mut Dice, device: Device, share: f64, count: u64) -> Case {
    let mut case = at_ease(dice, device, share);
    for disk in 1..count as usize {
        case.disks.push(case.disks[0].clone());
        case.expects.push(Expect { disk, ..case.expects[0].clone() });
    }
    case
}

pub(crate) fn hot_disk(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn slow_disk(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (count, share) = (dice.whole(2, 4), dice.between(0.05, 0.25));
    let factor = dice.between(1.6, 2.5);
    let mut case = several(dice, device, share, count);
    if !opposite {
        slows_down(&mut case, factor);
    }
    case
}

pub(crate) fn together(dice: &mut Dice, opposite: bool) -> Case {
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
