//! A cap on requests and bytes per second: token buckets that requests pass in order.
//!
//! Kept as the time at which a bucket will be full again (the generic cell rate algorithm, ITU-T
//! I.371, 1993): no tokens to refill, and no rounding that adds up. A request passes once the
//! bucket of requests holds a token and that of bytes owes nothing; its own bytes may then leave a
//! debt, so that a request larger than any bucket passes, too.

use record::Nanos;

/// A bucket: it is full at `full_at` and lets requests pass up to `slack_ns` before that.
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

/// The gate; buckets are full at time zero.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    ns_per_request: f64,
    ns_per_byte: f64,
    requests: Bucket,
    bytes: Bucket,
}

fn ns_each(per_s: u64) -> f64 {
    if per_s == 0 { 0.0 } else { 1e9 / per_s as f64 }
}

impl Gate {
    /// At most `iops` requests per second, after a rest `burst` of them at once, and at most
    /// `bytes_per_s`; 0 is no limit.
    pub(crate) fn new(iops: u64, burst: u64, bytes_per_s: u64) -> Self {
        let ns_per_request = ns_each(iops);
        let slack_ns = burst.saturating_sub(1) as f64 * ns_per_request;
        Self {
            ns_per_request,
            ns_per_byte: ns_each(bytes_per_s),
            requests: Bucket { full_at_ns: 0.0, slack_ns },
            bytes: Bucket::default(),
        }
    }

    /// When a request that arrives now gets through.
    #[inline]
    pub(crate) fn pass(&mut self, now: Nanos, bytes: u32) -> Nanos {
        if self.ns_per_request == 0.0 && self.ns_per_byte == 0.0 {
            return now;
        }
        let open_ns = self.requests.open_at_ns().max(self.bytes.open_at_ns());
        let passed = now.max(Nanos(open_ns.max(0.0).ceil() as u64));
        // From the exact moment, not the next whole nanosecond: the rate stays exact.
        let at_ns = open_ns.max(now.0 as f64);
        self.requests.take(at_ns, self.ns_per_request);
        self.bytes.take(at_ns, f64::from(bytes) * self.ns_per_byte);
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_then_the_rate_holds_exactly() {
        let mut gate = Gate::new(3_000, 10, 0);
        let passed: Vec<u64> = (0..3_010).map(|_| gate.pass(Nanos(5), 4_096).0).collect();
        assert!(passed[..10].iter().all(|&at| at == 5));
        assert!(passed[10] > 300_000);
        // The 3,000th request after the burst passes a second after the first.
        assert!(passed[3_009].abs_diff(1_000_000_005) <= 1, "{}", passed[3_009]);
    }

    #[test]
    fn a_rest_gives_back_a_burst_and_no_more() {
        let mut gate = Gate::new(1_000, 4, 0);
        for _ in 0..4 {
            gate.pass(Nanos(0), 1);
        }
        let later = Nanos(3_600_000_000_000);
        let passed: Vec<u64> = (0..6).map(|_| gate.pass(later, 1).0 - later.0).collect();
        assert_eq!(passed, [0, 0, 0, 0, 1_000_000, 2_000_000]);
    }

    #[test]
    fn bytes_are_paced_by_their_number() {
        let mut gate = Gate::new(0, 1, 100_000_000);
        let passed: Vec<u64> =
            [1_000_000, 500_000, 1].map(|bytes| gate.pass(Nanos(0), bytes).0).to_vec();
        assert_eq!(passed, [0, 10_000_000, 15_000_000]);
    }

    #[test]
    fn without_limits_every_request_passes_when_it_comes() {
        let mut gate = Gate::new(0, 1, 0);
        assert_eq!(gate.pass(Nanos(7), 1 << 20), Nanos(7));
    }
}
