//! Provides sample profiles: a fast virtual disk, a slow disk, a simulated one without writes.

use super::facts::{environment, limited, rotating_disk, simulated_target, target, virtual_disk};
use super::{GIB, KIB, histogram, workload};
use record::{
    Advice, Bytes, Cell, CommitNeed, CommitPoint, CommitVerdict, Commits, Confidence, DepthCurve,
    DepthPoint, Estimate, Expectation, Finding, FindingCode, FlushKind, LeftOut, Limits, LogKind,
    Measured, Nanos, OpKind, PROFILE_SCHEMA, Pattern, Profile, ServiceTimeFit, Severity, SizeCurve,
    SizePoint, Target,
};

/// One direction of a sample device. A single request takes `seek_ns` (unless sequential) plus
/// `fixed_ns` plus `ns_per_byte` for each byte; `servers` work in parallel.
#[derive(Clone, Copy)]
pub struct Direction {
    pub fixed_ns: f64,
    pub seek_ns: f64,
    pub ns_per_byte: f64,
    pub servers: f64,
    pub relative: f64,
    pub cpu_us: f64,
}

impl Direction {
    fn alone_ns(&self, pattern: Pattern, bytes: u64) -> f64 {
        let seek = if pattern == Pattern::Random { self.seek_ns } else { 0.0 };
        seek + self.fixed_ns + self.ns_per_byte * bytes as f64
    }

    /// Closed-loop rate: it approaches the servers' limit smoothly and is exact at depth 1.
    fn iops(&self, pattern: Pattern, bytes: u64, depth: u32) -> f64 {
        let alone = 1e9 / self.alone_ns(pattern, bytes);
        let depth = f64::from(depth);
        let share = (depth - 1.0) / self.servers;
        alone * (1.0 + (self.servers - 1.0) * share / (1.0 + share))
    }

    fn estimate(&self, value: f64) -> Estimate {
        Estimate::symmetric(value, value * self.relative, 6)
    }
}

/// A sample device. Without `write`, only reads were measured.
pub struct Sample {
    pub read: Direction,
    pub write: Option<Direction>,
    pub depths: Vec<u32>,
    pub near_knee: u32,
}

impl Sample {
    fn directions(&self) -> Vec<(OpKind, Direction)> {
        let write = self.write.map(|write| (OpKind::Write, write));
        [(OpKind::Read, self.read)].into_iter().chain(write).collect()
    }
}

pub fn fast() -> Sample {
    let read = Direction {
        fixed_ns: 52_000.0,
        seek_ns: 38_000.0,
        ns_per_byte: 0.82,
        servers: 11.0,
        relative: 0.013,
        cpu_us: 6.4,
    };
    let write = Direction {
        fixed_ns: 61_000.0,
        seek_ns: 9_000.0,
        ns_per_byte: 1.45,
        servers: 7.0,
        relative: 0.032,
        cpu_us: 7.9,
    };
    Sample { read, write: Some(write), depths: vec![1, 2, 4, 8, 16, 32, 64, 128], near_knee: 32 }
}

pub fn slow() -> Sample {
    let read = Direction {
        fixed_ns: 160_000.0,
        seek_ns: 8_400_000.0,
        ns_per_byte: 6.3,
        servers: 1.9,
        relative: 0.046,
        cpu_us: 14.0,
    };
    let write = Direction {
        seek_ns: 5_100_000.0,
        fixed_ns: 210_000.0,
        relative: 0.083,
        servers: 1.2,
        ..read
    };
    Sample { read, write: Some(write), depths: vec![1, 4, 16], near_knee: 4 }
}

fn cell(op: OpKind, device: Direction, pattern: Pattern, bytes: u64, depth: u32) -> Cell {
    let workload = workload(op, pattern, bytes, depth);
    let iops = device.iops(pattern, bytes, depth);
    let latency = f64::from(depth) / iops * 1e9;
    let utilization = 1.0 - 0.06 / f64::from(depth);
    Cell {
        cell: workload.cell(),
        workload,
        trial_ids: vec!["t1".into(), "t2".into(), "t3".into()],
        ios: (iops * 1.2) as u64,
        iops: device.estimate(iops),
        rerun_iops: device.estimate(iops),
        bytes_per_s: device.estimate(iops * bytes as f64),
        latency_ns: device.estimate(latency),
        read_latency_ns: None,
        write_latency_ns: None,
        median_visit: None,
        histogram: histogram(latency),
        utilization: Measured::Value(utilization),
        service_ns: Measured::Value(device.estimate(utilization / iops * 1e9)),
        device_share: Measured::not("synthetic"),
        cpu_us_per_io: Measured::Value(device.estimate(device.cpu_us + bytes as f64 * 2e-5)),
        precise: true,
    }
}

