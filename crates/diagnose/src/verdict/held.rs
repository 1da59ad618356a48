//! What holds requests back above the device or below it: a limit of a control group or a provider,
//! the I/O scheduler, or something before any counter starts.

use super::constant_rate::ConstantRate;
use super::interval_totals::IntervalTotals;
use super::judge::{
    HARDLY_WAITS, HELD_TIMES, IN_SCHEDULER, MUCH_TO_SPARE, NEAR_MAXIMUM, PRESSURE_ALONE,
    PRESSURE_BEYOND, REQUESTS_MIN, Segment,
};
use super::judgement::{Judgement, RestsOn};
use crate::words::percent;
use record::{CgroupLimit, Doubt, IoGroup, LimitedIo, OpKind, Verdict, format_nanos};

/// A rate within these shares of a limit has reached it.
const AT_LIMIT: (f64, f64) = (0.93, 1.05);
/// Share of the time over a provider's limit from which on that is what holds requests, and from which
/// on nothing else matters.
const OVER_MOST: f64 = 0.2;
const OVER_NEARLY_ALWAYS: f64 = 0.5;

/// Share of a device's tags in use on average from which on requests wait for one: whoever waits has to
/// wake up before it uses the next, which leaves some free.
const TAGS_FULL: f64 = 0.75;

/// What a rate is of a limit.
fn of_limit(limit: &CgroupLimit, per_s: f64) -> f64 {
    per_s / limit.limit_per_s.max(1) as f64
}

/// How far a share lies off one.
fn off(share: f64) -> f64 {
    libm::fabs(libm::log(share))
}

