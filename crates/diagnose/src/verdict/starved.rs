//! Detects requests that the I/O scheduler delays for long while others pass.
//!
//! A scheduler that serves by class and weight may hold one program's few requests for a quarter of
//! a second alongside two hundred thousand of another. No mean or percentile shows that, since they
//! are one in fifty thousand. Their total wait does: a program with always one request waiting adds
//! a second of waiting per second. Waits far beyond the usual one are therefore summed. Only the
//! tracer shows this; the counters attribute these waits to the device.

use record::{HistogramSnapshot, Traced, bucket_mid, format_count, format_nanos};

/// A wait is unusual if it has at least this length and this ratio to the median wait.
const LONG_NS: f64 = 1e6;
const LONG_TIMES: f64 = 50.0;
/// Mean number of such requests waiting from which a program is starved, and the least number observed.
const AT_ONCE: f64 = 0.3;
const SEEN: f64 = 10.0;

/// The delayed requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Starved {
    /// Their mean wait, in nanoseconds.
    pub(crate) wait_ns: f64,
    /// The median wait of all, in nanoseconds.
    pub(crate) usual_ns: f64,
    /// Mean number waiting at the same time.
    pub(crate) at_once: f64,
}

impl Starved {
    /// From what was traced in `seconds`, if there are such requests.
    pub(crate) fn of(traced: &[&Traced], seconds: f64) -> Option<Self> {
        let waits = traced
            .iter()
            .flat_map(|one| [&one.read.queue_ns, &one.write.queue_ns])
            .fold(HistogramSnapshot::default(), |sum, next| sum.merged(next));
        let usual_ns = waits.percentile(0.5)?;
        let least = LONG_NS.max(LONG_TIMES * usual_ns);
        let (n, sum) = long_waits(&waits.buckets, least);
        let at_once = sum / (seconds.max(1e-9) * 1e9);
        (n >= SEEN && at_once >= AT_ONCE).then_some(Self { wait_ns: sum / n, usual_ns, at_once })
    }
}

/// The number of waits in these buckets of at least `least_ns`, and their sum in nanoseconds.
pub(super) fn long_waits<'a>(
    buckets: impl IntoIterator<Item = &'a (u32, u64)>,
    least_ns: f64,
) -> (f64, f64) {
    let times = buckets.into_iter().map(|&(at, n)| (bucket_mid(at as usize), n as f64));
    let long = times.filter(|(wait, _)| *wait >= least_ns);
    long.fold((0.0, 0.0), |(n, sum), (wait, more)| (n + more, sum + wait * more))
}

/// The delayed requests as a sentence.
pub(super) fn sentence(starved: &Starved, scheduler: &str) -> String {
    format!(
        "The I/O scheduler {scheduler} delays some requests by {}, while the median request waits \
         {} in it; on average, {} of the delayed requests are waiting at the same time.",
        format_nanos(starved.wait_ns),
        format_nanos(starved.usual_ns),
        format_count(starved.at_once)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::bucket_index;

    fn traced(waits: &[(u64, u64)]) -> Traced {
        let bucket = |&(ns, n): &(u64, u64)| (bucket_index(ns) as u32, n);
        let mut traced = Traced::default();
        traced.read.queue_ns = HistogramSnapshot { buckets: waits.iter().map(bucket).collect() };
        traced
    }

    #[test]
    fn a_program_whose_one_request_always_waits_shows_in_the_sum_of_the_waits() {
        // Measured for ten seconds: bfq, queue depth 8 alongside a program in the idle class.
        let held = traced(&[(6_000, 2_240_000), (244_000_000, 41)]);
        let starved = Starved::of(&[&held], 10.0).unwrap();
        assert!((starved.at_once - 1.0).abs() < 0.05, "{starved:?}");
        assert!((starved.wait_ns / 244e6 - 1.0).abs() < 0.02, "{starved:?}");
        assert!(starved.usual_ns < 7_000.0, "{starved:?}");
    }

    #[test]
    fn a_queue_in_which_all_wait_alike_and_a_few_hiccups_starve_nobody() {
        let deep = traced(&[(90_000_000, 1_000), (110_000_000, 1_000)]);
        assert_eq!(Starved::of(&[&deep], 10.0), None);
        let hiccup = traced(&[(6_000, 100_000), (30_000_000, 8)]);
        assert_eq!(Starved::of(&[&hiccup], 0.5), None);
        let rarely = traced(&[(6_000, 100_000), (20_000_000, 20)]);
        assert_eq!(Starved::of(&[&rarely], 10.0), None);
    }
}
