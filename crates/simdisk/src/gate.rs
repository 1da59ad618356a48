//! Limits requests and bytes per second, by token buckets that requests pass in order.
//!
//! A bucket is stored as the time at which it will be full again (the generic cell rate algorithm, ITU-T
//! I.371, 1993), so that rounding errors do not add up. A request passes once the bucket of requests holds
//! a token and the bucket of bytes has no debt. Its own bytes may leave a debt, so that a request larger
//! than any bucket can pass too.

use record::Nanos;

/// A bucket: full at `full_at`; requests may pass up to `slack_ns` before that.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    full_at_ns: f64,
    slack_ns: f64,
}

impl Bucket {
    fn open_at_ns(&self) -> f64 {
        self.full_at_ns - self.slack_ns
    }

    fn take(&mut self, now_ns: f64, cost_ns: f64) {
        self.full_at_ns = self.full_at_ns.max(now_ns) + cost_ns;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Gate {
    ns_per_request: f64,
    ns_per_byte: f64,
    requests: Bucket,
    bytes: Bucket,
}

/// Nanoseconds per unit at a rate; 0 for the rate 0, which means no limit.
pub(crate) fn ns_each(per_s: u64) -> f64 {
    if per_s == 0 { 0.0 } else { 1e9 / per_s as f64 }
}

impl Gate {
    /// At most `iops` requests per second, with `burst` at once after a rest, and at most `bytes_per_s`,
    /// with `burst_bytes` at once after a rest; 0 is no limit.
    pub(crate) fn new(iops: u64, burst: u64, bytes_per_s: u64, burst_bytes: u64) -> Self {
        let ns_per_request = ns_each(iops);
        let slack_ns = burst.saturating_sub(1) as f64 * ns_per_request;
        Self {
            ns_per_request,
            ns_per_byte: ns_each(bytes_per_s),
            requests: Bucket { full_at_ns: 0.0, slack_ns },
            bytes: Bucket { full_at_ns: 0.0, slack_ns: burst_bytes as f64 * ns_each(bytes_per_s) },
        }
    }

    #[inline]
    pub(crate) fn pass(&mut self, now: Nanos, bytes: u32) -> Nanos {
        if self.ns_per_request == 0.0 && self.ns_per_byte == 0.0 {
            return now;
        }
        let open_ns = self.requests.open_at_ns().max(self.bytes.open_at_ns());
        let passed = now.max(Nanos(open_ns.max(0.0).ceil() as u64));
        // Use the exact time, not the next whole nanosecond, to keep the rate exact.
        let at_ns = open_ns.max(now.0 as f64);
        self.requests.take(at_ns, self.ns_per_request);
        self.bytes.take(at_ns, f64::from(bytes) * self.ns_per_byte);
        passed
    }
}
