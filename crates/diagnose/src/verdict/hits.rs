//! Estimates the share of reads that a device cache serves, from their latency: Friedman's weighted service
//! time w = p w_hit + (1 - p) w_disk, solved for p. Only segments count in which requests hardly wait, on a
//! device whose rereads are faster than its random reads. Without a tracer, sequential reads look like hits.

use super::facts::Judged;
use super::fitted_profile::FittedProfile;
use record::{Estimate, Locality, Measured, Mix, NORMAL_95, OpKind};

/// Largest ratio of the latency to that at queue depth 1.
const HARDLY_WAITS: f64 = 1.3;
/// Least ratio of the latency of random reads to that of hits.
const TOLD_APART: f64 = 1.5;
const READS_MIN: f64 = 50.0;
/// Least relative error of a modelled service time.
const MODEL_ERROR: f64 = 0.05;

/// The estimate over all segments that allow one.
pub(super) fn hit_share(
    judged: &[Judged<'_>],
    reference: Option<&FittedProfile>,
) -> Measured<Estimate> {
    let Some(reference) = reference else {
        return Measured::not("a matching profile is required");
    };
    let (mut reads, mut time_ns, mut bytes, mut error) = (0.0, 0.0, 0.0, 0.0);
    for one in judged {
        let calm =
            one.segment.best_look().is_some_and(|(look, _)| look.wait_ratio() <= HARDLY_WAITS);
        let slow = one.judgement.verdict.is_slow();
        let read = &one.segment.tally.read;
        if let (true, false, Some(spent), Some(moved)) = (calm, slow, read.time_ns, read.bytes) {
            error += one.segment.latency_error().unwrap_or(1.0) * read.count();
            reads += read.count();
            time_ns += spent;
            bytes += moved;
        }
    }
    if reads < READS_MIN {
        return Measured::not("no segment has enough reads with little waiting");
    }
    let size = ((bytes / reads).round() as u64).max(1);
    let alone = |locality: Locality| {
        let reads = Mix::one(OpKind::Read, locality, size);
        reference.at_depth(&reads, 1.0).ok().map(|it| it.latency_ns)
    };
    let (Some(disk), Some(hit)) = (alone(Locality::Random), alone(Locality::Hit)) else {
        return Measured::not("the profile has no re-reads of this size");
    };
    if disk.value < TOLD_APART * hit.value {
        return Measured::not("re-reads are no faster than random reads on this device");
    }
    let spread = disk.value - hit.value;
    let share = |time: f64| ((disk.value - time) / spread).clamp(0.0, 1.0);
    let mean = time_ns / reads;
    let own = (error / reads / NORMAL_95) * mean;
    let se = own.hypot(disk.se).hypot(hit.se).hypot(MODEL_ERROR * mean);
    let half = NORMAL_95 * se;
    Measured::Value(Estimate {
        value: share(mean),
        low: share(mean + half),
        high: share(mean - half),
        se: se / spread,
        n: u32::try_from(judged.len()).unwrap_or(u32::MAX),
    })
}
