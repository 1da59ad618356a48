//! Models the layers in front of the device.
//!
//! - *Memory of the host* serves a share of the reads in no time. The rest has a larger share of writes,
//!   which may come in bursts as of four (Ca² = 4): the upper end of the interval includes that.
//! - *A limit* is a server of constant time (M/D/1) if it saves no credit, and adds nothing if it saves
//!   enough. The interval covers both.
//! - *A cache* of a stated time is a second server that never queues: R = h t + (1 - h) R(misses). A closed
//!   loop divides its requests between both by Little's law.

use super::answer::Answer;
use super::disk::Disk;
use super::{NONE, Setup, WhatIfError, array, is_random_read, joined};
use crate::predict::{PredictError, Predictor};
use record::{Estimate, LoadState, Mix, MixClass, NORMAL_95, Offered, OpKind};

/// Squared variation of arrivals if writes come in bursts.
const BURST_SCV: f64 = 4.0;
/// Minimum half-width of a ratio of two computed latencies, as a logarithm.
const RATIO_ERROR: f64 = 0.05;
/// Bisection steps for the number of requests that miss a cache.
const HALVINGS: usize = 50;

/// A load after its layers, with the errors that decide a ratio of two latencies.
pub(super) struct Computed {
    pub(super) state: LoadState,
    answer: Answer,
    /// Mix of one disk.
    mix: Mix,
}

impl Computed {
    /// The latency of this load divided by that of `before`. The ends of both intervals come from one model
    /// and belong together. The errors that the loads do not share widen the interval.
    pub(super) fn over(&self, before: &Self) -> Estimate {
        let ends: [fn(&Estimate) -> f64; 3] = [|it| it.value, |it| it.low, |it| it.high];
        let [value, least, most] =
            ends.map(|end| end(&self.state.latency_ns) / end(&before.state.latency_ns));
        let (low, high) = (value.min(least).min(most), value.max(least).max(most));
        let (one, other) = (&self.answer, &before.answer);
        let own = libm::sqrt(self.apart(before)) * one.own_rel.hypot(other.own_rel);
        let rel = own.hypot(one.layers_rel).hypot(other.layers_rel).max(RATIO_ERROR);
        Estimate::spanning(value, low, high, 0).with_ratio_error(rel / NORMAL_95)
    }

    /// The share of the variance of their own errors that two loads do not have in common: none for the same
    /// load, all from twice the queue depth or latency on.
    fn apart(&self, other: &Self) -> f64 {
        let alike = self.state.offered.is_open() == other.state.offered.is_open();
        match alike && self.mix == other.mix {
            true => libm::log2(self.answer.place / other.answer.place).abs().min(1.0),
            false => 1.0,
        }
    }
}

pub(super) fn computed(setup: &Setup, predictor: &Predictor) -> Result<Computed, WhatIfError> {
    let path = Path {
        setup,
        disk: Disk { predictor, factor: setup.time_factor, counted: setup.counted_iops.is_some() },
    };
    let found = path.through_host(&setup.mix, setup.offered)?;
    let (max, max_rel) = path.max()?;
    let rate = found.rate;
    let (low, high) = (found.ends.0 / libm::exp(found.rel), found.ends.1 * libm::exp(found.rel));
    let state = LoadState {
        mix: setup.mix.clone(),
        offered: setup.offered,
        latency_ns: Estimate::spanning(found.mean, found.mean * low, found.mean * high, 0),
        iops: Estimate::within_ratio(rate, found.rate_rel),
        max_iops: Estimate::within_ratio(max, max_rel),
        saturation: (rate / max).clamp(0.0, 1.0),
        concurrency: rate * found.mean / 1e9,
    };
    Ok(Computed { state, answer: found, mix: path.of_disk() })
}

/// The mix after memory that serves a share of the reads, and its share of the requests.
fn behind_host(mix: &Mix, share: f64) -> (Mix, f64) {
    behind(mix, share, |class| class.op == OpKind::Read)
}

/// The mix after a layer that serves a share of some classes, and its share of the requests.
fn behind(mix: &Mix, share: f64, served: impl Fn(&MixClass) -> bool) -> (Mix, f64) {
    if share < NONE {
        return (mix.clone(), 1.0);
    }
    let mut rest = mix.clone();
    for class in rest.classes.iter_mut().filter(|class| served(class)) {
        class.share *= 1.0 - share;
    }
    let left: f64 = rest.classes.iter().map(|class| class.share).sum();
    (joined(&rest), left)
}

pub(super) fn thinned(offered: Offered, factor: f64) -> Offered {
    match offered {
        Offered::PoissonPerS(rate) => Offered::PoissonPerS(rate * factor),
        Offered::ConstantPerS(rate) => Offered::ConstantPerS(rate * factor),
        Offered::Depth(depth) => Offered::Depth(depth),
    }
}

struct Path<'a> {
    setup: &'a Setup,
    disk: Disk<'a>,
}