impl Segment<'_> {
    /// A control group's limit that is reached.
    pub(super) fn held_by_a_limit(&self, pin: Option<&ConstantRate>) -> Option<Judgement> {
        let (limit, share) = self.limit_reached()?;
        let total = of_limit(limit, rate(&self.tally, limit.limited)?);
        let (beyond, beside) = (self.pressure_beyond(), total > AT_LIMIT.1);
        if beyond.is_some_and(|beyond| beyond <= PRESSURE_BEYOND) && pin.is_none() && !beside {
            // Nobody waits longer than the device works: the load happens to be that large.
            return None;
        }
        let demanded = beyond.is_some_and(|beyond| beyond > PRESSURE_BEYOND) || self.waits_before();
        let done = if beside && self.group_at(limit).is_some() {
            ", and that is what one of the programs does"
        } else if beside {
            ", and tasks wait for what the device does not do"
        } else {
            ", and that is what is done"
        };
        let (per_s, bytes) = (limit.limit_per_s as f64, limit.limited.is_bytes());
        let allowed = ConstantRate { per_s, bytes }.text();
        let (group, key) = (&limit.group, limit.limited.key());
        let claim = format!("The control group {group:?} may do {allowed} ({key}){done}.");
        let mut judgement =
            Judgement::new(Verdict::Capped, claim).with("rate over the limit", share, "share");
        if let Some(beyond) = beyond {
            let what = "waiting for I/O beyond the device's busy time";
            judgement = judgement.with(what, beyond, "share");
        }
        let users = self.around.users.as_ref();
        let told = users.is_some_and(|users| users.within(&limit.group, |_| 0.0).is_some());
        if beside && !told {
            judgement.against(
                self.fine(),
                Doubt::OthersBesideGroup,
                "Others do requests beside the group; how much of the rate is the group's is not \
                 told.",
                "The group's own counters (io.stat), or its io.pressure.",
            );
        }
        if !demanded {
            judgement.against(
                self.fine(),
                Doubt::NoMoreAsked,
                "The program may ask for no more than that by itself.",
                "Pressure stall information, or the tracer's waits before a request is started.",
            );
        }
        judgement.rests_on = RestsOn::Limit(limit.clone());
        Some(judgement)
    }

    /// What a device is to be called that is as profiled, at this rate.
    pub(super) fn fine(&self) -> Verdict {
        let saturation = self.best_look().map(|(look, _)| self.tally.iops() / look.max_iops);
        match saturation.is_some_and(|share| share >= MUCH_TO_SPARE) {
            true => Verdict::Healthy,
            false => Verdict::NotTheDisk,
        }
    }

    /// The limit on this device that is reached, by all of its requests or by one group's, with what
    /// is done of it.
    fn limit_reached(&self) -> Option<(&CgroupLimit, f64)> {
        let ours = |limit: &&CgroupLimit| {
            self.facts.is_none_or(|facts| facts.major_minor == limit.major_minor)
        };
        let limits = || self.around.limits.iter().filter(ours);
        let nearest =
            |found: Vec<(_, f64)>| found.into_iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1)));
        let by_all = limits().filter_map(|limit| Some((limit, self.all_at(limit)?)));
        let by_group =
            || nearest(limits().filter_map(|it| Some((it, self.group_at(it)?))).collect());
        nearest(by_all.collect())
            .filter(|(_, share)| *share <= AT_LIMIT.1 || by_group().is_none())
            .or_else(by_group)
    }

    /// What all requests are of a limit, where they have reached it.
    fn all_at(&self, limit: &CgroupLimit) -> Option<f64> {
        let beyond = self.pressure_beyond();
        let share = of_limit(limit, rate(&self.tally, limit.limited)?);
        if share < AT_LIMIT.0 && beyond.is_some_and(|beyond| beyond > PRESSURE_BEYOND) {
            // A machine that stalls now and then is at its limit between: half of the time counts.
            let each = self.series.iter().map(|one| rate(one, limit.limited));
            let mut rates = each.collect::<Option<Vec<f64>>>()?;
            rates.sort_by(f64::total_cmp);
            let usual = of_limit(limit, *rates.get(rates.len() / 2)?);
            return (AT_LIMIT.0..=AT_LIMIT.1).contains(&usual).then_some(usual);
        }
        // Where tasks wait most of the time for what the device does not do, others may do more
        // beside a group that is at its limit.
        let others = beyond.is_some_and(|beyond| beyond > PRESSURE_ALONE);
        let most = if others { f64::INFINITY } else { AT_LIMIT.1 };
        (AT_LIMIT.0..=most).contains(&share).then_some(share)
    }

    /// What a program or group does over a limit, where that is about the whole of it.
    fn group_at(&self, limit: &CgroupLimit) -> Option<f64> {
        let op = limit.limited.op();
        let per_s = |group: &IoGroup| match limit.limited.is_bytes() {
            true => group.op_bytes_per_s(op),
            false => group.per_s(op),
        };
        let users = self.around.users.as_ref()?;
        let reached = |share: &f64| (AT_LIMIT.0..=AT_LIMIT.1).contains(share);
        // What the kernel writes for a group later counts for the group's limit, and not as its.
        let all_seen = op == OpKind::Read || !users.written_for_others();
        let own = users.within(&limit.group, per_s).filter(|_| all_seen);
        if let Some(own) = own.map(|own| of_limit(limit, own)) {
            return Some(own).filter(reached);
        }
        let shares = users.groups.iter().map(|group| of_limit(limit, per_s(group)));
        shares.filter(reached).min_by(|a, b| off(*a).total_cmp(&off(*b)))
    }

    /// The volume's own log of how long more was asked for than its provider lets through.
    pub(super) fn held_by_the_provider(&self) -> Option<Judgement> {
        let over = self.around.over_limit?;
        let (what, share) = over.largest();
        if share < OVER_MOST {
            return None;
        }
        let claim = format!(
            "More was asked for than the provider lets through {} of the time ({what}), by the \
             volume's own log.",
            percent(share)
        );
        let mut judgement = Judgement::new(Verdict::Capped, claim);
        for (what, share) in over.each() {
            judgement = judgement.with(what, share, "share of the time over it");
        }
        if share < OVER_NEARLY_ALWAYS {
            judgement.against(
                Verdict::Overloaded,
                Doubt::LimitPartOfTime,
                "The rest of the time the limit was not reached, and requests may wait for the device.",
                "The latency in the seconds in which the log counts nothing.",
            );
        }
        judgement.rests_on = RestsOn::VolumeLog;
        Some(judgement)
    }

    /// Requests at the device, where they have all of its tags.
    pub(super) fn full_tags(&self) -> Option<f64> {
        let tags = self.facts?.nr_requests? as f64;
        let present = self.tally.concurrency().filter(|present| *present >= TAGS_FULL * tags)?;
        // Each hardware queue of several has so many.
        Some(present.max(tags))
    }

    /// Waits before the counters start that full tags do not explain.
    pub(super) fn held_before_counting(&self) -> Option<Judgement> {
        if !self.waits_before() {
            return None;
        }
        let traced = self.around.traced.as_ref()?;
        if self.full_tags().is_some() {
            return None;
        }
        let by_share = self.scheduler_by_share();
        let holder = by_share.map_or("something above the device holds them".to_owned(), |name| {
            format!(
                "the I/O scheduler {name}, which lets each program have a part of the device's tags"
            )
        });
        let mut judgement = Judgement::new(
            Verdict::Capped,
            format!(
                "Requests wait {} on average before the disk's counters start: {holder}.",
                format_nanos(traced.held.1)
            ),
        )
        .with("wait before the start", traced.held.1, "ns")
        .with("requests that waited", traced.held.0, "");
        judgement.against(
            Verdict::Overloaded,
            Doubt::FullTags,
            "The device may have refused more requests at once than the counters show.",
            "The device's tags in use (nr_requests and queue/nr_hw_queues).",
        );
        if by_share.is_some() {
            judgement.rests_on = RestsOn::Scheduler;
        }
        Some(judgement)
    }

    /// Most of a request's time passes before the device gets it, and the device has time left: the
    /// scheduler keeps it idle for somebody else, or serves others first. Its wait lies within the
    /// disk counters, so that only the tracer tells it from a slow device.
    pub(super) fn held_in_the_scheduler(&self) -> Option<Judgement> {
        let scheduler = self.scheduler()?;
        let traced = self.around.traced.as_ref()?;
        let (look, latency) = self.best_look()?;
        let saturation = self.tally.iops() / look.max_iops;
        let device_fine = traced.device_ns < HARDLY_WAITS * look.unloaded_ns;
        let held = traced.queue_ns >= HELD_TIMES * latency && saturation < NEAR_MAXIMUM;
        if traced.requests < REQUESTS_MIN || !held || !device_fine {
            return None;
        }
        let claim = format!(
            "Requests wait {} in the I/O scheduler ({scheduler}) and take {} at the device, where a \
             lone one takes {}; the rate is {} of the largest. The scheduler holds them, not the \
             device.",
            format_nanos(traced.queue_ns),
            format_nanos(traced.device_ns),
            format_nanos(look.unloaded_ns),
            percent(saturation)
        );
        let mut judgement = Judgement::new(Verdict::Capped, claim)
            .with(IN_SCHEDULER, traced.queue_ns, "ns")
            .with("time at the device", traced.device_ns, "ns")
            .with("rate over the largest of this mix", saturation, "share");
        judgement.rests_on = RestsOn::Scheduler;
        judgement.against(
            Verdict::Overloaded,
            Doubt::BurstsInScheduler,
            "They may come in bursts, which any scheduler has to queue.",
            "The same with the scheduler none, or shorter intervals.",
        );
        Some(judgement)
    }
}

/// What a limit counts, per second.
fn rate(tally: &IntervalTotals, limited: LimitedIo) -> Option<f64> {
    let op = tally.op(limited.op());
    let sum = if limited.is_bytes() { op.bytes } else { op.requests };
    sum.map(|sum| sum / tally.seconds.max(1e-9))
}
