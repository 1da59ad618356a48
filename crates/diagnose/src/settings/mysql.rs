//! Derives settings of MySQL: how fast InnoDB may write back, and whether flushing neighbours pays off.
//!
//! Facts: `innodb_io_capacity` is the rate that background work may use, 100 or more, by default 200 (8.0) or
//! 10000 (8.4). The manual recommends the rate of the system, as low as practical, and not above 20000
//! without need. `innodb_io_capacity_max` is the limit when flushing falls behind. `innodb_flush_neighbors`
//! writes dirty pages of the same extent together: 0 (the default since 8.0), or 1 for disks where that saves
//! seeks. `innodb_read_io_threads` is 1 to 64; each holds 256 requests.

use super::profile_facts::ProfileFacts;
use super::{Derived, assigned};
use record::{LogKind, OpKind, Setting, format_count, format_nanos};

const PAGE: u64 = 16 << 10;
/// Share of the maximum rate that background work may use all the time: it leaves as much for programs.
const BACKGROUND: f64 = 0.5;
/// The same when flushing falls behind: below the rate at which the queue grows without bound.
const BEHIND: f64 = 0.9;
const CAPACITY: (f64, f64) = (100.0, 20_000.0);
/// Ratio of random to sequential write latency from which writing the neighbours pays off.
const NEIGHBOURS: f64 = 4.0;
const THREAD_HOLDS: u32 = 256;
const THREADS: (u32, u32) = (4, 64);

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    vec![
        assigned("innodb_io_capacity", capacity(facts, BACKGROUND)),
        assigned("innodb_io_capacity_max", capacity(facts, BEHIND)),
        assigned("innodb_flush_neighbors", neighbours(facts)),
        assigned("innodb_read_io_threads", threads(facts, OpKind::Read)),
        assigned("innodb_write_io_threads", threads(facts, OpKind::Write)),
        assigned("innodb_flush_log_at_trx_commit", durable(facts)),
    ]
}

fn capacity(facts: &ProfileFacts<'_>, share: f64) -> Derived {
    let (rate, how) = facts.rate(OpKind::Write, PAGE)?;
    let capacity = |rate: f64| (rate * share).floor().clamp(CAPACITY.0, CAPACITY.1);
    let (value, bounded) = ((rate.value * share).floor(), capacity(rate.value));
    let bound = if bounded > value {
        ", raised to the minimum that MySQL accepts"
    } else if bounded < value {
        ", limited to the manual's 20000"
    } else {
        ""
    };
    let why = if share > BACKGROUND {
        "the limit when flushing falls behind; at the full rate, the queue would grow without bound"
    } else {
        "the limit of background work; the rest of the rate is for queries"
    };
    let derivation = format!(
        "{:.0} % of {} random 16 KiB writes per second{how}{bound}: {why}",
        share * 100.0,
        format_count(rate.value)
    );
    facts.settled(&rate, &derivation, |rate| format!("{:.0}", capacity(rate)))
}

fn neighbours(facts: &ProfileFacts<'_>) -> Derived {
    let (random, _) = facts.rate(OpKind::Write, PAGE)?;
    let fastest = facts.fastest_writes()?;
    let sequential = fastest.bytes_per_s.scaled(1.0 / PAGE as f64);
    let ratio = sequential.over(&random);
    let value = |ratio: f64| if ratio >= NEIGHBOURS { "yes" } else { "no" };
    let derivation = format!(
        "the disk writes {} random or {} sequential 16 KiB pages per second, a ratio of {:.1}; \
         flushing neighbours pays off from a ratio of {NEIGHBOURS:.0}",
        format_count(random.value),
        format_count(sequential.value),
        ratio.value
    );
    facts
        .settled(&ratio, &derivation, |ratio| value(ratio).to_owned())
        .map(|(worth, why)| (if worth == "yes" { "1" } else { "0" }.to_owned(), why))
}

fn threads(facts: &ProfileFacts<'_>, op: OpKind) -> Derived {
    let (knee, words) = facts.knee(op)?;
    let value = |depth: f64| (depth as u32).div_ceil(THREAD_HOLDS).clamp(THREADS.0, THREADS.1);
    let derivation = format!(
        "{words}; a thread handles {THREAD_HOLDS}, and {} is the smallest default",
        THREADS.0
    );
    facts.settled(&knee, &derivation, |depth| value(depth).to_string())
}

/// Always the durable value: the reader decides whether it is worth its cost.
fn durable(facts: &ProfileFacts<'_>) -> Derived {
    let (redo, words) = facts.commit(LogKind::Overwritten)?;
    let (binary, _) = facts.commit(LogKind::NewBlocks)?;
    let both = redo.flush_ns.value + redo.write_ns.value + binary.flush_ns.value;
    let derivation = format!(
        "{words}. With the binary log, which grows ({} per flush), one connection commits at most \
         {} times per second; several connections share flushes. The values 2 and 0 avoid the \
         flush of the redo log, but a power failure then loses up to a second of commits",
        format_nanos(binary.flush_ns.value),
        format_count(1e9 / both)
    );
    Ok(("1".to_owned(), derivation))
}
