//! Draws cases in which a load comes, or becomes another one.

use crate::cases::building::{
    ASIDE, FINE, MORE, bad_at_ease, closed, expect, in_the_middle, many, middle, one, open, reads,
    well,
};
use crate::cases::case::{Case, Load};
use crate::cases::devices::{DRIVES, Device, QUEUES, SIZED};
use crate::cases::dice::Dice;
use record::Strategy::{MoveNeighbour, Restore, ShallowerQueue};
use record::Verdict::{NotTheDisk, Overloaded, Slow};
use record::{NoteCode, Pattern};

pub(crate) fn one_writer(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn neighbour(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn write_back(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn larger_requests(dice: &mut Dice, opposite: bool) -> Case {
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

pub(crate) fn turns_random(dice: &mut Dice, opposite: bool) -> Case {
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
