//! Quiet and busy segments: where the use of a device changes.
//!
//! The series is cut by [`stats::segments`] on the logarithms of rate, latency and size and on the
//! share of reads: a doubling counts the same at any level.

use super::interval_totals::IntervalTotals;

/// Series longer than this are cut on means of neighbours: the time is quadratic at worst.
const POINTS_MAX: usize = 2_048;
/// Noise below this is taken to be this: a change of one part in twenty is no other use.
const NOISE_MIN: f64 = 0.05;
/// Fewest requests of a point whose response time and size count.
const REQUESTS_MIN: f64 = 5.0;
/// What is looked at: rate, response time, request size, share of reads.
const CHANNELS: usize = 4;
/// A share of reads counts like this many powers of e.
const SHARE_SCALE: f64 = 2.0;

/// Beginnings of the segments of a series, the first of them 0; none for an empty one.
pub(crate) fn segments(series: &[IntervalTotals]) -> Vec<usize> {
    if series.is_empty() {
        return Vec::new();
    }
    let together = series.len().div_ceil(POINTS_MAX);
    let points: Vec<[Option<f64>; CHANNELS]> = series.chunks(together).map(point).collect();
    let mut begins: Vec<usize> =
        stats::segments(&points, NOISE_MIN).into_iter().map(|cut| cut * together).collect();
    begins.retain(|&begin| begin < series.len());
    begins
}

/// What is looked at of a few neighbours.
fn point(tallies: &[IntervalTotals]) -> [Option<f64>; CHANNELS] {
    let seconds: f64 = tallies.iter().map(|tally| tally.seconds).sum();
    let requests: f64 = tallies.iter().map(|tally| tally.all.count()).sum();
    let over = |value: fn(&IntervalTotals) -> Option<f64>| {
        let weighed = tallies.iter().filter_map(|tally| Some((value(tally)?, tally.all.count())));
        let (sum, weight) = weighed.fold((0.0, 0.0), |(sum, weight), (value, count)| {
            (sum + value * count, weight + count)
        });
        (weight >= REQUESTS_MIN).then(|| sum / weight)
    };
    // One request more, so that rest has a logarithm.
    let rate = libm::log((requests + 1.0) / seconds.max(1e-9));
    let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(libm::log);
    [
        Some(rate),
        log(over(IntervalTotals::latency_ns)),
        log(over(|tally| tally.all.request_bytes())),
        over(IntervalTotals::read_share).map(|share| share * SHARE_SCALE),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::interval_totals::OpTally;
    use stats::SplitMix64;

    fn second(rate: f64, latency_ns: f64, bytes: f64) -> IntervalTotals {
        let all = OpTally {
            requests: Some(rate),
            bytes: Some(rate * bytes),
            time_ns: Some(rate * latency_ns),
            step_ns: 0.0,
        };
        IntervalTotals { intervals: 1, seconds: 1.0, all, ..IntervalTotals::default() }
    }

    /// A segment with noise of this share, of which a part lasts from second to second.
    fn segment(
        random: &mut SplitMix64,
        seconds: usize,
        rate: f64,
        noise: f64,
        kept: f64,
    ) -> Vec<IntervalTotals> {
        let mut level = 0.0;
        (0..seconds)
            .map(|_| {
                level = kept * level + (1.0 - kept * kept).sqrt() * random.normal();
                let factor = libm::exp(noise * level);
                second(rate * factor, 1e6 * factor, 4096.0)
            })
            .collect()
    }

    #[test]
    fn a_series_that_does_not_change_is_hardly_ever_cut() {
        let mut random = SplitMix64::new(1);
        for (noise, kept) in [(0.02, 0.0), (0.2, 0.0), (0.3, 0.5), (0.3, 0.8)] {
            let cut = (0..60)
                .filter(|_| segments(&segment(&mut random, 120, 500.0, noise, kept)).len() > 1)
                .count();
            assert!(cut <= 6, "noise {noise} kept {kept}: {cut} of 60 were cut");
        }
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut random = SplitMix64::new(2);
        let mut series = segment(&mut random, 40, 50.0, 0.15, 0.0);
        series.extend(segment(&mut random, 25, 800.0, 0.15, 0.0));
        series.extend(segment(&mut random, 60, 50.0, 0.15, 0.0));
        assert_eq!(segments(&series), [0, 40, 65]);
    }

    #[test]
    fn a_short_segment_of_work_between_rest_is_found() {
        let mut series = vec![second(0.0, 0.0, 0.0); 10];
        series.extend(vec![second(8_000.0, 8e6, 4096.0); 8]);
        series.extend(vec![second(0.0, 0.0, 0.0); 12]);
        assert_eq!(segments(&series), [0, 10, 18]);
    }

    #[test]
    fn spikes_that_return_are_one_segment() {
        for every in [3, 4, 5] {
            let mut random = SplitMix64::new(3);
            let mut series = segment(&mut random, 60, 500.0, 0.05, 0.0);
            for one in series.iter_mut().skip(1).step_by(every) {
                *one = second(500.0, 100e6, 4096.0);
            }
            assert_eq!(segments(&series), [0], "every {every}");
        }
    }

    #[test]
    fn an_interval_in_which_a_load_ends_belongs_to_one_side() {
        let mut series = vec![second(6_400.0, 20e6, 4096.0); 10];
        series.push(second(64.0, 20e6, 4096.0));
        series.extend(vec![second(0.0, 0.0, 0.0); 10]);
        let found = segments(&series);
        assert!(found == [0, 10] || found == [0, 11], "{found:?}");
    }

    #[test]
    fn the_first_second_is_no_segment_of_its_own() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 30];
        series[0] = second(60.0, 9e6, 4096.0);
        assert_eq!(segments(&series), [0]);
    }

    #[test]
    fn a_change_of_size_alone_is_a_change() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 20];
        series.extend(vec![second(500.0, 1e6, 65_536.0); 20]);
        assert_eq!(segments(&series), [0, 20]);
    }

    #[test]
    fn rest_is_a_segment_and_long_series_are_cut_on_means() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 3_000];
        series.extend(vec![second(0.0, 0.0, 0.0); 3_000]);
        let found = segments(&series);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].abs_diff(3_000) <= 3, "{found:?}");
        assert_eq!(segments(&[]), Vec::<usize>::new());
        assert_eq!(segments(&series[..1]), [0]);
    }
}
