//! Computes the prediction of each model for a load. All models share the capacity of the mix. The simple
//! ones treat it as a single server (U = X S, M/M/1, M/G/1). The load-dependent one is the birth-death
//! chain without interference. The mix capacity has interference, and its queue time is multiplied by
//! (Ca² + Cs²)/2 (Allen, Cunneen). Cs² is the squared variation of lone requests, or up to 1 if requests wait
//! for one part of the device while others idle ([`super::never_open`]). The calibrated one is
//! [`super::open`]. Arrivals at constant intervals have Ca² = 0, in the calibrated model too. No trial
//! confirms that, and the prediction says so.
//!
//! The interval is 1.96 times the root mean square of this model's logarithmic errors on held-out trials,
//! either those below 70 % of saturation or those above. Without open-loop trials it extends from one bound
//! of [`super::never_open`] to the other.

use super::errors::rms_near;
use super::open::Load;
use super::{PredictError, Predictor, describe, errors};
use crate::queueing::{birth_death, mg1_response, mm1_response};
use record::{
    Estimate, Mix, MixClass, ModelName, NORMAL_95, Offered, OpKind, PERCENTILES, Prediction,
};

/// Minimum half-width of an interval, as a ratio: histograms and counters are no more precise.
const LEAST_REL: f64 = 0.01;
/// The same for a lone request and for both bounds of an open load: a check's visits determine a mean to a
/// few per cent.
const LEAST_OPEN_REL: f64 = 0.03;
/// If a limit caps the rate, the mean is at most this many times below its upper bound: with random
/// arrivals a limit on requests queues them, whatever credit it saves. (On two simulated limits at 80 to 97
/// % of their rate, measured means were 2.2 to 3.2 times below it.)
const MOST_BELOW: f64 = 2.5;
/// Minimum distance below the largest rate. Closer to it, the error of a wait is unknown.
const LEAST_ROOM: f64 = 0.02;
/// Maximum extra CPU time that another program spends on a request. (Measured on memory with 4 KiB
/// reads at QD 1: fio 3.33 spent 0.24 µs with pread, 0.4 to 0.5 µs with io_uring.)
const PROGRAM_NS: f64 = 500.0;
/// A rate above this share of the maximum counts as the maximum, to allow for rounding. At the maximum the queue
/// grows without end, so no mean exists.
const FULL: f64 = 0.999_999;

/// Means under one load; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    pub(crate) latency: f64,
    pub(crate) read: Option<f64>,
    pub(crate) write: Option<f64>,
    pub(crate) alone: f64,
    pub(crate) rate_per_s: f64,
    pub(crate) busy: f64,
}

impl Predictor {
    /// [`Predictor::predict`] with a chosen model.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; also if the model does not cover this kind of load.
    pub fn predict_by(
        &self,
        model: ModelName,
        mix: &Mix,
        offered: Offered,
    ) -> Result<Prediction, PredictError> {
        self.predict_paced(model, mix, offered, 1.0)
    }

