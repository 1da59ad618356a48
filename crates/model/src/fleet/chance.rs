//! Estimates how many healthy devices reach a score by chance, from the fast side of the same fleet.

use stats::{normal_quantile, normal_tail};

/// Share of the fast side that the tail is fitted to, and the minimum number of devices for a fit.
const TAIL: f64 = 0.05;
const TAIL_FROM: usize = 200;
/// Minimum scale of the tail: a fast side without any spread was cut off.
const SCALE_LEAST: f64 = 0.2;

pub(crate) struct Chance {
    /// Scores of the fast side, the largest first.
    fast: Vec<f64>,
    /// Start of the fitted tail, and the mean distance beyond it; `None` in a small fleet.
    tail: Option<(f64, f64)>,
    /// Number of independent segments of a series.
    looks: f64,
}

impl Chance {
    pub(crate) fn of(mut fast: Vec<f64>, windows: usize) -> Self {
        fast.sort_by(|a, b| b.total_cmp(a));
        let beyond = (TAIL * fast.len() as f64) as usize;
        let tail = (fast.len() >= TAIL_FROM).then(|| {
            let start = fast[beyond];
            // From the median distance, so that a few truly fast devices do not hide the slow ones.
            let scale = (fast[beyond / 2] - start) / std::f64::consts::LN_2;
            (start, scale.max(SCALE_LEAST))
        });
        Self { fast, tail, looks: 2.0 * (windows.max(2) as f64).log2() }
    }

    /// Healthy devices at or beyond this score, on average.
    pub(crate) fn expected(&self, score: f64) -> f64 {
        let devices = self.fast.len() as f64;
        let normal = devices * (self.looks * normal_tail(score)).min(1.0);
        match self.tail {
            Some((start, scale)) if score > start => {
                let fitted = TAIL * devices * (-(score - start) / scale).exp();
                // If far more devices are fast than the tail allows, the fleet is less uniform than
                // assumed.
                let seen = self.fast.partition_point(|fast| *fast >= score) as f64;
                if seen > 3.0 + 3.0 * fitted { seen } else { fitted.max(normal) }
            }
            Some(_) => self.fast.partition_point(|fast| *fast >= score) as f64,
            None => normal,
        }
    }

    /// The smallest score that at most this many healthy devices are expected to reach.
    pub(crate) fn least(&self, allowed: f64) -> f64 {
        let (mut low, mut high) = (0.0, normal_quantile(0.999_999_999) * 10.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.expected(middle) > allowed { low = middle } else { high = middle }
        }
        high
    }
}
