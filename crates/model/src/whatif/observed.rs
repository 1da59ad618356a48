//! The load of an observation, as a mix and a rate.
//!
//! Counters tell rates and mean sizes per operation; the share of sequential requests comes from a
//! tracer, or from the diagnosis, which tries several and keeps the one that explains the response
//! time best. Sources that do not tell reads from writes cannot be asked "what if".

use record::{Interval, Locality, Mix, MixClass, OpInterval, OpKind};

/// Less than this share of the requests makes no class.
const LEAST: f64 = 0.002;

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The requests.
    pub mix: Mix,
    /// Requests per second.
    pub rate_per_s: f64,
    /// Mean response time; `None` where the source does not tell.
    pub latency_ns: Option<f64>,
    /// Mean requests in progress; `None` where the source does not tell.
    pub concurrency: Option<f64>,
}

/// The load of these intervals of one device; `None` where the source does not tell reads from
/// writes, or their sizes, or there were no requests.
pub fn counted<'a>(
    intervals: impl IntoIterator<Item = &'a Interval>,
    sequential_share: f64,
) -> Option<Counted> {
    let (mut seconds, mut counts, mut bytes, mut times) = (0.0, [0.0; 2], [0.0; 2], Some(0.0));
    for interval in intervals {
        let length = interval.duration_ns as f64 / 1e9;
        seconds += length;
        for (at, op) in [&interval.read, &interval.write].into_iter().enumerate() {
            let count = op.per_s?.value * length;
            counts[at] += count;
            bytes[at] += bytes_of(op, count, length)?;
            if count > 0.0 {
                times = times.zip(op.latency_ns).map(|(sum, time)| sum + count * time.value);
            }
        }
    }
    let all = counts[0] + counts[1];
    if seconds <= 0.0 || all <= 0.0 {
        return None;
    }
    let mut classes = Vec::new();
    for (at, op) in [OpKind::Read, OpKind::Write].into_iter().enumerate() {
        let share = counts[at] / all;
        if share < LEAST {
            continue;
        }
        let size = (bytes[at] / counts[at]).round().max(1.0) as u64;
        let parts =
            [(Locality::Sequential, sequential_share), (Locality::Random, 1.0 - sequential_share)];
        classes.extend(
            parts.into_iter().filter(|(_, part)| *part > LEAST).map(|(locality, part)| MixClass {
                op,
                locality,
                bytes: size,
                share: share * part,
            }),
        );
    }
    Some(Counted {
        mix: super::joined(&Mix { classes }),
        rate_per_s: all / seconds,
        latency_ns: times.map(|sum| sum / all),
        concurrency: times.map(|sum| sum / 1e9 / seconds),
    })
}

fn bytes_of(op: &OpInterval, count: f64, seconds: f64) -> Option<f64> {
    if count <= 0.0 {
        return Some(0.0);
    }
    let by_rate = op.bytes_per_s.map(|rate| rate.value * seconds);
    by_rate.or_else(|| op.request_bytes.map(|size| size.value * count))
}