    /// The same if idle times are shorter by the factor `pace` than between arrivals at the offered rate:
    /// the load of another device, on the clock of this one.
    pub(super) fn predict_paced(
        &self,
        model: ModelName,
        mix: &Mix,
        offered: Offered,
        pace: f64,
    ) -> Result<Prediction, PredictError> {
        let max_iops = self.max_rate(mix)?;
        let mut means = self.means(model, mix, offered)?;
        let saturation = (means.rate_per_s / max_iops.value).clamp(0.0, 1.0);
        let bounded = self.bounded(model, mix, (&mut means, &max_iops), offered);
        let rerun = self.rerun_of(mix, offered, saturation, &means);
        let in_run_rel = match bounded {
            Some((low, high)) => {
                let all = libm::log(high / low) / 2.0;
                libm::sqrt((all * all - rerun * rerun).max(0.0))
            }
            None => self.interval(model, mix, offered, saturation),
        };
        let rel = in_run_rel.hypot(rerun);
        let by_program = self.by_slower_program(mix, offered, means.rate_per_s * libm::exp(-rel));
        let slower = by_program * self.rewriting(mix, offered);
        let around = |value: f64| match bounded {
            Some((low, high)) => Estimate::spanning(value, value * low, value * high, 0),
            None => {
                let within = Estimate::within_ratio(value, rel);
                Estimate { high: within.high * slower, ..within }
            }
        };
        let after_rest_ns = self.rested(model, (mix, offered), pace, means.busy);
        let rested =
            |time: Estimate| after_rest_ns.map_or(time, |longer: Estimate| time.plus(&longer));
        let latency_ns = rested(around(means.latency));
        // Sorted once for all three.
        let latencies = match offered {
            Offered::Depth(depth) => self.closed_latencies(mix, depth),
            Offered::PoissonPerS(_) if model == ModelName::Calibrated => {
                self.open_latencies(mix, saturation)
            }
            _ => None,
        };
        let percentile = |which: usize| {
            let (latencies, share) = (latencies.as_ref()?, PERCENTILES[which]);
            let Offered::Depth(depth) = offered else {
                let rel = errors::rms_p99(&self.trials).unwrap_or(rel).max(rel);
                return Some(Estimate::within_ratio(latencies.percentile(share)?, rel));
            };
            let tail = self.capacity.tail_rel(mix, depth, which);
            let rerun = self.rerun_tail(mix, depth <= 1.0, which);
            let rel = in_run_rel.hypot(tail).hypot(rerun);
            let within = Estimate::within_ratio(means.latency * latencies.ratio(share)?, rel);
            Some(Estimate { high: within.high * slower, ..within })
        };
        let rate_rel = if offered.is_open() { 0.0 } else { rel };
        let iops = Estimate::within_ratio(means.rate_per_s, rate_rel);
        Ok(Prediction {
            model,
            mix: mix.clone(),
            offered,
            latency_ns,
            read_latency_ns: means.read.map(around).map(rested),
            write_latency_ns: means.write.map(around).map(rested),
            after_rest_ns,
            unloaded_latency_ns: match bounded {
                Some(_) => Estimate::within_ratio(means.alone, self.alone_rel(mix)),
                None => around(means.alone),
            },
            queue_ns: (means.latency - means.alone).max(0.0),
            p50_ns: percentile(0),
            p90_ns: percentile(1),
            p99_ns: percentile(2),
            in_run_rel,
            iops: Estimate { low: iops.low / slower, ..iops },
            concurrency: means.rate_per_s * latency_ns.value / 1e9,
            utilization: means.busy.clamp(0.0, 1.0),
            saturation,
            max_iops,
            extrapolated: describe::extrapolated(
                self,
                (model, mix, offered),
                saturation,
                by_program,
            ),
        })
    }

    /// Half-width of the interval of a lone request, as a logarithm.
    fn alone_rel(&self, mix: &Mix) -> f64 {
        self.capacity.rel(mix, 1.0).hypot(self.rerun_rel(mix, true)).max(LEAST_OPEN_REL)
    }

    /// The ends of the interval, divided by the mean, at a rate without open-loop trials in the profile. If
    /// a limit caps the rate, the mean is raised to at least the upper end divided by [`MOST_BELOW`].
    fn bounded(
        &self,
        model: ModelName,
        mix: &Mix,
        (means, max_iops): (&mut Means, &Estimate),
        offered: Offered,
    ) -> Option<(f64, f64)> {
        if !offered.is_open() || !self.trials.is_empty() || model != ModelName::MixCapacity {
            return None;
        }
        let max_rel =
            libm::log(max_iops.high.max(max_iops.value.powi(2) / max_iops.low) / max_iops.value);
        let rels = (self.alone_rel(mix), max_rel.max(LEAST_REL));
        let (least, most) = self.bounds(mix, means.rate_per_s, means.alone, rels)?;
        if self.capacity.limit(mix).is_some() {
            means.latency = means.latency.max(most / MOST_BELOW);
        }
        let most = most * self.rewriting(mix, offered);
        let (of, least_rel) = (means.latency, libm::exp(LEAST_OPEN_REL));
        Some(((least / of).min(1.0 / least_rel), (most / of).max(least_rel)))
    }

    /// Slowdown factor of a request if the device has to read the rest of the block that it writes.
    fn rewriting(&self, mix: &Mix, offered: Offered) -> f64 {
        let Offered::Depth(depth) = offered else { return self.capacity.rewriting(mix, 1) };
        self.capacity.rewriting(mix, depth as usize)
    }