fn cells(sample: &Sample) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (op, device) in sample.directions() {
        for bytes in [4, 16, 64].map(|kib| kib * KIB) {
            cells.push(cell(op, device, Pattern::Sequential, bytes, 1));
            cells.push(cell(op, device, Pattern::Random, bytes, 1));
            cells.push(cell(op, device, Pattern::Random, bytes, 4));
        }
        if op == OpKind::Read {
            cells.push(cell(op, device, Pattern::Hit, 4 * KIB, 1));
        }
        for &depth in sample.depths.iter().filter(|depth| ![1, 4].contains(*depth)) {
            cells.push(cell(op, device, Pattern::Random, 4 * KIB, depth));
        }
        cells.push(cell(op, device, Pattern::Sequential, 1 << 20, sample.near_knee));
    }
    cells
}

fn depth_curve(sample: &Sample, op: OpKind, device: Direction) -> DepthCurve {
    let point = |&depth: &u32| {
        let iops = device.iops(Pattern::Random, 4 * KIB, depth);
        let latency = f64::from(depth) / iops * 1e9;
        DepthPoint {
            depth,
            iops: device.estimate(iops),
            latency_ns: device.estimate(latency),
            p99_ns: Some(latency * 1.9),
            cpu_us_per_io: Some(device.cpu_us * (0.4 + 0.6 / f64::from(depth))),
        }
    };
    let points: Vec<DepthPoint> = sample.depths.iter().map(point).collect();
    let last = points.last().unwrap();
    DepthCurve {
        op,
        bs_bytes: 4 * KIB,
        knee: (sample.depths.len() > 4).then_some(8),
        knee_gain: 0.15,
        max_iops: last.iops,
        max_depth: last.depth,
        points,
    }
}

fn size_curve(sample: &Sample, op: OpKind, device: Direction, depth: u32) -> SizeCurve {
    let pattern = Pattern::Sequential;
    let sizes: &[u64] = if sample.depths.len() > 4 {
        &[4, 8, 16, 32, 64, 128, 256, 512, 1024]
    } else {
        &[4, 16, 64, 256, 1024]
    };
    let point = |kib: &u64| {
        let bytes = kib * KIB;
        let iops = device.iops(pattern, bytes, depth);
        SizePoint {
            bytes,
            bytes_per_s: device.estimate(iops * bytes as f64),
            iops: device.estimate(iops),
            latency_ns: device.estimate(f64::from(depth) / iops * 1e9),
            cpu_us_per_io: Some(device.cpu_us),
        }
    };
    let points: Vec<SizePoint> = sizes.iter().map(point).collect();
    let half = device.iops(pattern, 1 << 20, sample.near_knee) * (1 << 20) as f64 / 2.0;
    let reaches = points.iter().find(|point| point.bytes_per_s.value >= half);
    SizeCurve {
        op,
        pattern,
        depth,
        half_of_max_bytes_per_s: half,
        half_power_bytes: reaches.map(|point| point.bytes),
        points,
    }
}

fn fit(op: OpKind, device: Direction, pattern: Pattern) -> ServiceTimeFit {
    let fixed = device.alone_ns(pattern, 0);
    let left_out = LeftOut {
        bytes: 1 << 20,
        measured_ns: device.alone_ns(pattern, 1 << 20) * 0.92,
        residual_ns: device.alone_ns(pattern, 1 << 20) * -0.08,
    };
    ServiceTimeFit {
        op,
        pattern,
        intercept_ns: Estimate::symmetric(fixed, fixed * 0.021, 8),
        slope_ns_per_byte: Estimate::symmetric(device.ns_per_byte, device.ns_per_byte * 0.014, 8),
        sizes_bytes: [4, 8, 16, 32, 64, 128, 256, 512].map(|kib| kib * KIB).to_vec(),
        reduced_chi_square: 1.34,
        max_residual_rel: 0.027,
        left_out: if pattern == Pattern::Sequential { vec![left_out] } else { Vec::new() },
    }
}

fn expectations(sample: &Sample) -> Vec<Expectation> {
    let each = |(op, device): (OpKind, Direction)| {
        let most = device.iops(Pattern::Random, 4 * KIB, *sample.depths.last().unwrap());
        [0.25, 0.5, 0.75, 0.9].map(|saturation| {
            let alone = device.alone_ns(Pattern::Random, 4 * KIB);
            let latency = alone * (1.0 + 0.3 * saturation / (1.0 - saturation));
            let mm1 = 1e9 / most / (1.0 - saturation);
            Expectation {
                op,
                bs_bytes: 4 * KIB,
                saturation,
                iops: most * saturation,
                latency_ns: device.estimate(latency),
                mm1_response_ns: mm1,
                mm1_error_rel: mm1 / latency - 1.0,
            }
        })
    };
    sample.directions().into_iter().flat_map(each).collect()
}

