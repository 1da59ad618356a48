//! Computes what the profile expects of a device in a time segment.
//!
//! The expectation covers the time in which the device was busy: with concurrency L and utilization
//! U, it is read from the curve at depth L/U. Idle time then does not make a healthy device look
//! slow. (Rejected: the curve at L. It would call a single server at half load slow.) Poisson
//! arrivals add to this because the curve bends. The addition is computed and allowed for.
//!
//! Counters do not show whether requests were sequential, which makes a factor of thirty on a hard
//! disk. Several shares are therefore tried, and a latency is too long only if it is too long for
//! all of them. A share measured by the tracer is used alone. The confidence interval of a ratio
//! comes from the ratio's variance between seconds, not from the latency's variance: under an open
//! load, latency and expectation rise and fall together.

use super::fitted_profile::FittedProfile;
use super::interval_totals::{IntervalTotals, ratio_error};
use super::outstanding::Outstanding;
use super::posterior::Posterior;
use super::upkeep::SufficientDepth;
use crate::words::beyond_profile;
use model::PredictError;
use record::{Estimate, Locality, Mix, MixClass, Offered, OpKind, Prediction};
use stats::weighted_mean;
use std::collections::BTreeMap;

/// Shares of sequential requests to try.
const SHARES: [f64; 6] = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0];
/// A mix is ruled out if the rate exceeds the profile's maximum by more than this factor.
const ABOVE_MAXIMUM: f64 = 1.1;
/// From this factor on, the profile describes another state, however uncertain its maximum is.
const CLEARLY_ABOVE: f64 = 1.3;
/// Expectations whose logarithms differ by less than this explain a latency equally well.
const ABOUT_AS_NEAR: f64 = 0.1;
/// Share of the observed rate that fewer outstanding requests must sustain, by Little's law.
const LEAST_SHARE: f64 = 0.8;
/// Largest factor that random arrivals add to the curve at their mean concurrency: by theory, and
/// if the profile's own open loads were measured. (On a loop device in memory, light open loads
/// take five times as long.)
const BEND_BY_THEORY: f64 = 2.0;
const BEND_MEASURED: f64 = 8.0;
/// The lightest open load of a profile, as a share of the maximum rate.
const LIGHTEST: f64 = 0.02;
/// Steps per unit of the logarithm: each step is 2 %.
const STEPS: f64 = 50.0;
/// Smallest share of the requests that makes a class of its own.
const CLASS_MIN: f64 = 0.002;

#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) sequential_share: f64,
    pub(crate) mix: Mix,
    /// Latency at queue depth 1, after idle times as long as here if the profile knows their effect.
    pub(crate) unloaded_ns: f64,
    /// The part of `unloaded_ns` and `at_concurrency` that idle times add; `None` without lone reads.
    pub(crate) rest_ns: Option<f64>,
    /// Latency at the concurrency while busy.
    pub(crate) at_concurrency: Estimate,
    /// The same for reads and for writes.
    pub(crate) by_op: [Option<f64>; 2],
    /// Latency at the rate, with Poisson arrivals.
    pub(crate) at_rate: Option<Estimate>,
    /// Largest factor that the bend of the curve adds, at least 1.
    pub(crate) bend: f64,
    pub(crate) max_iops: f64,
    /// Upper bound of `max_iops` within the profile's error.
    pub(crate) max_iops_high: f64,
    /// Latency at queue depth 1 of the reads of a mix without its writes; `None` for another mix.
    pub(crate) read_alone_ns: Option<f64>,
    /// The shortest latency of any request of these operations in the profile.
    pub(crate) quickest_ns: Option<f64>,
    /// Half-width of the 95 % interval of latency over expectation, as a share, from the variance
    /// between intervals; `None` for fewer than three.
    pub(crate) scatter_rel: Option<f64>,
    pub(crate) extrapolated: Vec<String>,
    /// The conclusion from the observation, if no profile applies.
    pub(crate) own: Option<Posterior>,
}

