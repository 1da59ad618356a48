//! Quiet and busy stretches: where the use of a device changes.
//!
//! One average over a night describes no moment of it. The stretches are found by optimal
//! partitioning: of all ways to cut the series, the one with the least sum of squares around the
//! means of its pieces plus a price per cut (Jackson and others 2005; the pruning that makes it
//! fast is that of Killick, Fearnhead and Eckley 2012, PELT). It is exact, needs no number of
//! pieces, and treats all moments alike. What is cut is the logarithm of rate, response time and
//! size, and the share of reads: a doubling counts the same at any level. The noise that a cut has
//! to beat is measured from the series itself, as the spread of differences between neighbours and,
//! because a queue remembers, between those two and four apart, from which follow the autocorrelation
//! and the variance of a long mean (as of an autoregression of first order): medians of absolute
//! deviations, which a few changes do not move. The price is twice that of Schwarz (1978).
//!
//! What lasts less than a stretch is no stretch: a value that stands out from the median of its
//! neighbourhood counts only as far as its noise explains. A disk that freezes for half a second
//! every three is then one thing that goes on, and not forty things that alternate.
//!
//! Rejected: thresholds on the rate (whose?), a moving average (it smears the edges, which are what
//! one looks for), binary segmentation (a first cut that is wrong stays), hidden Markov models (the
//! same answer for many parameters).

use super::interval_totals::IntervalTotals;

/// Series longer than this are cut on means of neighbours: the time is quadratic at worst.
const POINTS_MAX: usize = 2_048;
/// Fewest points of a stretch.
const STRETCH_MIN: usize = 3;
/// Largest autocorrelation that is believed: beyond it, what lasts is a level.
const KEPT_MAX: f64 = 0.85;
/// Of so many points half of that: in a short series a few changes of level look like a long memory.
const KEPT_COUNT: f64 = 20.0;
/// Noise below this is taken to be this: a change of one part in twenty is no other use.
const NOISE_MIN: f64 = 0.05;
/// How far around a point its neighbourhood goes, and how much it may stand out, in units of noise.
const AROUND: usize = STRETCH_MIN - 1;
const STANDS_OUT: f64 = 3.0;
/// The price of a cut, in units of Schwarz's.
const PRICE: f64 = 2.0;
/// Fewest requests of a point whose response time and size count.
const REQUESTS_MIN: f64 = 5.0;
/// Median of the absolute value of a standard normal variable.
const NORMAL_MEDIAN_DEVIATION: f64 = 0.674_489_75;
/// What is looked at: rate, response time, request size, share of reads.
const CHANNELS: usize = 4;
/// A share of reads counts like this many powers of e.
const SHARE_SCALE: f64 = 2.0;

/// Beginnings of the stretches of a series, the first of them 0; none for an empty one.
pub(crate) fn stretches(series: &[IntervalTotals]) -> Vec<usize> {
    if series.is_empty() {
        return Vec::new();
    }
    let together = series.len().div_ceil(POINTS_MAX);
    let points: Vec<[Option<f64>; CHANNELS]> = series.chunks(together).map(point).collect();
    let mut begins: Vec<usize> = cuts(&points).into_iter().map(|cut| cut * together).collect();
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

/// Running sums of one channel, in units of its noise.
struct Sums {
    count: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn new(values: &[Option<f64>]) -> Self {
        let noise = noise(values);
        let values = without_spikes(&without_edges(values, noise), noise);
        let mut sums = Self { count: vec![0.0], sum: vec![0.0], squares: vec![0.0] };
        for value in &values {
            let scaled = value.map(|value| value / noise);
            let add = |list: &mut Vec<f64>, term: f64| list.push(list[list.len() - 1] + term);
            add(&mut sums.count, f64::from(u8::from(scaled.is_some())));
            add(&mut sums.sum, scaled.unwrap_or(0.0));
            add(&mut sums.squares, scaled.map_or(0.0, |value| value * value));
        }
        sums
    }

    /// Sum of squares around the mean of a piece.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let count = self.count[to] - self.count[from];
        if count < 1.0 {
            return 0.0;
        }
        let sum = self.sum[to] - self.sum[from];
        (self.squares[to] - self.squares[from] - sum * sum / count).max(0.0)
    }
}

