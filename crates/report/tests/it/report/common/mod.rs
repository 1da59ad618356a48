//! Provides sample records, made by hand from a small closed-form device, so that the numbers of
//! every snapshot are consistent.

mod answers;
mod facts;
mod profile;
mod trial;
pub mod watch;

pub use answers::{advice, diagnosis, prediction, whatif};
pub use facts::{rotating_disk, target};
pub use profile::{fast_profile, read_only_simulated_profile, slow_profile};
pub use trial::{
    clean_trial, failing_trial, open_loop_trial, trial_with_intervals, trial_without_device,
};

use record::{
    Bytes, HistogramSnapshot, Nanos, OpKind, Pattern, ProcessIo, SizeShare, Workload, bucket_index,
};

const KIB: u64 = 1024;
const GIB: u64 = 1 << 30;

pub fn histogram(mean_ns: f64) -> HistogramSnapshot {
    // Multiples of the mean and numbers of requests: a body, a shoulder, a far tail.
    let shape = [
        (0.61, 310),
        (0.70, 4_100),
        (0.78, 21_000),
        (0.86, 52_000),
        (0.93, 61_000),
        (1.0, 47_000),
        (1.1, 23_000),
        (1.25, 9_400),
        (1.5, 4_800),
        (1.9, 1_900),
        (2.6, 610),
        (4.0, 140),
        (9.0, 14),
        (21.0, 2),
    ];
    let at = |share: f64, count| (bucket_index((mean_ns * share) as u64) as u32, count);
    HistogramSnapshot { buckets: shape.map(|(share, count)| at(share, count)).to_vec() }
}

/// A process of a service that reads.
pub fn process(id: u32, name: &str, reads: u64) -> ProcessIo {
    ProcessIo {
        process: Some(id),
        processes: 1,
        name: name.to_owned(),
        group: Some("/system.slice/db.service".to_owned()),
        reads,
        read_bytes: reads * 16 * KIB,
        fsyncs: reads / 10,
        ..ProcessIo::default()
    }
}

pub fn workload(op: OpKind, pattern: Pattern, bytes: u64, depth: u32) -> Workload {
    Workload {
        read_percent: if op == OpKind::Read { 100 } else { 0 },
        pattern,
        hit_bytes: (pattern == Pattern::Hit).then_some(Bytes(1 << 20)),
        bs: vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
        iodepth: depth,
        depth,
        size_bytes: Bytes(2 * GIB),
        runtime_ns: Nanos(400_000_000),
        ..Workload::default()
    }
}

/// Letters and digits only: the part of a text that no view wraps, escapes or marks.
pub fn bare(text: &str) -> String {
    let text = text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&#39;", "'");
    let text = text.replace("&#34;", "\"").replace("&#38;", "&");
    let text = text.replace("&#60;", "<").replace("&#62;", ">");
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}
