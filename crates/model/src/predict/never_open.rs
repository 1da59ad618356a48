//! Bounds the mean latency of an open load if the profile has only closed loops.
//!
//! A depth curve does not show how requests share the device, so the bounds come from three interpretations
//! of it. The minimum is the latency at the queue depth at which closed loops complete the rate: random
//! arrivals only add to that (Jensen's inequality, because a curve of rates is concave). Requests of
//! several kinds may not interfere at all, and then the minimum is the latency of a lone request. The
//! maximum is the birth-death chain with exponential times, with rates at the low end of their interval,
//! and with stalls that delay all requests that arrive during one. The mean of the mix capacity is in
//! between, with two exceptions. A volume with a request limit saves credit while idle, so its requests
//! hardly wait below the limit. A lone write is done when a buffer has accepted it, if other writes of this
//! device indicate a buffer.
//!
//! Rejected: the load-dependent chain alone, up to five times too slow with a limit; a number of servers
//! fitted to the curve, because a limit, eight servers and an elevator give the same curve.

use super::capacity::AT_CAP;
use super::{PredictError, Predictor};
use crate::queueing::{birth_death_latency, least_latency};
use record::{Cap, Locality, Mix, MixClass, OpKind, Prediction};

/// If the rate of a device rises by less than `FLAT` in all, it serves one request at a time, or a buffer
/// accepts its writes. A buffer is recognised by other lone writes that take less than [`QUICKER`] of the
/// time.
const FLAT: f64 = 1.25;
const QUICKER: f64 = 0.5;
/// Number of writes that a buffer accepts before one waits: measured on five simulated drives with a write
/// cache, whose lone writes take up to 40 times less than those of a loop.
const BUFFERED: i32 = 4;
/// Factor of the latency error if reads and writes mix and no mix was measured: reads behind the program
/// operations of a simulated SATA drive take 30 % more.
const MIX_ERROR: f64 = 1.35;
/// The same for the maximum rate. If a stream meets random requests, a disk with an arm reaches a quarter
/// less than the sum of both predicts, and flash up to a third less or more.
const MIX_MAX_ERROR: f64 = 1.3;
/// Minimum share of the wait that a load sees if no request limit saves credit: with a limit on bytes that
/// saves credit, a load may wait half.
const LEAST_WAIT: f64 = 0.4;
/// Minimum latency of a lone write into a buffer, as a share of the fastest writes of a loop.
const LEAST_BUFFERED: f64 = 0.75;
/// The chain is not used above this share of the maximum rate: its wait is unbounded.
const NEAREST: f64 = 0.98;
/// How far above the largest measured share of the maximum rate a load still counts as measured.
pub(super) const MEASURED_NEAR: f64 = 0.02;

/// Writes of a mix that a buffer accepts: their share, and latencies in nanoseconds of a lone one, in a
/// loop and into the buffer.
struct Buffered {
    share: f64,
    in_loop_ns: f64,
    alone_ns: f64,
}

impl Predictor {
    /// The mean latency of arrivals at this rate, in nanoseconds. `latency_ns` is the result of a chain,
    /// and a lone request of the mix takes `alone_ns`.
    pub(super) fn seen_by_arrivals(
        &self,
        mix: &Mix,
        rate_per_s: f64,
        (latency_ns, alone_ns): (f64, f64),
    ) -> f64 {
        let Some(rates) = self.rates_of(mix) else { return latency_ns };
        let latency_ns = match self.held(mix, &rates, false) {
            true => least_latency(&rates, rate_per_s).map_or(latency_ns, |least| least * 1e9),
            false => latency_ns,
        };
        let Some(writes) = self.buffered(mix) else { return latency_ns };
        let full = libm::pow((rate_per_s / rates[rates.len() - 1]).min(1.0), f64::from(BUFFERED));
        let waits = (latency_ns - alone_ns).max(0.0) + writes.in_loop_ns - writes.alone_ns;
        latency_ns - writes.share * (1.0 - full) * waits
    }

    /// The minimum and maximum of the mean latency, in nanoseconds, from the rate and the mean of a lone
    /// request. `rels` are half-widths as logarithms: of a lone request, and of the maximum rate.
    pub(super) fn bounds(
        &self,
        mix: &Mix,
        rate_per_s: f64,
        alone_ns: f64,
        rels: (f64, f64),
    ) -> Option<(f64, f64)> {
        let (quick, slow) = (libm::exp(rels.0), libm::exp(rels.1));
        let met = if self.is_unmeasured(mix) { MIX_ERROR } else { 1.0 };
        let rates = self.capacity.rates(mix)?;
        let (first, last) = (rates.first()?, rates.last()?);
        let chain_ns = |rate_per_s: f64| {
            let latency = birth_death_latency(&rates, rate_per_s.min(NEAREST * last))?;
            Some((latency - 1.0 / first).max(0.0) * 1e9)
        };
        let scv = self.scv_of(mix).unwrap_or(1.0);
        let held = self.held(mix, &rates, false);
        let (least_ns, most_factor) = match held {
            // With a limit it is one server with a constant service time, or no wait.
            true => (alone_ns, f64::midpoint(1.0, scv)),
            false => {
                let likely = f64::midpoint(1.0, self.variation(mix, &rates));
                let waits = LEAST_WAIT * likely * chain_ns(rate_per_s / slow)?;
                let loops = least_latency(&rates, rate_per_s / slow)? * 1e9;
                let least = if met > 1.0 { alone_ns / met } else { loops.max(alone_ns + waits) };
                (least, f64::midpoint(1.0, scv).max(1.0))
            }
        };
        let least_ns = match self.buffered(mix) {
            Some(it) => {
                let most = least_ns - it.share * (it.in_loop_ns - it.alone_ns);
                most.min(self.seen_by_arrivals(mix, rate_per_s, (alone_ns, alone_ns)))
                    * LEAST_BUFFERED
            }
            None => least_ns,
        };
        let stalls_ns = self.capacity.table.stalls_ns(mix);
        let waits = most_factor * chain_ns(rate_per_s * slow)? * slow;
        Some((least_ns / quick, met * (alone_ns * quick + waits + stalls_ns)))
    }

