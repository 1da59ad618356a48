//! What the profile says that a device should have done in a segment of time.
//!
//! It is asked about the time in which it was busy: with L in progress and a share U of the time
//! busy, the curve at depth L/U. Time without requests then makes no fine device look slow.
//! (Rejected: the curve at L. A single server at half load would be called slow.) What the bend of
//! the curve adds under Poisson arrivals is computed and allowed for.
//!
//! Counters do not tell whether requests were sequential, a factor of thirty on a drive with an
//! arm: several shares are tried, and a latency is too long only if it is too long for all. A
//! tracer's share stands alone. How sure a ratio is follows from its scatter from second to second,
//! not from that of the latency: under an open load both rise and fall together.

use super::fitted_profile::FittedProfile;
use super::interval_totals::{IntervalTotals, ratio_error};
use super::outstanding::{Outstanding, SufficientDepth};
use super::posterior::Posterior;
use model::PredictError;
use record::{Estimate, Locality, Mix, MixClass, Offered, OpKind, Prediction};
use stats::weighted_mean;
use std::collections::BTreeMap;

/// Shares of sequential requests that are tried.
const SHARES: [f64; 6] = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0];
/// A rate may exceed the largest one of the profile by this share before the mix is ruled out.
const ABOVE_MAXIMUM: f64 = 1.1;
/// Expectations whose logarithms differ by less than this explain a time equally well.
const ABOUT_AS_NEAR: f64 = 0.1;
/// Share of the rate that was seen that fewer requests outstanding have to keep, by Little's law.
const LEAST_SHARE: f64 = 0.8;
/// The most that arrivals by chance add to the curve at their mean concurrency: by theory, and where the
/// profile's own open loads say so. (On a loop device over memory light ones take five times as long.)
const BEND_BY_THEORY: f64 = 2.0;
const BEND_MEASURED: f64 = 8.0;
/// The lightest open load of a profile, as a share of the largest rate.
const LIGHTEST: f64 = 0.02;
/// Steps of a logarithm that make two parts in a hundred.
const STEPS: f64 = 50.0;
/// Smallest share of the requests that makes a class.
const CLASS_MIN: f64 = 0.002;

#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) sequential_share: f64,
    pub(crate) mix: Mix,
    /// A lone request, after a rest as long as here where the profile knows what that adds.
    pub(crate) unloaded_ns: f64,
    /// Part of that and of `at_concurrency` that the rest adds; `None` where the profile has no lone
    /// reads.
    pub(crate) rest_ns: Option<f64>,
    /// At the concurrency while busy.
    pub(crate) at_concurrency: Estimate,
    /// Reads and writes apart, at that concurrency.
    pub(crate) by_op: [Option<f64>; 2],
    /// At the rate, with Poisson arrivals.
    pub(crate) at_rate: Option<Estimate>,
    /// What the bend of the curve adds at most, as a factor of at least 1.
    pub(crate) bend: f64,
    pub(crate) max_iops: f64,
    /// The same as far as the profile's error allows.
    max_iops_high: f64,
    /// The least time of any request of these operations in the profile.
    pub(crate) quickest_ns: Option<f64>,
    /// Half-width of the 95 % interval of the latency over the expectation, as a share, by
    /// its scatter over the intervals; `None` of fewer than three.
    pub(crate) scatter_rel: Option<f64>,
    pub(crate) extrapolated: Vec<String>,
    /// What is concluded where no profile says it.
    pub(crate) own: Option<Posterior>,
}

impl Expectation {
    /// One without a profile: a lone request, one at the concurrency that was seen, and the largest rate.
    pub(crate) fn by_observation(
        mix: Mix,
        (unloaded_ns, at_concurrency): (f64, Estimate),
        max_iops: f64,
        own: Posterior,
    ) -> Self {
        Self {
            sequential_share: 0.0,
            mix,
            unloaded_ns,
            rest_ns: None,
            at_concurrency,
            by_op: [None; 2],
            at_rate: None,
            bend: 1.0,
            max_iops,
            max_iops_high: max_iops,
            quickest_ns: None,
            scatter_rel: None,
            extrapolated: Vec::new(),
            own: Some(own),
        }
    }

    /// The same of a device that differs from the measured one by up to this factor.
    pub(crate) fn widened(mut self, factor: f64) -> Self {
        for it in std::iter::once(&mut self.at_concurrency).chain(&mut self.at_rate) {
            (it.low, it.high) = (it.low / factor, it.high * factor);
        }
        self.max_iops_high *= factor;
        self
    }