impl Expectation {
    /// The expectation for a device that differs from the measured one by up to this factor.
    pub(crate) fn widened(mut self, factor: f64) -> Self {
        for it in std::iter::once(&mut self.at_concurrency).chain(&mut self.at_rate) {
            (it.low, it.high) = (it.low / factor, it.high * factor);
        }
        self.max_iops_high *= factor;
        self
    }

    /// The longest latency that is as expected, before any tolerance.
    pub(crate) fn expected_ns(&self, by_rate: bool) -> f64 {
        let bent = self.at_concurrency.value * self.bend;
        match self.at_rate.filter(|_| by_rate) {
            Some(at_rate) => bent.max(at_rate.value),
            None => bent,
        }
    }

    /// Half-width of the expectation's interval, as a share of it.
    pub(crate) fn error_rel(&self) -> f64 {
        let width = self.at_concurrency.relative_half_width();
        if width.is_finite() { width } else { 1.0 }
    }

    /// Expected latency at this concurrency over that at queue depth 1.
    pub(crate) fn wait_ratio(&self) -> f64 {
        self.at_concurrency.value / self.unloaded_ns.max(1.0)
    }

    /// Requests that the device serves in parallel: maximum rate times latency at queue depth 1.
    pub(crate) fn side_by_side(&self) -> f64 {
        self.max_iops * (self.unloaded_ns - self.rest_ns.unwrap_or(0.0)) / 1e9
    }
}

/// What is known of the requests beyond the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentFacts {
    /// Share of sequential requests, if traced.
    pub(crate) sequential: Option<f64>,
    /// Whether the busy counter is reliable.
    pub(crate) busy: bool,
    /// Whether the queue depth is constant, as in a closed loop.
    pub(crate) constant: bool,
}

/// Cached expectations of intervals, by their rounded numbers.
pub(crate) type Answers = BTreeMap<[i64; 7], Option<Vec<Expectation>>>;

impl FittedProfile {
    /// The expectations of a segment, given as its intervals, for every mix that its counters
    /// allow: those whose maximum rate is at least the observed rate. The curve bends. Seconds of
    /// different queue depth are therefore looked up separately, and the results are averaged over
    /// requests. Similar seconds are looked up together.
    ///
    /// # Errors
    /// Why nothing is expected, in words that can follow a colon.
    pub(crate) fn looks(
        &self,
        series: &[IntervalTotals],
        known: SegmentFacts,
    ) -> Result<Vec<Expectation>, String> {
        let (total, groups) = (IntervalTotals::sum(series), alike(series));
        let shares = known.sequential.map_or_else(|| SHARES.to_vec(), |share| vec![share]);
        let rate = total.iops();
        let (mut looks, mut nearly, mut why, mut beyond) = (Vec::new(), Vec::new(), None, 0.0f64);
        for share in shares {
            // One per operation if the source does not separate reads from writes.
            for variant in 0..mixes(&total, share).len() {
                let place = (share, variant);
                match self.averaged(series, &total, &groups, place, known) {
                    Ok(look) if rate <= ABOVE_MAXIMUM * look.max_iops => looks.push(look),
                    Ok(look) if rate <= look.max_iops_high.min(CLEARLY_ABOVE * look.max_iops) => {
                        nearly.push(look);
                    }
                    Ok(look) => beyond = beyond.max(look.max_iops),
                    Err(error) => why = why.or(Some(error)),
                }
            }
        }
        // The profile of a disk whose speed varied knows its maximum rate only within that variation.
        if let Some(looks) = [looks, nearly].into_iter().find(|looks| !looks.is_empty()) {
            return Ok(looks);
        }
        if beyond > 0.0 {
            return Err(beyond_profile(rate, beyond));
        }
        Err(why.unwrap_or_else(|| "the request sizes are unknown".to_owned()))
    }

