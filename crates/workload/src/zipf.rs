//! Draws positions of an area by Zipf's law, and scatters the popular ones.
//!
//! Rank `k` of `n` is drawn with probability proportional to `k^-theta` by rejection-inversion (Hörmann and
//! Derflinger 1996, ACM TOMACS 6(3)). This is exact up to rounding for any `n` and exponent, without a table.
//! Rejected: Gray's approximation as in YCSB and fio (inaccurate for exponents above 1), and alias tables (16
//! bytes for each position).
//!
//! A fixed bijection spreads the ranks over the area, so that popular blocks are not neighbours. It depends
//! only on the number of positions: all jobs and repeats have the same popular blocks.

use crate::rng::Rng;

/// `(e^x - 1) / x`, also near zero.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0) }
}

/// `ln(1 + x) / x`, also near zero.
fn log1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0)) }
}

#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    /// The integral of the density up to the left edge of rank 1 and the right edge of rank n.
    first: f64,
    last: f64,
    /// A rank at most this far above the inverse is accepted without further checks.
    sure: f64,
}

impl Zipf {
    /// A law for ranks 1 to `n` (at least 1) with an exponent in thousandths (at least 1).
    pub(crate) fn new(n: u64, theta_milli: u32) -> Self {
        assert!(n > 0 && theta_milli > 0, "a law has a rank and an exponent");
        let mut law = Self {
            n: n as f64,
            theta: f64::from(theta_milli) / 1000.0,
            first: 0.0,
            last: 0.0,
            sure: 0.0,
        };
        law.first = law.integral(1.5) - 1.0;
        law.last = law.integral(law.n + 0.5);
        law.sure = 2.0 - law.inverse(law.integral(2.5) - law.density(2.0));
        law
    }

    /// `x^-theta`.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Its integral, `(x^(1-theta) - 1) / (1-theta)`, and `ln x` at theta 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_ratio((1.0 - self.theta) * log) * log
    }

    /// The inverse of the integral.
    fn inverse(&self, area: f64) -> f64 {
        // A value below -1 can only come from rounding: no such area has a point.
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(log1p_ratio(scaled) * area)
    }

    /// The next rank, 1 to n.
    pub(crate) fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.last + rng.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}

/// A bijection of `0..count` onto itself that places the first indices far apart.
///
/// Index `i` maps to `i a` modulo `count`. If no quotient of the continued fraction of `a / count` is above
/// 5, the first `n` positions are at least about `count / 7n` apart, for every `n` (three-gap theorem). The
/// search for such a factor starts at the golden section, whose quotients are all 1. Rejected: mixing bits at
/// random, which places some popular blocks next to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scatter {
    count: u64,
    factor: u64,
    /// `factor / count` in units of 2^-64, for a remainder without a division (Shoup).
    share: u64,
}

/// Maximum quotient of a continued fraction that is good enough.
const GOOD_QUOTIENT: u64 = 5;
/// Number of factors tried on each side of the golden section. About one in ten is good enough.
const FACTORS: u64 = 1_024;

impl Scatter {
    /// A bijection of `0..count`, for 1 to 2^63.
    pub(crate) fn new(count: u64) -> Self {
        // The golden section of `count`. The constant is in units of 2^-64.
        let golden = ((u128::from(count) * 0x9e37_79b9_7f4a_7c15) >> 64) as u64;
        let near = (0..FACTORS).flat_map(|distance| {
            [Some(golden + distance), golden.checked_sub(distance)].into_iter().flatten()
        });
        let mut best = (u64::MAX, 1);
        for factor in near.filter(|factor| (1..count).contains(factor)) {
            if let Some(quotient) = largest_quotient(factor, count).filter(|q| *q < best.0) {
                best = (quotient, factor);
            }
            if best.0 <= GOOD_QUOTIENT {
                break;
            }
        }
        let factor = best.1;
        let share = ((u128::from(factor) << 64) / u128::from(count)) as u64;
        Self { count, factor: factor % count, share: if count == 1 { 0 } else { share } }
    }

    /// The image of `index`, which is below `count`.
    pub(crate) fn position(self, index: u64) -> u64 {
        let quotient = ((u128::from(index) * u128::from(self.share)) >> 64) as u64;
        let rest = index.wrapping_mul(self.factor).wrapping_sub(quotient.wrapping_mul(self.count));
        // The computed quotient is correct or one too small.
        if rest >= self.count { rest - self.count } else { rest }
    }
}

