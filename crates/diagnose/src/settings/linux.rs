//! The block layer: read-ahead, requests, scheduler.
//!
//! Facts: `read_ahead_kb` is the largest read-ahead of a buffered reader, 128 by default;
//! `nr_requests` is how many requests may be allocated, at least 4; `scheduler` is none,
//! mq-deadline, kyber or bfq, as far as the kernel has them. A scheduler can only order requests
//! that wait ahead of the device, so it pays where order saves much, which is an arm, and costs
//! processor time where it does not.

use super::seen::Seen;
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

pub(super) fn settings(seen: &Seen<'_>) -> Vec<Setting> {
    let file = |name: &'static str| {
        let disk = seen.disk().to_owned();
        move |value: &str| format!("echo {value} > /sys/block/{disk}/queue/{name}")
    };
    vec![
        setting("read_ahead_kb", read_ahead(seen), file("read_ahead_kb")),
        setting("nr_requests", requests(seen), file("nr_requests")),
        setting("scheduler", scheduler(seen), file("scheduler")),
    ]
}

fn now(what: Option<String>) -> String {
    what.map_or_else(String::new, |value| format!("; it was {value} when the disk was measured"))
}

fn read_ahead(seen: &Seen<'_>) -> Derived {
    let (bytes, words) = seen.enough_bytes(OpKind::Read)?;
    let facts = seen.profile.target.device.as_ref();
    let was =
        now(facts.and_then(|facts| facts.read_ahead_bytes).map(|was| (was >> 10).to_string()));
    let value = (bytes * WINDOWS).max(READ_AHEAD_MIN);
    let least = if value > bytes * WINDOWS { ", and not below the default 128" } else { "" };
    let derivation = format!("{words}; twice that, so that one is on its way{least}{was}");
    Ok(((value >> 10).to_string(), derivation))
}

fn requests(seen: &Seen<'_>) -> Derived {
    let (knee, words) = seen.knee(OpKind::Read)?;
    let facts = seen.profile.target.device.as_ref();
    let was = now(facts.and_then(|facts| facts.nr_requests).map(|was| was.to_string()));
    let value = (knee * SPARE).next_power_of_two().max(REQUESTS_MIN);
    let derivation = format!(
        "{words}; twice that for what is waiting, as a power of two; more only waits here instead \
         of in the program{was}"
    );
    Ok((value.to_string(), derivation))
}

fn scheduler(seen: &Seen<'_>) -> Derived {
    let (ratio, words) = seen.random_over_sequential(OpKind::Read, 4 << 10)?;
    let (rate, _) = seen.rate(OpKind::Read, Locality::Random, 4 << 10)?;
    let parallel = rate * seen.alone_ns(OpKind::Read, Locality::Random, 4 << 10)? / 1e9;
    let facts = seen.profile.target.device.as_ref();
    let was = now(facts.and_then(|facts| facts.scheduler.clone()));
    let (value, why) = if ratio >= ARM && parallel < SIDE_BY_SIDE {
        ("mq-deadline", "order saves much, and few are served side by side")
    } else if parallel >= SIDE_BY_SIDE {
        ("none", "many are served side by side, and order saves less than it costs")
    } else {
        ("none", "order saves little")
    };
    let derivation = format!(
        "{words}: {ratio:.0} times; largest rate times lone response {parallel:.1}: {why}{was}"
    );
    Ok((value.to_owned(), derivation))
}