    /// The longest latency that is still as expected, before any tolerance.
    pub(crate) fn expected_ns(&self, by_rate: bool) -> f64 {
        let bent = self.at_concurrency.value * self.bend;
        match self.at_rate.filter(|_| by_rate) {
            Some(at_rate) => bent.max(at_rate.value),
            None => bent,
        }
    }

    /// Half of the interval of the expectation as a share of it.
    pub(crate) fn error_rel(&self) -> f64 {
        let width = self.at_concurrency.relative_half_width();
        if width.is_finite() { width } else { 1.0 }
    }

    /// How long a request waits: what is expected at this concurrency over that of a lone one.
    pub(crate) fn wait_ratio(&self) -> f64 {
        self.at_concurrency.value / self.unloaded_ns.max(1.0)
    }

    /// Requests that the device serves side by side: largest rate times latency alone.
    pub(crate) fn side_by_side(&self) -> f64 {
        self.max_iops * (self.unloaded_ns - self.rest_ns.unwrap_or(0.0)) / 1e9
    }
}

/// What the counters leave open about the requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentFacts {
    /// Share of sequential requests, where it was traced.
    pub(crate) sequential: Option<f64>,
    /// Whether the busy counter can be believed.
    pub(crate) busy: bool,
    /// Whether the number in progress stays the same, as in a closed loop.
    pub(crate) constant: bool,
}

/// What was expected of intervals, by their rounded numbers.
pub(crate) type Answers = BTreeMap<[i64; 7], Option<Vec<Expectation>>>;

impl FittedProfile {
    /// What is expected of a segment, given as its intervals, for every mix that its counters
    /// allow: those whose largest rate is not below the rate that was seen. The curve bends, so that
    /// seconds of different depth are asked about one by one and their answers are averaged over
    /// requests; seconds that resemble each other are asked about together.
    ///
    /// # Errors
    /// Why nothing is expected: in words that can follow a colon.
    pub(crate) fn looks(
        &self,
        series: &[IntervalTotals],
        known: SegmentFacts,
    ) -> Result<Vec<Expectation>, String> {
        let (total, groups) = (IntervalTotals::sum(series), alike(series));
        let shares = known.sequential.map_or_else(|| SHARES.to_vec(), |share| vec![share]);
        let rate = total.iops();
        let (mut looks, mut nearly, mut why, mut beyond) = (Vec::new(), Vec::new(), None, false);
        for share in shares {
            // One for each operation where the source does not tell them apart.
            for variant in 0..mixes(&total, share).len() {
                let place = (share, variant);
                match self.averaged(series, &total, &groups, place, known) {
                    Ok(look) if rate <= ABOVE_MAXIMUM * look.max_iops => looks.push(look),
                    Ok(look) if rate <= look.max_iops_high => nearly.push(look),
                    Ok(_) => beyond = true,
                    Err(error) => why = why.or(Some(error)),
                }
            }
        }
        // A profile of a disk that varied knows its largest rate no better than that.
        if let Some(looks) = [looks, nearly].into_iter().find(|looks| !looks.is_empty()) {
            return Ok(looks);
        }
        if beyond {
            return Err("the device exceeded the maximum IOPS of its profile".to_owned());
        }
        Err(why.unwrap_or_else(|| "the request sizes are unknown".to_owned()))
    }

    /// What is expected of one interval of many; `None` where nothing is. Rate, depth and sizes are
    /// rounded to two parts in a hundred, and what was asked before is not asked again.
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

