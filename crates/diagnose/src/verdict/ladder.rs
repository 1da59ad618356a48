//! Provides the rungs of the ladder between a profile and the class of a device: other times of the same
//! recording, the device's own past, and its peers.
//!
//! Each rung gives the same two numbers as a class ([`super::classes`]) with smaller errors: the latency at
//! queue depth 1, and the number of requests that the device serves in parallel. They apply only to requests
//! of the same size and read share. No rung detects a device that was always slow, or one of many slow ones.

use super::alike::{near, same_kind, same_mix};
use super::classes::Class;
use super::interval_totals::IntervalTotals;
use super::matching::same_size;
use super::odds::NEVER_IDLE;
use super::own::{ONE_PEER, Served};
use record::{Interval, NORMAL_95, Observation, ObservedDevice, Rung};
use stats::median;
use std::cell::OnceCell;

/// Fewest intervals of the past.
const PAST_MIN: usize = 5;
/// Minimum age of the past. The fault that is diagnosed may have lasted for hours: it must not become its own
/// baseline.
pub(crate) const PAST_AGE_MIN_NS: u64 = 12 * 3_600 * 1_000_000_000;
/// The most intervals of the past that are used.
const PAST_MAX: usize = 20_000;
/// Variation from day to day, and between similar devices: standard deviations of the logarithm.
const OTHER_DAY_SD: f64 = 0.15;
const OTHER_DEVICE_SD: f64 = 0.2;
/// The same for a single peer of which only the name is known: a flash drive and a rotating disk have like names.
const OTHER_KIND_SD: f64 = 0.7;
/// Utilization that larger requests may reach for the device to have hardly a queue.
const LIGHT: f64 = 0.5;
/// The name of that rung, with its source.
const PEERS: (&str, &str) = ("similar disks here", "the same observation");
/// How much faster another time of the recording must have been to count, and by what factor its
/// concurrency may have been lower.
const QUICKER: f64 = 1.25;
const FEWER: f64 = 1.4;
/// Rates within this factor are equal.
const SAME_RATE: f64 = 1.1;
/// Prefixes of disk names, for sources without other facts.
const STEMS: [&str; 5] = ["sd", "vd", "xvd", "hd", "nvme"];
/// Prefixes of the names of devices built of others, for sources that do not report of which.
const BUILT: [&str; 2] = ["dm-", "md"];

/// The expectation of a device without a profile, for one kind of requests.
#[derive(Debug)]
pub(crate) struct Prior {
    rung: Rung,
    class: Class,
    of: IntervalTotals,
}

impl Prior {
    /// The class with its figures, and its rung.
    pub(crate) fn read(&self) -> (Class, Rung) {
        (self.class, self.rung)
    }
}

/// The best prior for requests like these, with its rung; the class if there is none.
pub(crate) fn best(priors: &[Prior], class: Class, total: &IntervalTotals) -> (Class, Rung) {
    let found = priors.iter().find(|one| same_kind(&one.of, total));
    found.map_or((class, Rung::Class), Prior::read)
}

/// Whether a device always had a request, as far as its busy time is known.
pub(crate) fn is_full(series: &[IntervalTotals]) -> bool {
    series.iter().all(|one| one.utilization().is_none_or(|busy| busy >= NEVER_IDLE))
}

