//! What one segment of a device tells of the others: a cap would have held at every hour, a fault
//! that comes and goes was there before, bursts are those of the page cache, and programs that wait
//! for a processor ask late. Rejected: judging the whole at once, which cannot say in which hour
//! something was wrong.

use super::alike::{alike_in_time, same_load};
use super::constant_rate::ConstantRate;
use super::judge::{Judged, Segment};
use super::judgement::{Judgement, numbers};
use super::{causes, judge, notes};
use record::{Doubt, Verdict};

/// A pinned rate that other segments stay below by this share, being fast there.
const BELOW_PIN: f64 = 0.8;

/// Everything of this file, in an order in which none needs a later one.
pub(super) fn together(judged: &mut [Judged<'_>]) {
    chance_pins(judged);
    pinned_rates(judged);
    write_back(judged);
    late(judged);
    comes_and_goes(judged);
}

/// A slow segment whose rate stands still beside one that was as slow under the same load while its
/// rate moved: no cap is needed to explain either.
fn chance_pins(judged: &mut [Judged<'_>]) {
    for index in 0..judged.len() {
        let one = &judged[index];
        if one.judgement.pin.is_none() || !one.judgement.verdict.is_slow() {
            continue;
        }
        let moved = judged.iter().any(|other| {
            other.judgement.verdict.is_slow()
                && other.judgement.pin.is_none()
                && other.segment.series.len() >= one.segment.series.len()
                && alike_in_time(&one.segment, &other.segment)
        });
        if moved {
            let judgement = &mut judged[index].judgement;
            judgement.pin = None;
            judgement.open.retain(|open| open.verdict != Verdict::Capped);
        }
    }
}

/// A segment in which nothing was wrong, beside one under the same load that was slow.
fn comes_and_goes(judged: &mut [Judged<'_>]) {
    for index in 0..judged.len() {
        let one = &judged[index];
        let unharmed = !one.judgement.verdict.is_slow()
            && !matches!(one.judgement.verdict, Verdict::NotEnoughEvidence | Verdict::Capped);
        let slow = judged.iter().find(|other| {
            unharmed
                && other.judgement.verdict.is_slow()
                && same_load(&one.segment.tally, &other.segment.tally)
        });
        let Some(verdict) = slow.map(|other| other.judgement.verdict) else { continue };
        judged[index].judgement.against(
            verdict,
            Doubt::ComesAndGoes,
            "Under the same load the device was slow at another time: what makes it so may come and \
             go.",
            "The system's log and SMART of that time, and a longer observation.",
        );
    }
}

/// A rate pinned inside the device: slow and capped look the same, unless the device was as fast as
/// its profile whenever less was asked of it.
fn pinned_rates(judged: &mut [Judged<'_>]) {
    for index in 0..judged.len() {
        let one = &judged[index];
        let slow = one.judgement.verdict.is_slow();
        let Some(pin) = one.judgement.pin.filter(|_| slow) else { continue };
        let rate = |segment: &Segment<'_>| {
            if pin.bytes {
                segment.tally.bytes_per_s().unwrap_or(0.0)
            } else {
                segment.tally.iops()
            }
        };
        let below: Vec<usize> = (0..judged.len())
            .filter(|&at| rate(&judged[at].segment) <= BELOW_PIN * pin.per_s)
            .filter(|&at| as_behind_a_cap(&judged[at], rate(&judged[at].segment) / pin.per_s))
            .collect();
        let above = judged.iter().any(|other| rate(&other.segment) > 1.05 * pin.per_s);
        if below.is_empty() || above {
            continue;
        }
        for at in below {
            below_cap(&mut judged[at].judgement, &pin);
        }
        let claim = format!(
            "The {} stays at {} however many requests wait, and below it the device is as fast as \
             its profile says: a cap inside or below it.",
            pin.what(),
            pin.text()
        );
        let judgement = &mut judged[index].judgement;
        judgement.evidence.extend(numbers(&[("pinned at", pin.per_s, pin.unit())]));
        judgement.replaced(
            Verdict::Capped,
            claim,
            Doubt::SlowWhenDeep,
            "The device may be slower only where many requests wait.",
            "The provider's limit for this volume, or a trial of our own at that depth.",
        );
    }
}

/// Whether a segment at this share of a pinned rate is as fast as a device that is as profiled would
/// be behind a cap: a bucket that lets requests through at equal distances makes them wait as one
/// server of constant service time does (Kleinrock 1975, section 5.7), and a slower device would
/// make the lone request slower.
fn as_behind_a_cap(judged: &Judged<'_>, share: f64) -> bool {
    match judged.judgement.verdict {
        Verdict::Healthy | Verdict::NotTheDisk => return true,
        Verdict::Slow | Verdict::SlowAndOverloaded => {}
        _ => return false,
    }
    let (Some((look, latency)), true) = (judged.segment.best_look(), share < 1.0) else {
        return false;
    };
    let distance_ns = share * 1e9 / judged.segment.tally.iops().max(1e-9);
    let waits_ns = distance_ns * share / (2.0 * (1.0 - share));
    latency <= judge::SLOW_FROM * (look.unloaded_ns.max(look.expected_ns(false)) + waits_ns)
}

/// Below a cap that another segment shows, requests wait no longer than it makes them.
fn below_cap(judgement: &mut Judgement, pin: &ConstantRate) {
    if !judgement.verdict.is_slow() {
        return;
    }
    let claim = format!(
        "Requests wait as a cap of {} lets them through, and no longer: the device itself is as fast \
         as its profile says.",
        pin.text()
    );
    judgement.replaced(
        Verdict::Healthy,
        claim,
        Doubt::SlowBelowCap,
        "The device may be slower at this load as well.",
        "A trial of our own at depth 1.",
    );
    judgement.against(
        Verdict::Capped,
        Doubt::CapBelow,
        "The cap costs time before it is reached.",
        "The provider's limit for this volume.",
    );
}

/// Writes of the page cache wait for each other, and nobody for them.
fn write_back(judged: &mut [Judged<'_>]) {
    for one in judged {
        if one.judgement.verdict != Verdict::Overloaded || !notes::is_write_back(one) {
            continue;
        }
        let Some((look, _)) = one.segment.best_look() else { continue };
        let spare = one.segment.tally.iops() < 0.2 * look.max_iops;
        let claim = format!(
            "The page cache writes back: its requests wait for each other ({}), as expected.",
            record::format_nanos(one.segment.tally.latency_ns().unwrap_or(0.0))
        );
        one.judgement.replaced(
            if spare { Verdict::NotTheDisk } else { Verdict::Healthy },
            claim,
            Doubt::WriteBack,
            "A program may wait for these writes (fsync, or readers in the same queue).",
            "Latencies of the program, or the tracer's list of processes.",
        );
    }
}

/// Bursts of programs that wait for a processor and then ask for all that they are late with.
fn late(judged: &mut [Judged<'_>]) {
    for one in judged {
        let segment = &one.segment;
        let late = one.judgement.verdict == Verdict::Overloaded && segment.around.processors_full();
        let (Some((look, latency)), true) = (segment.best_look(), late) else { continue };
        let saturation = segment.tally.iops() / look.max_iops;
        let in_bursts = segment.busy().is_some_and(|busy| busy < causes::BURST_BUSY);
        if saturation >= judge::MUCH_TO_SPARE || !in_bursts {
            continue;
        }
        let claim = format!(
            "The processors have no time left, so that programs ask late and for much at once: \
             requests wait for each other ({}), as expected, and the rate is only {} of the largest.",
            record::format_nanos(latency),
            crate::words::percent(saturation)
        );
        let left =
            numbers(&[("processors' time left", segment.around.idle.unwrap_or(0.0), "share")]);
        one.judgement.evidence.extend(left);
        one.judgement.replaced(
            Verdict::NotTheDisk,
            claim,
            Doubt::OwnBursts,
            "The programs may ask in bursts by themselves.",
            "The same while the processors have time left.",
        );
    }
}