/// Values without those of intervals in which one use ended and another began: what lies between its
/// neighbours, far from both, is taken for the nearer one.
fn without_edges(values: &[Option<f64>], noise: f64) -> Vec<Option<f64>> {
    let of = |at: usize| values.get(at).copied().flatten();
    let settled = |at: usize| {
        let value = of(at)?;
        let (Some(before), Some(after)) = (at.checked_sub(1).and_then(of), of(at + 1)) else {
            return Some(value);
        };
        let (down, up) = (value - before, after - value);
        let far = down.abs().min(up.abs()) > STANDS_OUT * noise;
        match (far && down * up > 0.0, down.abs() < up.abs()) {
            (false, _) => Some(value),
            (true, true) => Some(before),
            (true, false) => Some(after),
        }
    };
    (0..values.len()).map(settled).collect()
}

/// Values that are no further from the median of their neighbourhood than noise explains.
fn without_spikes(values: &[Option<f64>], noise: f64) -> Vec<Option<f64>> {
    let around = |at: usize| -> Vec<f64> {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(values.len()));
        values[from..to].iter().flatten().copied().collect()
    };
    let held = |(at, value): (usize, &Option<f64>)| {
        let near = around(at);
        let value = (*value)?;
        if near.len() < STRETCH_MIN {
            return Some(value);
        }
        let middle = stats::median(near);
        Some(value.clamp(middle - STANDS_OUT * noise, middle + STANDS_OUT * noise))
    };
    values.iter().enumerate().map(held).collect()
}

/// Standard deviation of a channel without its changes of level.
fn noise(values: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let fast = spread_of_differences(&known, 1);
    // Var(x[t+d] - x[t]) = 2 v (1 - k^d): over that of neighbours it is 1 + k for d = 2 and
    // (1 + k)(1 + k^2) for d = 4; a mean of n has the variance v (1 + k) / (1 - k) / n.
    let ratio = |distance| (spread_of_differences(&known, distance) / fast).powi(2);
    let of_four = |kept: f64| (1.0 + kept) * (1.0 + kept * kept);
    let kept = [kept(|kept| 1.0 + kept, ratio(2)), kept(of_four, ratio(4))];
    let count = known.len() as f64;
    let believed = KEPT_MAX * count / (count + KEPT_COUNT);
    let kept = f64::midpoint(kept[0], kept[1]).min(believed);
    (fast * (1.0 + kept).sqrt() / (1.0 - kept)).max(NOISE_MIN)
}

/// The autocorrelation from 0 to [`KEPT_MAX`] at which a rising function has a value; 0 for none.
fn kept(of: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (0.0, KEPT_MAX);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if of(middle) < value { low = middle } else { high = middle }
    }
    low
}

/// Standard deviation of independent values whose neighbours at this distance differ so much.
fn spread_of_differences(values: &[f64], distance: usize) -> f64 {
    let differences: Vec<f64> =
        values.windows(distance + 1).map(|window| (window[distance] - window[0]).abs()).collect();
    if differences.len() < 2 {
        return 0.0;
    }
    stats::median(differences) / NORMAL_MEDIAN_DEVIATION / std::f64::consts::SQRT_2
}