impl Path<'_> {
    /// The mix after a cache of stated time, and its share of the requests.
    fn behind_cache(&self, mix: &Mix) -> (Mix, f64) {
        behind(mix, self.setup.cache.map_or(0.0, |(share, _)| share), is_random_read)
    }

    fn through_host(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        let (rest, left) = behind_host(mix, self.setup.host_share);
        if left < NONE {
            return Err(WhatIfError::NoMatter(
                "no requests would remain for the device".to_owned(),
            ));
        }
        let found = self.through_cap(&rest, thinned(offered, left))?;
        let mut answer = Answer { mean: found.mean * left, rate: found.rate / left, ..found };
        let open = offered.is_open();
        if left < 1.0 && open {
            let writes = 1.0 - rest.reads();
            let service = self.disk.scv(&rest);
            let bursts = 1.0 + writes * (BURST_SCV - 1.0);
            let alone = self.device(&rest, Offered::Depth(1.0))?.mean;
            let wait = (found.mean - alone).max(0.0);
            let waits = wait * (bursts + service) / (1.0 + service);
            answer.ends.1 *= ((alone + waits) / found.mean).max(1.0);
        }
        Ok(answer)
    }

    fn through_cap(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        let Some(cap) = self.setup.cap else { return self.through_cache(mix, offered) };
        match offered {
            Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) if rate >= cap => {
                Err(PredictError::Saturated { rate_per_s: rate, max_per_s: cap }.into())
            }
            Offered::PoissonPerS(rate) => {
                let found = self.through_cache(mix, offered)?;
                let used = rate / cap;
                let wait = used / (2.0 * cap * (1.0 - used)) * 1e9;
                let mean = found.mean + wait;
                let ends = (found.ends.0 * found.mean / mean, found.ends.1);
                let (read, write) = (found.read + wait, found.write + wait);
                Ok(Answer { mean, read, write, ends, ..found })
            }
            Offered::ConstantPerS(_) => self.through_cache(mix, offered),
            Offered::Depth(depth) => {
                let found = self.through_cache(mix, offered)?;
                if found.rate <= cap {
                    return Ok(found);
                }
                let exact = Answer::exact(depth * 1e9 / cap, cap);
                Ok(Answer { scv: found.scv, ends: found.ends, ..exact })
            }
        }
    }

    fn through_cache(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        let Some((_, hit_ns)) = self.setup.cache else { return self.device(mix, offered) };
        let (misses, left) = self.behind_cache(mix);
        let hits = 1.0 - left;
        if left < NONE {
            let rate = match offered {
                Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => rate,
                Offered::Depth(depth) => depth * 1e9 / hit_ns,
            };
            return Ok(Answer::exact(hit_ns, rate));
        }
        let Offered::Depth(depth) = offered else {
            let found = self.device(&misses, thinned(offered, left))?;
            let of_reads = hits / mix.reads().max(NONE);
            let mean = hits * hit_ns + left * found.mean;
            let read = of_reads * hit_ns + (1.0 - of_reads) * found.read;
            return Ok(Answer { mean, read, rate: found.rate / left, ..found });
        };
        // Find the number of outstanding misses for which the hits are the remaining requests.
        let missing = |count: f64| -> Result<Answer, WhatIfError> {
            let found = self.device(&misses, Offered::Depth(count.max(1.0)))?;
            Ok(Answer { rate: found.rate * count.min(1.0), ..found })
        };
        let (mut low, mut high) = (0.0, depth);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let present = middle + missing(middle)?.rate / left * hits * hit_ns / 1e9;
            if present > depth { high = middle } else { low = middle }
        }
        let found = missing(low.max(depth * 1e-6))?;
        let rate = found.rate / left;
        let mean = depth * 1e9 / rate;
        Ok(Answer { mean, read: mean, rate, ..found })
    }

    fn device(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        match &self.setup.array {
            Some(array) => array::ask(&self.disk, array, mix, offered),
            None => self.disk.ask(mix, offered),
        }
    }

    /// The mix of one disk.
    fn of_disk(&self) -> Mix {
        let (behind, _) = behind_host(&self.setup.mix, self.setup.host_share);
        let (misses, _) = self.behind_cache(&behind);
        match &self.setup.array {
            Some(array) => array::parts(array, &misses).mix,
            None => joined(&misses),
        }
    }

    /// The maximum rate of the programs' requests.
    fn max(&self) -> Result<(f64, f64), WhatIfError> {
        let (behind, by_host) = behind_host(&self.setup.mix, self.setup.host_share);
        let (misses, by_cache) = self.behind_cache(&behind);
        let device = if by_cache < NONE {
            (f64::INFINITY, 0.0)
        } else {
            let (max, rel) = match &self.setup.array {
                Some(array) => array::max(&self.disk, array, &misses)?,
                None => self.disk.max(&misses)?,
            };
            (max / by_cache, rel)
        };
        let (max, rel) = match self.setup.cap {
            Some(cap) if cap < device.0 => (cap, 0.0),
            _ => device,
        };
        let max = max / by_host;
        // Served by a cache alone: unlimited.
        Ok(if max.is_finite() { (max, rel) } else { (f64::MAX, 0.0) })
    }
}
