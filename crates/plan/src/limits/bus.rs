//! Evaluates the disk-cache test and the hit test.
//!
//! Disks send data from their caches: 64 KiB repeatedly, at queue depth two, on one disk and on more
//! (Chung, Gray, Worthington, Horst 2000, section 3.3). The result bounds the bus only if a cache served
//! the re-reads and the sum over the disks stopped growing. Re-reads must be faster than first reads and
//! than the medium: a disk that waits a revolution for the same block is faster than one that seeks.
//! Comparing a cached block with one that was read ahead, by size, separates the fixed time of a request
//! from the rate of the link (Riedel, van Ingen, Gray 1997, table 3).

use crate::limits::plan::{BUS_AREA, BUS_DEPTH, BUS_REQUEST, Purpose};
use record::{
    BusPoint, BusTest, Bytes, CacheEvidence, Estimate, Growth, HitRow, HitTest, Measured, Nanos,
    OpKind, Pattern, ServiceTimeFit, Trial,
};
use stats::Ordered;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum speedup of re-reads over first reads that counts as a cache, as in a profile.
const CACHE_GAIN: f64 = 1.25;
/// If a further target adds less than this part of a single target's rate, the sum has stopped growing.
const GROWTH_PART: f64 = 0.25;

/// A finished trial and its purpose.
pub type Answer = (Purpose, Trial);

/// Bytes per second of a trial, both directions; `None` if it is invalid. The page cache is meant to serve
/// a cached file, which would make any other trial invalid.
fn rate(purpose: Purpose, trial: &Trial) -> Option<f64> {
    let counts = match purpose {
        Purpose::Cached(_) => trial.failed() == 0 && trial.completed() > 0,
        _ => model::counts(trial),
    };
    counts.then(|| trial.directions().map(|direction| direction.bytes_per_s).sum())
}

/// Rate over the visits of each workload of a purpose, fastest workload first.
#[must_use]
pub fn rates(answers: &[Answer], purpose: Purpose) -> Vec<(Estimate, &Trial)> {
    let mut visits: BTreeMap<&str, (Vec<f64>, &Trial)> = BTreeMap::new();
    for (_, trial) in answers.iter().filter(|(other, _)| *other == purpose) {
        if let Some(rate) = rate(purpose, trial) {
            visits.entry(&trial.cell).or_insert_with(|| (Vec::new(), trial)).0.push(rate);
        }
    }
    let mut rates: Vec<(Estimate, &Trial)> = visits
        .into_values()
        .filter_map(|(visits, trial)| Some((stats::visits_mean(&visits)?, trial)))
        .collect();
    rates.sort_by_cached_key(|one| Ordered(-one.0.value));
    rates
}

/// The largest rate of a purpose.
#[must_use]
pub fn best(answers: &[Answer], purpose: Purpose) -> Option<Estimate> {
    rates(answers, purpose).first().map(|(rate, _)| *rate)
}

/// Whether a cache served the re-reads: they must be faster than first reads and than sequential reads of
/// the medium, intervals included.
#[must_use]
pub fn evidence(first: &Estimate, medium: &Estimate, again: &Estimate) -> CacheEvidence {
    if again.low >= CACHE_GAIN * first.high.max(medium.high) {
        CacheEvidence::Served
    } else if again.high < CACHE_GAIN * first.low.max(medium.low) {
        CacheEvidence::NotServed
    } else {
        CacheEvidence::CannotTell
    }
}

/// Whether the sum stopped growing with the last target.
#[must_use]
pub fn growth(points: &[BusPoint]) -> Growth {
    let (first, before, last) = match points {
        [first, last] => (first, first, last),
        [first, .., before, last] => (first, before, last),
        _ => return Growth::OneTarget,
    };
    let least = GROWTH_PART * first.again_bytes_per_s.value;
    let (before, last) = (&before.again_bytes_per_s, &last.again_bytes_per_s);
    if last.high - before.low < least {
        Growth::Stopped
    } else if last.low - before.high >= least {
        Growth::Grows
    } else {
        Growth::CannotTell
    }
}

