//! Computes the ratio of the slowest requests of a mix to its mean, from the profile's own requests.
//!
//! A closed loop takes the latencies of the nearest measured size and the depths around its own. Random
//! arrivals take those of the nearest open loads, because bursts have a tail of their own. Models predict
//! means, and only the shape of a tail is used, so that a device that is uniformly slower has no longer
//! tail.

use super::Predictor;
use super::open::Load;
use record::{HistogramSnapshot, Mix, Offered, bucket_mid};

/// Minimum number of requests beyond a percentile.
const BEYOND_MIN: f64 = 10.0;
/// If this many requests are expected beyond a percentile, the maximum latency exceeds it 95 times in 100.
const BOUND_MIN: f64 = 3.0;

/// Latencies with their weights, by rising latency.
pub(super) struct Latencies {
    weighted: Vec<(f64, f64)>,
    /// Sum over the classes of the squared share divided by the number of requests: the inverse of the
    /// effective number of requests (Kish).
    per_request: f64,
}

impl Latencies {
    /// From histograms, each with a factor for its latencies and its share of the requests.
    pub(super) fn of<'a>(
        parts: impl IntoIterator<Item = (&'a HistogramSnapshot, f64, f64)>,
    ) -> Self {
        let (mut weighted, mut per_request) = (Vec::new(), 0.0);
        for (histogram, stretch, share) in parts {
            let each = share / histogram.count() as f64;
            per_request += share * each;
            weighted.extend(histogram.buckets.iter().map(|&(index, requests)| {
                (bucket_mid(index as usize) * stretch, each * requests as f64)
            }));
        }
        // Each part is in order already; a stable sort only merges such runs.
        weighted.sort_by(|one, other| f64::total_cmp(&one.0, &other.0));
        Self { weighted, per_request }
    }

    /// The latency that this share of the requests does not exceed.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        let mut below = 0.0;
        let found = self.weighted.iter().find(|(_, weight)| {
            below += weight;
            below >= share
        });
        found.map(|&(time, _)| time)
    }

    /// Expected number of requests beyond a share.
    fn beyond(&self, share: f64) -> f64 {
        (1.0 - share) / self.per_request + 1e-6
    }

    /// A percentile divided by the mean; `None` with fewer than ten requests beyond it.
    pub(super) fn ratio(&self, share: f64) -> Option<f64> {
        let latency = self.percentile(share).filter(|_| self.beyond(share) >= BEYOND_MIN)?;
        Some(latency / self.mean())
    }

    fn mean(&self) -> f64 {
        let (time, weight) = self
            .weighted
            .iter()
            .fold((0.0, 0.0), |sum, (time, weight)| (sum.0 + time * weight, sum.1 + weight));
        time / weight
    }
}

impl Predictor {
    /// The latency that a share (0 to 1) of a mix's requests does not exceed, divided by their mean. With
    /// fewer than ten requests beyond it, the largest latency is used, which is an upper bound. `None` with
    /// fewer than three, or if the profile has no similar load.
    #[must_use]
    pub fn tail_ratio(&self, mix: &Mix, offered: Offered, share: f64) -> Option<f64> {
        let latencies = match offered {
            Offered::Depth(depth) => self.closed_latencies(mix, depth)?,
            Offered::PoissonPerS(rate) => {
                self.open_latencies(mix, rate / self.max_rate(mix).ok()?.value)?
            }
            Offered::ConstantPerS(_) => return None,
        };
        let latency = match latencies.beyond(share) {
            BEYOND_MIN.. => latencies.percentile(share)?,
            BOUND_MIN.. => latencies.weighted.last()?.0,
            _ => return None,
        };
        Some(latency / latencies.mean()).filter(|ratio| *ratio > 0.0)
    }

    /// Each class has the mean of the nearest depth and the shape of all near depths, because a single
    /// depth rarely has enough requests for a tail.
    pub(super) fn closed_latencies(&self, mix: &Mix, depth: f64) -> Option<Latencies> {
        let mut parts = Vec::new();
        for class in &mix.classes {
            let near = self.capacity.table.latencies(class, depth);
            let mean_of = |histogram| Latencies::of([(histogram, 1.0, 1.0)]).mean();
            let mean = mean_of(*near.first()?);
            let all: u64 = near.iter().map(|histogram| histogram.count()).sum();
            parts.extend(near.into_iter().map(|histogram| {
                let share = class.share * histogram.count() as f64 / all as f64;
                (histogram, mean / mean_of(histogram), share)
            }));
        }
        Some(Latencies::of(parts))
    }

    /// The classes' own distributions at the nearest measured load, each scaled to the predicted mean of
    /// its operation.
    pub(super) fn open_latencies(&self, mix: &Mix, rho: f64) -> Option<Latencies> {
        let (capacity, open) = (&self.capacity, &self.open);
        let own_ns = |class: &record::MixClass| {
            let own = Mix::one(class.op, class.locality, class.bytes);
            open.latency(capacity, Load { mix: &own, rho, wait_factor: 1.0 })
        };
        let mut parts = Vec::new();
        for class in &mix.classes {
            let (histogram, mean) = open.shape(class, rho)?;
            let of_op = open.latency_of(capacity, Load { mix, rho, wait_factor: 1.0 }, class.op)?;
            let ops = mix.share(|other| other.op == class.op);
            let same = mix.classes.iter().filter(|other| other.op == class.op);
            let plain: Option<f64> =
                same.map(|other| Some(other.share / ops * own_ns(other)?)).sum();
            parts.push((histogram, own_ns(class)? / mean * of_op / plain?, class.share));
        }
        Some(Latencies::of(parts))
    }
}