/// The device's performance at another time of the recording. `others` holds the intervals of each other use
/// of the device. The fastest one with requests like `now` is used, if it was clearly faster and a queue does
/// not explain the difference. A queue does not explain it if no fewer requests were in flight then, or if
/// independent requests arrived as often: the device should then take as long now. A queue explains only a
/// part if more requests completed then with fewer in flight. A rate that is constant now, behind a queue that
/// never emptied then either, is what a limit lets through, and does not show how often requests arrive. On a
/// rotating disk, requests that became random explain latencies and rates that such a disk usually has for them.
///
/// Requests that are larger now may take longer in proportion to their size, and keep the device busy for as
/// much longer. Smaller ones take no longer.
pub(crate) fn at_another_time<'a>(
    class: Class,
    now: &IntervalTotals,
    others: impl Iterator<Item = &'a [IntervalTotals]>,
    (busy, closed): (bool, bool),
    limited: bool,
    is_place_known: bool,
) -> Option<Prior> {
    let (latency, depth) = (now.latency_ns()?, now.concurrency()?);
    if !is_place_known && class.place_explains(now) {
        return None;
    }
    let quicker = others.filter(|other| other.len() >= PAST_MIN).filter_map(|other| {
        let of = IntervalTotals::sum(other);
        let grown = if same_kind(&of, now) { 1.0 } else { growth(&of, now)? };
        let then_ns = of.latency_ns().filter(|ns| *ns > 0.0).map(|ns| ns * grown);
        let quick = then_ns.filter(|ns| latency / ns > QUICKER)?;
        let iops = now.iops() * grown;
        let light = of.utilization().is_some_and(|it| it * iops <= LIGHT * of.iops());
        let as_many = of.concurrency()? * FEWER >= depth;
        let free = !(closed || limited && is_full(other));
        let as_often = free && (of.iops() * SAME_RATE >= iops || grown > 1.0 && light);
        let more = of.iops() > QUICKER * iops;
        let told = as_many || as_often || more;
        told.then_some((quick, grown, as_many || as_often, other))
    });
    let (quick, grown, without_queue, other) = quicker.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let served = Served::seen(other, &class, busy)?;
    let (mut log_lone, spread) = served.log_lone;
    log_lone += libm::log(grown);
    let mut side = libm::exp(served.log_side);
    if without_queue {
        (log_lone, side) = (libm::log(quick), side.max(2.0 * depth));
    }
    let words = ("this disk at other times", "the same recording");
    let same_rate = near(Some(served.of.iops()), Some(now.iops()), SAME_RATE);
    let of_place = if is_place_known || same_rate { 0.0 } else { class.place_sd() };
    let of_size = libm::log(grown) / NORMAL_95;
    let spread = spread.hypot(OTHER_DAY_SD).hypot(of_place).hypot(of_size);
    let class = class.seen(words, (libm::exp(log_lone), spread), side);
    Some(Prior { rung: Rung::Past, class, of: *now })
}

/// The most by which requests of another size may take longer than `then`; `None` if reads and writes have other
/// shares, or if a size is unknown.
fn growth(then: &IntervalTotals, now: &IntervalTotals) -> Option<f64> {
    let ratio = now.all.request_bytes()? / then.all.request_bytes()?;
    same_mix(then, now).then_some(ratio.max(1.0))
}

/// The recordings that priors come from. Each device is estimated once, when a device without a
/// profile needs it.
pub(crate) struct Ladder<'a> {
    observation: &'a Observation,
    past: &'a [Observation],
    /// By the index of the device in the observation.
    served: Vec<OnceCell<Option<Served>>>,
}

impl<'a> Ladder<'a> {
    /// `past` holds earlier recordings, the latest first.
    pub(crate) fn new(observation: &'a Observation, past: &'a [Observation]) -> Self {
        let served = observation.devices.iter().map(|_| OnceCell::new()).collect();
        Self { observation, past, served }
    }

    /// Priors of a device for requests like `present`, from its past and from its peers.
    pub(crate) fn priors(&self, device: &ObservedDevice, present: &IntervalTotals) -> Vec<Prior> {
        let past = self.before(device, present);
        past.into_iter().chain(self.beside(device, present)).collect()
    }

    fn before(&self, device: &ObservedDevice, present: &IntervalTotals) -> Option<Prior> {
        let mut all: Vec<IntervalTotals> = Vec::new();
        let until_ns = self.observation.dated_ns().map_or(u64::MAX, |ns| ns - PAST_AGE_MIN_NS);
        let is_old = |it: &Interval| it.begin_ns.saturating_add(it.duration_ns) <= until_ns;
        for one in self.past.iter().filter(|one| one.id != self.observation.id) {
            // Two recordings without a host may be of two machines.
            let on_host = one.host.is_some() && one.host == self.observation.host;
            let same = one.devices.iter().find(|it| is_same_device(device, it, on_host));
            all.extend(same.into_iter().flat_map(|same| of_device(one, same, is_old)));
            if all.len() > PAST_MAX {
                break;
            }
        }
        all.retain(|one| one.all.count() >= 5.0 && same_kind(one, present));
        let class = Class::of(device);
        let served = Served::seen(&all, &class, device.busy_doubt.is_none());
        let served = served.filter(|_| all.len() >= PAST_MIN)?;
        let (log_lone, spread) = served.log_lone;
        let words = ("this disk in earlier recordings", "the database or sysstat");
        let lone = (libm::exp(log_lone), spread.hypot(OTHER_DAY_SD));
        let class = class.seen(words, lone, libm::exp(served.log_side));
        Some(Prior { rung: Rung::Past, class, of: served.of })
    }

