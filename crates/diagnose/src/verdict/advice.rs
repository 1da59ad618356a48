//! What to do about a cause, with what it would change.
//!
//! Each strategy answers causes and nothing else: without its cause it is not mentioned. What it
//! would change is predicted by the same models that the verdict rests on, at the rate and the mix
//! that were seen; where a prediction needs an assumption (how much a cache would serve), the
//! assumption is stated and the interval spans its range. A device that is slower than its profile
//! is predicted as its profile times the factor that was found.
//!
//! Advice is ranked by the share of the time per request that it saves: of the response time, or,
//! where the rate is what grows, of the time between completions. But first stands what undoes the
//! cause in the device or above it, then what undoes the cause in the load, then who waits for whom
//! in it (a setting), and then what makes room for the load as it is (a purchase): a faster disk is no
//! answer to a queue that a program keeps up, to a neighbour that can move, or to a cap, however much
//! it would gain. What answers a cause that soon passed comes after all that answers a lasting one.
//! (Rejected: gain alone. New disks then come first nearly always, because near saturation everything
//! gains nearly everything.)

use super::causes::sure;
use super::expected::{Expectation, Reference};
use super::judge::SLOW_FROM;
use super::outstanding::{constant_depth, kept_up, partly_kept_up};
use super::{Judged, interval_totals::IntervalTotals};
use crate::words::percent;
use record::{
    CauseCode, Effect, Estimate, Locality, Measured, Mix, OpKind, Prediction, Remedy, Strategy,
    Verdict, format_bytes, format_count, format_iops,
};

/// Faster by this share is what the next better disk gives (Friedman: 20 to 30 %).
const FASTER: (f64, f64) = (0.2, 0.3);
/// What a cache may serve of the reads, and what is taken for granted.
const CACHED: (f64, f64, f64) = (0.3, 0.5, 0.8);
/// Depth that a program without overlap could use.
const DEEPER_MAX: f64 = 32.0;
/// A prediction is no better than its model: at least this half-width.
const MODEL_ERROR: f64 = 0.1;
/// The same at a rate, from a profile without open-loop trials: simulated drives, whose service
/// times depend on the queue, are up to 15 % off then.
const OPEN_ERROR: f64 = 0.2;
/// A lone write may take this much less than the closed loop at depth 1 says, in which it follows
/// right behind another: the drive's buffer is free for it.
const LONE_WRITE: f64 = 0.3;
/// What there was cause for in less than this share of the time of what there was cause for longest
/// comes last.
const PASSING: f64 = 0.2;
/// From here on more are outstanding in a program than at the device, and both are said.
const WAY_FROM: f64 = 1.1;
/// Less than this is no gain.
const GAIN_MIN: f64 = 0.05;
/// Request size of larger requests.
const LARGER_BYTES: u64 = 128 << 10;

/// All advice on a device, by what it answers and by falling gain.
pub(crate) fn advice(judged: &[Judged<'_>], reference: Option<&Reference>) -> Vec<Remedy> {
    let mut all: Vec<(Remedy, f64)> = Vec::new();
    for (index, one) in judged.iter().enumerate() {
        if matches!(one.judgement.verdict, Verdict::NotEnoughEvidence) {
            continue;
        }
        let asked = Asked::new(index as u32, one, reference);
        for remedy in one.causes.iter().flat_map(|cause| asked.remedies(cause.code)) {
            // The same strategy for several episodes is said once, where it gains most.
            let seconds = one.stretch.tally.seconds;
            match all.iter_mut().find(|(known, _)| known.strategy == remedy.strategy) {
                Some((known, time)) => {
                    *time += seconds;
                    if gain(known) < gain(&remedy) {
                        *known = remedy;
                    }
                }
                None => all.push((remedy, seconds)),
            }
        }
    }
    all.retain(|(remedy, _)| remedy.gain.is_none_or(|gain| gain >= GAIN_MIN));
    let longest = all.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let rank =
        |(remedy, seconds): &(Remedy, f64)| (*seconds < PASSING * longest, answers(remedy.cause));
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(gain(&b.0).total_cmp(&gain(&a.0))));
    all.into_iter().map(|(remedy, _)| remedy).collect()
}

/// What a strategy against a cause changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answers {
    /// What is wrong with the device, or above it.
    Device,
    /// What is wrong with the load.
    Load,
    /// Who waits for whom in a load that is too large: a setting, which can be taken back.
    Order,
    /// The room for it: a purchase.
    Room,
}

