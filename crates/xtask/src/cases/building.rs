//! Builds cases: loads as shares of a device's capacity, and cases with one disk.

use crate::cases::case::{Case, Disk, Expect, Load};
use crate::cases::devices::Device;
use crate::cases::dice::Dice;
use record::Strategy::{
    self, CachedDisks, DirectIo, DiskArray, FasterDisks, MoreDisks, MoveNeighbour, Restore,
    Scheduler, ShallowerQueue,
};
use record::Verdict::{self, Healthy, NotTheDisk, Slow};
use record::{Arrival, Bytes, EngineName, Workload};
use workload::Spec;

/// The area of every load and every profile.
pub(crate) const AREA: Bytes = Bytes(2 << 30);
/// Maximum queue depth of an open load.
const OPEN_DEPTH: u32 = 256;
/// The acceptable verdicts on a device that is as profiled and not overloaded.
pub(crate) const FINE: [Verdict; 2] = [Healthy, NotTheDisk];
/// Shares of the largest rate between which both verdicts are acceptable; the boundary is at a fifth.
const SPARE: (f64, f64) = (0.14, 0.27);

/// Advice for a load that is too large. A shallower queue does not help if work arrives by itself: it would
/// wait elsewhere.
pub(crate) const MORE: [Strategy; 4] = [MoreDisks, DiskArray, FasterDisks, CachedDisks];

/// Advice for a reader that waits behind a writer.
pub(crate) const ASIDE: [Strategy; 4] = [ShallowerQueue, MoveNeighbour, Scheduler, DirectIo];

/// A load on a device for the whole time; random requests, at a rate if one is set.
pub(crate) fn load(
    device: Device,
    name: &str,
    read_percent: u8,
    change: impl FnOnce(&mut Spec),
) -> Load {
    let asked = Workload { engine: EngineName::Sim, read_percent, ..Workload::default() };
    let mut spec = Spec { size: Some(AREA), ..Spec::of(asked) };
    change(&mut spec);
    if spec.asked.rate_iops.is_some() {
        spec.arrival = Some(Arrival::Poisson);
        spec.asked.iodepth = OPEN_DEPTH;
    }
    let (name, to_s) = (name.to_owned(), device.seconds);
    Load { name, spec, from_s: 0, to_s, limits: Vec::new(), write_back: false, uncounted: false }
}

/// Random requests at a rate.
pub(crate) fn open(device: Device, name: &str, rate: f64, read_percent: u8) -> Load {
    let rate_iops = Some((rate.round() as u64).max(1));
    load(device, name, read_percent, |spec| spec.asked.rate_iops = rate_iops)
}

/// Random requests in a closed loop at this queue depth.
pub(crate) fn closed(device: Device, name: &str, depth: u32, read_percent: u8) -> Load {
    load(device, name, read_percent, |spec| spec.asked.iodepth = depth.max(1))
}

impl Load {
    pub(crate) fn during(self, from_s: u64, to_s: u64) -> Self {
        Self { from_s, to_s, ..self }
    }
}

/// A read share for which the device's rates are known.
pub(crate) fn reads(dice: &mut Dice, device: Device) -> u8 {
    if device.alike() { dice.pick(&[100, 100, 70, 50, 20]) } else { 100 }
}

/// A case with one disk and one verdict for the whole time.
pub(crate) fn one(
    dice: &mut Dice,
    device: Device,
    is: String,
    loads: Vec<Load>,
    verdicts: &[Verdict],
    advice: &[Strategy],
) -> Case {
    let seconds = device.seconds;
    Case {
        disks: vec![Disk::new(device, is, loads)],
        seconds,
        interval_s: if seconds >= 60 && dice.flip() { 2 } else { 1 },
        traced: dice.flip(),
        expects: vec![expect(0, 0, seconds, verdicts)],
        advice: advice.to_vec(),
        ..Case::default()
    }
}

/// The same on a device as profiled.
pub(crate) fn well(
    dice: &mut Dice,
    device: Device,
    loads: Vec<Load>,
    verdicts: &[Verdict],
    advice: &[Strategy],
) -> Case {
    one(dice, device, device.text(), loads, verdicts, advice)
}

pub(crate) fn expect(disk: usize, from_s: u64, to_s: u64, verdicts: &[Verdict]) -> Expect {
    Expect { disk, from_s, to_s, verdicts: verdicts.to_vec(), ..Expect::default() }
}

/// Acceptable verdicts on a rate that a healthy device sustains.
pub(crate) fn fine(device: Device, rate: f64) -> &'static [Verdict] {
    let share = rate / device.largest_per_s;
    if share < SPARE.0 {
        &[NotTheDisk]
    } else if share > SPARE.1 {
        &[Healthy]
    } else {
        &FINE
    }
}

/// A healthy device under an open load of this share of its unqueued rate.
pub(crate) fn at_ease(dice: &mut Dice, device: Device, share: f64) -> Case {
    let rate = (share * device.ease_per_s()).max(3.0);
    let loads = vec![open(device, "service", rate, reads(dice, device))];
    well(dice, device, loads, fine(device, rate), &[])
}

/// The same on a device that is this many times slower.
pub(crate) fn bad_at_ease(dice: &mut Dice, device: Device, factor: f64, share: f64) -> Case {
    let rate = (share * device.ease_per_s() / factor).max(3.0);
    let loads = vec![open(device, "service", rate, reads(dice, device))];
    one(dice, device, device.slower(factor), loads, &[Slow], &[Restore])
}

/// Advice if open arrivals exceed the capacity: more capacity, or, with writes, another scheduler.
pub(crate) fn room(read_percent: u8) -> Vec<Strategy> {
    let order = (read_percent < 100).then_some(Scheduler);
    MORE.into_iter().chain(order).collect()
}

/// A queue depth far beyond the useful one.
pub(crate) fn many(dice: &mut Dice, device: Device) -> u32 {
    let times = dice.whole(5, 10) as u32;
    // Drives gain from depth up to large depths.
    if device.alike() { (device.side * times).clamp(24, 256) } else { times * 20 }
}

/// A load in the second third of the time.
pub(crate) fn middle(device: Device, load: Load) -> Load {
    let third = device.seconds / 3;
    load.during(third, 2 * third)
}

/// One load all of the time and another in the second third, with verdicts on the middle and on the time
/// before.
pub(crate) fn in_the_middle(
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
