//! The block layer: read-ahead, requests, scheduler.
//!
//! Facts: `read_ahead_kb` is the largest read-ahead of a buffered reader, 128 by default;
//! `nr_requests` is how many requests may be allocated, at least 4; `scheduler` is none,
//! mq-deadline, kyber or bfq, as far as the kernel has them. A scheduler can only order requests
//! that wait ahead of the device, so it pays where order saves much, which is an arm, and costs
//! CPU time where it does not.

use super::profile_facts::ProfileFacts;
use super::{Derived, setting};
use record::{Locality, OpKind, Setting};

/// Two windows: one that is read, one that is on its way.
const WINDOWS: u64 = 2;
/// Requests of the block layer for each that the device makes use of.
const SPARE: u32 = 2;
const REQUESTS_MIN: u32 = 4;
/// Random requests of 4 KiB that cost this many sequential ones are paid for with an arm.
const ARM: f64 = 20.0;
/// A device that serves fewer side by side has one.
const SIDE_BY_SIDE: f64 = 8.0;
/// The kernel's default: it costs memory only, and nothing measured speaks for less.
const READ_AHEAD_MIN: u64 = 128 << 10;

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let name = facts.device().map(|device| device.disk.as_str());
    let disk = name.filter(|name| !name.is_empty()).unwrap_or("DISK");
    [
        ("read_ahead_kb", read_ahead(facts)),
        ("nr_requests", requests(facts)),
        ("scheduler", scheduler(facts)),
    ]
    .map(|(name, derived)| {
        setting(name, derived, |value| format!("echo {value} > /sys/block/{disk}/queue/{name}"))
    })
    .into()
}

fn now(what: Option<impl std::fmt::Display>) -> String {
    what.map_or_else(String::new, |value| format!("; it was {value} when the disk was measured"))
}

fn read_ahead(facts: &ProfileFacts<'_>) -> Derived {
    let (bytes, words) = facts.enough_bytes(OpKind::Read)?;
    let was = now(facts.device().and_then(|device| Some(device.read_ahead_bytes? >> 10)));
    let value = (bytes * WINDOWS).max(READ_AHEAD_MIN);
    let least = if value > bytes * WINDOWS { ", and not below the default 128" } else { "" };
    let derivation = format!("{words}; twice that, so that one is on its way{least}{was}");
    Ok(((value >> 10).to_string(), derivation))
}

fn requests(facts: &ProfileFacts<'_>) -> Derived {
    let (depth, words) = facts.deepest()?;
    let before = facts.device().and_then(|device| device.nr_requests);
    let wanted = (depth * SPARE).next_power_of_two().max(REQUESTS_MIN);
    // What waits here waits in the program otherwise: nothing measured speaks for fewer than there are.
    let value = before.unwrap_or_default().max(u64::from(wanted));
    let least = if value > u64::from(wanted) {
        ", which are fewer than it has: it keeps those"
    } else {
        ""
    };
    let derivation = format!(
        "{words}; twice that for what is waiting, as a power of two, {wanted}{least}{}",
        now(before)
    );
    Ok((value.to_string(), derivation))
}

fn scheduler(facts: &ProfileFacts<'_>) -> Derived {
    let (ratio, words) = facts.random_over_sequential(OpKind::Read, 4 << 10)?;
    let (rate, _) = facts.rate(OpKind::Read, Locality::Random, 4 << 10)?;
    let parallel = rate * facts.alone_ns(OpKind::Read, Locality::Random, 4 << 10)? / 1e9;
    let was = now(facts.device().and_then(|device| device.scheduler.as_ref()));
    let (value, why) = if ratio >= ARM && parallel < SIDE_BY_SIDE {
        ("mq-deadline", "order saves much, and few are served side by side")
    } else if parallel >= SIDE_BY_SIDE {
        ("none", "many are served side by side, and order saves less than it costs")
    } else {
        ("none", "order saves little")
    };
    let derivation = format!(
        "{words}: {ratio:.0} times; largest rate times latency at QD 1 {parallel:.1}: {why}{was}"
    );
    Ok((value.to_owned(), derivation))
}