fn answers(cause: CauseCode) -> Answers {
    match cause {
        CauseCode::ServiceSlower
        | CauseCode::ReadsSlower
        | CauseCode::WritesSlower
        | CauseCode::PartialBlocks
        | CauseCode::CgroupLimit
        | CauseCode::WaitsAbove
        | CauseCode::PinnedRate => Answers::Device,
        CauseCode::DepthBeyondKnee
        | CauseCode::Bursts
        | CauseCode::Neighbour
        | CauseCode::HotDevice
        | CauseCode::OneAtATime
        | CauseCode::SmallSequential
        | CauseCode::SplitRequests => Answers::Load,
        CauseCode::WritesInFront => Answers::Order,
        CauseCode::RateNearMaximum => Answers::Room,
    }
}

fn gain(remedy: &Remedy) -> f64 {
    remedy.gain.unwrap_or(0.0)
}

/// An episode about which is asked.
struct Asked<'a> {
    episode: u32,
    judged: &'a Judged<'a>,
    tally: &'a IntervalTotals,
    reference: Option<&'a Reference>,
    look: Option<&'a Expectation>,
    latency: f64,
    iops: f64,
    /// How many times slower than its profile the device is.
    slower: f64,
}

impl<'a> Asked<'a> {
    fn new(episode: u32, judged: &'a Judged<'a>, reference: Option<&'a Reference>) -> Self {
        let tally = &judged.stretch.tally;
        let best = judged.stretch.best_look();
        let latency = tally.latency_ns().unwrap_or(0.0);
        let ratio = best.map_or(1.0, |(look, latency)| latency / look.expected_ns(false).max(1.0));
        let slower = match judged.judgement.verdict {
            Verdict::Slow | Verdict::SlowAndOverloaded => ratio,
            // What a limit above the device lets through may be slow as well.
            Verdict::Capped if judged.judgement.limit.is_some() && ratio >= SLOW_FROM => ratio,
            _ => 1.0,
        };
        Self {
            episode,
            judged,
            tally,
            reference,
            look: best.map(|(look, _)| look),
            latency,
            iops: tally.iops(),
            slower,
        }
    }

    fn remedies(&self, cause: CauseCode) -> Vec<Remedy> {
        let list = match cause {
            CauseCode::ServiceSlower | CauseCode::ReadsSlower => {
                vec![self.restore(cause)]
            }
            CauseCode::WritesSlower => vec![self.restore(cause)],
            CauseCode::DepthBeyondKnee => vec![self.shallower(cause)],
            CauseCode::RateNearMaximum => vec![
                self.more_disks(cause),
                self.array(cause),
                self.faster(cause),
                self.cached(cause),
                self.host_cache(cause),
            ],
            CauseCode::Bursts => vec![self.spread_writes(cause)],
            CauseCode::WritesInFront => vec![self.scheduler(cause)],
            CauseCode::Neighbour => vec![self.neighbour(cause)],
            CauseCode::HotDevice => vec![self.balance(cause)],
            CauseCode::CgroupLimit | CauseCode::WaitsAbove | CauseCode::PinnedRate => {
                vec![self.raise_cap(cause)]
            }
            CauseCode::OneAtATime => vec![self.deeper(cause), self.read_ahead(cause)],
            CauseCode::SmallSequential => vec![self.larger(cause), self.read_ahead(cause)],
            CauseCode::SplitRequests => vec![self.defragment(cause), self.preallocate(cause)],
            CauseCode::PartialBlocks => vec![self.align(cause)],
        };
        list.into_iter().flatten().collect()
    }

    /// A remedy whose gain is in response time.
    fn remedy(&self, strategy: Strategy, cause: CauseCode, action: String) -> Remedy {
        Remedy {
            strategy,
            action,
            cause,
            episode: self.episode,
            effect: Measured::not("the profile says nothing of it"),
            gain: None,
            assumes: String::new(),
            price: String::new(),
            refuted_by: String::new(),
        }
    }

    fn with_effect(&self, mut remedy: Remedy, effect: Effect, by_rate: bool) -> Remedy {
        let gain = if by_rate {
            1.0 - effect.iops_before / effect.iops_after.value.max(1e-9)
        } else {
            1.0 - effect.latency_after_ns.value / effect.latency_before_ns.max(1e-9)
        };
        remedy.gain = Some(gain);
        remedy.effect = Measured::Value(effect);
        remedy
    }