    /// Slowdown factor of a request if the program spends [`PROGRAM_NS`] more on each. At queue depth 1 all
    /// of it counts; with several requests, only what exceeds the free time of the processor.
    fn by_slower_program(&self, mix: &Mix, offered: Offered, rate_per_s: f64) -> f64 {
        let Offered::Depth(depth) = offered else { return 1.0 };
        let of_class = |class: &MixClass| Some(class.share * self.capacity.table.cpu_ns(class)?);
        let Some(own_ns) = mix.classes.iter().map(of_class).sum::<Option<f64>>() else {
            return 1.0;
        };
        let request_ns = 1e9 / rate_per_s;
        let least_ns = if depth <= 1.0 { request_ns } else { own_ns };
        ((least_ns + PROGRAM_NS) / request_ns).max(1.0)
    }

    /// Extra latency at a rate, because requests that find the device idle come after an idle period. The
    /// calibrated model already includes it from the lightest open load on.
    fn rested(
        &self,
        model: ModelName,
        (mix, offered): (&Mix, Offered),
        pace: f64,
        busy: f64,
    ) -> Option<Estimate> {
        let (Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate)) = offered else {
            return None;
        };
        let rest_ns = 1e9 / (rate * pace);
        let longer = self.after_rest_ns(mix, rest_ns)?.scaled((1.0 - busy).max(1e-9));
        let lightest = self.open.lightest_per_s().filter(|_| model == ModelName::Calibrated);
        let known = lightest.and_then(|rate| self.after_rest_ns(mix, 1e9 / rate));
        let known_ns = known.map_or(0.0, |known| known.value);
        let beyond = (longer.value - known_ns).max(0.0);
        let (low, high) = (beyond + longer.low - longer.value, beyond + longer.high - longer.value);
        (beyond > 0.0).then(|| Estimate::spanning(beyond, low.max(0.0), high, longer.n))
    }

    /// Expected difference to another run, as a logarithm. At a rate, the latency of a lone request varies
    /// as much as the disk does. The wait varies by that divided by the remaining capacity.
    fn rerun_of(&self, mix: &Mix, offered: Offered, saturation: f64, means: &Means) -> f64 {
        if let Offered::Depth(depth) = offered {
            return self.rerun_rel(mix, depth <= 1.0);
        }
        let service = (means.alone / means.latency).min(1.0);
        let room = (1.0 - saturation).max(LEAST_ROOM);
        let alone = service * self.rerun_rel(mix, true);
        alone.hypot((1.0 - service) / room * self.rerun_rel(mix, false))
    }

    /// Half-width of the interval of this run, as a logarithm.
    fn interval(&self, model: ModelName, mix: &Mix, offered: Offered, saturation: f64) -> f64 {
        let closed = match offered {
            Offered::Depth(depth) => self.capacity.rel(mix, depth),
            _ => self.capacity.max_rel(mix),
        };
        let rel = match (offered, rms_near(&self.trials, model, saturation)) {
            (Offered::Depth(_), _) => closed,
            (_, Some(rms)) => NORMAL_95 * rms,
            // An error of the maximum rate changes the queue time by that error over the remaining
            // capacity.
            (_, None) => closed / (1.0 - saturation).max(LEAST_ROOM),
        };
        rel.max(LEAST_REL)
    }

    pub(super) fn means(
        &self,
        model: ModelName,
        mix: &Mix,
        offered: Offered,
    ) -> Result<Means, PredictError> {
        self.capacity.known(mix)?;
        match offered {
            Offered::Depth(depth) if depth >= 1.0 && depth.is_finite() => {
                self.closed(model, mix, depth)
            }
            Offered::PoissonPerS(rate) if rate > 0.0 && rate.is_finite() => {
                self.open_means(model, mix, rate, 1.0)
            }
            Offered::ConstantPerS(rate) if rate > 0.0 && rate.is_finite() => {
                self.open_means(model, mix, rate, 0.0)
            }
            Offered::Depth(value) | Offered::PoissonPerS(value) | Offered::ConstantPerS(value) => {
                Err(PredictError::Offered(value))
            }
        }
    }

    /// Service rates of the mix at depths 1, 2, …, never falling, with interference if the model includes
    /// it. At least one.
    fn rates(&self, model: ModelName, mix: &Mix) -> Result<Vec<f64>, PredictError> {
        let rates = match model {
            ModelName::MixCapacity | ModelName::Calibrated => self.capacity.rates(mix),
            _ => self.capacity.table.rates(&mix.classes),
        };
        rates.ok_or_else(PredictError::nothing)
    }

    /// A constant queue depth: X(n), and R = n / X.
    fn closed(&self, model: ModelName, mix: &Mix, depth: f64) -> Result<Means, PredictError> {
        let mut rates = self.rates(model, mix)?;
        if errors::OF_ONE_SERVER.contains(&model) {
            rates.drain(..rates.len() - 1);
        }
        let at = |depth: usize| rates[depth.clamp(1, rates.len()) - 1];
        let whole = depth.floor();
        let (low, high) = (at(whole as usize), at(whole as usize + 1));
        let rate_per_s = low + (depth - whole) * (high - low);
        let latency = depth / rate_per_s * 1e9;
        Ok(Means { latency, read: None, write: None, alone: 1e9 / at(1), rate_per_s, busy: 1.0 })
    }

    fn open_means(
        &self,
        model: ModelName,
        mix: &Mix,
        rate_per_s: f64,
        arrival_scv: f64,
    ) -> Result<Means, PredictError> {
        let rates = self.rates(model, mix)?;
        let max_per_s = rates[rates.len() - 1];
        let rho = rate_per_s / max_per_s;
        if rho >= FULL {
            return Err(PredictError::Saturated { rate_per_s, max_per_s });
        }
        let (first_s, service_s) = (1.0 / rates[0], 1.0 / max_per_s);
        let scv = self.scv_of(mix).unwrap_or(1.0);
        // Share of the queue time with Poisson arrivals that these arrivals have.
        let arrivals = (arrival_scv + scv) / (1.0 + scv);
        let (present, empty) = birth_death(&rates, rate_per_s).ok_or_else(PredictError::nothing)?;
        let waits =
            |alone: f64, latency: f64, factor: f64| alone + factor * (latency - alone).max(0.0);
        let one_server = |latency: Option<f64>, factor: f64| {
            latency.map(|latency| (waits(service_s, latency, factor), service_s, rho))
        };
        let chain = |factor: f64| {
            Some((waits(first_s, present / rate_per_s, factor), first_s, 1.0 - empty))
        };
        let seconds = match model {
            ModelName::UtilizationLaw => Some((service_s, service_s, rho)),
            ModelName::Mm1 => {
                one_server(mm1_response(service_s, rho), f64::midpoint(arrival_scv, 1.0))
            }
            ModelName::Mg1 => one_server(mg1_response(service_s, scv, rho), arrivals),
            ModelName::LoadDependent => chain(f64::midpoint(arrival_scv, 1.0)),
            ModelName::MixCapacity => {
                chain(f64::midpoint(arrival_scv, self.variation(mix, &rates)))
            }
            ModelName::Calibrated => None,
        };
        if let Some((latency, alone, busy)) = seconds {
            let (latency, alone) = (latency * 1e9, alone * 1e9);
            let latency = match model {
                ModelName::MixCapacity => self.seen_by_arrivals(mix, rate_per_s, (latency, alone)),
                _ => latency,
            };
            return Ok(Means { latency, read: None, write: None, alone, rate_per_s, busy });
        }
        let (capacity, open) = (&self.capacity, &self.open);
        let at = |rho: f64| Load { mix, rho, wait_factor: arrivals };
        let all = |load: Load<'_>| open.latency(capacity, load).ok_or_else(PredictError::nothing);
        // `alone` is the light-load end of the same curve, with the interference of mixes there.
        let (latency, alone) = (all(at(rho))?, all(at(0.0))?);
        let mixed = (0.01..0.99).contains(&mix.reads());
        let of = |op| open.latency_of(capacity, at(rho), op).filter(|_| mixed);
        // Busy at least as long as each request takes alone.
        let in_progress = rate_per_s * alone / 1e9;
        Ok(Means {
            latency,
            read: of(OpKind::Read),
            write: of(OpKind::Write),
            alone,
            rate_per_s,
            busy: (1.0 - empty).min(1.0 - libm::exp(-in_progress)).max(0.0),
        })
    }

    /// Squared coefficient of variation of lone requests of a mix; `None` if it was not measured.
    #[must_use]
    pub fn scv_of(&self, mix: &Mix) -> Option<f64> {
        let (mut mean, mut square) = (0.0, 0.0);
        for class in &mix.classes {
            let time = self.capacity.table.time_ns(class, 1)?;
            mean += class.share * time;
            square += class.share * time * time * (1.0 + self.capacity.table.scv(class)?);
        }
        Some((square / (mean * mean) - 1.0).max(0.0))
    }
}
