//! When a bus counts as full.

use plan::limits::bus::{evidence, growth};
use record::{BusPoint, CacheEvidence, Estimate, Growth};

fn about(value: f64, half_width: f64) -> Estimate {
    Estimate::symmetric(value, half_width, 3)
}

fn points(values: &[f64]) -> Vec<BusPoint> {
    values
        .iter()
        .zip(1..)
        .map(|(&value, targets)| BusPoint {
            targets,
            again_bytes_per_s: about(value, value * 0.01),
        })
        .collect()
}

#[test]
fn a_cache_is_seen_where_re_reads_are_faster_by_more_than_their_intervals() {
    let (first, medium) = (about(100.0, 5.0), about(110.0, 5.0));
    assert_eq!(evidence(&first, &medium, &about(200.0, 10.0)), CacheEvidence::Served);
    assert_eq!(evidence(&first, &medium, &about(101.0, 5.0)), CacheEvidence::NotServed);
    assert_eq!(evidence(&first, &medium, &about(140.0, 10.0)), CacheEvidence::CannotTell);
}

/// A rotating disk: a re-read after one revolution is faster than a seek, and the medium is faster than
/// both.
#[test]
fn a_revolution_per_block_is_not_taken_for_a_cache() {
    let (first, medium, again) = (about(3.3, 0.1), about(16.2, 1.0), about(11.8, 0.0));
    assert_eq!(evidence(&first, &medium, &again), CacheEvidence::NotServed);
}

/// Chung 2000, section 3.3: four Fireballs through a 3ware card reach 58.9 MB/s.
#[test]
fn a_sum_that_stops_growing_is_told_from_one_that_grows() {
    assert_eq!(growth(&points(&[28.0, 55.0, 58.9, 58.9])), Growth::Stopped);
    assert_eq!(growth(&points(&[28.0, 56.0, 84.0])), Growth::Grows);
    assert_eq!(growth(&points(&[28.0, 56.0])), Growth::Grows);
    assert_eq!(growth(&points(&[28.0, 28.2])), Growth::Stopped);
    assert_eq!(growth(&points(&[28.0])), Growth::OneTarget);
    let wide = [about(28.0, 8.0), about(34.0, 8.0)];
    let wide: Vec<BusPoint> = wide
        .into_iter()
        .zip(1..)
        .map(|(again_bytes_per_s, targets)| BusPoint { targets, again_bytes_per_s })
        .collect();
    assert_eq!(growth(&wide), Growth::CannotTell);
}