fn advice() -> Vec<Advice> {
    let advice =
        |subject: &str, recommendation: &str, because: &str, next: &str, rule: Option<&str>| {
            Advice {
                subject: subject.into(),
                recommendation: recommendation.into(),
                because: because.into(),
                next_best: next.into(),
                against_rule: rule.map(str::to_owned),
                ..Advice::default()
            }
        };
    vec![
        advice(
            "read depth",
            "QD 8; QD 32 where only throughput counts",
            "QD 8: 52.4k IOPS at 153 µs; QD 32: 89.8k IOPS at 356 µs",
            "QD 4: -36 % rate, -22 % latency; QD 64: +14 %, +76 %",
            Some("rule of thumb: QD 2 to 4; QD 4 gives 64 % of the rate at QD 8"),
        ),
        advice(
            "write depth",
            "QD 8; QD 32 where only throughput counts",
            "QD 8: 52.7k IOPS at 152 µs; QD 32: 77.6k IOPS at 412 µs",
            "QD 4: -30 % rate, -29 % latency; QD 64: +8.6 %, +84 %",
            None,
        ),
        advice(
            "sequential read size",
            "256 KiB requests at QD 32",
            "8.23 GB/s, 85 % of the maximum throughput; half of the maximum with 64 KiB",
            "128 KiB, QD 32: -16 % throughput (6.89 GB/s)",
            None,
        ),
        advice(
            "sequential write size",
            "256 KiB requests at QD 32",
            "3.50 GB/s, 90 % of the maximum throughput; half of the maximum with 64 KiB",
            "128 KiB, QD 32: -12 % throughput (3.08 GB/s)",
            Some("rule of thumb: 64 KiB requests; here they give 71 % of that"),
        ),
        advice(
            "read cache mode",
            "--cache all for 4 KiB requests, --cache device from 64 KiB",
            "sequential, QD 1: 4 KiB 1.69 GB/s; 64 KiB 620 MB/s",
            "4 KiB --cache device: -96 % throughput, 6.4 times the CPU; 64 KiB --cache all: no \
             measurable difference, 1.2 times the CPU",
            None,
        ),
        advice(
            "write cache mode",
            "--cache device; a power failure may lose unflushed writes",
            "1 write at a time: 4 KiB random 13.2k IOPS; 64 KiB sequential 6.41k IOPS",
            "--cache none: 4 KiB -92 % (1.10k IOPS); 64 KiB -88 % (769 IOPS)",
            None,
        ),
    ]
}

fn profile(sample: &Sample, target: Target, findings: Vec<Finding>) -> Profile {
    let curves = sample.directions().into_iter();
    let limit = |op: OpKind, bytes: u64, depth: u32, pattern: Pattern, unit: f64| {
        let found = sample.directions().into_iter().find(|(other, _)| *other == op);
        found.map(|(_, device)| device.estimate(device.iops(pattern, bytes, depth) * unit))
    };
    let deepest = *sample.depths.last().unwrap();
    let most = |op| limit(op, 4 * KIB, deepest, Pattern::Random, 1.0);
    let fastest = |op| limit(op, 1 << 20, sample.near_knee, Pattern::Sequential, (1 << 20) as f64);
    let depths = [1, sample.near_knee];
    let size_curves = curves
        .clone()
        .flat_map(|(op, device)| depths.map(|depth| size_curve(sample, op, device, depth)));
    let fits = curves.clone().flat_map(|(op, device)| {
        [Pattern::Sequential, Pattern::Random].map(|pattern| fit(op, device, pattern))
    });
    Profile {
        schema: PROFILE_SCHEMA.into(),
        halfpower_version: "0.1.0".into(),
        id: "0190f3a2-6c1e-7b52-9d7e-3f0c5a8e1b44".into(),
        time: Some("2026-03-01T14:05:59.120Z".into()),
        seed: 42,
        simulated: false,
        target,
        clients: Vec::new(),
        facts: Vec::new(),
        environment: Some(environment()),
        budget_ns: Nanos(60_000_000_000),
        measured_ns: Nanos(58_300_000_000),
        level_se_rel: None,
        run_spread: None,
        areas: Vec::new(),
        area_spreads: Vec::new(),
        earlier_levels: Vec::new(),
        cells: cells(sample),
        mixes: Vec::new(),
        lone_reads: Vec::new(),
        caps: Vec::new(),
        sustained: Vec::new(),
        commits: Measured::not("no valid trial with commits; they need a --budget of at least 10s"),
        service_time_fits: fits.collect(),
        depth_curves: curves.clone().map(|(op, device)| depth_curve(sample, op, device)).collect(),
        size_curves: size_curves.collect(),
        limits: Limits {
            read_iops: most(OpKind::Read),
            write_iops: most(OpKind::Write),
            read_bytes_per_s: fastest(OpKind::Read),
            write_bytes_per_s: fastest(OpKind::Write),
        },
        expectations: expectations(sample),
        advice: advice(),
        findings,
    }
}