    fn effect(&self, latency_after_ns: Estimate, iops_after: Estimate) -> Effect {
        Effect {
            latency_before_ns: self.latency,
            latency_after_ns,
            iops_before: self.iops,
            iops_after,
        }
    }

    /// The same rate as now, as an estimate.
    fn same_rate(&self) -> Estimate {
        Estimate::symmetric(self.iops, 0.0, self.tally.intervals)
    }

    /// The mix that explains what was seen.
    fn mix(&self) -> Option<&Mix> {
        self.look.map(|look| &look.mix)
    }

    /// A predicted response time of this device as it is now, with the model's error.
    fn time(&self, prediction: &Prediction) -> Estimate {
        let widened = self
            .reference
            .map_or(prediction.latency_ns, |reference| reference.widened(&prediction.latency_ns));
        at_least(&widened.scaled(self.slower), MODEL_ERROR)
    }

    fn rate(&self, estimate: &Estimate) -> Estimate {
        at_least(&estimate.scaled(1.0 / self.slower), MODEL_ERROR)
    }

    /// What the mix would see at a rate, as slow as the device is now.
    fn at_rate(&self, mix: &Mix, rate: f64) -> Option<Estimate> {
        let prediction = self.reference?.at_rate(mix, rate * self.slower)?;
        Some(self.loosened(&self.time(&prediction), &prediction))
    }

    /// A time at a rate with the error that it has where no open-loop trials were made.
    fn loosened(&self, time: &Estimate, prediction: &Prediction) -> Estimate {
        if self.reference.is_some_and(Reference::knows_open_loads) {
            // However far its open loads were off: none takes less than one request alone.
            let alone = prediction.unloaded_latency_ns.value * (1.0 - MODEL_ERROR);
            return Estimate { low: time.low.max(alone.min(time.value)), ..*time };
        }
        let writes: f64 = prediction
            .mix
            .classes
            .iter()
            .filter(|class| class.op == OpKind::Write)
            .map(|class| class.share)
            .sum();
        let wide = at_least(time, OPEN_ERROR);
        Estimate {
            low: wide.low.min(time.value * (1.0 - OPEN_ERROR - LONE_WRITE * writes)),
            ..wide
        }
    }

    /// What requests would take of the device as profiled, and their rate. Work that arrives by
    /// itself arrives as before and meets a shorter queue; a constant number in progress stays.
    fn as_profiled(&self) -> Option<(Estimate, Estimate)> {
        let look = self.look?;
        let stretch = &self.judged.stretch;
        // With the same number in progress the rate rises as the time falls.
        let rate = Estimate {
            value: self.iops * self.slower,
            low: self.iops,
            high: self.iops * self.slower * (1.0 + MODEL_ERROR),
            se: self.iops * self.slower * MODEL_ERROR / 1.96,
            n: self.tally.intervals,
        };
        let closed = at_least(&look.at_concurrency, MODEL_ERROR);
        let prediction = self.reference?.at_rate(&look.mix, self.iops);
        let Some(prediction) = prediction.filter(|_| !constant_depth(stretch.series)) else {
            return Some((closed, rate));
        };
        let time = at_least(&self.reference?.widened(&prediction.latency_ns), MODEL_ERROR);
        let open = self.loosened(&time, &prediction);
        if !self.partly_kept_up() {
            return Some((open, self.same_rate()));
        }
        // Between work that comes by itself and work that is kept up.
        let between =
            Estimate { low: open.low.min(closed.low), high: open.high.max(closed.high), ..closed };
        Some((between, Estimate { low: self.iops, ..rate }))
    }

    /// Whether a program keeps a part of the requests outstanding, or nothing excludes it of a queue
    /// that is deep.
    fn partly_kept_up(&self) -> bool {
        let stretch = &self.judged.stretch;
        stretch.known.constant
            || partly_kept_up(stretch.series)
            || stretch.deep.is_some_and(|deep| deep.may_be_kept())
    }

