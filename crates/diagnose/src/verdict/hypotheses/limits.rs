//! Tests whether the load reached a control-group limit, or a provider's limit according to the
//! volume's own log.

use crate::verdict::constant_rate::ConstantRate;
use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::{NEVER_IDLE, OVER_AT_ALL, PRESSURE_ALONE, PRESSURE_BEYOND, Segment};
use crate::verdict::interval_totals::IntervalTotals;
use crate::verdict::judgement::RestsOn;
use crate::words::percent;
use record::{CgroupLimit, Doubt, IoGroup, OpKind, Verdict};

/// A reached limit outweighs anything proven about the device below it.
const LIMIT: f64 = 1e3 * PROOF;
/// A rate within these shares of a limit has reached it.
const AT_LIMIT: (f64, f64) = (0.93, 1.05);
/// Share of the requests from which programs outside a limited group are the load.
const MOSTLY_OTHERS: f64 = 0.75;
/// Share of reads started by kernel threads from which a throttle was active.
const LET_GO_LATER: f64 = 0.005;
/// Shares of the time over a provider's limit from which that limit explains the delays, and from
/// which nothing else matters.
const OVER_MOST: f64 = 0.2;
const OVER_NEARLY_ALWAYS: f64 = 0.5;

/// A rate as a share of a limit.
fn of_limit(limit: &CgroupLimit, per_s: f64) -> f64 {
    per_s / limit.limit_per_s.max(1) as f64
}

/// Distance of a share from one, as a logarithm.
fn off(share: f64) -> f64 {
    libm::fabs(libm::log(share))
}

/// A control-group limit that a program reached while it had more requests to submit.
pub(super) fn control_group(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some((limit, share)) = limit_reached(segment) else {
        return found.extend(now_and_then(facts));
    };
    let Some(total) = rate(&segment.tally, limit).map(|rate| of_limit(limit, rate)) else { return };
    let (beyond, beside) = (segment.pressure_beyond(), total > AT_LIMIT.1);
    // A group was throttled if its own requests are clearly below its limit, and reach it only with
    // those that kernel threads start.
    let held = was_held(segment, limit.limited.op())
        .or_else(|| own_at(segment, limit).is_some_and(|own| own < AT_LIMIT.0).then_some(true));
    if beyond.is_some_and(|beyond| beyond <= PRESSURE_BEYOND)
        && segment.constant.is_none()
        && !(beside || held == Some(true))
    {
        // Programs wait no longer than the device works: the load happens to be this large.
        return;
    }
    let waited = beyond.is_some_and(|beyond| beyond > PRESSURE_BEYOND)
        || segment.waits_before()
        || held == Some(true);
    let done = if beside && group_at(segment, limit).is_some() {
        ", and one of the programs runs at that rate"
    } else if beside {
        ", and tasks wait for I/O that the device is not doing"
    } else {
        ", and the group runs at that rate"
    };
    let fine = facts.states.name_of_fine();
    if held == Some(false) && !waited && !beside {
        let because = format!(
            "The rate equals the limit of the control group {:?}, but the limit did not delay any \
             request.",
            limit.group
        );
        let decided_by = "Raise the limit (io.max) and see whether the rate rises.";
        let (doubt, all) = (Doubt::NoMoreAsked, facts.states.all());
        found.push(Explanation::beside(Verdict::Capped, doubt, all, because, decided_by));
        return;
    }
    if mostly_others(segment, limit) {
        let because = format!(
            "The group {:?} reached its limit of {}, but most requests come from other programs, \
             which it does not limit.",
            limit.group,
            allowed(std::slice::from_ref(limit))
        );
        let decided_by = "Find out whether the limited program is the slow one.";
        let (doubt, fine) = (Doubt::LimitPartOfTime, facts.states.fine());
        found.push(Explanation::beside(Verdict::Capped, doubt, fine, because, decided_by));
        return;
    }
    let limits = all_reached(segment, limit);
    let (group, allowed) = (&limit.group, allowed(&limits));
    let claim = format!("The control group {group:?} is limited to {allowed}{done}.");
    let decided_by = "Check the group's own counters (io.stat) or its io.pressure.";
    let beyond = beyond
        .map(|beyond| ("time waiting for I/O, minus the device's busy time", beyond, "share"));
    let numbers: Vec<_> =
        [("rate over the limit", share, "share")].into_iter().chain(beyond).collect();
    found.push(
        Explanation::weighed(Verdict::Capped, Doubt::NoMoreAsked, LIMIT, claim, decided_by)
            .resting_on(RestsOn::Limits(limits))
            .with(&numbers),
    );
    let users = segment.around.users.as_ref();
    let told = users.is_some_and(|users| users.within(&limit.group, |_| 0.0).is_some());
    if beside && !told {
        let because = "Other groups also use the device; the group's share of the rate is unknown.";
        found.push(Explanation::beside(fine, Doubt::OthersBesideGroup, LIMIT, because, decided_by));
    }
    if !waited {
        let because = "The program may not need a higher rate.";
        let decided_by = "Check pressure stall information, or run as root: the tracer measures \
                          the wait before a request starts.";
        found.push(Explanation::beside(fine, Doubt::NoMoreAsked, LIMIT, because, decided_by));
    }
}