    /// The expectation of one interval of many, or `None`. Numbers are rounded to 2 %, and results reused.
    pub(crate) fn remembered<'a>(
        &self,
        answers: &'a mut Answers,
        tally: &IntervalTotals,
        known: SegmentFacts,
    ) -> Option<&'a [Expectation]> {
        let key = [
            Some(tally.iops()),
            tally.concurrency(),
            tally.utilization(),
            tally.read.request_bytes(),
            tally.write.request_bytes(),
            tally.read_share(),
            tally.all.request_bytes(),
        ]
        .map(|value| step(value, STEPS));
        let ask = || self.looks(std::slice::from_ref(tally), known).ok();
        answers.entry(key).or_insert_with(ask).as_deref()
    }

    /// The expectation of one mix over groups of seconds.
    fn averaged(
        &self,
        series: &[IntervalTotals],
        total: &IntervalTotals,
        groups: &[Group],
        place: (f64, usize),
        known: SegmentFacts,
    ) -> Result<Expectation, String> {
        let mut whole = self.single(total, place, known)?;
        let reads =
            mixes(&total.of_one(OpKind::Read), place.0).pop().filter(|_| total.write.count() > 0.0);
        let read_alone = reads.and_then(|reads| self.at_depth(&reads, 1.0).ok());
        whole.read_alone_ns = read_alone.map(|one| one.unloaded_latency_ns.value);
        let mut expected = vec![None; series.len()];
        let mut parts = Vec::new();
        for (group, members) in groups {
            if group.all.count() <= 0.0 {
                continue;
            }
            let look =
                if groups.len() < 2 { whole.clone() } else { self.single(group, place, known)? };
            members.iter().for_each(|&at| expected[at] = Some(look.expected_ns(false)));
            parts.push((group, look));
        }
        whole.scatter_rel = scatter(series, &expected);
        if parts.len() < 2 {
            return Ok(whole);
        }
        let over = |count: fn(&IntervalTotals) -> f64,
                    value: &dyn Fn(&Expectation) -> Option<f64>| {
            let weighed = parts.iter().filter(|(group, _)| count(group) > 0.0);
            weighted_mean(weighed.filter_map(|(group, look)| Some((value(look)?, count(group)))))
        };
        let all = |value: &dyn Fn(&Expectation) -> f64, otherwise: f64| {
            over(|group| group.all.count(), &|look| Some(value(look))).unwrap_or(otherwise)
        };
        let single = whole.at_concurrency;
        Ok(Expectation {
            unloaded_ns: all(&|look| look.unloaded_ns, whole.unloaded_ns),
            rest_ns: over(|group| group.all.count(), &|look| look.rest_ns),
            at_concurrency: Estimate {
                value: all(&|look| look.at_concurrency.value, single.value),
                low: all(&|look| look.at_concurrency.low, single.low),
                high: all(&|look| look.at_concurrency.high, single.high),
                se: all(&|look| look.at_concurrency.se, single.se),
                n: single.n,
            },
            by_op: [
                over(|group| group.read.count(), &|look| look.by_op[0]),
                over(|group| group.write.count(), &|look| look.by_op[1]),
            ],
            ..whole
        })
    }

    /// The expectation of one mix for a group of similar seconds.
    fn single(
        &self,
        tally: &IntervalTotals,
        (share, variant): (f64, usize),
        known: SegmentFacts,
    ) -> Result<Expectation, String> {
        let busy = tally.utilization().filter(|share| known.busy && *share > 0.0);
        let concurrency = tally.concurrency().ok_or("the source does not report latencies")?;
        let depth = (concurrency / busy.unwrap_or(1.0)).max(1.0);
        let mut variants = mixes(tally, share);
        if variant >= variants.len() {
            return Err("the request sizes are unknown".to_owned());
        }
        let mix = variants.swap_remove(variant);
        let rate = tally.iops();
        let closed = self.at_depth(&mix, depth).map_err(|error| error.to_string())?;
        // Loads lighter than the lightest of a profile have the latency of that one.
        let offered = rate.max(LIGHTEST * closed.max_iops.value);
        let open = Some(Offered::PoissonPerS(offered)).filter(|_| rate < closed.max_iops.value);
        let open = open.and_then(|offered| self.ask(&mix, offered).ok());
        // A constant queue depth does not bend the curve.
        let bend = open.as_ref().filter(|_| !known.constant).and_then(|open| self.bend(&mix, open));
        let rest = self.after_rest(&mix, tally, (depth, busy), bend.and(open.as_ref()));
        let quickest =
            |class: &MixClass| Some(class.share * self.predictor().quickest_counted_ns(class.op)?);
        let awake = closed.latency_ns;
        Ok(Expectation {
            sequential_share: share,
            unloaded_ns: closed.unloaded_latency_ns.value + rest.map_or(0.0, |rest| rest.value),
            rest_ns: rest.map(|rest| rest.value),
            at_concurrency: rest.map_or(awake, |rest| awake.plus(&rest)),
            by_op: self.divided(&mix, closed.latency_ns.value, open.as_ref()),
            bend: bend.unwrap_or(1.0),
            quickest_ns: mix.classes.iter().map(quickest).sum(),
            read_alone_ns: None,
            scatter_rel: None,
            at_rate: open.map(|open| open.latency_ns),
            max_iops: closed.max_iops.value,
            max_iops_high: closed.max_iops.high,
            extrapolated: closed.extrapolated,
            mix,
            own: None,
        })
    }

    /// Splits the latency of a mix into that of its reads and that of its writes, which no
    /// closed-loop model predicts. If open loads were measured, the split at that rate is used.
    /// Otherwise reads and writes wait equally long and differ by their latency at queue depth 1.
    fn divided(&self, mix: &Mix, latency_ns: f64, open: Option<&Prediction>) -> [Option<f64>; 2] {
        let by_rate = |open: &Prediction| {
            let part = |of: Option<Estimate>| Some(latency_ns * of?.value / open.latency_ns.value);
            Some([part(open.read_latency_ns)?, part(open.write_latency_ns)?])
        };
        let alone = |op: OpKind| {
            let mut classes = mix.classes.clone();
            classes.retain(|class| class.op == op);
            let share: f64 = classes.iter().map(|class| class.share).sum();
            if classes.is_empty() {
                return None;
            }
            classes.iter_mut().for_each(|class| class.share /= share);
            let one = self.at_depth(&Mix { classes }, 1.0).ok()?;
            Some((share, one.unloaded_latency_ns.value))
        };
        let by_waits = || {
            let (reads, writes) = (alone(OpKind::Read)?, alone(OpKind::Write)?);
            let mean = reads.0 * reads.1 + writes.0 * writes.1;
            Some([reads, writes].map(|(_, alone)| (latency_ns - mean).max(0.0) + alone))
        };
        open.and_then(by_rate).or_else(by_waits).map_or([None; 2], |both| both.map(Some))
    }

    /// The prediction for a constant queue depth at the device, in latencies as its counters show them.
    pub(crate) fn at_depth(&self, mix: &Mix, depth: f64) -> Result<Prediction, PredictError> {
        self.ask(mix, Offered::Depth(self.outstanding(mix, depth)))
    }

    fn ask(&self, mix: &Mix, offered: Offered) -> Result<Prediction, PredictError> {
        let predictor = self.predictor();
        let model = predictor.model_for(offered);
        Ok(predictor.counted(predictor.predict_by(model, mix, offered)?))
    }

    /// Outstanding requests in programs if counters show `present` while the device is busy.
    pub(crate) fn outstanding(&self, mix: &Mix, present: f64) -> f64 {
        self.predictor().outstanding(mix, present.max(1.0))
    }

    /// The same for a number counted in either place.
    pub(crate) fn in_programs(&self, mix: &Mix, counted: Outstanding) -> f64 {
        match counted {
            Outstanding::AtDevice(present) => self.outstanding(mix, present),
            Outstanding::InPrograms(kept) => kept,
        }
    }

    /// The sufficient queue depth for the mix of an expectation, up to `at_most`, by the rule of a check
    /// ([`model::deep_enough`]). It is at least the parallelism at four fifths of the observed rate, even if
    /// the profile knows little (the saturation point of Denning and Buzen 1978).
    pub(crate) fn deep_enough(
        &self,
        look: &Expectation,
        seen_per_s: f64,
        at_most: Outstanding,
    ) -> Option<SufficientDepth> {
        let most = at_most.value();
        let least = (LEAST_SHARE * seen_per_s * look.unloaded_ns / 1e9).min(most);
        let doublings = std::iter::successors(Some(1.0), |depth| Some(2.0 * depth));
        let asked = doublings.skip_while(|depth| *depth < least).take_while(|depth| *depth < most);
        let mut rates: Vec<(f64, Estimate)> = Vec::new();
        for depth in asked.chain([most]) {
            let kept = self.in_programs(&look.mix, at_most.with(depth));
            rates.push((depth, self.ask(&look.mix, Offered::Depth(kept)).ok()?.iops));
        }
        let (depth, rate) = *rates.get(model::deep_enough(&rates, model::DEFAULT_KNEE_GAIN)?.at)?;
        let largest = rates.last()?.1.value;
        let before = rates.len().checked_sub(2).map(|index| &rates[index]);
        let growth = before
            .map_or(0.0, |(from, rate)| libm::log(largest / rate.value) / libm::log(most / from));
        let of = |rate_per_s: f64| Some((rate.value / rate_per_s).min(1.0));
        Some(SufficientDepth {
            depth,
            rate_share: of(largest),
            max_share: of(look.max_iops),
            growth,
        })
    }

    /// Extra latency because the first request of each busy period comes after an idle time, from the
    /// profile's lone reads. An open load of the profile that bent the curve already includes a part of it.
    fn after_rest(
        &self,
        mix: &Mix,
        tally: &IntervalTotals,
        (depth, busy): (f64, Option<f64>),
        bent_by: Option<&Prediction>,
    ) -> Option<Estimate> {
        let idle = 1.0 - busy.unwrap_or_else(|| tally.concurrency().unwrap_or(1.0)).min(1.0);
        let rest_ns = idle * depth * 1e9 / tally.iops();
        let longer = self.predictor().after_rest_ns(mix, rest_ns)?.scaled(1.0 / depth);
        let measured = bent_by.filter(|_| !self.predictor().errors().is_empty());
        let known = measured.and_then(|open| match open.offered {
            Offered::PoissonPerS(rate) => self.predictor().after_rest_ns(mix, 1e9 / rate),
            _ => None,
        });
        let value = (longer.value - known.map_or(0.0, |known| known.value)).max(0.0);
        Some(Estimate::symmetric(value, longer.half_width(), longer.n).not_negative())
    }

    /// The factor by which Poisson arrivals take longer than the curve at their mean concurrency while busy.
    fn bend(&self, mix: &Mix, open: &Prediction) -> Option<f64> {
        let depth = open.concurrency / open.utilization.clamp(1e-9, 1.0);
        let at_mean = self.at_depth(mix, depth).ok()?.latency_ns.value;
        let rest_ns = open.after_rest_ns.map_or(0.0, |longer| longer.value);
        let factor = (open.latency_ns.value - rest_ns) / at_mean;
        // Open-loop trials of the profile, if it has any, verify predictions at a rate.
        let unchecked = self.predictor().errors().is_empty();
        let most = if unchecked { BEND_BY_THEORY } else { BEND_MEASURED };
        factor.is_finite().then_some(factor.clamp(1.0, most))
    }
}