    /// One mix over groups of seconds.
    fn averaged(
        &self,
        series: &[IntervalTotals],
        total: &IntervalTotals,
        groups: &[Group],
        place: (f64, usize),
        known: SegmentFacts,
    ) -> Result<Expectation, String> {
        let mut whole = self.single(total, place, known)?;
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

    /// One mix over seconds that resemble each other.
    fn single(
        &self,
        tally: &IntervalTotals,
        (share, variant): (f64, usize),
        known: SegmentFacts,
    ) -> Result<Expectation, String> {
        let busy = tally.utilization().filter(|share| known.busy && *share > 0.0);
        let concurrency = tally.concurrency().ok_or("the source does not report latencies")?;
        let depth = (concurrency / busy.unwrap_or(1.0)).max(1.0);
        let mut mixes = mixes(tally, share);
        if variant >= mixes.len() {
            return Err("the request sizes are unknown".to_owned());
        }
        let mix = mixes.swap_remove(variant);
        let rate = tally.iops();
        let closed = self.at_depth(&mix, depth).map_err(|error| error.to_string())?;
        // What is rarer than the lightest load of a profile takes as long as that.
        let offered = rate.max(LIGHTEST * closed.max_iops.value);
        let open = Some(Offered::PoissonPerS(offered)).filter(|_| rate < closed.max_iops.value);
        let open = open.and_then(|offered| self.ask(&mix, offered).ok());
        // A number in progress that does not vary does not bend.
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
            scatter_rel: None,
            at_rate: open.map(|open| open.latency_ns),
            max_iops: closed.max_iops.value,
            max_iops_high: closed.max_iops.high,
            extrapolated: closed.extrapolated,
            mix,
            own: None,
        })
    }

    /// A latency of a mix as that of its reads and that of its writes, which no model tells of a number
    /// in progress: as they divide at that rate, where open loads were measured; else they wait alike,
    /// and differ by what they take alone.
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

    /// A constant number in flight at the device, in the times that its counters show.
    pub(crate) fn at_depth(&self, mix: &Mix, depth: f64) -> Result<Prediction, PredictError> {
        self.ask(mix, Offered::Depth(self.outstanding(mix, depth)))
    }

    fn ask(&self, mix: &Mix, offered: Offered) -> Result<Prediction, PredictError> {
        let predictor = self.predictor();
        let model = predictor.model_for(offered);
        Ok(predictor.counted(predictor.predict_by(model, mix, offered)?))
    }

    /// Requests that a program keeps outstanding where counters show so many while the device is busy.
    pub(crate) fn outstanding(&self, mix: &Mix, present: f64) -> f64 {
        self.predictor().outstanding(mix, present.max(1.0))
    }

    /// The same of a number that was counted in either place.
    pub(crate) fn in_programs(&self, mix: &Mix, counted: Outstanding) -> f64 {
        match counted {
            Outstanding::AtDevice(present) => self.outstanding(mix, present),
            Outstanding::InPrograms(kept) => kept,
        }
    }

    /// How many requests outstanding are enough for the mix of a look, of at most `most`, by the rule
    /// of a check ([`model::deep_enough`]). Fewer than are served side by side at four fifths of the rate
    /// that was seen would not do, whatever a profile that knows little says (the saturation point of
    /// Denning and Buzen 1978).
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

    /// What requests take longer because the first of each busy time comes after a rest, by the lone reads
    /// of the profile. An open load of the profile that bent the curve holds part of that.
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
        Some(Estimate::symmetric(value, longer.half_width(), longer.n))
    }

    /// How much longer Poisson arrivals take than the curve at their mean concurrency while busy
    /// says.
    fn bend(&self, mix: &Mix, open: &Prediction) -> Option<f64> {
        let depth = open.concurrency / open.utilization.clamp(1e-9, 1.0);
        let at_mean = self.at_depth(mix, depth).ok()?.latency_ns.value;
        let rest_ns = open.after_rest_ns.map_or(0.0, |longer| longer.value);
        let factor = (open.latency_ns.value - rest_ns) / at_mean;
        // Predictions at a rate are checked by open-loop trials of the profile, where it has some.
        let unchecked = self.predictor().errors().is_empty();
        let most = if unchecked { BEND_BY_THEORY } else { BEND_MEASURED };
        factor.is_finite().then_some(factor.clamp(1.0, most))
    }
}

/// The mix of random requests that counters stand for; `None` without sizes.
pub(crate) fn mixes_of(tally: &IntervalTotals) -> Option<Mix> {
    mixes(tally, 0.0).into_iter().next()
}

/// The mixes that counters stand for at a share of sequential requests: one, or one of reads and
/// one of writes where they are not told apart; none without sizes.
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

/// Seconds that resemble each other: their sum, and their places in the series.
type Group = (IntervalTotals, Vec<usize>);

/// Groups by depth, mix and size: at most a few dozen.
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

/// A rounded logarithm, with so many steps per factor of e.
fn step(value: Option<f64>, steps: f64) -> i64 {
    match value {
        Some(value) if value > 0.0 => libm::round(libm::log(value) * steps) as i64,
        Some(_) => i64::MIN,
        None => i64::MAX,
    }
}

/// Half-width of the 95 % interval of all time over all expected time, as a share of it.
fn scatter(series: &[IntervalTotals], expected_ns: &[Option<f64>]) -> Option<f64> {
    let parts: Vec<(f64, f64)> = series
        .iter()
        .zip(expected_ns)
        .filter_map(|(one, expected)| Some((one.all.time_ns?, (*expected)? * one.all.count())))
        .collect();
    ratio_error(&parts)
}

/// The look whose expectation lies nearest to a latency; of those that are about as near the
/// most random one, which is what is taken for granted where it makes no difference.
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
