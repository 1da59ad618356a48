//! Derives settings of the block layer: read-ahead, requests, scheduler.
//!
//! Facts: `read_ahead_kb` is the largest read-ahead of a buffered reader, 128 by default. `nr_requests` is
//! the number of requests that may be allocated, at least 4. `scheduler` is none, mq-deadline, kyber or bfq,
//! if the kernel has them. A scheduler can only order requests that wait in front of the device. It therefore
//! pays off on rotating disks, where order saves much time, and costs CPU time elsewhere.

use super::profile_facts::ProfileFacts;
use super::{Derived, setting};
use record::{DeviceFacts, OpKind, Setting};

/// Two windows: one being read, one in flight.
const WINDOWS: u64 = 2;
/// Block-layer requests for each one that the device can use.
const SPARE: u32 = 2;
const REQUESTS_MIN: u32 = 4;
/// Ratio of random to sequential 4 KiB latency from which a device counts as a rotating disk.
const ARM: f64 = 20.0;
/// A device that serves fewer requests in parallel counts as a rotating disk.
const SIDE_BY_SIDE: f64 = 8.0;
/// The kernel's default. It costs only memory, and no measurement suggests less.
const READ_AHEAD_MIN: u64 = 128 << 10;

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let name = facts.device().map(|device| device.disk.as_str());
    let disk = name.filter(|name| !name.is_empty()).unwrap_or("DISK");
    // The scheduler comes first: changing it resets nr_requests.
    [
        ("read_ahead_kb", read_ahead(facts)),
        ("scheduler", scheduler(facts)),
        ("nr_requests", requests(facts)),
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
    let (bytes, words) = facts.enough_bytes()?;
    let was = now(facts.device().and_then(|device| Some(device.read_ahead_bytes? >> 10)));
    let value = |bytes: f64| (bytes as u64 * WINDOWS).max(READ_AHEAD_MIN);
    let raised = value(bytes.value) > bytes.value as u64 * WINDOWS;
    let least = if raised { ", and raised to the default 128" } else { "" };
    let derivation = format!(
        "{words}; the setting is twice that size, so that the data of the next request is already \
         in memory{least}{was}"
    );
    facts.settled(&bytes, &derivation, |bytes| (value(bytes) >> 10).to_string())
}

/// Rejects settings that need a request queue on a device without one, such as RAM disks and volumes.
fn has_queue(facts: &ProfileFacts<'_>) -> Result<(), String> {
    let without = |device: &DeviceFacts| device.nr_requests.is_none() && device.scheduler.is_none();
    match facts.device() {
        Some(device) if without(device) => Err("the device has no request queue".to_owned()),
        _ => Ok(()),
    }
}

fn requests(facts: &ProfileFacts<'_>) -> Derived {
    has_queue(facts)?;
    let (depth, words) = facts.deepest()?;
    let before = facts.device().and_then(|device| device.nr_requests);
    let wanted = |depth: f64| (depth as u32 * SPARE).next_power_of_two().max(REQUESTS_MIN);
    // Requests that do not wait here wait in the program instead: no measurement suggests fewer
    // than the default.
    let value = |depth: f64| before.unwrap_or_default().max(u64::from(wanted(depth)));
    let wanted = wanted(depth.value);
    let least = if value(depth.value) > u64::from(wanted) {
        "; the default is larger and is kept"
    } else {
        ""
    };
    let derivation = format!(
        "{words}; the setting is twice that depth, to leave room for waiting requests, rounded up \
         to a power of two: {wanted}{least}{}",
        now(before)
    );
    facts.settled(&depth, &derivation, |depth| value(depth).to_string())
}

fn scheduler(facts: &ProfileFacts<'_>) -> Derived {
    has_queue(facts)?;
    let (ratio, words) = facts.random_over_sequential(4 << 10)?;
    let (rate, _) = facts.rate(OpKind::Read, 4 << 10)?;
    let alone = facts.alone_ns(4 << 10)?;
    let side_by_side = rate.scaled(alone.value / 1e9);
    let parallel = side_by_side.value;
    let was = now(facts.device().and_then(|device| device.scheduler.as_ref()));
    let value = |ratio: f64, parallel: f64| {
        let by_order = ratio >= ARM && parallel < SIDE_BY_SIDE;
        if by_order { "mq-deadline" } else { "none" }.to_owned()
    };
    let why = if value(ratio.value, parallel) != "none" {
        "ordering requests saves much time, and the device serves few requests in parallel"
    } else if parallel >= SIDE_BY_SIDE {
        "the device serves many requests in parallel, and ordering saves less than it costs"
    } else {
        "ordering saves little"
    };
    let derivation = format!(
        "{words}, a ratio of {:.0}; {why} (maximum rate times latency at QD 1: {parallel:.1}){was}",
        ratio.value
    );
    facts.settled(&side_by_side, &derivation, |parallel| value(ratio.value, parallel))?;
    facts.settled(&ratio, &derivation, |ratio| value(ratio, parallel))
}