    fn restore(&self, cause: CauseCode) -> Option<Remedy> {
        let (after, rate) = self.as_profiled()?;
        let what = match cause {
            CauseCode::WritesSlower => {
                "Find out why writes became slow: write cache off, misaligned or partial writes, a \
                 drive without free blocks (trim), an array that rebuilds. `halfpower check` on the \
                 quiet device tells whether it is the device or the load; if it is, replace it."
            }
            _ => {
                "Find out what became slower: SMART and the kernel log for retries, a rebuild or \
                 scrub, firmware, a neighbour on shared storage. `halfpower check` on the quiet \
                 device tells whether it is the device; if it is, replace or move it."
            }
        };
        let mut remedy = self.remedy(Strategy::Restore, cause, what.to_owned());
        remedy = self.with_effect(remedy, self.effect(after, rate), false);
        let assumes = if self.judged.stretch.known.constant {
            "as many requests in progress as now"
        } else if self.partly_kept_up() {
            "between as many requests in progress as now and such that arrive as often as now, by \
             chance"
        } else {
            "requests that arrive as often as now, by chance"
        };
        assumes.clone_into(&mut remedy.assumes);
        "a check of about a minute on a quiet device; then a disk, or a move"
            .clone_into(&mut remedy.price);
        "a new profile of the quiet device that agrees with the old one: then the load differs from \
         what was profiled, not the device"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn shallower(&self, cause: CauseCode) -> Option<Remedy> {
        let (reference, look) = (self.reference?, self.look?);
        let deep = self.judged.stretch.deep?;
        let (present, knee) = (deep.present, deep.enough.depth);
        let prediction = reference.at_depth(&look.mix, knee).ok()?;
        // What a program keeps: on their way to and from the device are some that no counter sees.
        let kept = |counted: f64| reference.outstanding(&look.mix, counted);
        let action = format!(
            "Keep {:.0} requests outstanding instead of {}: in the program, or with nr_requests as \
             a stopgap.{}",
            kept(knee),
            format_count(kept(present)),
            if kept(knee) / knee < WAY_FROM {
                String::new()
            } else {
                format!(" (At the device: {knee:.0} instead of {}.)", format_count(present))
            }
        );
        let remedy = self.remedy(Strategy::ShallowerQueue, cause, action);
        let mut time = self.time(&prediction);
        if !kept_up(self.judged.stretch.series)
            && let Ok(with_one) = reference.at_depth(&look.mix, knee + 1.0)
        {
            // Others ask as well, of whom one may be in front.
            time.high = time.high.max(self.time(&with_one).high);
        }
        let effect = self.effect(time, self.rate(&prediction.iops));
        let mut remedy = self.with_effect(remedy, effect, false);
        "whoever issues them keeps a fixed number outstanding; work that arrives by itself waits in \
         the program instead"
            .clone_into(&mut remedy.assumes);
        remedy.price = format!(
            "{} instead of {}",
            format_iops(effect.iops_after.value),
            format_iops(self.iops)
        );
        "a rate that falls below the predicted one, or response times that stay"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn deeper(&self, cause: CauseCode) -> Option<Remedy> {
        let (reference, look) = (self.reference?, self.look?);
        let depth = reference.deep_enough(look, self.iops, DEEPER_MAX)?.depth.max(2.0);
        let prediction = reference.at_depth(&look.mix, depth).ok()?;
        let action = format!(
            "Keep {:.0} requests outstanding instead of one, if they do not depend on each other \
             (io_uring, threads, a larger effective_io_concurrency).",
            reference.outstanding(&look.mix, depth)
        );
        let remedy = self.remedy(Strategy::DeeperQueue, cause, action);
        let effect = self.effect(self.time(&prediction), self.rate(&prediction.iops));
        let mut remedy = self.with_effect(remedy, effect, true);
        "requests that do not wait for each other's results".clone_into(&mut remedy.assumes);
        "work on the program; single requests take as long as predicted"
            .clone_into(&mut remedy.price);
        "a rate that does not rise with the depth".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    /// The load over `disks` devices like this one; `None` without a prediction.
    fn spread(&self, disks: f64) -> Option<(Estimate, Estimate)> {
        let (reference, look) = (self.reference?, self.look?);
        if self.judged.stretch.known.constant {
            // As many outstanding as now, shared.
            let present = self.tally.concurrency()?;
            let part = reference.at_depth(&look.mix, (present / disks).max(1.0)).ok()?;
            return Some((self.time(&part), self.rate(&part.iops).scaled(disks)));
        }
        Some((self.at_rate(&look.mix, self.iops / disks)?, self.same_rate()))
    }

    fn more_disks(&self, cause: CauseCode) -> Option<Remedy> {
        let action = "Spread the load evenly over two such disks instead of one.".to_owned();
        let remedy = self.remedy(Strategy::MoreDisks, cause, action);
        let (time, rate) = self.spread(2.0)?;
        let mut remedy = self.with_effect(remedy, self.effect(time, rate), false);
        "data that can be divided, and requests that go to both alike"
            .clone_into(&mut remedy.assumes);
        "a second disk, and dividing the data".clone_into(&mut remedy.price);
        "requests that still go mostly to one of them".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn array(&self, cause: CauseCode) -> Option<Remedy> {
        let writes = 1.0 - self.tally.read_share().unwrap_or(1.0);
        let action = "Stripe over an array: four disks as RAID 10 serve reads on four and write \
                      each write twice."
            .to_owned();
        let remedy = self.remedy(Strategy::DiskArray, cause, action);
        let (time, rate) = self.spread(4.0 / (1.0 + writes))?;
        let mut remedy = self.with_effect(remedy, self.effect(time, rate), false);
        "requests smaller than a chunk, and an array that adds nothing of its own"
            .clone_into(&mut remedy.assumes);
        "four disks for the room of two; parity (RAID 5, 6) would be cheaper and cost four or six \
         requests per small write"
            .clone_into(&mut remedy.price);
        "single disks of the array that are busier than the others"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn faster(&self, cause: CauseCode) -> Option<Remedy> {
        let look = self.look?;
        let reference = self.reference?;
        let constant = self.judged.stretch.known.constant;
        let at = |faster: f64| -> Option<(f64, f64)> {
            let factor = 1.0 - faster;
            if constant {
                return Some((self.latency * factor, self.iops / factor));
            }
            let rate = self.iops * factor * self.slower;
            let time = reference.at_rate(&look.mix, rate)?.latency_ns.value;
            Some((time * self.slower * factor, self.iops))
        };
        let (least, most) = (at(FASTER.0)?, at(FASTER.1)?);
        let between = |low: f64, high: f64| Estimate {
            value: f64::midpoint(low, high),
            low: low.min(high) * (1.0 - MODEL_ERROR),
            high: low.max(high) * (1.0 + MODEL_ERROR),
            se: (low - high).abs() / 2.0 / 1.96,
            n: self.tally.intervals,
        };
        let action = format!(
            "A disk whose requests take {} to {} less.",
            percent(FASTER.0),
            percent(FASTER.1)
        );
        let remedy = self.remedy(Strategy::FasterDisks, cause, action);
        let effect = self.effect(between(least.0, most.0), between(least.1, most.1));
        let mut remedy = self.with_effect(remedy, effect, false);
        "all of its requests are that much faster".clone_into(&mut remedy.assumes);
        "Friedman's figure: about half as much again for the disk".clone_into(&mut remedy.price);
        "a `halfpower check` of the new disk that is not that much faster"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    /// The mix with a share of its reads served by a cache of the device.
    fn with_hits(&self, share: f64) -> Option<Mix> {
        let mut classes = Vec::new();
        for class in &self.mix()?.classes {
            let served = if class.op == OpKind::Read && class.locality == Locality::Random {
                share
            } else {
                0.0
            };
            let mut rest = *class;
            rest.share *= 1.0 - served;
            if served > 0.0 {
                let mut hit = *class;
                (hit.locality, hit.share) = (Locality::Hit, class.share * served);
                classes.push(hit);
            }
            if rest.share > 0.0 {
                classes.push(rest);
            }
        }
        Some(Mix { classes })
    }

    fn cached(&self, cause: CauseCode) -> Option<Remedy> {
        let reads = self.tally.read_share().unwrap_or(0.0);
        let reference = self.reference?;
        let constant = self.judged.stretch.known.constant;
        let present = self.tally.concurrency()?;
        let at = |share: f64| -> Option<(f64, f64)> {
            let mix = self.with_hits(share)?;
            if constant {
                let answer = reference.at_depth(&mix, present).ok()?;
                return Some((
                    answer.latency_ns.value * self.slower,
                    answer.iops.value / self.slower,
                ));
            }
            let answer = reference.at_rate(&mix, self.iops * self.slower)?;
            Some((answer.latency_ns.value * self.slower, self.iops))
        };
        if reads < 0.3 {
            return None;
        }
        let (least, middle, most) = (at(CACHED.0)?, at(CACHED.1)?, at(CACHED.2)?);
        let action =
            "A device or controller with a cache that holds the data that is read most.".to_owned();
        let remedy = self.remedy(Strategy::CachedDisks, cause, action);
        let effect = self.effect(
            spanning(middle.0, least.0, most.0, self.tally.intervals),
            spanning(middle.1, least.1, most.1, self.tally.intervals),
        );
        let mut remedy = self.with_effect(remedy, effect, false);
        remedy.assumes = format!(
            "that {} of the random reads are served by it ({} to {} for the interval), as fast as \
             this device serves re-reads",
            percent(CACHED.1),
            percent(CACHED.0),
            percent(CACHED.2)
        );
        "a controller or drive with memory; writes need a battery or capacitor"
            .clone_into(&mut remedy.price);
        "re-reads that are rare: a trace of the addresses tells".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn host_cache(&self, cause: CauseCode) -> Option<Remedy> {
        let reads = self.tally.read_share().filter(|share| *share >= 0.3)?;
        let memory = self.judged.stretch.around.memory_bytes.filter(|bytes| *bytes > 1e9)?;
        if self.judged.stretch.known.constant {
            return None;
        }
        let at = |share: f64| -> Option<(f64, f64)> {
            let mut mix = self.mix()?.clone();
            let kept = 1.0 - reads * share;
            for class in &mut mix.classes {
                let left = if class.op == OpKind::Read { 1.0 - share } else { 1.0 };
                class.share *= left / kept;
            }
            mix.classes.retain(|class| class.share > 0.0);
            Some((self.at_rate(&mix, self.iops * kept)?.value * kept, self.iops * kept))
        };
        let (least, middle, most) = (at(CACHED.0)?, at(CACHED.1)?, at(CACHED.2)?);
        let action = format!(
            "Let the host cache more: {} are available (a larger shared buffer, or buffered instead \
             of direct reads).",
            format_bytes(memory as u64)
        );
        let remedy = self.remedy(Strategy::HostCache, cause, action);
        let effect = self.effect(
            spanning(middle.0, least.0, most.0, self.tally.intervals),
            spanning(middle.1, least.1, most.1, self.tally.intervals),
        );
        let mut remedy = self.with_effect(remedy, effect, false);
        remedy.assumes = format!(
            "that {} of the reads are then served from memory ({} to {} for the interval); the \
             latency time is the mean over these too",
            percent(CACHED.1),
            percent(CACHED.0),
            percent(CACHED.2)
        );
        "memory; what is left for the disk holds more writes, in bursts"
            .clone_into(&mut remedy.price);
        "a hit rate of the host's cache that does not rise".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn raise_cap(&self, cause: CauseCode) -> Option<Remedy> {
        let action = match &self.judged.judgement.limit {
            Some(limit) => format!(
                "Raise {}={} of the control group {:?}.",
                limit.limited.key(),
                limit.limit_per_s,
                limit.group
            ),
            None => {
                "Find the cap (control group, provider's volume type, hypervisor) and raise it."
                    .to_owned()
            }
        };
        let mut remedy = self.remedy(Strategy::RaiseCap, cause, action);
        if let (Some(reference), Some(look)) = (self.reference, self.look)
            && let Ok(prediction) =
                reference.at_depth(&look.mix, look.side_by_side().clamp(1.0, DEEPER_MAX))
        {
            let likely = self.rate(&prediction.iops);
            let most = look.max_iops / self.slower * (1.0 + MODEL_ERROR);
            // Nobody knows how much is asked for: anything up to what the device can do.
            let rate = Estimate { low: self.iops, high: likely.high.max(most), ..likely };
            let effect = self.effect(self.time(&prediction), rate);
            remedy = self.with_effect(remedy, effect, true);
        }
        "a program that asks for as much as the device can do".clone_into(&mut remedy.assumes);
        "a larger volume type, or less for others on the same disk".clone_into(&mut remedy.price);
        "a rate that stays where it is: then the program paces itself"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn balance(&self, cause: CauseCode) -> Option<Remedy> {
        if !sure(&self.judged.judgement) {
            return None;
        }
        let (time, rate) = self.spread(2.0)?;
        let action = "Move half of what this device does to one that has much to spare.".to_owned();
        let remedy = self.remedy(Strategy::LoadBalancing, cause, action);
        let mut remedy = self.with_effect(remedy, self.effect(time, rate), false);
        "the other device is as fast as this one, and the data can be divided"
            .clone_into(&mut remedy.assumes);
        "moving data".clone_into(&mut remedy.price);
        "the other device becoming as busy as this one".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn neighbour(&self, cause: CauseCode) -> Option<Remedy> {
        let processes = &self.judged.stretch.around.traced.as_ref()?.processes;
        let total: f64 = processes.iter().map(|(_, _, count)| count).sum();
        let (id, name, count) = processes.first()?;
        let share = count / total.max(1.0);
        let time = self.at_rate(self.mix()?, self.iops * (1.0 - share))?;
        let action = format!(
            "Move process {id} ({name}) to another disk, or limit it (io.max, io.weight): it issues \
             {} of the requests.",
            percent(share)
        );
        let remedy = self.remedy(Strategy::MoveNeighbour, cause, action);
        let rest = Estimate::symmetric(self.iops * (1.0 - share), 0.0, self.tally.intervals);
        let mut remedy = self.with_effect(remedy, self.effect(time, rest), false);
        "what is left is of the same mix".clone_into(&mut remedy.assumes);
        "that process gets less, or another disk".clone_into(&mut remedy.price);
        "response times of the others that stay when it pauses".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn scheduler(&self, cause: CauseCode) -> Option<Remedy> {
        let facts = self.judged.stretch.facts;
        let scheduler = facts.and_then(|facts| facts.scheduler.as_deref());
        let name = scheduler.unwrap_or("unknown");
        if matches!(scheduler, Some("mq-deadline" | "kyber" | "bfq")) {
            return None;
        }
        let action = format!(
            "A scheduler that lets reads pass (mq-deadline or kyber; now {name}), or a limit on the \
             writer (io.max)."
        );
        let mut remedy = self.remedy(Strategy::Scheduler, cause, action);
        let reads = self.reads_alone();
        if let Some(alone) = reads {
            // At best reads see a device without writes; at worst nothing changes.
            let now = self.tally.read.latency_ns()?;
            let after = Estimate {
                value: f64::midpoint(alone, now),
                low: alone,
                high: now,
                se: (now - alone) / 3.92,
                n: self.tally.intervals,
            };
            let effect = Effect {
                latency_before_ns: now,
                latency_after_ns: after,
                iops_before: self.iops,
                iops_after: self.same_rate(),
            };
            remedy = self.with_effect(remedy, effect, false);
        }
        "the device takes requests in the order in which it gets them; the figures are of reads"
            .clone_into(&mut remedy.assumes);
        "writes wait longer".clone_into(&mut remedy.price);
        "reads that take as long as before: then the queue is in the device"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    /// Response time of the reads if they were alone.
    fn reads_alone(&self) -> Option<f64> {
        let mut mix = self.mix()?.clone();
        mix.classes.retain(|class| class.op == OpKind::Read);
        let share: f64 = mix.classes.iter().map(|class| class.share).sum();
        mix.classes.iter_mut().for_each(|class| class.share /= share.max(1e-9));
        Some(self.at_rate(&mix, self.iops * share)?.value)
    }

    fn spread_writes(&self, cause: CauseCode) -> Option<Remedy> {
        let writes = 1.0 - self.tally.read_share().unwrap_or(1.0);
        if writes < 0.5 {
            return None;
        }
        let time = self.at_rate(self.mix()?, self.iops)?;
        let action =
            "Let writes come evenly: smaller vm.dirty_background_bytes, or direct I/O for \
                      the writer."
                .to_owned();
        let remedy = self.remedy(Strategy::DirectIo, cause, action);
        let mut remedy = self.with_effect(remedy, self.effect(time, self.same_rate()), false);
        "the same writes as a Poisson stream".clone_into(&mut remedy.assumes);
        "less is merged in memory, so there may be more writes".clone_into(&mut remedy.price);
        "bursts that stay: then the program makes them".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    /// The same bytes per second in larger requests.
    fn in_larger(&self) -> Option<(Mix, f64)> {
        let bytes = self.tally.all.request_bytes()?;
        let factor = LARGER_BYTES as f64 / bytes.max(1.0);
        let mut mix = self.mix()?.clone();
        for class in &mut mix.classes {
            class.bytes = LARGER_BYTES;
        }
        (factor > 1.5).then_some((mix, factor))
    }

    fn larger(&self, cause: CauseCode) -> Option<Remedy> {
        let (mix, factor) = self.in_larger()?;
        let prediction = self.reference?.at_rate(&mix, self.iops / factor * self.slower)?;
        let time = self.time(&prediction);
        let action = format!(
            "Ask for {} at a time: one request does the work of {factor:.0}.",
            format_bytes(LARGER_BYTES)
        );
        let remedy = self.remedy(Strategy::LargerRequests, cause, action);
        // Time per byte is what is saved.
        let effect = self.effect(time.scaled(1.0 / factor), self.same_rate());
        let mut remedy = self.with_effect(remedy, effect, false);
        "requests that stay adjacent; the figures are per request of today's size"
            .clone_into(&mut remedy.assumes);
        "memory for larger buffers".clone_into(&mut remedy.price);
        "throughput that does not rise with the size".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn read_ahead(&self, cause: CauseCode) -> Option<Remedy> {
        let sequential = self.judged.stretch.around.sequential()? >= 0.6;
        let reads = self.tally.read_share()? >= 0.8;
        let now = self.judged.stretch.facts.and_then(|facts| facts.read_ahead_bytes)?;
        let bytes = self.tally.all.request_bytes()?;
        // Only buffered readers read ahead; their requests are then as large as the window.
        if !sequential || !reads || bytes < 0.5 * now as f64 {
            return None;
        }
        let mut mix = self.mix()?.clone();
        for class in &mut mix.classes {
            class.bytes = now * 4;
        }
        let prediction = self.reference?.at_depth(&mix, 1.0).ok()?;
        let per_now = bytes / (now * 4) as f64;
        let effect = self.effect(
            self.time(&prediction).scaled(per_now),
            self.rate(&prediction.iops).scaled(1.0 / per_now),
        );
        let action = format!("read_ahead_kb={} instead of {}.", (now * 4) >> 10, now >> 10);
        let remedy = self.remedy(Strategy::ReadAhead, cause, action);
        let mut remedy = self.with_effect(remedy, effect, true);
        "buffered readers in order; the figures are per request of today's size"
            .clone_into(&mut remedy.assumes);
        "memory, and reads for nothing where readers jump".clone_into(&mut remedy.price);
        "throughput of the reader that stays".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn defragment(&self, cause: CauseCode) -> Option<Remedy> {
        let action = "Defragment the files that are read in order (filefrag and e4defrag, \
                      xfs_fsr); `halfpower run FILE` counts a file's extents."
            .to_owned();
        let mut remedy = self.remedy(Strategy::Defragmentation, cause, action);
        let splits = self.tally.splits? / self.tally.all.count().max(1.0);
        if let Some(time) = self.at_rate(self.mix()?, self.iops / (1.0 + splits)) {
            remedy = self.with_effect(remedy, self.effect(time, self.same_rate()), false);
        }
        "requests that are whole again, and nothing more".clone_into(&mut remedy.assumes);
        "reading and writing these files once".clone_into(&mut remedy.price);
        "few extents per file: then the splits come from request sizes beyond the device's"
            .clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn preallocate(&self, cause: CauseCode) -> Option<Remedy> {
        let action =
            "Allocate files in full length before they are filled (fallocate), so that they stay \
             whole."
                .to_owned();
        let mut remedy = self.remedy(Strategy::Preallocation, cause, action);
        "new files; those that exist stay as they are".clone_into(&mut remedy.assumes);
        "room that is taken before it is used".clone_into(&mut remedy.price);
        "as many extents in new files as in old ones".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }

    fn align(&self, cause: CauseCode) -> Option<Remedy> {
        let (reference, mix) = (self.reference?, self.mix()?);
        let block = self.judged.stretch.facts.and_then(|facts| facts.physical_block_bytes)?;
        let action = format!(
            "Write whole blocks of {}, on their boundaries (partition start, record size).",
            format_bytes(block)
        );
        let remedy = self.remedy(Strategy::Alignment, cause, action);
        let present = self.tally.concurrency()?;
        let prediction = reference.at_depth(mix, present).ok()?;
        let after = at_least(&reference.widened(&prediction.latency_ns), MODEL_ERROR);
        let rate = at_least(&prediction.iops, MODEL_ERROR);
        let mut remedy = self.with_effect(remedy, self.effect(after, rate), false);
        "all of the slowness comes from reading before writing".clone_into(&mut remedy.assumes);
        "a change of the program's record size, or partitions made anew"
            .clone_into(&mut remedy.price);
        "writes of whole blocks that take as long".clone_into(&mut remedy.refuted_by);
        Some(remedy)
    }
}

/// An estimate over a range of assumptions.
fn spanning(value: f64, one: f64, other: f64, n: u32) -> Estimate {
    let (low, high) = (one.min(other).min(value), one.max(other).max(value));
    Estimate {
        value,
        low: low * (1.0 - MODEL_ERROR),
        high: high * (1.0 + MODEL_ERROR),
        se: (high - low) / 3.92,
        n,
    }
}

/// An estimate with at least this half-width, as a share.
fn at_least(estimate: &Estimate, share: f64) -> Estimate {
    let half = share * estimate.value.abs();
    Estimate {
        low: estimate.low.min(estimate.value - half),
        high: estimate.high.max(estimate.value + half),
        se: estimate.se.max(half / 1.96),
        ..*estimate
    }
}