/// The mix of random requests that the counters describe; `None` without sizes.
pub(crate) fn mixes_of(tally: &IntervalTotals) -> Option<Mix> {
    mixes(tally, 0.0).into_iter().next()
}

/// The mixes that the counters describe at a sequential share: one, or one of reads and one of
/// writes if the source does not separate them. Empty without sizes.
fn mixes(tally: &IntervalTotals, sequential: f64) -> Vec<Mix> {
    let of = |op: OpKind, bytes: f64, share: f64| -> Vec<MixClass> {
        let bytes = (bytes.round() as u64).max(1);
        [(Locality::Sequential, sequential), (Locality::Random, 1.0 - sequential)]
            .into_iter()
            .map(|(locality, part)| MixClass { op, locality, bytes, share: share * part })
            .filter(|class| class.share > 0.0)
            .collect()
    };
    let (reads, writes) = (&tally.read, &tally.write);
    let apart = reads.requests.zip(writes.requests).filter(|(r, w)| r + w > 0.0);
    let Some((read_count, write_count)) = apart else {
        let Some(bytes) = tally.all.request_bytes() else { return Vec::new() };
        return [OpKind::Read, OpKind::Write]
            .map(|op| Mix { classes: of(op, bytes, 1.0) })
            .to_vec();
    };
    let total = read_count + write_count;
    let mut parts = vec![(OpKind::Read, reads, read_count), (OpKind::Write, writes, write_count)];
    parts.retain(|(_, _, count)| count / total >= CLASS_MIN);
    let kept: f64 = parts.iter().map(|(_, _, count)| count).sum();
    let classes: Option<Vec<Vec<MixClass>>> = parts
        .into_iter()
        .map(|(op, tallied, count)| {
            let bytes = tallied.request_bytes().or_else(|| tally.all.request_bytes())?;
            Some(of(op, bytes, count / kept))
        })
        .collect();
    classes.into_iter().map(|classes| Mix { classes: classes.concat() }).collect()
}

