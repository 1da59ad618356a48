//! The parameters of the queue device, its names and its keys.
//!
//! A name is a set of defaults: every key holds for every name, so that `sim:capped,error=1e-4` or
//! `sim:mm1,stall=20ms` need no device of their own.

use crate::spec::{Key, Kind};
use crate::value;
use record::{Bytes, Nanos};

/// The names.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "mm1",
        defaults: &[],
        help: "one server, exponential service times: in a closed loop X = 1/S, R = depth x S",
    },
    Kind { name: "md1", defaults: &[("cv", "0")], help: "one server, fixed service time" },
    Kind {
        name: "mg1",
        defaults: &[("cv", "2")],
        help: "one server, service times of the variation that cv= sets",
    },
    Kind {
        name: "mmc",
        defaults: &[("servers", "8")],
        help: "several servers with one queue, exponential service times: knee near the number of \
               servers",
    },
    Kind {
        name: "mdc",
        defaults: &[("servers", "8"), ("cv", "0")],
        help: "several servers with one queue, fixed service time",
    },
    Kind {
        name: "capped",
        defaults: &[
            ("service", "500us"),
            ("servers", "64"),
            ("cv", "0.3"),
            ("iops", "3000"),
            ("burst", "8"),
        ],
        help: "a volume whose rate is capped by a token bucket",
    },
    Kind {
        name: "cloud",
        defaults: &[
            ("service", "700us"),
            ("servers", "64"),
            ("cv", "0.3"),
            ("iops", "3000"),
            ("burst", "8"),
            ("throughput", "125MiB/s"),
        ],
        help: "a cloud volume of ordinary specification: 3,000 requests and 125 MiB per second, \
               below a millisecond each",
    },
    Kind {
        name: "jittery",
        defaults: &[
            ("service", "1ms"),
            ("servers", "8"),
            ("cv", "0.3"),
            ("stall", "20ms"),
            ("stall-every", "500ms"),
        ],
        help: "stands still now and then, all requests with it",
    },
    Kind {
        name: "drifting",
        defaults: &[("service", "1ms"), ("servers", "8"), ("drift", "20%")],
        help: "becomes slower all the time",
    },
    Kind {
        name: "faulty",
        defaults: &[("service", "1ms"), ("servers", "8"), ("error", "1e-4")],
        help: "some requests fail",
    },
];

/// The keys.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "service",
        default: "5ms",
        help: "mean service time of a request, without transfer",
    },
    Key {
        name: "cv",
        default: "1",
        help: "variation of service times: standard deviation over mean; 0 is fixed, 1 \
               exponential, below that Erlang, above hyperexponential",
    },
    Key { name: "servers", default: "1", help: "requests served at once" },
    Key {
        name: "rate",
        default: "none",
        help: "transfer rate of a server in bytes per second; adds size/rate to the service",
    },
    Key { name: "size", default: "64GiB", help: "capacity" },
    Key {
        name: "cache",
        default: "0",
        help: "bytes of a cache on the device that keeps the blocks last used",
    },
    Key { name: "hit", default: "100us", help: "service time of a request that the cache serves" },
    Key {
        name: "iops",
        default: "none",
        help: "requests per second at most: tokens of a bucket ahead of the servers",
    },
    Key { name: "burst", default: "1", help: "requests that may pass at once after a rest" },
    Key {
        name: "throughput",
        default: "none",
        help: "bytes per second at most, ahead of the servers; without a burst",
    },
    Key { name: "stall", default: "none", help: "time for which the device stands still" },
    Key {
        name: "stall-every",
        default: "1s",
        help: "mean time from one such stop to the next, exponential",
    },
    Key {
        name: "drift",
        default: "0%",
        help: "growth of the service time per minute of virtual time",
    },
    Key { name: "error", default: "0", help: "probability that a request fails with EIO" },
];