    /// The peers' figures. A single peer counts if it has the same load, as the other half of a mirror has.
    fn beside(&self, device: &ObservedDevice, present: &IntervalTotals) -> Option<Prior> {
        let all = self.observation.devices.iter().zip(&self.served);
        let peers = all.filter(|(it, _)| is_peer(device, it));
        let served = peers.filter_map(|(peer, served)| {
            let served = served.get_or_init(|| {
                let whole = of_device(self.observation, peer, |_| true);
                Served::seen(&whole, &Class::of(peer), peer.busy_doubt.is_none())
            });
            served.as_ref().filter(|served| same_kind(&served.of, present))
        });
        let served: Vec<&Served> = served.collect();
        let same_rate = |one: &Served| near(Some(one.of.iops()), Some(present.iops()), SAME_RATE);
        let (words, of_kind) = match served[..] {
            [] => return None,
            [one] if !same_rate(one) => return None,
            [_] if device.facts.is_none() => (ONE_PEER, OTHER_KIND_SD),
            [_] => (ONE_PEER, OTHER_DEVICE_SD),
            _ => (PEERS, OTHER_DEVICE_SD),
        };
        let middle = |of: &dyn Fn(&Served) -> f64| median(served.iter().map(|it| of(it)).collect());
        let log_lone = middle(&|one| one.log_lone.0);
        let apart = middle(&|one| (one.log_lone.0 - log_lone).abs());
        let sd = middle(&|one| one.log_lone.1).hypot(apart).hypot(of_kind);
        let side = libm::exp(middle(&|one| one.log_side));
        let class = Class::of(device).seen(words, (libm::exp(log_lone), sd), side);
        let of = IntervalTotals::sum(served.iter().map(|it| &it.of));
        Some(Prior { rung: Rung::Peers, class, of })
    }
}

/// The intervals of a device that are `wanted`.
fn of_device(
    observation: &Observation,
    device: &ObservedDevice,
    wanted: impl Fn(&Interval) -> bool,
) -> Vec<IntervalTotals> {
    let of = |it: &&Interval| it.device == device.name && it.duration_ns > 0 && wanted(it);
    observation.intervals.iter().filter(of).map(IntervalTotals::of).collect()
}

/// Whether two observed devices are the same: by serial number, otherwise by name, model and size
/// on the same machine.
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

/// Whether two whole disks are of the same kind.
fn is_peer(one: &ObservedDevice, other: &ObservedDevice) -> bool {
    if one.name == other.name || !is_whole(one) || !is_whole(other) {
        return false;
    }
    match (&one.facts, &other.facts) {
        (Some(a), Some(b)) => {
            a.model == b.model && same_size(a, b) && Class::of(one) == Class::of(other)
        }
        (None, None) => stem(one).is_some() && stem(one) == stem(other),
        _ => false,
    }
}

/// Whether a device could serve a part of another one's load: two whole disks of one class. A
/// software device cannot: it is in memory or in a file, which may be on the other disk.
pub(crate) fn could_share(one: &ObservedDevice, other: &ObservedDevice) -> bool {
    let class = Class::of(one);
    let same_name = one.facts.is_some() || stem(one) == stem(other);
    let whole = one.name != other.name && is_whole(one) && is_whole(other);
    whole && same_name && class == Class::of(other) && !class.is_in_memory()
}

/// Whether a device is neither a part of another one nor built of others.
fn is_whole(device: &ObservedDevice) -> bool {
    let several = device.facts.as_ref().is_some_and(|facts| facts.leaves.len() > 1);
    let by_name = BUILT.iter().any(|built| device.name.starts_with(built));
    device.partition_of.is_none() && device.built_of.is_empty() && !several && !by_name
}

/// The prefix of a disk's name; `None` if it is no usual one. Windows numbers its disks: `0 C:`.
fn stem(device: &ObservedDevice) -> Option<&'static str> {
    let numbered = device.name.starts_with(|first: char| first.is_ascii_digit());
    let usual = STEMS.into_iter().find(|stem| device.name.starts_with(stem));
    usual.or(numbered.then_some("a disk of Windows"))
}
