//! The rungs of the ladder between a profile and the class of a device: the device's own past, and its peers.
//!
//! Both say the same two numbers as a class does ([`super::classes`]), and better: what a lone request took, and how
//! many were served side by side. They count for requests of the same sizes and the same share of reads alone. A
//! device that was as slow before is not found out by its past, nor one of many slow ones by its peers: what is slow
//! for its class stays so by the observation itself.

use super::alike::same_kind;
use super::classes::Class;
use super::interval_totals::IntervalTotals;
use super::matching::same_size;
use super::own::Served;
use record::{Interval, Observation, ObservedDevice, Rung};
use stats::median;

/// Fewest intervals of the past, and fewest peers.
const PAST_MIN: usize = 5;
const PEERS_MIN: usize = 2;
/// The most intervals of the past that are looked at.
const PAST_MAX: usize = 20_000;
/// What a device is off by from one day to another, and one of its like: standard deviations of the logarithm.
const OTHER_DAY_SD: f64 = 0.15;
const OTHER_DEVICE_SD: f64 = 0.2;
/// Names of disks that are numbered or lettered through, where nothing but names is known.
const STEMS: [&str; 5] = ["sd", "vd", "xvd", "hd", "nvme"];

/// What was known of a device, or of its like, for one kind of requests.
pub(crate) struct Known {
    rung: Rung,
    class: Class,
    of: IntervalTotals,
}

/// The best that is known for requests like these, with its rung; the class where there is nothing better.
pub(crate) fn best(known: &[Known], class: Class, total: &IntervalTotals) -> (Class, Rung) {
    let found = known.iter().find(|one| same_kind(&one.of, total));
    found.map_or((class, Rung::Class), |one| (one.class, one.rung))
}

/// What is known of a device from what was recorded before, and from others of the same observation.
pub(crate) fn known(
    observation: &Observation,
    device: &ObservedDevice,
    class: Class,
    past: &[Observation],
) -> Vec<Known> {
    let intervals = of_device(observation, device);
    let present = IntervalTotals::sum(&intervals);
    let mut known = Vec::new();
    known.extend(before(observation, device, (class, &present), past));
    known.extend(beside(observation, device, (class, &present)));
    known
}

fn of_device(observation: &Observation, device: &ObservedDevice) -> Vec<IntervalTotals> {
    let of = |it: &&Interval| it.device == device.name && it.duration_ns > 0;
    observation.intervals.iter().filter(of).map(IntervalTotals::of).collect()
}

fn before(
    observation: &Observation,
    device: &ObservedDevice,
    (class, present): (Class, &IntervalTotals),
    past: &[Observation],
) -> Option<Known> {
    let mut all: Vec<IntervalTotals> = Vec::new();
    for one in past.iter().filter(|one| one.id != observation.id) {
        let on_host = one.host == observation.host;
        let same = one.devices.iter().find(|it| is_same_device(device, it, on_host));
        all.extend(same.into_iter().flat_map(|same| of_device(one, same)));
        if all.len() > PAST_MAX {
            break;
        }
    }
    all.retain(|one| one.all.count() >= 5.0 && same_kind(one, present));
    let served = Served::seen(&all, &class, device.busy_doubt.is_none());
    let served = served.filter(|_| all.len() >= PAST_MIN)?;
    let (log_lone, spread) = served.log_lone;
    let words = ("this disk as it was recorded before", "earlier recordings");
    let class = class.seen(
        words,
        (libm::exp(log_lone), spread.hypot(OTHER_DAY_SD)),
        libm::exp(served.log_side),
    );
    Some(Known { rung: Rung::Past, class, of: served.of })
}

fn beside(
    observation: &Observation,
    device: &ObservedDevice,
    (class, present): (Class, &IntervalTotals),
) -> Option<Known> {
    let peers = observation.devices.iter().filter(|it| is_peer(device, it));
    let served = peers.filter_map(|peer| {
        let whole = of_device(observation, peer);
        let served = Served::seen(&whole, &class, peer.busy_doubt.is_none())?;
        same_kind(&served.of, present).then_some(served)
    });
    let served: Vec<Served> = served.collect();
    if served.len() < PEERS_MIN {
        return None;
    }
    let middle = |of: &dyn Fn(&Served) -> f64| median(served.iter().map(of).collect());
    let log_lone = middle(&|one| one.log_lone.0);
    let apart = middle(&|one| (one.log_lone.0 - log_lone).abs());
    let sd = middle(&|one| one.log_lone.1).hypot(apart).hypot(OTHER_DEVICE_SD);
    let words = ("the disks of its kind beside it", "the same observation");
    let class =
        class.seen(words, (libm::exp(log_lone), sd), libm::exp(middle(&|one| one.log_side)));
    Some(Known {
        rung: Rung::Peers,
        class,
        of: IntervalTotals::sum(served.iter().map(|it| &it.of)),
    })
}

/// Whether two observed devices are one: by serial number, else by name, model and size on one machine.
fn is_same_device(one: &ObservedDevice, other: &ObservedDevice, on_host: bool) -> bool {
    let serial = |it: &ObservedDevice| it.facts.as_ref().and_then(|facts| facts.serial.clone());
    if let (Some(one), Some(other)) = (serial(one), serial(other)) {
        return one.trim() == other.trim();
    }
    let agree = match (&one.facts, &other.facts) {
        (Some(one), Some(other)) => one.model == other.model && same_size(one, other),
        _ => true,
    };
    on_host && one.name == other.name && agree && one.file_hash == other.file_hash
}

/// Whether two whole disks are of one kind.
fn is_peer(one: &ObservedDevice, other: &ObservedDevice) -> bool {
    let whole = |it: &ObservedDevice| it.partition_of.is_none() && it.built_of.is_empty();
    if one.name == other.name || !whole(one) || !whole(other) {
        return false;
    }
    let class = |it: &ObservedDevice| Class::of(&it.name, it.facts.as_ref());
    match (&one.facts, &other.facts) {
        (Some(a), Some(b)) => a.model == b.model && same_size(a, b) && class(one) == class(other),
        (None, None) => STEMS
            .iter()
            .find(|stem| one.name.starts_with(*stem))
            .is_some_and(|stem| other.name.starts_with(stem)),
        _ => false,
    }
}
