//! Lists the verdicts that the evidence rules out, each with its figures: the first question of anyone who
//! receives a diagnosis. A verdict is ruled out if its own test fails with a margin. A verdict near its
//! threshold is an alternative. A verdict for which the source lacks the figures is neither.

use super::constant_rate::{VARIATION_MAX, variation};
use super::facts::{
    HARDLY_SLOW, HARDLY_WAITS, NEAR_MAXIMUM, OVER_AT_ALL, PRESSURE_BEYOND, SLOW_FROM, Segment,
    WAITS_FROM,
};
use super::judgement::Judgement;
use super::other_causes;
use super::tails::slowest;
use crate::words::{percent, times};
use record::{Excluded, Verdict, format_nanos};

/// Without a profile, a queue below this probability is ruled out.
const UNLIKELY: f64 = 0.05;

/// The verdicts that the figures of a segment rule out.
pub(super) fn excluded(segment: &Segment<'_>, judgement: &Judgement) -> Vec<Excluded> {
    let verdict = judgement.verdict;
    if verdict == Verdict::NotEnoughEvidence {
        return Vec::new();
    }
    let found = [
        (Verdict::Slow, not_slow(segment)),
        (Verdict::Overloaded, not_overloaded(segment)),
        (Verdict::Capped, not_capped(segment)),
        (Verdict::NotTheDisk, not_elsewhere(segment)),
    ];
    let fine = verdict.is_fine();
    let open = |other: Verdict| {
        let mut possible = judgement.tested().chain([verdict]);
        possible.any(|one| {
            one == other
                || one == Verdict::SlowAndOverloaded
                    && matches!(other, Verdict::Slow | Verdict::Overloaded)
        })
    };
    let found = found
        .into_iter()
        .filter(|(other, _)| !(open(*other) || fine && *other == Verdict::NotTheDisk));
    found.filter_map(|(verdict, because)| Some(Excluded { verdict, because: because? })).collect()
}

fn not_slow(segment: &Segment<'_>) -> Option<String> {
    let (look, latency) = segment.best_look().filter(|(look, _)| look.own.is_none())?;
    let expected = look.expected_ns(segment.by_rate());
    let ratio = latency / expected.max(1.0);
    let mean = (ratio < HARDLY_SLOW).then(|| {
        format!(
            "Requests take {} on average, {} the {} that the profile predicts (slow: {} or more).",
            format_nanos(latency),
            times(ratio),
            format_nanos(expected),
            times(SLOW_FROM)
        )
    })?;
    let tail = segment.tail.as_ref().filter(|tail| tail.is_fine()).map(slowest);
    sentences([Some(mean), tail])
}

fn not_overloaded(segment: &Segment<'_>) -> Option<String> {
    let (look, latency) = segment.best_look()?;
    if let Some(own) = look.own {
        return (own.overloaded < UNLIKELY).then(|| own.hardly_waits(segment));
    }
    let slower = (latency / look.expected_ns(segment.by_rate()).max(1.0)).max(1.0);
    // A slower device has a lower maximum rate: the rate is compared with that.
    let (waits, of_now) = (look.wait_ratio(), segment.tally.iops() / look.max_iops * slower);
    (waits < HARDLY_WAITS && of_now < NEAR_MAXIMUM).then(|| {
        format!(
            "At this concurrency the latency is {} the latency at QD 1 (overloaded: {} or more), and \
             the rate is {} of the maximum (overloaded: {} or more).",
            times(waits),
            times(WAITS_FROM),
            percent(of_now),
            percent(NEAR_MAXIMUM)
        )
    })
}

fn not_capped(segment: &Segment<'_>) -> Option<String> {
    let varies = variation(segment.series).filter(|varies| *varies >= VARIATION_MAX);
    let varies = varies.map(percent).map(|varies| {
        format!("The rate varies by {varies} between intervals; a cap would make it constant.")
    });
    let over = segment.around.over_limit.map(|over| over.largest().1);
    if over.is_some_and(|share| share >= OVER_AT_ALL) {
        return None;
    }
    let told = over.map(|share| {
        format!(
            "The volume's own log shows demand above the provider's limits {} of the time.",
            percent(share)
        )
    });
    let beyond = segment.pressure_beyond();
    if beyond.is_some_and(|beyond| beyond > PRESSURE_BEYOND) || segment.waits_before() {
        return None;
    }
    // If a device is busy nearly all the time, waits above it cannot be detected.
    let busy = segment.tally.utilization().filter(|busy| busy + PRESSURE_BEYOND <= 1.0);
    let waited = segment.around.io_some.zip(busy).map(|(waited, busy)| {
        format!(
            "Tasks waited for I/O {} of the time, and the device was busy {}: nothing above the \
             device delays them.",
            percent(waited),
            percent(busy)
        )
    });
    // Behind a cap, too, a rate varies between short intervals: alone, that excludes nothing.
    if told.is_none() && waited.is_none() {
        return None;
    }
    sentences([told, varies, waited])
}

/// CPUs, hypervisor and memory, as far as they are known.
fn not_elsewhere(segment: &Segment<'_>) -> Option<String> {
    if !other_causes::elsewhere(segment).is_empty() {
        return None;
    }
    let around = &segment.around;
    // Without the CPU time the other figures mean little.
    let idle = percent(around.idle?);
    let steal = around
        .steal
        .map(|steal| format!("The hypervisor took {} of this machine's CPU time.", percent(steal)));
    let memory = around
        .memory_some
        .map(|waited| format!("Tasks waited for memory {} of the time.", percent(waited)));
    sentences([Some(format!("The CPUs were {idle} idle.")), steal, memory])
}

fn sentences<const N: usize>(known: [Option<String>; N]) -> Option<String> {
    let known: Vec<String> = known.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(" "))
}
