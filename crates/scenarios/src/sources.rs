//! What a recording of another tool keeps of an observation: the same counters with its gaps and steps.

use record::{Figure, Interval, Observation, OpInterval};

/// Where the counters come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A live kernel, with all that the case has.
    #[default]
    Live,
    /// `iostat -x -o JSON`: latencies in steps of 10 µs, no requests in progress, nothing of the system.
    Iostat,
    /// node_exporter by way of Prometheus: counters every 5 s, and pressure.
    NodeExporter,
    /// `sar -d`: one latency and size for both operations, means over 5 s.
    Sar,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Live, Self::Iostat, Self::NodeExporter, Self::Sar];

    /// In print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Iostat => "iostat",
            Self::NodeExporter => "node_exporter",
            Self::Sar => "sar",
        }
    }

    /// What is left of an observation.
    pub(crate) fn tells(self, observation: &mut Observation) {
        if self == Self::Live {
            return;
        }
        // A recording's devices have a name and no facts.
        observation.devices.iter_mut().for_each(|device| device.facts = None);
        for interval in &mut observation.intervals {
            (interval.traced, interval.processes) = (None, None);
        }
        match self {
            Self::Live => {}
            Self::Iostat => {
                observation.contexts.clear();
                for interval in &mut observation.intervals {
                    interval.in_flight = None;
                    interval.busy_share = stepped(interval.busy_share, 1e-4);
                    for op in [&mut interval.read, &mut interval.write, &mut interval.all] {
                        op.latency_ns = stepped(op.latency_ns, 1e4);
                    }
                }
            }
            Self::NodeExporter => {
                for context in &mut observation.contexts {
                    context.cgroup_limits.clear();
                    context.writeback_bytes = None;
                }
                observation.intervals = summed(&observation.intervals, 5);
            }
            Self::Sar => {
                observation.contexts.clear();
                observation.intervals = summed(&observation.intervals, 5);
                for interval in &mut observation.intervals {
                    interval.in_flight = None;
                    interval.all.latency_ns = stepped(interval.all.latency_ns, 1e4);
                    for op in [&mut interval.read, &mut interval.write] {
                        (op.latency_ns, op.request_bytes) = (None, None);
                    }
                }
            }
        }
    }
}

fn stepped(figure: Option<Figure>, step: f64) -> Option<Figure> {
    figure.map(|one| Figure { value: (one.value / step).round() * step, resolution: step, ..one })
}

/// Means over so many seconds of each device.
fn summed(intervals: &[Interval], seconds: u64) -> Vec<Interval> {
    let mut found: Vec<Interval> = Vec::new();
    let mut names: Vec<&str> = intervals.iter().map(|one| one.device.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let own: Vec<&Interval> = intervals.iter().filter(|one| one.device == name).collect();
        let each = own.first().map_or(1, |one| (one.duration_ns / 1_000_000_000).max(1));
        found.extend(own.chunks((seconds / each).max(1) as usize).map(together));
    }
    found.sort_by_key(|one| one.begin_ns);
    found
}

fn together(parts: &[&Interval]) -> Interval {
    let duration_ns: u64 = parts.iter().map(|one| one.duration_ns).sum();
    let over_time = |of: &dyn Fn(&Interval) -> Option<f64>| -> Option<Figure> {
        let sum: Option<f64> =
            parts.iter().map(|one| Some(of(one)? * one.duration_ns as f64)).sum();
        Some(Figure::measured(sum? / duration_ns as f64, 0.0))
    };
    let op = |of: fn(&Interval) -> &OpInterval| {
        let value = |figure: Option<Figure>| figure.map(|one| one.value);
        let per_s = over_time(&|one| value(of(one).per_s));
        let bytes_per_s = over_time(&|one| value(of(one).bytes_per_s));
        let waited = over_time(&|one| {
            let count = value(of(one).per_s)?;
            Some(count * value(of(one).latency_ns).unwrap_or(0.0))
        });
        let each = |sum: Option<Figure>| {
            let count = per_s.filter(|one| one.value > 0.0)?.value;
            Some(Figure::derived(sum?.value / count, 0.0))
        };
        let (latency_ns, request_bytes) = (each(waited), each(bytes_per_s));
        OpInterval { per_s, bytes_per_s, request_bytes, latency_ns, ..OpInterval::default() }
    };
    let first = parts[0];
    Interval {
        device: first.device.clone(),
        begin_ns: first.begin_ns,
        duration_ns,
        read: op(|one| &one.read),
        write: op(|one| &one.write),
        all: op(|one| &one.all),
        busy_share: over_time(&|one| one.busy_share.map(|figure| figure.value)),
        concurrency: over_time(&|one| one.concurrency.map(|figure| figure.value)),
        in_flight: parts.last().and_then(|one| one.in_flight),
        ..Interval::default()
    }
}