pub fn fast_profile() -> Profile {
    let findings = vec![
        Finding::new(
            FindingCode::RotationalUntrusted,
            Severity::Info,
            "The kernel calls this virtual disk rotational; it cannot know what is behind it.",
            "",
        ),
        Finding::new(
            FindingCode::SmallArea,
            Severity::Info,
            "The measured area is a small part of the device: a cache behind it may hold it.",
            "measure a larger area: --size 20g",
        )
        .with("area", 2.0 * GIB as f64, "bytes")
        .with("device", 64.0 * GIB as f64, "bytes"),
        Finding::new(
            FindingCode::Drift,
            Severity::Warning,
            "The device's speed drifted between visits of the same cells.",
            "repeat at a quieter time; the intervals include it",
        )
        .with("largest change", 0.123, "share")
        .with("cells", 3.0, "")
        .confidence(Confidence::Likely),
    ];
    let commits = Measured::Value(commits());
    Profile { commits, ..profile(&fast(), target(Some(virtual_disk())), findings) }
}

/// Commits whose flush takes 0.8 ms, or 1.9 ms on new blocks.
fn commits() -> Commits {
    let about = |value: f64| Estimate::symmetric(value, 0.04 * value, 3);
    let point = |log, committers: u32, flush_ns: f64| {
        let histogram = histogram(flush_ns);
        CommitPoint {
            log,
            committers,
            bytes: Bytes(8 * KIB),
            flush: FlushKind::Fdatasync,
            trial_ids: Vec::new(),
            commits_per_s: about(f64::from(committers) / (flush_ns + 12_000.0) * 1e9),
            flush_ns: about(flush_ns),
            write_ns: about(12_000.0),
            flush_p99_ns: Measured::Value(about(histogram.percentile(0.99).unwrap())),
            histogram,
        }
    };
    let old = |committers, flush_ns| point(LogKind::Overwritten, committers, flush_ns);
    let new = |committers, flush_ns| point(LogKind::NewBlocks, committers, flush_ns);
    let points = vec![
        old(1, 0.8e6),
        old(4, 1.1e6),
        old(64, 5.9e6),
        new(1, 1.9e6),
        new(4, 2.6e6),
        new(64, 7e6),
    ];
    let verdict = |program: &str, need, limit, measured: Measured<Estimate>, met| CommitVerdict {
        program: program.to_owned(),
        need,
        limit,
        measured,
        met,
        source: "etcd, hardware recommendations: disks".to_owned(),
    };
    let p99 = points[3].flush_p99_ns.clone();
    let verdicts = vec![
        verdict("etcd", CommitNeed::FlushP99Ns, 10e6, p99, Some(true)),
        verdict(
            "a hard one",
            CommitNeed::CommitsPerS,
            5e3,
            Measured::Value(about(525.0)),
            Some(false),
        ),
        verdict("one near it", CommitNeed::CommitsPerS, 520.0, Measured::Value(about(525.0)), None),
        verdict("unknown", CommitNeed::CommitsPerS, 1.0, Measured::not("made up"), None),
    ];
    Commits { points, verdicts }
}

pub fn slow_profile() -> Profile {
    let findings = vec![
        Finding::new(
            FindingCode::KneeNotReached,
            Severity::Warning,
            "Throughput still grew at the largest depth tried.",
            "allow more time: --budget 5m",
        ),
        Finding::new(
            FindingCode::PointsSkipped,
            Severity::Info,
            "The device is slow for the budget: curves have fewer points.",
            "allow more time: --budget 5m",
        )
        .with("points left out", 18.0, ""),
    ];
    let mut profile = profile(&slow(), target(Some(rotating_disk())), findings);
    if let Some(environment) = &mut profile.environment {
        environment.cgroup_limits.push(limited());
        environment.virtualization = None;
    }
    profile.advice.truncate(1);
    profile
}

pub fn read_only_simulated_profile() -> Profile {
    let sample = Sample { write: None, ..fast() };
    let skipped = Finding::new(
        FindingCode::WritesSkipped,
        Severity::Info,
        "Write cells were left out; nothing is known of writes.",
        "run without --no-write",
    );
    let mut profile = profile(&sample, simulated_target(), vec![skipped]);
    profile.simulated = true;
    profile.time = None;
    profile.environment = None;
    profile.id = "5b1f0e0d7c6a4b3e9f8d2c1b0a998877".into();
    for cell in &mut profile.cells {
        cell.cpu_us_per_io = Measured::not("a simulated device costs no CPU time");
    }
    for curve in &mut profile.depth_curves {
        curve.points.iter_mut().for_each(|point| point.cpu_us_per_io = None);
    }
    profile.advice.retain(|advice| !advice.subject.contains("write"));
    profile
}
