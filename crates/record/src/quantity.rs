//! Defines each reported quantity once: its name, its unit and its meaning.
//!
//! Every output takes its titles and formats from here. A number therefore has the same name in a terminal, a
//! document and the documentation, and can be looked up in one place.

use crate::{
    NO_NUMBER, format_bytes, format_count, format_digits, format_iops, format_nanos, format_rate,
    format_share,
};

/// Unit and format of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, printed in a suitable unit.
    Nanos,
    /// Bytes, printed in binary units.
    Bytes,
    /// Bytes per second, printed in decimal units.
    BytesPerSecond,
    /// Requests per second.
    PerSecond,
    /// A plain count.
    Count,
    /// A share, stored as 0 to 1 and printed as a percentage.
    Share,
    /// A plain ratio.
    Ratio,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
}

impl Unit {
    /// The value in print; a dash if it is not finite.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => NO_NUMBER.to_owned(),
            Self::Nanos => format_nanos(value),
            Self::Bytes => format_bytes(value.round().max(0.0) as u64),
            Self::BytesPerSecond => format_rate(value),
            Self::PerSecond => format_iops(value),
            Self::Count => format_count(value),
            Self::Share => format_share(value),
            Self::Ratio => format_digits(value),
            Self::Micros => format_nanos(value * 1e3),
            Self::Millis => format_nanos(value * 1e6),
        }
    }

    /// The same below a title that already names the unit of a rate.
    #[must_use]
    pub fn format_titled(self, value: f64) -> String {
        if self == Self::PerSecond { format_count(value) } else { self.format(value) }
    }

    /// The unit of the stored value: in words, as a suffix in CSV, and as a letter in the page's script.
    #[must_use]
    pub fn stored(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Nanos => ("nanoseconds", " [ns]", "ns"),
            Self::Bytes => ("bytes", " [bytes]", "B"),
            Self::BytesPerSecond => ("bytes per second", " [bytes/s]", "B/s"),
            Self::PerSecond => ("requests per second", " [1/s]", "/s"),
            Self::Count => ("count", "", "n"),
            Self::Share => ("share, 0 to 1", " [share]", "%"),
            Self::Ratio => ("ratio", "", "n"),
            Self::Micros => ("microseconds", " [us]", "us"),
            Self::Millis => ("milliseconds", " [ms]", "ms"),
        }
    }
}

/// A number with its unit as documents name it (`ns`, `B`, `share`), in the unit's own format if there is one.
#[must_use]
pub fn format_with_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format_nanos(value),
        "us" | "µs" => format_nanos(value * 1e3),
        "ms" => format_nanos(value * 1e6),
        "s" => format_nanos(value * 1e9),
        "bytes" | "B" => Unit::Bytes.format(value),
        "bytes/s" | "B/s" | "bytes_per_s" => format_rate(value),
        "IOPS" => format_iops(value),
        "share" => format_share(value),
        "" => format_count(value),
        unit => format!("{} {unit}", format_count(value)),
    }
}

/// A reported quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Identifier, as in documents.
    pub id: &'static str,
    /// Title, as in tables.
    pub title: &'static str,
    /// Unit of the stored value.
    pub unit: Unit,
    /// Its meaning, in one or two sentences.
    pub help: &'static str,
}

macro_rules! quantities {
    ($($id:literal, $title:literal, $unit:ident, $help:literal;)*) => {
        /// All reported quantities, by subject.
        pub const QUANTITIES: &[Quantity] = &[
            $(Quantity { id: $id, title: $title, unit: Unit::$unit, help: $help },)*
        ];
    };
}