/// Where to cut: beginnings of the pieces.
fn cuts(points: &[[Option<f64>; CHANNELS]]) -> Vec<usize> {
    let count = points.len();
    let channels: Vec<Sums> = (0..CHANNELS)
        .map(|channel| Sums::new(&points.iter().map(|point| point[channel]).collect::<Vec<_>>()))
        .collect();
    let cost = |from: usize, to: usize| -> f64 {
        channels.iter().map(|channel| channel.cost(from, to)).sum()
    };
    let price = PRICE * (CHANNELS as f64 + 1.0) * libm::log(count.max(2) as f64);
    // least[t]: the least cost of the first t points; before[t]: where its last piece begins.
    let mut least = vec![f64::INFINITY; count + 1];
    let mut before = vec![0; count + 1];
    least[0] = -price;
    let mut candidates: Vec<usize> = vec![0];
    for to in 1..=count {
        for &from in &candidates {
            if to - from < STRETCH_MIN && to - from < count {
                continue;
            }
            let total = least[from] + cost(from, to) + price;
            if total < least[to] {
                (least[to], before[to]) = (total, from);
            }
        }
        // A beginning that already costs more than the best way cannot win later.
        candidates
            .retain(|&from| to - from < STRETCH_MIN || least[from] + cost(from, to) <= least[to]);
        if least[to].is_finite() {
            candidates.push(to);
        }
    }
    let mut begins = Vec::new();
    let mut at = count;
    while at > 0 {
        at = before[at];
        begins.push(at);
    }
    begins.reverse();
    begins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::interval_totals::OpTally;

    /// A generator of standard normal values (SplitMix64, by inversion).
    struct Normal(u64);

    impl Normal {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let cell = ((mixed ^ (mixed >> 31)) >> 12) as f64;
            stats::normal_quantile((cell + 0.5) / (1u64 << 52) as f64)
        }
    }

    fn second(rate: f64, latency_ns: f64, bytes: f64) -> IntervalTotals {
        let all = OpTally {
            requests: Some(rate),
            bytes: Some(rate * bytes),
            time_ns: Some(rate * latency_ns),
            step_ns: 0.0,
        };
        IntervalTotals { intervals: 1, seconds: 1.0, all, ..IntervalTotals::default() }
    }

    /// A stretch with noise of this share, of which a part lasts from second to second.
    fn stretch(
        normal: &mut Normal,
        seconds: usize,
        rate: f64,
        noise: f64,
        kept: f64,
    ) -> Vec<IntervalTotals> {
        let mut level = 0.0;
        (0..seconds)
            .map(|_| {
                level = kept * level + (1.0 - kept * kept).sqrt() * normal.next();
                let factor = libm::exp(noise * level);
                second(rate * factor, 1e6 * factor, 4096.0)
            })
            .collect()
    }

    #[test]
    fn a_series_that_does_not_change_is_hardly_ever_cut() {
        let mut normal = Normal(1);
        for (noise, kept) in [(0.02, 0.0), (0.2, 0.0), (0.3, 0.5), (0.3, 0.8)] {
            let cut = (0..60)
                .filter(|_| stretches(&stretch(&mut normal, 120, 500.0, noise, kept)).len() > 1)
                .count();
            assert!(cut <= 6, "noise {noise} kept {kept}: {cut} of 60 were cut");
        }
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut normal = Normal(2);
        let mut series = stretch(&mut normal, 40, 50.0, 0.15, 0.0);
        series.extend(stretch(&mut normal, 25, 800.0, 0.15, 0.0));
        series.extend(stretch(&mut normal, 60, 50.0, 0.15, 0.0));
        assert_eq!(stretches(&series), [0, 40, 65]);
    }

    #[test]
    fn a_short_stretch_of_work_between_rest_is_found() {
        let mut series = vec![second(0.0, 0.0, 0.0); 10];
        series.extend(vec![second(8_000.0, 8e6, 4096.0); 8]);
        series.extend(vec![second(0.0, 0.0, 0.0); 12]);
        assert_eq!(stretches(&series), [0, 10, 18]);
    }

    #[test]
    fn spikes_that_return_are_one_stretch() {
        for every in [3, 4, 5] {
            let mut normal = Normal(3);
            let mut series = stretch(&mut normal, 60, 500.0, 0.05, 0.0);
            for one in series.iter_mut().skip(1).step_by(every) {
                *one = second(500.0, 100e6, 4096.0);
            }
            assert_eq!(stretches(&series), [0], "every {every}");
        }
    }

    #[test]
    fn an_interval_in_which_a_load_ends_belongs_to_one_side() {
        let mut series = vec![second(6_400.0, 20e6, 4096.0); 10];
        series.push(second(64.0, 20e6, 4096.0));
        series.extend(vec![second(0.0, 0.0, 0.0); 10]);
        let found = stretches(&series);
        assert!(found == [0, 10] || found == [0, 11], "{found:?}");
    }

    #[test]
    fn the_first_second_is_no_stretch_of_its_own() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 30];
        series[0] = second(60.0, 9e6, 4096.0);
        assert_eq!(stretches(&series), [0]);
    }

    #[test]
    fn a_change_of_size_alone_is_a_change() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 20];
        series.extend(vec![second(500.0, 1e6, 65_536.0); 20]);
        assert_eq!(stretches(&series), [0, 20]);
    }

    #[test]
    fn rest_is_a_stretch_and_long_series_are_cut_on_means() {
        let mut series = vec![second(500.0, 1e6, 4096.0); 3_000];
        series.extend(vec![second(0.0, 0.0, 0.0); 3_000]);
        let found = stretches(&series);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].abs_diff(3_000) <= 3, "{found:?}");
        assert_eq!(stretches(&[]), Vec::<usize>::new());
        assert_eq!(stretches(&series[..1]), [0]);
    }
}