    /// The largest share of the maximum rate at which an open load was measured; 0 without open loads.
    pub(super) fn measured_share(&self) -> f64 {
        self.trials.iter().map(|trial| trial.saturation).fold(0.0, f64::max)
    }

    /// Factor of the error of the maximum rate of a mix whose kinds of requests were measured only one at a
    /// time.
    pub(super) fn mix_max_error(&self, mix: &Mix) -> f64 {
        let unsure = self.trials.is_empty() && self.is_unmeasured(mix);
        if unsure { MIX_MAX_ERROR } else { 1.0 }
    }

    /// Accepts a prediction at a rate that the device sustains for certain, and every prediction at a queue
    /// depth.
    ///
    /// # Errors
    /// [`PredictError::NearMaximum`] at another rate: its queue may grow without bound.
    pub fn steady(&self, found: Prediction) -> Result<Prediction, PredictError> {
        let max = found.max_iops;
        // Below a cap the queue grows suddenly, near the maximum and not before: the open loads that were measured
        // do not show where.
        let capped = self.capacity.limit(&found.mix).is_some();
        let nearest = match (self.trials.is_empty(), capped) {
            (true, _) => NEAREST,
            (false, true) => (self.measured_share() + MEASURED_NEAR).min(1.0),
            (false, false) => 1.0,
        };
        let sure_per_s = max.low.min(nearest * max.value);
        if !found.offered.is_open() || found.iops.value < sure_per_s {
            return Ok(found);
        }
        Err(PredictError::NearMaximum {
            rate_per_s: found.iops.value,
            max: Box::new(max),
            sure_per_s,
            least_ns: found.latency_ns.low,
        })
    }

    /// Whether the mix has several kinds of requests, no mix was measured, and no limit caps both.
    fn is_unmeasured(&self, mix: &Mix) -> bool {
        let in_order = mix.share(|class| class.locality == Locality::Sequential);
        let both = [mix.reads(), in_order].iter().any(|part| (0.001..0.999).contains(part));
        let held = || {
            let rates = self.rates_of(mix).unwrap_or_default();
            self.held(mix, &rates, false) || self.held(mix, &rates, true)
        };
        both && !self.capacity.knows_mixes() && !held()
    }

    /// Squared variation of the service times that arrivals wait for: that of lone requests, or up to 1 if
    /// requests wait for one part of the device while others idle. The latter happens on simulated flash
    /// and on disks with an elevator, however constant the time of a lone request is, but not with a limit.
    /// On a device that works in parallel, other requests seldom wait for the parts that vary more.
    pub(super) fn variation(&self, mix: &Mix, rates: &[f64]) -> f64 {
        let scv = self.scv_of(mix).unwrap_or(1.0);
        if self.held(mix, rates, true) || self.held(mix, rates, false) {
            return scv;
        }
        let apart = scv + (1.0 - scv).max(0.0) * self.capacity.table.collisions(&mix.classes);
        let (first, last) = (rates.first(), rates.last());
        let parallel = first.zip(last).is_some_and(|(first, last)| *last > FLAT * first);
        if parallel { apart.min(1.0) } else { apart }
    }

    /// Whether a limit on requests or on bytes, and not the device, ends the mix's curve.
    fn held(&self, mix: &Mix, rates: &[f64], bytes: bool) -> bool {
        let each = if bytes { mix.mean_bytes() } else { 1.0 };
        let holds = |cap: &Cap| {
            let of = cap.op.map_or(1.0, |op| mix.share(|class| class.op == op));
            let most = rates.last().map_or(0.0, |most| most * of * each);
            cap.bytes == bytes && (most / cap.per_s.value - 1.0).abs() < AT_CAP
        };
        self.capacity.caps.iter().any(holds)
    }

    /// The writes that a buffer accepts; `None` if nothing indicates a buffer.
    fn buffered(&self, mix: &Mix) -> Option<Buffered> {
        let table = &self.capacity.table;
        let mut found = Buffered { share: 0.0, in_loop_ns: 0.0, alone_ns: 0.0 };
        for class in mix.classes.iter().filter(|class| class.op == OpKind::Write) {
            let quickest =
                [Locality::Sequential, Locality::Hit].into_iter().filter_map(|locality| {
                    let known =
                        table.kinds.iter().any(|it| (it.op, it.locality) == (class.op, locality));
                    known.then(|| table.time_ns(&MixClass { locality, ..*class }, 1)).flatten()
                });
            let (lone, deep) = (table.time_ns(class, 1)?, table.time_ns(class, table.deepest())?);
            let quickest = quickest.reduce(f64::min).filter(|it| *it < QUICKER * lone);
            if let Some(quickest) = quickest.filter(|_| lone < FLAT * deep) {
                found.share += class.share;
                found.in_loop_ns += class.share * lone;
                found.alone_ns += class.share * quickest;
            }
        }
        let share = found.share;
        let (in_loop_ns, alone_ns) = (found.in_loop_ns / share, found.alone_ns / share);
        (share > 0.0).then_some(Buffered { share, in_loop_ns, alone_ns })
    }
}