/// Parameters of a queue device.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec {
    /// Mean service time without transfer.
    pub service: Nanos,
    /// Standard deviation of service times over their mean.
    pub cv: f64,
    /// Requests served at once.
    pub servers: u32,
    /// Transfer rate of a server in bytes per second; 0 is infinite.
    pub rate_bytes_per_s: u64,
    /// Capacity.
    pub size: Bytes,
    /// Cache on the device; 0 is none.
    pub cache: Bytes,
    /// Service time of a hit.
    pub hit: Nanos,
    /// Requests per second that pass at most; 0 is no limit.
    pub iops: u64,
    /// Requests that may pass at once after a rest, at least 1.
    pub burst: u64,
    /// Bytes per second that pass at most; 0 is no limit.
    pub throughput_bytes_per_s: u64,
    /// How long the device stands still; 0 is never.
    pub stall: Nanos,
    /// Mean time between the end of one stall and the begin of the next.
    pub stall_every: Nanos,
    /// Growth of the service time per minute, as a share.
    pub drift_per_min: f64,
    /// Probability of an error.
    pub error: f64,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            service: Nanos(5_000_000),
            cv: 1.0,
            servers: 1,
            rate_bytes_per_s: 0,
            size: Bytes(64 << 30),
            cache: Bytes(0),
            hit: Nanos(100_000),
            iops: 0,
            burst: 1,
            throughput_bytes_per_s: 0,
            stall: Nanos(0),
            stall_every: Nanos(1_000_000_000),
            drift_per_min: 0.0,
            error: 0.0,
        }
    }
}

impl QueueSpec {
    /// Sets a key; `false` if there is none of this name.
    ///
    /// # Errors
    /// If the value cannot be used, saying what to use.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "service" => self.service = value::time(value)?,
            "cv" => self.cv = variation(value)?,
            "servers" => self.servers = value::count(value, 1, 65_536)? as u32,
            "rate" => self.rate_bytes_per_s = value::bytes_per_s(value)?,
            "size" => self.size = value::bytes(value)?,
            "cache" => self.cache = value::bytes(value)?,
            "hit" => self.hit = value::time(value)?,
            "iops" if value == "none" => self.iops = 0,
            "iops" => self.iops = value::count(value, 1, 1_000_000_000)?,
            "burst" => self.burst = value::count(value, 1, 1_000_000_000)?,
            "throughput" => self.throughput_bytes_per_s = value::bytes_per_s(value)?,
            "stall" => self.stall = value::time_or_none(value)?,
            "stall-every" => self.stall_every = value::time(value)?,
            "drift" => self.drift_per_min = value::percentage(value, 1_000.0)?,
            "error" => self.error = value::number(value, 0.0, 1.0)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A coefficient of variation: below 0.1 an Erlang distribution takes over a hundred draws.
fn variation(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(cv) if cv == 0.0 || (0.1..=10.0).contains(&cv) => Ok(cv),
        _ => Err("use 0, or a number from 0.1 to 10".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimSpec;

    fn spec(text: &str) -> QueueSpec {
        let (name, rest) = text.split_once(',').unwrap_or((text, ""));
        let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
        let given = rest.split(',').filter_map(|part| part.split_once('='));
        let mut spec = QueueSpec::default();
        for (key, value) in kind.defaults.iter().copied().chain(given) {
            assert!(spec.set(key, value).unwrap(), "{key}");
        }
        spec
    }

    #[test]
    fn keys_set_what_they_name() {
        let spec = spec("mmc,servers=4,service=100us,rate=200MB/s,drift=20%");
        assert_eq!((spec.servers, spec.service), (4, Nanos(100_000)));
        assert_eq!(spec.rate_bytes_per_s, 200_000_000);
        assert_eq!((spec.drift_per_min, spec.cv), (0.2, 1.0));
    }

    #[test]
    fn a_name_changes_defaults_that_a_key_changes_again() {
        assert_eq!((spec("capped").iops, spec("capped").burst), (3_000, 8));
        assert_eq!(spec("capped,iops=500,throughput=125MB/s").iops, 500);
        assert_eq!(spec("capped,iops=none").iops, 0);
        assert_eq!(spec("jittery").stall, Nanos(20_000_000));
        assert_eq!(spec("jittery,stall=none").stall, Nanos(0));
        assert_eq!((spec("faulty").error, spec("drifting").drift_per_min), (1e-4, 0.2));
    }

    #[test]
    fn a_variation_that_no_distribution_has_is_refused() {
        for value in ["0.05", "-1", "11", "nan"] {
            let error = SimSpec::parse(&format!("mg1,cv={value}")).unwrap_err().to_string();
            assert!(error.contains("from 0.1 to 10"), "{error}");
        }
    }
}
