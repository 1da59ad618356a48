//! The parameters of the queue device, its names and its keys.
//!
//! A name is a set of defaults. Every key works with every name, so that `sim:capped,error=1e-4` or
//! `sim:mm1,stall=20ms` need no separate device.

use crate::keys::{
    Kind, Setting, bytes, bytes_per_s, count, key, kind, number, or_none, percentage, put, time,
    time_or_none,
};
use record::{Bytes, Nanos};

pub(crate) const KINDS: &[Kind] = &[
    kind("mm1", "one server, exponential service times: in a closed loop X = 1/S, R = depth x S"),
    kind("md1", "one server, fixed service time").with(&[("cv", "0")]),
    kind("mg1", "one server; cv= sets the variation of the service times").with(&[("cv", "2")]),
    kind(
        "mmc",
        "several servers with one queue, exponential service times: knee near the number of servers",
    )
    .with(&[("servers", "8")]),
    kind("mdc", "several servers with one queue, fixed service time")
        .with(&[("servers", "8"), ("cv", "0")]),
    kind("capped", "a volume whose rate is capped by a token bucket").with(&[
        ("service", "500us"),
        ("servers", "64"),
        ("cv", "0.3"),
        ("iops", "3000"),
        ("burst", "8"),
    ]),
    kind(
        "cloud",
        "an ordinary cloud volume: 3,000 IOPS, 125 MiB per second, latency below a millisecond",
    )
    .with(&[
        ("service", "700us"),
        ("servers", "64"),
        ("cv", "0.3"),
        ("iops", "3000"),
        ("burst", "8"),
        ("throughput", "125MiB/s"),
    ]),
    kind("jittery", "occasional stalls, which delay all requests").with(&[
        ("service", "1ms"),
        ("servers", "8"),
        ("cv", "0.3"),
        ("stall", "20ms"),
        ("stall-every", "500ms"),
    ]),
    kind("drifting", "becomes slower over time")
        .with(&[("service", "1ms"), ("servers", "8"), ("drift", "20%")]),
    kind("faulty", "some requests fail")
        .with(&[("service", "1ms"), ("servers", "8"), ("error", "1e-4")]),
];

/// Maximum rate of any bucket.
const MOST: u64 = 1_000_000_000;

pub(crate) const KEYS: &[Setting<QueueSpec>] = &[
    key("service", "5ms", "mean service time of a request, without transfer")
        .sets(|it, value| put(&mut it.service, time(value))),
    key(
        "cv",
        "1",
        "coefficient of variation of the service times: 0 is fixed, below 1 Erlang, 1 exponential, \
         above 1 hyperexponential",
    )
    .sets(|it, value| put(&mut it.cv, variation(value))),
    key("servers", "1", "requests served at the same time")
        .sets(|it, value| put(&mut it.servers, count(value, 1, 65_536))),
    key(
        "rate",
        "none",
        "transfer rate of a server in bytes per second; adds size/rate to the service",
    )
    .sets(|it, value| put(&mut it.rate_bytes_per_s, bytes_per_s(value))),
    key("size", "64GiB", "capacity").sets(|it, value| put(&mut it.size, bytes(value))),
    key("cache", "0", "size of a cache on the device that keeps the most recently used blocks")
        .sets(|it, value| put(&mut it.cache, bytes(value))),
    key("hit", "100us", "service time of a request that the cache serves")
        .sets(|it, value| put(&mut it.hit, time(value))),
    key("iops", "none", "maximum requests per second: a token bucket ahead of the servers")
        .sets(|it, value| put(&mut it.iops, or_none(value, |value| count(value, 1, MOST)))),
    key("burst", "1", "requests that may pass without delay after an idle period")
        .sets(|it, value| put(&mut it.burst, count(value, 1, MOST))),
    key("throughput", "none", "maximum bytes per second, ahead of the servers, without bursts")
        .sets(|it, value| put(&mut it.throughput_bytes_per_s, bytes_per_s(value))),
    key("write-cache", "0", "size of the fast write cache, as in flash drives")
        .sets(|it, value| put(&mut it.write_cache, bytes(value))),
    key(
        "drain",
        "none",
        "bytes per second at which the write cache empties; the rate of all writes to a full cache",
    )
    .sets(|it, value| put(&mut it.drain_bytes_per_s, bytes_per_s(value))),
    key("stall", "none", "length of a stall")
        .sets(|it, value| put(&mut it.stall, time_or_none(value))),
    key("stall-every", "1s", "mean time from one stall to the next, exponential")
        .sets(|it, value| put(&mut it.stall_every, time(value))),
    key("wake", "none", "additional time of a request that arrives after an idle period")
        .sets(|it, value| put(&mut it.wake, time_or_none(value))),
    key("wake-after", "5ms", "time without requests after which the device becomes idle")
        .sets(|it, value| put(&mut it.wake_after, time(value))),
    key("drift", "0%", "growth of the service time per minute of virtual time")
        .sets(|it, value| put(&mut it.drift_per_min, percentage(value, -1_000.0, 1_000.0))),
    key("error", "0", "probability that a request fails with EIO")
        .sets(|it, value| put(&mut it.error, number(value, 0.0, 1.0))),
];

/// Parameters of a queue device; `sim:` gives each key its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueSpec {
    /// Mean service time without transfer.
    pub service: Nanos,
    /// Coefficient of variation of service times: standard deviation over mean.
    pub cv: f64,
    /// Requests served at once.
    pub servers: u32,
    /// Transfer rate of a server in bytes per second; 0 is infinite.
    pub rate_bytes_per_s: u64,
    /// Capacity.
    pub size: Bytes,
    /// Size of the cache on the device; 0 is none.
    pub cache: Bytes,
    /// Service time of a cache hit.
    pub hit: Nanos,
    /// Limit in requests per second; 0 is no limit.
    pub iops: u64,
    /// Requests that may pass at once after a rest, at least 1.
    pub burst: u64,
    /// Limit in bytes per second; 0 is no limit.
    pub throughput_bytes_per_s: u64,
    /// Bytes of writes that may pass at once after a rest.
    pub write_cache: Bytes,
    /// Limit in bytes of writes per second once `write_cache` is full; 0 is no limit.
    pub drain_bytes_per_s: u64,
    /// Length of a stall; 0 is no stalls.
    pub stall: Nanos,
    /// Mean time between the end of one stall and the begin of the next.
    pub stall_every: Nanos,
    /// Additional time of a request that arrives after a rest; 0 is none.
    pub wake: Nanos,
    /// Time without a request after which the device is at rest.
    pub wake_after: Nanos,
    /// Increase of the service time per minute, as a share.
    pub drift_per_min: f64,
    /// Probability that a request fails.
    pub error: f64,
}

/// A coefficient of variation. Below 0.1 an Erlang distribution needs over a hundred draws.
fn variation(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(cv) if cv == 0.0 || (0.1..=10.0).contains(&cv) => Ok(cv),
        _ => Err("use 0, or a number from 0.1 to 10".to_owned()),
    }
}