/// A group of similar seconds: their sum, and their indices in the series.
type Group = (IntervalTotals, Vec<usize>);

/// Groups by queue depth, mix and size: at most a few dozen.
fn alike(series: &[IntervalTotals]) -> Vec<Group> {
    let mut groups: BTreeMap<[i64; 4], Vec<usize>> = BTreeMap::new();
    for (at, tally) in series.iter().enumerate() {
        let depth = tally
            .concurrency()
            .zip(tally.utilization())
            .map(|(present, busy)| (present / busy.max(1e-9)).max(1.0));
        let key = [
            step(depth.or(tally.concurrency()), 6.0),
            step(tally.read_share().map(|share| 1.0 + share), 12.0),
            step(tally.read.request_bytes().or(tally.all.request_bytes()), 3.0),
            step(tally.write.request_bytes(), 3.0),
        ];
        groups.entry(key).or_default().push(at);
    }
    let sum = |members: &[usize]| IntervalTotals::sum(members.iter().map(|&at| &series[at]));
    groups.into_values().map(|members| (sum(&members), members)).collect()
}

/// A rounded logarithm, with `steps` steps per factor of e.
fn step(value: Option<f64>, steps: f64) -> i64 {
    match value {
        Some(value) if value > 0.0 => libm::round(libm::log(value) * steps) as i64,
        Some(_) => i64::MIN,
        None => i64::MAX,
    }
}

/// Half-width of the 95 % interval of total latency over total expected latency, as a share of it.
fn scatter(series: &[IntervalTotals], expected_ns: &[Option<f64>]) -> Option<f64> {
    let parts: Vec<(f64, f64)> = series
        .iter()
        .zip(expected_ns)
        .filter_map(|(one, expected)| Some((one.all.time_ns?, (*expected)? * one.all.count())))
        .collect();
    ratio_error(&parts)
}

/// The expectation nearest to a latency. Among those about equally near it is the most random one,
/// which is the default where it makes no difference.
pub(crate) fn nearest(
    looks: &[Expectation],
    latency_ns: f64,
    by_rate: bool,
) -> Option<&Expectation> {
    let distance =
        |look: &Expectation| libm::fabs(libm::log(latency_ns / look.expected_ns(by_rate).max(1.0)));
    let least = looks.iter().map(distance).fold(f64::INFINITY, f64::min);
    looks.iter().find(|look| distance(look) <= least + ABOUT_AS_NEAR)
}