/// Largest quotient of the continued fraction of `factor / count`; `None` if the two have a common divisor
/// (Euclid).
fn largest_quotient(factor: u64, count: u64) -> Option<u64> {
    let (mut a, mut b, mut largest) = (count, factor, 0);
    while b != 0 {
        largest = largest.max(a / b);
        (a, b) = (b, a % b);
    }
    (a == 1).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of drawn ranks compared with the law, and its degrees of freedom. Ranks with fewer than 20
    /// expected draws are combined.
    fn chi_square(n: u64, theta_milli: u32, draws: u64) -> (f64, usize) {
        let law = Zipf::new(n, theta_milli);
        let mut rng = Rng::new(11);
        let mut counts = vec![0u64; n as usize];
        for _ in 0..draws {
            counts[law.rank(&mut rng) as usize - 1] += 1;
        }
        let weight = |rank: u64| libm::pow(rank as f64, -f64::from(theta_milli) / 1000.0);
        let total: f64 = (1..=n).map(weight).sum();
        let (mut sum, mut classes, mut class) = (0.0, 0, (0.0, 0.0));
        for rank in 1..=n {
            class.0 += weight(rank) / total * draws as f64;
            class.1 += counts[rank as usize - 1] as f64;
            if class.0 >= 20.0 || rank == n {
                sum += (class.1 - class.0) * (class.1 - class.0) / class.0;
                classes += 1;
                class = (0.0, 0.0);
            }
        }
        (sum, classes - 1)
    }

    #[test]
    fn ranks_follow_the_law_below_at_and_above_the_exponent_of_one() {
        for theta_milli in [1, 500, 990, 1_000, 1_200, 2_500] {
            let (sum, freedom) = chi_square(1_000, theta_milli, 400_000);
            let freedom = freedom as f64;
            // A chi-square is approximately normal with this mean and variance. The limit is five standard
            // deviations.
            let bound = 5.0 * (2.0 * freedom).sqrt();
            assert!((sum - freedom).abs() < bound + 5.0, "{theta_milli}: {sum} of {freedom}");
        }
    }

    #[test]
    fn a_wrong_exponent_would_be_seen() {
        // The same test compares draws of 1.2 with the law of 1.25.
        let law = Zipf::new(1_000, 1_200);
        let mut rng = Rng::new(11);
        let ones = (0..400_000).filter(|_| law.rank(&mut rng) == 1).count() as f64;
        let share = |theta: f64| 1.0 / (1..=1_000).map(|k| f64::from(k).powf(-theta)).sum::<f64>();
        let deviation = |theta: f64| {
            let p = share(theta);
            (ones - p * 400_000.0).abs() / (400_000.0 * p * (1.0 - p)).sqrt()
        };
        assert!(deviation(1.2) < 4.0, "{}", deviation(1.2));
        assert!(deviation(1.25) > 10.0, "{}", deviation(1.25));
    }

    #[test]
    fn every_rank_of_the_largest_areas_stays_in_bounds() {
        for n in [1, 2, 3, 1 << 40, 1 << 52] {
            for theta_milli in [1, 1_000, 1_200, 10_000] {
                let law = Zipf::new(n, theta_milli);
                let mut rng = Rng::new(5);
                assert!((0..2_000).all(|_| (1..=n).contains(&law.rank(&mut rng))), "{n}");
            }
        }
    }

    #[test]
    fn scattering_is_a_bijection_for_every_count() {
        for count in (1..=300).chain([4_095, 4_096, 4_097, 100_000]) {
            let scatter = Scatter::new(count);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let place = &mut seen[scatter.position(index) as usize];
                assert!(!std::mem::replace(place, true), "{count}: {index} meets another");
            }
        }
    }

    #[test]
    fn popular_blocks_are_spread_evenly_and_are_not_neighbours() {
        for count in [256, 1_000, 65_536, 1_000_003, 1 << 20, 123_456_789, 1 << 40] {
            let scatter = Scatter::new(count);
            let most = libm::sqrt(count as f64) as u64;
            for popular in [4, most, (count / 16).min(100_000)] {
                let mut places: Vec<u64> = (0..popular).map(|i| scatter.position(i)).collect();
                places.sort_unstable();
                let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
                assert!(nearest >= count / popular / 7, "{popular} of {count}: {nearest}");
                let farthest = places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
                assert!(farthest <= count / popular * 3, "{popular} of {count}: {farthest}");
            }
        }
    }
}