quantities! {
    "iops", "IOPS", PerSecond,
        "Requests completed in full per second of the measured time.";
    "bytes_per_s", "throughput", BytesPerSecond,
        "Bytes that completed requests transferred per second; MB is 10^6 bytes.";
    "iops_ci95_rel", "rate ±", Share,
        "Half-width of the 95 % confidence interval (batch means), divided by the IOPS.";
    "latency_mean_ns", "latency", Nanos,
        "Mean time from intended arrival to completion; exact, not computed from the histogram.";
    "latency_p50_ns", "p50", Nanos, "Median latency, within 0.8 %.";
    "latency_p90_ns", "p90", Nanos, "90th percentile of the latency, within 0.8 %.";
    "latency_p95_ns", "p95", Nanos, "95th percentile of the latency, within 0.8 %.";
    "latency_p99_ns", "p99", Nanos, "99th percentile of the latency, within 0.8 %.";
    "latency_p99_9_ns", "p99.9", Nanos, "99.9th percentile of the latency, within 0.8 %.";
    "latency_p99_99_ns", "p99.99", Nanos, "99.99th percentile of the latency, within 0.8 %.";
    "latency_min_ns", "min", Nanos, "Shortest latency: the lower bound of its bucket.";
    "latency_max_ns", "max", Nanos, "Longest latency: the upper bound of its bucket.";
    "latency_stddev_ns", "stddev", Nanos, "Standard deviation of the latency.";
    "completion_mean_ns", "completion mean", Nanos,
        "Mean time from submission to completion: the latency without the wait before submission.";
    "offered_iops", "arrivals", PerSecond,
        "Open loop: arrivals per second of the measured time, whether or not they have been submitted yet.";
    "late_mean_ns", "late", Nanos,
        "Mean time from intended arrival to submission, including the wait for a free slot.";
    "late_p99_ns", "late p99", Nanos,
        "99th percentile of the time from intended arrival to submission.";
    "late_max_ns", "late at most", Nanos, "Longest time from intended arrival to submission.";
    "pacer_late_mean_ns", "pacer late", Nanos,
        "Mean delay that halfpower itself adds, measured on arrivals that found a free slot.";
    "backlog_max", "backlog", Count, "Largest number of arrivals that waited for a free slot at the same time.";
    "backlog_end", "backlog at the end", Count,
        "Arrivals that were still waiting when the measured time ended; no arrival is dropped.";
    "spin_ms", "polling", Millis,
        "CPU time spent polling for the next arrival; not part of the CPU cost.";
    "warm_up_ns", "warm-up", Nanos,
        "Length of the warm-up: the start of the run, if it differs from the rest. The numbers exclude it.";
    "errors", "errors", Count, "Requests that the kernel rejected or failed.";
    "short", "short", Count, "Requests that transferred fewer bytes than requested; they never \
                              count as completed.";
    "concurrency", "QD", Ratio,
        "Queue depth: mean requests in flight, by Little's law; near --iodepth in a closed loop.";
    "cpu_lower_us_per_io", "CPU per request", Micros,
        "CPU time per request that the kernel charges to halfpower, including io_uring's kernel workers: a lower bound of the true cost.";
    "cpu_upper_us_per_io", "CPU at most", Micros,
        "CPU time per request on the whole machine, measured while a second program uses all idle time: an upper bound.";
    "cpu_elsewhere_us_per_io", "CPU elsewhere", Micros,
        "Part of the upper bound that the same pass did not charge to halfpower, per request: \
         interrupts, kernel threads, other programs.";
    "cpu_ms_per_mib", "CPU per MiB", Millis, "CPU time charged to halfpower per MiB transferred.";
    "cpu_clocks_per_byte", "clocks per byte", Ratio,
        "CPU clock cycles charged to halfpower per byte transferred, at the actual clock frequency.";
    "cpu_instructions_per_io", "instructions", Count,
        "CPU instructions per request, in halfpower and in the kernel on its behalf; needs perf events.";
    "cpu_saturation_iops", "CPU saturation", PerSecond,
        "IOPS at which all CPUs would be busy, computed from the lower bound of the CPU cost.";
    "cpu_saturation_bytes_per_s", "CPU saturation", BytesPerSecond,
        "Throughput at which all CPUs would be busy, computed from the lower bound of the CPU cost.";
    "cpu_steal_ms", "steal", Millis,
        "CPU time that the hypervisor took from this virtual machine, summed over all CPUs.";
    "cpu_user_ms", "CPU user", Millis, "CPU time in halfpower.";
    "cpu_system_ms", "CPU system", Millis, "CPU time in the kernel on behalf of halfpower.";
    "cpu_workers_ms", "CPU workers", Millis,
        "CPU time of io_uring's kernel worker threads, included in CPU user and CPU system.";
    "device_ios", "device requests", Count, "Requests that the device itself counted in the measured time.";
    "device_bytes", "device bytes", Bytes, "Bytes that the device itself counted in the measured time.";
    "device_mean_request_bytes", "device request size", Bytes, "Mean size of the requests that the device counted.";
    "device_other_bytes", "others' bytes", Bytes,
        "Bytes that other programs transferred in the opposite direction (written during a read-only run, or read during a write-only run).";
    "device_merges", "merges", Count,
        "Requests that the kernel merged with others before they reached the device.";
    "device_splits", "splits", Count,
        "Additional device requests because the kernel split requests; unknown if other traffic or caching hides them.";
    "device_concurrency", "device concurrency", Ratio,
        "Mean requests in flight at the device, from the device's own counter.";
    "device_busy_share", "device busy", Share,
        "Share of the measured time with at least one request in flight; on a parallel device, this is not saturation.";
    "device_ratio_ios", "device/our requests", Ratio,
        "Device requests divided by halfpower's requests: 1 if every request reached the device unchanged (not merged or split).";
    "device_ratio_bytes", "device/our bytes", Ratio,
        "Device bytes divided by halfpower's bytes: below 1 if a cache served some bytes, above 1 with other traffic.";
    "service_ns", "service", Nanos,
        "Service time S = U/X, utilization divided by IOPS. On a parallel device, it is the mean time between completions while busy.";
    "utilization", "busy", Share, "Utilization U: share of the time with at least one request in flight.";
    "ceiling_iops", "harness ceiling", PerSecond,
        "Highest IOPS that one halfpower job generates on the null engine, which does no I/O.";
    "clock_cost_ns", "clock", Nanos, "Time that one clock reading takes.";
    "requests_per_call", "batch", Ratio, "Mean number of requests submitted to the kernel in one call.";
    "batching_error_mean_ns", "batching error", Nanos,
        "Mean time that the kernel took to accept a batch of requests. On average, latencies are \
         too long by at most this time.";
    "batching_error_max_ns", "batching error at most", Nanos,
        "Longest time that the kernel took to accept a batch of requests.";
    "callback_depth", "callback depth", Count, "Deepest nesting of completion callbacks.";
    "verify_good", "blocks as written", Count, "Blocks that, when read back, contained the data last written to them.";
    "verify_bad", "bad blocks", Count, "Blocks that turned out to be lost, misplaced, torn or stale when they were read back.";
    "resident_before_bytes", "in the page cache", Bytes,
        "Bytes of the area in the page cache before the cache was dropped.";
    "resident_after_bytes", "left in the page cache", Bytes,
        "Bytes of the area in the page cache after the cache was dropped.";
    "precondition_filled_bytes", "preconditioned", Bytes,
        "Bytes written before the preconditioning rounds.";
}

/// The quantity with this id.
///
/// # Panics
/// If there is none. Ids are literals in this code base, and a test looks up each.
#[must_use]
pub fn quantity(id: &str) -> &'static Quantity {
    match QUANTITIES.iter().find(|quantity| quantity.id == id) {
        Some(quantity) => quantity,
        None => panic!("no quantity is called {id}"),
    }
}