/// A limit that delayed reads although the rate exceeds it: it applies to a part of the load, or for
/// a part of the time. No program waits for write-back that a limit delays now and then.
fn now_and_then(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let held = was_held(segment, OpKind::Read) == Some(true);
    let mut limits = segment.limits().filter(|limit| held && limit.limited.op() == OpKind::Read);
    let limit = limits.find(|limit| {
        let above = |rate| of_limit(limit, rate) > AT_LIMIT.1;
        rate(&segment.tally, limit).is_some_and(above) && may_have_released(segment, limit)
    })?;
    let (key, group) = (limit.limited.name(), &limit.group);
    let claim = format!(
        "The limit {key}={} of the control group {group:?} delayed reads, yet the device serves \
         more than the limit allows: other requests are not limited.",
        limit.limit_per_s
    );
    let rival = (
        "Programs outside the group also use the disk, and the group may not need a higher rate.",
        "Find out which program sets the limit, and when (io.max).",
    );
    let fine = facts.states.fine();
    Some(
        Explanation::instead(Verdict::Capped, Doubt::LimitPartOfTime, fine, claim, rival)
            .resting_on(RestsOn::Limits(vec![limit.clone()])),
    )
}

/// Whether programs outside a limited group send most of the requests of the limited kind.
fn mostly_others(segment: &Segment<'_>, limit: &CgroupLimit) -> bool {
    let Some(users) = segment.around.users.as_ref() else { return false };
    let of = |group: &IoGroup| per_s(limit, group);
    let programs = users.sum(of);
    let others = programs - users.within(&limit.group, of).unwrap_or(0.0);
    others > MOSTLY_OTHERS * (programs + users.of_threads(of))
}

/// What limits allow: `200 IOPS (riops) and 5.00 MB/s (wbps)`.
pub(crate) fn allowed(limits: &[CgroupLimit]) -> String {
    let text = |limit: &CgroupLimit| {
        let (per_s, bytes) = (limit.limit_per_s as f64, limit.limited.is_bytes());
        format!("{} ({})", ConstantRate { per_s, bytes }.text(), limit.limited.name())
    };
    limits.iter().map(text).collect::<Vec<_>>().join(" and ")
}

/// A reached limit, and all others of its group that the load reached too.
fn all_reached(segment: &Segment<'_>, first: &CgroupLimit) -> Vec<CgroupLimit> {
    let too = |limit: &CgroupLimit| {
        let share = all_at(segment, limit).filter(reached).or_else(|| group_at(segment, limit));
        share.is_some() && was_held(segment, limit.limited.op()) != Some(false)
    };
    let of_group = segment.limits().filter(|limit| limit.group == first.group);
    of_group.filter(|&limit| limit == first || too(limit)).cloned().collect()
}