/// The disk-cache test from its trials. `medium` is the rate of sequential reads, if known from elsewhere.
#[must_use]
pub fn bus_test(answers: &[Answer], medium: Option<Estimate>) -> Measured<BusTest> {
    let targets = answers.iter().filter_map(|(purpose, _)| match purpose {
        Purpose::Again(targets) => Some(*targets),
        _ => None,
    });
    let points: Vec<BusPoint> = (1..=targets.max().unwrap_or(0))
        .filter_map(|targets| {
            let again_bytes_per_s = best(answers, Purpose::Again(targets))?;
            Some(BusPoint { targets, again_bytes_per_s })
        })
        .collect();
    let (Some(first), Some(one)) = (best(answers, Purpose::First), points.first()) else {
        return Measured::not("no trial of first reads and re-reads was valid");
    };
    let medium = medium.or_else(|| best(answers, Purpose::Sequential(OpKind::Read)));
    let Some(medium) = medium else {
        return Measured::not("cache and medium cannot be distinguished without sequential reads");
    };
    let evidence = evidence(&first, &medium, &one.again_bytes_per_s);
    let growth = growth(&points);
    let limit_bytes_per_s = match (evidence, growth, largest(&points)) {
        (CacheEvidence::Served, Growth::Stopped, Some(most)) => Measured::Value(most),
        _ => Measured::not(no_limit(evidence, growth)),
    };
    Measured::Value(BusTest {
        request_bytes: BUS_REQUEST,
        depth: BUS_DEPTH,
        area_bytes: BUS_AREA,
        first_bytes_per_s: first,
        medium_bytes_per_s: medium,
        points,
        evidence,
        growth,
        limit_bytes_per_s,
    })
}

/// The largest rate of re-reads, on any number of targets.
#[must_use]
pub fn largest(points: &[BusPoint]) -> Option<Estimate> {
    let rates = points.iter().map(|point| point.again_bytes_per_s);
    rates.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// Why no bus limit is reported.
fn no_limit(evidence: CacheEvidence, growth: Growth) -> &'static str {
    match (evidence, growth) {
        (CacheEvidence::NotServed, _) => {
            "re-reads of a small area are no faster than first or sequential reads, so there is no \
             sign of a cache"
        }
        (CacheEvidence::CannotTell, _) => {
            "the error bars are too wide to show whether a cache served the re-reads"
        }
        (_, Growth::OneTarget) => {
            "one target is not enough to show whether the combined rate stops growing"
        }
        (_, Growth::Grows) => "the last target still increased the combined rate; use more targets",
        (_, Growth::CannotTell | Growth::Stopped) => {
            "the error bars are too wide to show whether the combined rate stopped growing"
        }
    }
}

/// The hit test from its trials.
#[must_use]
pub fn hit_test(answers: &[Answer], delay: Nanos) -> Measured<HitTest> {
    let one_at_a_time = |purpose| matches!(purpose, Purpose::Hit | Purpose::Ahead);
    let trials = answers.iter().filter(|(purpose, _)| one_at_a_time(*purpose));
    let trials: Vec<Trial> = trials.map(|(_, trial)| trial.clone()).collect();
    let cells = model::aggregate(&trials, 1.0);
    let time = |pattern, bytes: Bytes| {
        let cell = cells
            .iter()
            .find(|cell| cell.workload.pattern == pattern && cell.workload.max_bs() == bytes);
        cell.map(|cell| cell.latency_ns).ok_or("no trial was valid").into()
    };
    let sizes: BTreeSet<Bytes> = cells.iter().map(|cell| cell.workload.max_bs()).collect();
    if sizes.is_empty() {
        return Measured::not("no trial of re-reads or sequential reads at QD 1 was valid");
    }
    let fits = model::service_time_fits(&cells);
    let fit = |pattern: Pattern| -> Measured<ServiceTimeFit> {
        let fit = fits.iter().find(|fit| fit.op == OpKind::Read && fit.pattern == pattern).cloned();
        fit.ok_or_else(|| format!("a line needs at least {} sizes", model::MIN_FIT_SIZES)).into()
    };
    Measured::Value(HitTest {
        delay_ns: delay,
        rows: sizes
            .into_iter()
            .map(|bytes| HitRow {
                bytes,
                again_ns: time(Pattern::Hit, bytes),
                ahead_ns: time(Pattern::Sequential, bytes),
            })
            .collect(),
        again_fit: fit(Pattern::Hit),
        ahead_fit: fit(Pattern::Sequential),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_both_kinds_of_evidence_says_which_is_missing() {
        assert!(no_limit(CacheEvidence::NotServed, Growth::Stopped).contains("no faster"));
        assert!(no_limit(CacheEvidence::Served, Growth::OneTarget).contains("one target"));
        assert!(no_limit(CacheEvidence::Served, Growth::Grows).contains("still increased"));
        assert!(no_limit(CacheEvidence::CannotTell, Growth::Stopped).contains("too wide to show"));
    }
}
