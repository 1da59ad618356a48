//! Derives settings of PostgreSQL: the planner's cost of a random page, and how far ahead it may read.
//!
//! Facts: `random_page_cost` is 4.0 by default, relative to `seq_page_cost` = 1, and should not be lower than
//! that. The manual explained the default (until 17) with pages that are 40 times as slow, of which nine in
//! ten are cached. `effective_io_concurrency` and `maintenance_io_concurrency` range from 0 to 1000. The
//! former is 16 by default from 18 on, 1 before; since 13 it is the number of requests itself.
//! `io_combine_limit` (17 and later) is 128 kB by default, at most 256 kB in 17. `commit_delay` (0 by
//! default, in microseconds, at most 100000) makes one flush wait so that it serves more commits. The manual
//! recommends half the time of a flush after an 8 kB write. It takes effect only while `commit_siblings` (5)
//! other transactions are active.

use super::profile_facts::ProfileFacts;
use super::{Derived, assigned, assigned_since};
use record::{Estimate, LogKind, OpKind, Setting};

const PAGE: u64 = 8 << 10;
/// Share of random page reads that the default assumes to be cached.
const CACHED: f64 = 0.9;
/// Two checks of the same disk agree on this ratio to about this share.
const SAME_RATIO: f64 = 0.2;
const CONCURRENCY_MAX: u32 = 1_000;
const COMMIT_DELAY_MAX: f64 = 100_000.0;
const COMBINE: (u64, u64) = (128 << 10, 256 << 10);

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let usual = concurrency(facts, "the default is 16 (1 before version 18)");
    let maintenance = concurrency(facts, "the same setting for maintenance");
    vec![
        assigned("random_page_cost", random_page_cost(facts)),
        assigned("effective_io_concurrency", usual),
        assigned("maintenance_io_concurrency", maintenance),
        assigned_since("io_combine_limit", "PostgreSQL 17", combine(facts)),
        assigned("commit_delay", commit_delay(facts)),
    ]
}

fn random_page_cost(facts: &ProfileFacts<'_>) -> Derived {
    let (ratio, words) = facts.random_over_sequential(PAGE)?;
    let earlier = facts.earlier().and_then(|it| it.random_over_sequential(PAGE).ok());
    let same = |before: &f64| (before / ratio.value - 1.0).abs() <= SAME_RATIO;
    let kept = earlier.map(|(before, _)| before.value).filter(same).unwrap_or(ratio.value);
    let cost = |ratio: f64| (ratio * (1.0 - CACHED)).max(1.0);
    let bound =
        if ratio.value * (1.0 - CACHED) < 1.0 { ", not below seq_page_cost = 1" } else { "" };
    let derivation = format!(
        "{words}, a ratio of {:.1}. The setting is a tenth of the ratio, because the planner's \
         default (4.0) assumes that 90 % of random pages are cached{bound}. If fewer are cached, \
         set it higher.",
        ratio.value
    );
    facts.settled(&Estimate { value: kept, ..ratio }, &derivation, |ratio| {
        format!("{:.1}", cost(ratio))
    })
}

fn concurrency(facts: &ProfileFacts<'_>, remark: &str) -> Derived {
    let (knee, words) = facts.knee(OpKind::Read)?;
    let derivation = format!("{words}; {remark}; range 0 to {CONCURRENCY_MAX}, per session");
    facts.settled(&knee, &derivation, |depth| (depth as u32).min(CONCURRENCY_MAX).to_string())
}

fn combine(facts: &ProfileFacts<'_>) -> Derived {
    let (bytes, words) = facts.enough_bytes()?;
    let value = |bytes: f64| (bytes as u64).clamp(COMBINE.0, COMBINE.1) >> 10;
    let remark = "at least the default, 128 kB, and at most 256 kB, the maximum of version 17";
    facts.settled(&bytes, &format!("{words}; {remark}"), |bytes| format!("{}kB", value(bytes)))
}

fn commit_delay(facts: &ProfileFacts<'_>) -> Derived {
    let (point, words) = facts.commit(LogKind::Overwritten)?;
    let earlier = facts.earlier().and_then(|it| it.commit(LogKind::Overwritten).ok());
    let kept = earlier.map(|(before, _)| before.flush_ns.value);
    let kept = kept.filter(|flush_ns| point.flush_ns.includes(*flush_ns));
    let flush_ns = Estimate { value: kept.unwrap_or(point.flush_ns.value), ..point.flush_ns };
    let half = |flush_ns: f64| format!("{:.0}", (flush_ns / 2e3).round().min(COMMIT_DELAY_MAX));
    let derivation = format!(
        "{words}: the maximum for one session. Several sessions share a flush; the manual \
         recommends that a commit wait half a flush time for the others, at most \
         {COMMIT_DELAY_MAX:.0}. The setting has an effect only while commit_siblings other \
         sessions are active."
    );
    facts.settled(&flush_ns, &derivation, half)
}