/// The limits of a group on devices below this one (`major_minor`) that the load on this device
/// reached. This device's own counters include the delay, so a program waits for a reached limit if
/// the device always has a request.
pub(crate) fn reached_below(segment: &Segment<'_>, major_minor: &[&str]) -> Vec<CgroupLimit> {
    if segment.busy().is_none_or(|busy| busy < NEVER_IDLE) {
        return Vec::new();
    }
    let users = segment.around.users.as_ref();
    let share = |limit: &CgroupLimit| {
        // If the kernel starts all requests of a group, only the rate of the device is known.
        let own = users.and_then(|it| it.within(&limit.group, |group| per_s(limit, group)));
        let rate = own.or_else(|| rate(&segment.tally, limit))?;
        Some(of_limit(limit, rate)).filter(reached)
    };
    let limits = segment.around.limits.iter();
    let below = limits.filter(|limit| major_minor.contains(&limit.major_minor.as_str()));
    let mut found: Vec<(&CgroupLimit, f64)> =
        below.filter_map(|limit| Some((limit, share(limit)?))).collect();
    found.sort_by(|a, b| off(a.1).total_cmp(&off(b.1)));
    let Some(&(first, _)) = found.first() else { return Vec::new() };
    let of_group = found.into_iter().filter(|(limit, _)| limit.group == first.group);
    of_group.map(|(limit, _)| limit.clone()).collect()
}

/// Whether kernel threads start no more than limits of this kind let pass. More are requests of another kind:
/// the worker of a loop device reads for the device above.
fn may_have_released(segment: &Segment<'_>, limit: &CgroupLimit) -> bool {
    let alike = segment.limits().filter(|other| other.limited == limit.limited);
    let most: f64 = alike.map(|other| other.limit_per_s as f64).sum();
    let users = segment.around.users.as_ref();
    users.is_none_or(|it| it.of_threads(|group| per_s(limit, group)) <= AT_LIMIT.1 * most)
}

/// Requests per second that kernel threads start because a limit had delayed them. These are all
/// reads that such threads start. They also write on behalf of programs, so only the writes of
/// workers that release delayed requests count. `None` if no such worker was seen.
fn let_go_later(segment: &Segment<'_>, op: OpKind) -> Option<f64> {
    let users = segment.around.users.as_ref()?;
    match op {
        OpKind::Read => Some(users.of_threads(|group| group.reads_per_s)),
        OpKind::Write => users.releasing().map(|group| group.writes_per_s).filter(|it| *it > 0.0),
    }
}

/// Whether a throttle delayed requests, if the starting threads show it.
fn was_held(segment: &Segment<'_>, op: OpKind) -> Option<bool> {
    let all = segment.tally.per_s(Some(op), false).unwrap_or(0.0);
    Some(let_go_later(segment, op)? >= LET_GO_LATER * all)
}

/// The limit on this device that all of its requests or one group reached, with the share reached.
fn limit_reached<'a>(segment: &'a Segment<'_>) -> Option<(&'a CgroupLimit, f64)> {
    let nearest =
        |found: Vec<(_, f64)>| found.into_iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1)));
    let by_all = segment.limits().filter_map(|limit| Some((limit, all_at(segment, limit)?)));
    let by_group =
        || nearest(segment.limits().filter_map(|it| Some((it, group_at(segment, it)?))).collect());
    nearest(by_all.collect())
        .filter(|(_, share)| *share <= AT_LIMIT.1 || by_group().is_none())
        .or_else(by_group)
}

/// Requests or bytes per second, as a limit counts them.
fn rate(tally: &IntervalTotals, limit: &CgroupLimit) -> Option<f64> {
    tally.per_s(Some(limit.limited.op()), limit.limited.is_bytes())
}

/// The rate of all requests as a share of a limit, if they reached it.
fn all_at(segment: &Segment<'_>, limit: &CgroupLimit) -> Option<f64> {
    let beyond = segment.pressure_beyond();
    let share = of_limit(limit, rate(&segment.tally, limit)?);
    let waited = beyond.is_some_and(|beyond| beyond > PRESSURE_BEYOND)
        || was_held(segment, limit.limited.op()) == Some(true);
    if share < AT_LIMIT.0 && waited {
        // A machine that stalls occasionally is at its limit in between: the median interval counts.
        let each = segment.series.iter().map(|one| rate(one, limit));
        let mut rates = each.collect::<Option<Vec<f64>>>()?;
        rates.sort_by(f64::total_cmp);
        return Some(of_limit(limit, *rates.get(rates.len() / 2)?)).filter(reached);
    }
    // If tasks wait most of the time for something other than the device, other programs may add
    // requests to those of a group at its limit.
    let others = beyond.is_some_and(|beyond| beyond > PRESSURE_ALONE);
    let most = if others { f64::INFINITY } else { AT_LIMIT.1 };
    (AT_LIMIT.0..=most).contains(&share).then_some(share)
}

