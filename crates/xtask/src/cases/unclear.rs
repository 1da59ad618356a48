//! Draws cases that the evidence hardly decides, or not at all: near the boundaries between two verdicts,
//! and with layers that no figure shows. Here a verdict must name an equally good alternative, and "likely"
//! must be correct as often as the word means.

use crate::cases::building::{FINE, at_ease, bad_at_ease, closed, fine, open, room, well};
use crate::cases::case::{Case, Load};
use crate::cases::devices::{Device, QUEUES};
use crate::cases::dice::Dice;
use plan::scenarios::GroupLimit;
use record::Strategy::{RaiseCap, Restore, Scheduler};
use record::Verdict::{
    self, Capped, Healthy, NotEnoughEvidence, NotTheDisk, Overloaded, Slow, SlowAndOverloaded,
};
use record::{Arrival, DeviceFacts, LimitedIo, OpKind};

/// The boundaries; see `crates/diagnose/docs/method.md`.
const SLOW_FROM: f64 = 1.2;
const WAITS_FROM: f64 = 3.0;
const SPARE_BELOW: f64 = 0.2;

/// A case in which either of two verdicts is correct if it names the other as equally good.
fn undecided(mut case: Case, verdicts: &[Verdict], as_good: &[Verdict]) -> Case {
    case.expects[0].verdicts = verdicts.to_vec();
    case.expects[0].undecided = as_good.to_vec();
    case
}

/// The same in which the first verdicts are the correct ones, or the others.
fn either(case: Case, first: bool, one: &[Verdict], other: &[Verdict]) -> Case {
    if first { undecided(case, one, other) } else { undecided(case, other, one) }
}

pub(crate) fn slightly(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let (factor, share) = (dice.between(1.02, 1.6), dice.between(0.1, 0.5));
    if opposite {
        let mut case = at_ease(dice, device, share);
        case.seconds = dice.whole(4, 10);
        case.interval_s = 1;
        (case.disks[0].loads[0].to_s, case.expects[0].to_s) = (case.seconds, case.seconds);
        case.expects[0].undecided = vec![Slow];
        if share * device.ease_per_s() * (case.seconds as f64) < 100.0 {
            case.expects[0].verdicts.push(NotEnoughEvidence);
        }
        (case.advice, case.may_be_silent) = (vec![Restore], true);
        return case;
    }
    let mut case = bad_at_ease(dice, device, factor, share);
    case.may_be_silent = true;
    let rate = share * device.ease_per_s() / factor;
    let as_profiled = fine(device, rate);
    either(case, factor < SLOW_FROM, as_profiled, &[Slow])
}

pub(crate) fn hardly_loaded(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let share = if opposite { 0.1 } else { dice.between(0.14, 0.28) };
    let rate = share * device.largest_per_s;
    let percent = dice.pick(&[100, 70, 20]);
    let loads = vec![open(device, "service", rate, percent)];
    let case = well(dice, device, loads, &[], &[]);
    either(case, share < SPARE_BELOW, &[NotTheDisk], &[Healthy])
}

/// Random arrivals at one server: the ratio of their latency to that of a lone request is known (Pollaczek
/// and Khinchine).
pub(crate) fn hardly_waits(dice: &mut Dice, opposite: bool) -> Case {
    let (device, squared_cv) = dice.pick(&[(QUEUES[4], 1.0), (QUEUES[5], 0.25)]);
    if opposite {
        let share = dice.between(0.05, 0.12);
        return at_ease(dice, device, share);
    }
    let waits = dice.between(2.0, 4.2);
    let queued = 2.0 * (waits - 1.0) / (1.0 + squared_cv);
    let busy = queued / (1.0 + queued);
    let loads = vec![open(device, "service", busy * device.largest_per_s, 100)];
    let mut case = well(dice, device, loads, &[], &room(100));
    case.may_be_silent = true;
    either(case, waits < WAITS_FROM, &[Healthy], &[Overloaded])
}

/// Known facts of a disk in a machine.
fn facts() -> DeviceFacts {
    DeviceFacts {
        name: "sda".to_owned(),
        disk: "sda".to_owned(),
        major_minor: "0:0".to_owned(),
        scheduler: Some("none".to_owned()),
        write_cache: Some("write back".to_owned()),
        firmware: Some("1.0".to_owned()),
        ..DeviceFacts::default()
    }
}

/// A slower device with these known facts: as profiled, and now.
fn slower_with(dice: &mut Dice, factor: f64, was: DeviceFacts, now: DeviceFacts) -> Case {
    let device = dice.pick(&QUEUES);
    let share = dice.between(0.1, 0.5);
    let mut case = bad_at_ease(dice, device, factor, share);
    case.disks[0].facts = Some(Box::new([was, now]));
    case
}

