//! Derives settings of etcd: the heartbeat interval, and how long members wait for a heartbeat.
//!
//! Facts: `heartbeat-interval` is 100 ms by default. `election-timeout` is 1000 ms; it is at least five times
//! the heartbeat interval, ten times according to the manual, and at most 50 s. A leader whose log waits for
//! the disk sends no heartbeat, so the manual recommends raising both if the disk is slow. A profile does not
//! cover the network between members, whose round trip may require more.

use super::profile_facts::ProfileFacts;
use super::{Derived, setting};
use record::{
    CommitNeed, CommitVerdict, Estimate, LogKind, NORMAL_95, Setting, format_count, format_nanos,
};

/// The defaults, in milliseconds.
const HEARTBEAT_MS: f64 = 100.0;
const ELECTION_HEARTBEATS: f64 = 10.0;
const ELECTION_MOST_MS: f64 = 50_000.0;
/// Share of flushes that are shorter than a heartbeat.
const OUTLASTED: f64 = 0.999;
/// Number of flushes of which ten take longer than that ([`record::HistogramSnapshot::percentile`]).
const FLUSHES_NEEDED: u64 = 10_000;

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let line = |name, derived| setting(name, derived, |value| format!("{name}: {value}"));
    let fast_enough = setting("disk fast enough", fast_enough(facts), |_| String::new());
    let [interval, timeout] = ["heartbeat-interval", "election-timeout"];
    vec![fast_enough, line(interval, heartbeat(facts)), line(timeout, election(facts))]
}

/// Whether the disk meets the requirements of etcd's authors, which no setting can replace.
fn fast_enough(facts: &ProfileFacts<'_>) -> Derived {
    let commits = facts.commits()?;
    let of = |program, need| {
        let its = |it: &&CommitVerdict| it.program == program && it.need == need;
        commits.verdicts.iter().find(its)
    };
    let loaded = of("etcd under heavy load", CommitNeed::CommitsPerS)
        .map_or(String::new(), |it| format!(", {} under heavy load", format_count(it.limit)));
    let said = |need, words: fn(f64) -> String, limit: &dyn Fn(f64) -> String| {
        let verdict = of("etcd", need).ok_or("no verdict on etcd")?;
        let value = verdict.measured.known()?.value;
        Ok::<_, String>((verdict.met, format!("{} ({})", words(value), limit(verdict.limit))))
    };
    let tail = said(
        CommitNeed::FlushP99Ns,
        |ns| format!("the p99 flush latency is {}", format_nanos(ns)),
        &|ns| format!("etcd requires less than {}", format_nanos(ns)),
    )?;
    let rate = said(
        CommitNeed::CommitsPerS,
        |rate| format!("{} commits per second", format_count(rate)),
        &|least| format!("etcd recommends at least {}{loaded}", format_count(least)),
    )?;
    let word = match [tail.0, rate.0] {
        [Some(true), Some(true)] => "yes",
        [Some(false), _] | [_, Some(false)] => "no",
        _ => "undecided",
    };
    Ok((word.to_owned(), format!("{}; {}", tail.1, rate.1)))
}

fn heartbeat(facts: &ProfileFacts<'_>) -> Derived {
    let (slow, words) = slow_flush(facts)?;
    let than = if beat_ms(slow.value) > HEARTBEAT_MS { "longer" } else { "less" };
    let derivation = format!(
        "{words}; one flush in a thousand takes {}, {than} than the default of {HEARTBEAT_MS:.0} \
         ms, and a leader that waits for a flush sends no heartbeat",
        format_nanos(slow.value)
    );
    facts.settled(&slow, &derivation, |slow_ns| beat_ms(slow_ns).to_string())
}

/// The flush latency at percentile [`OUTLASTED`], as another run would measure it: with the error
/// of its rank among the flushes, and the error of the highest percentile that all files share.
fn slow_flush(facts: &ProfileFacts<'_>) -> Result<(Estimate, String), String> {
    let (point, words) = facts.commit(LogKind::NewBlocks)?;
    let flushes = point.histogram.count();
    let slow = point.histogram.percentile(OUTLASTED).ok_or_else(|| too_few(facts, flushes))?;
    let (count, longer) = (flushes as f64, 1.0 - OUTLASTED);
    let error = NORMAL_95 * libm::sqrt(count * OUTLASTED * longer);
    let at = |rank: f64| point.histogram.value_at(rank.clamp(1.0, count) as u64).unwrap_or(slow);
    let ends = [count * OUTLASTED - error, count * OUTLASTED + error].map(at);
    let [.., slowest_se] = facts.profile.reruns().common_percentile_ses;
    let of_run = Estimate::spanning(slow, ends[0].min(slow), ends[1].max(slow), point.flush_ns.n);
    Ok((of_run.with_ratio_error(slowest_se), words))
}

/// Why there is no percentile [`OUTLASTED`], and the check that would measure it.
fn too_few(facts: &ProfileFacts<'_>, flushes: u64) -> String {
    let check = facts.profile.check_for_flushes(FLUSHES_NEEDED, flushes);
    format!("{flushes} flushes of a new log are too few for a p99.9; 10,000 are needed: {check}")
}

fn beat_ms(slow_ns: f64) -> f64 {
    (slow_ns / 1e6).ceil().max(HEARTBEAT_MS)
}

fn election(facts: &ProfileFacts<'_>) -> Derived {
    let (slow, _) = slow_flush(facts)?;
    let value = |slow_ns: f64| (beat_ms(slow_ns) * ELECTION_HEARTBEATS).min(ELECTION_MOST_MS);
    let words = format!("{ELECTION_HEARTBEATS:.0} heartbeats; at most 50000");
    facts.settled(&slow, &words, |slow_ns| value(slow_ns).to_string())
}