/// Whether a share of a limit counts as the limit.
fn reached(share: &f64) -> bool {
    (AT_LIMIT.0..=AT_LIMIT.1).contains(share)
}

/// Requests that the group starts itself, as a share of its limit.
fn own_at(segment: &Segment<'_>, limit: &CgroupLimit) -> Option<f64> {
    group_at(segment, limit)?;
    let users = segment.around.users.as_ref()?;
    Some(of_limit(limit, users.within(&limit.group, |group| per_s(limit, group))?))
}

/// Requests or bytes per second of a group, as the limit counts them.
fn per_s(limit: &CgroupLimit, group: &IoGroup) -> f64 {
    let op = limit.limited.op();
    if limit.limited.is_bytes() { group.op_bytes_per_s(op) } else { group.per_s(op) }
}

/// Rate of a program or group as a share of a limit, if it is close to the limit.
fn group_at(segment: &Segment<'_>, limit: &CgroupLimit) -> Option<f64> {
    let op = limit.limited.op();
    let per_s = |group: &IoGroup| per_s(limit, group);
    let users = segment.around.users.as_ref()?;
    // Deferred writes that the kernel issues for a group count towards the group's limit, but are
    // not attributed to the group.
    let all_seen = op == OpKind::Read || !users.written_for_others();
    if let Some(own) = users.within(&limit.group, per_s) {
        // Kernel threads start the requests that the limit delayed: all reads that they start, and
        // the writes of the workers that release such requests. Other threads may write for other
        // groups meanwhile, whose writes do not count towards this limit.
        let released = users.releasing().filter(|_| op == OpKind::Write).map(per_s);
        let held = released.unwrap_or_else(|| users.of_threads(per_s));
        let with_held = of_limit(limit, own + held);
        if reached(&with_held) || op == OpKind::Read {
            return Some(with_held).filter(reached);
        }
        if all_seen {
            return Some(of_limit(limit, own)).filter(reached);
        }
    } else if op == OpKind::Read && users.releasing().is_some() {
        // A group that uses this device only through a loop device has no process here: kernel
        // threads start all of its requests.
        let held = of_limit(limit, users.of_threads(per_s));
        if reached(&held) {
            return Some(held);
        }
    }
    let shares = users.groups.iter().map(|group| of_limit(limit, per_s(group)));
    shares.filter(reached).min_by(|a, b| off(*a).total_cmp(&off(*b)))
}

/// The volume's own log of the time that demand exceeded its provider's limits.
pub(super) fn provider(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some(over) = facts.segment.around.over_limit else { return };
    let (what, share) = over.largest();
    if share < OVER_AT_ALL {
        return;
    }
    let decided_by = "Compare the log with the latency, second by second (`halfpower record`).";
    if share < OVER_MOST {
        let because = format!(
            "The volume's own log shows demand above the provider's limit {} of the time ({what}): \
             bursts wait for the limit.",
            percent(share)
        );
        let (doubt, all) = (Doubt::ProviderLog, facts.states.all());
        found.push(Explanation::beside(Verdict::Capped, doubt, all, because, decided_by));
        return;
    }
    let claim = format!(
        "The volume's own log shows demand above the provider's limit {} of the time ({what}).",
        percent(share)
    );
    let numbers = over.each().map(|(what, share)| (what, share, "share of the time over it"));
    found.push(
        Explanation::weighed(Verdict::Capped, Doubt::ProviderLog, LIMIT / 10.0, claim, decided_by)
            .resting_on(RestsOn::VolumeLog)
            .with(&numbers),
    );
    if share < OVER_NEARLY_ALWAYS {
        let because =
            "At other times demand was below the limit, and requests may wait for the device.";
        let decided_by = "Check the latency in the seconds for which the log shows no excess \
                          demand.";
        let (doubt, weight) = (Doubt::LimitPartOfTime, LIMIT / 10.0);
        found.push(Explanation::beside(Verdict::Overloaded, doubt, weight, because, decided_by));
    }
}