pub(crate) fn other_settings(dice: &mut Dice, opposite: bool) -> Case {
    let (was, mut now) = (facts(), facts());
    let factor = dice.between(1.5, 3.0);
    if opposite {
        return slower_with(dice, factor, was, now);
    }
    match dice.flip() {
        true => now.firmware = Some("1.1".to_owned()),
        false => now.write_cache = Some("write through".to_owned()),
    }
    let case = slower_with(dice, factor, was, now);
    match dice.flip() {
        true => undecided(case, &[NotEnoughEvidence], &[Slow, SlowAndOverloaded]),
        false => undecided(case, &[Slow], &[NotEnoughEvidence]),
    }
}

pub(crate) fn held_by_scheduler(dice: &mut Dice, opposite: bool) -> Case {
    let (mut was, mut now) = (facts(), facts());
    now.scheduler = Some("bfq".to_owned());
    let changed = dice.flip();
    if !changed {
        was.scheduler.clone_from(&now.scheduler);
    }
    let factor = dice.between(2.5, 6.0);
    let mut case = slower_with(dice, factor, was, now);
    if opposite {
        let as_good: &[_] = if case.traced || !changed { &[] } else { &[Capped] };
        return undecided(case, &[Slow], as_good);
    }
    case.disks[0].in_scheduler = 1.0 - 1.0 / factor;
    let as_good: &[_] = if case.traced { &[] } else { &[Slow] };
    case.advice = if case.traced { vec![Scheduler] } else { vec![Scheduler, Restore, RaiseCap] };
    undecided(case, &[Capped], as_good)
}

pub(crate) fn hosted(dice: &mut Dice, opposite: bool) -> Case {
    let guest =
        || DeviceFacts { virtual_disk: true, driver: Some("virtio_blk".to_owned()), ..facts() };
    let factor = dice.between(1.5, 4.0);
    let mut case = slower_with(dice, factor, guest(), guest());
    // The share of cases in which the host is the cause cannot be measured; three in ten is assumed.
    if !opposite && dice.between(0.0, 1.0) < 0.6 {
        case.advice.push(RaiseCap);
        return undecided(case, &[Capped], &[Slow]);
    }
    case
}

/// A limit of this many reads per second.
fn reads_limited(per_s: f64) -> Vec<GroupLimit> {
    vec![GroupLimit { limited: LimitedIo::of(OpKind::Read, false), per_s: per_s as u64 }]
}

/// A program that reads as fast as its limit allows.
fn asks_for_more(device: Device) -> Load {
    closed(device, "program", 2 * device.side, 100)
}

/// A program that reads at a constant rate.
fn paced(device: Device, rate: f64) -> Load {
    let mut program = open(device, "program", rate, 100);
    program.spec.arrival = Some(Arrival::Constant);
    program
}

/// A program with requests at constant intervals, by itself or because of an invisible limit. The evidence
/// is only counters, also pressure, or pressure that excludes its waits.
pub(crate) fn unseen_limit(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let rate = (dice.between(0.05, 0.5) * device.ease_per_s()).max(25.0).round();
    let (bare, uncounted) =
        dice.pick(&[(true, false), (true, false), (false, false), (false, true)]);
    // How often a constant rate comes from an invisible limit cannot be measured.
    let capped = !opposite && (!bare && !uncounted || dice.between(0.0, 1.0) < 0.6);
    let program = if capped {
        Load { uncounted, limits: reads_limited(rate), ..asks_for_more(device) }
    } else {
        paced(device, rate)
    };
    let is_fine = fine(device, rate);
    let mut case = well(dice, device, vec![program], is_fine, &[RaiseCap]);
    (case.bare, case.limits_unseen, case.may_be_silent) = (bare, true, true);
    let mut case = match capped {
        true => undecided(case, &[Capped], &FINE),
        false => undecided(case, is_fine, &[Capped]),
    };
    if capped && (bare || uncounted) {
        // No figure shows a waiting program.
        case.expects[0].hidden = FINE.to_vec();
    }
    case
}

pub(crate) fn just_allowed(dice: &mut Dice, opposite: bool) -> Case {
    let device = dice.pick(&QUEUES);
    let limit = (dice.between(0.1, 0.5) * device.ease_per_s()).max(25.0).round();
    let rate = (dice.between(0.95, 1.0) * limit).floor();
    let program = if opposite { asks_for_more(device) } else { paced(device, rate) };
    let program = Load { uncounted: true, limits: reads_limited(limit), ..program };
    let is_fine = fine(device, rate);
    let mut case = well(dice, device, vec![program], is_fine, &[RaiseCap]);
    case.may_be_silent = true;
    match opposite {
        true => undecided(case, &[Capped], &FINE),
        false => undecided(case, is_fine, &[Capped]),
    }
}
