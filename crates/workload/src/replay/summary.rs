//! Summarizes recorded requests: number, sizes, order, burstiness, and popularity of positions.
//!
//! Popularity is estimated from pairs: how often two recorded requests have the same position. That share is
//! the sum of the squared probabilities of the positions, without bias even for few requests, and each value
//! of it corresponds to one exponent of Zipf's law. Rejected: a line through counts by rank, whose tail is
//! noise if most positions were used once or never.

use record::{Bytes, Nanos, OpKind, RecordedRequest, RequestsSide, SizeShare};
use std::collections::BTreeMap;

/// Number of streams whose ends are remembered.
const STREAMS: usize = 16;
const PAGE_BYTES: u64 = 4_096;
/// Minimum length of a counting period, and the mean number of arrivals in it.
const COUNTED_OVER_MIN: u64 = 1_000_000;
const COUNTED_PER_TIME: u64 = 10;
/// Minimum number of pairs for a result on popularity, and the minimum ratio to the number expected by
/// chance.
const PAIRS_MIN: u64 = 30;
const PAIRS_OVER_CHANCE: f64 = 2.0;
/// Maximum exponent in the search.
const THETA_MAX: f64 = 3.0;
/// Number of terms that are added one by one; the rest is an integral.
const TERMS: u64 = 2_000;

/// Summarizes the requests of one direction; `None` without requests.
pub(crate) fn side(
    requests: &[RecordedRequest],
    op: OpKind,
    span: Nanos,
    shares: impl Fn(&[RecordedRequest]) -> Vec<SizeShare>,
) -> Option<RequestsSide> {
    let own: Vec<RecordedRequest> = requests.iter().filter(|it| it.op == op).copied().collect();
    let first = own.first()?;
    let ends = own.iter().map(|it| it.offset + u64::from(it.bytes));
    let begin = own.iter().map(|it| it.offset).min().unwrap_or(first.offset);
    let end = ends.max().unwrap_or(first.offset);
    let seconds = span.as_secs_f64().max(1e-9);
    let (dispersion, over) = dispersion(&own, span);
    let sizes = shares(&own);
    let unit = sizes.iter().map(|share| share.bytes.0).min().unwrap_or(PAGE_BYTES);
    let sequential_share = sequential_share(&own);
    Some(RequestsSide {
        requests: own.len() as u64,
        bytes: Bytes(own.iter().map(|it| u64::from(it.bytes)).sum()),
        per_s: if span == Nanos(0) { 0.0 } else { own.len() as f64 / seconds },
        sizes,
        sequential_share,
        dispersion,
        dispersion_over_ns: over,
        begin: Bytes(begin),
        end: Bytes(end),
        touched: Bytes(touched(&own) * PAGE_BYTES),
        zipf_theta: popularity(&own, (end - begin) / unit.max(1)),
    })
}

fn sequential_share(requests: &[RecordedRequest]) -> f64 {
    // The most recently used stream is first.
    let mut ends = [(0_u16, u64::MAX); STREAMS];
    let mut adjacent = 0_u64;
    for request in requests {
        let begin = (request.device, request.offset);
        let known = ends.iter().position(|stream| *stream == begin);
        adjacent += u64::from(known.is_some());
        ends[..=known.unwrap_or(STREAMS - 1)].rotate_right(1);
        ends[0] = (request.device, request.offset + u64::from(request.bytes));
    }
    adjacent as f64 / requests.len().max(1) as f64
}

/// Variance divided by mean of the arrivals in equal periods, and the length of a period.
fn dispersion(requests: &[RecordedRequest], span: Nanos) -> (f64, Nanos) {
    let count = requests.len() as u64;
    let over = (span.0.saturating_mul(COUNTED_PER_TIME) / count.max(1)).max(COUNTED_OVER_MIN);
    let times = (span.0 / over) as usize;
    if times < 2 {
        return (1.0, Nanos(over));
    }
    let mut counts = vec![0_u64; times];
    for request in requests {
        if let Some(count) = counts.get_mut((request.at.0 / over) as usize) {
            *count += 1;
        }
    }
    let mean = counts.iter().sum::<u64>() as f64 / times as f64;
    let squares: f64 = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum();
    (squares / (times - 1) as f64 / mean.max(f64::MIN_POSITIVE), Nanos(over))
}

/// Number of pages with at least one accessed byte.
fn touched(requests: &[RecordedRequest]) -> u64 {
    let mut pieces: Vec<(u16, u64, u64)> = requests
        .iter()
        .map(|it| {
            let end = it.offset + u64::from(it.bytes);
            (it.device, it.offset / PAGE_BYTES, end.div_ceil(PAGE_BYTES))
        })
        .collect();
    pieces.sort_unstable();
    let (mut pages, mut of_device, mut reached) = (0, 0, 0);
    for (device, begin, end) in pieces {
        if device != of_device {
            (of_device, reached) = (device, 0);
        }
        pages += end.saturating_sub(begin.max(reached));
        reached = reached.max(end);
    }
    pages
}

/// The exponent of Zipf's law over this many positions; `None` if equal positions are rare, or no more
/// frequent than with uniform popularity.
fn popularity(requests: &[RecordedRequest], places: u64) -> Option<f64> {
    let mut counts: BTreeMap<(u16, u64), u64> = BTreeMap::new();
    for request in requests {
        *counts.entry((request.device, request.offset)).or_default() += 1;
    }
    let pairs: u64 = counts.values().map(|&count| count * (count - 1) / 2).sum();
    let all = requests.len() as f64 * (requests.len() as f64 - 1.0) / 2.0;
    let share = pairs as f64 / all.max(1.0);
    if pairs < PAIRS_MIN || places < 2 || share < PAIRS_OVER_CHANCE / places as f64 {
        return None;
    }
    let of = |theta: f64| zeta(places, 2.0 * theta) / zeta(places, theta).powi(2);
    let (mut low, mut high) = (0.0, THETA_MAX);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if of(middle) < share { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// Sum of k^-s for k from 1 to `count`: the first terms one by one, the rest as an integral.
fn zeta(count: u64, s: f64) -> f64 {
    let one_by_one = count.min(TERMS);
    let head: f64 = (1..=one_by_one).map(|k| (k as f64).powf(-s)).sum();
    if count <= TERMS {
        return head;
    }
    let (from, to) = (TERMS as f64 + 0.5, count as f64 + 0.5);
    let tail = if (s - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - s) - from.powf(1.0 - s)) / (1.0 - s)
    };
    head + tail
}
