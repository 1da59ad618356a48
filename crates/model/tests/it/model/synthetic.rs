//! Builds trials of known devices without running anything. The tests of `model` and of `diagnose` use it.
//!
//! A device is a function from a workload to its rate; the latency follows from Little's law of a closed
//! loop. Each builder returns a valid trial, and a test changes one property of it.

use record::{
    Bytes, CacheMode, Cell, CpuCost, CpuSplit, DeviceCounters, DeviceFacts, DirectionResult,
    DropCache, Estimate, HistogramSnapshot, Measured, Nanos, OpKind, Pattern, SizeShare,
    TRIAL_SCHEMA, Target, TargetKind, TimeSummary, Trial, TrialResult, Workload, bucket_index,
};

/// Measured window of every synthetic trial.
pub const WINDOW_NS: u64 = 1_000_000_000;

/// A closed loop of one request size and direction over 1 GiB with `--cache device`.
pub fn workload(op: OpKind, pattern: Pattern, bs_bytes: u64, depth: u32) -> Workload {
    Workload {
        read_percent: if op == OpKind::Read { 100 } else { 0 },
        pattern,
        hit_bytes: (pattern == Pattern::Hit).then_some(Bytes(1 << 20)),
        bs: vec![SizeShare { bytes: Bytes(bs_bytes), percent: 100 }],
        iodepth: depth,
        depth,
        size_bytes: Bytes(1 << 30),
        runtime_ns: Nanos(WINDOW_NS),
        ..Workload::default()
    }
}

/// The same with another cache mode; a buffered one starts with a cold page cache.
pub fn cached(workload: Workload, cache: CacheMode) -> Workload {
    let drop_cache = if cache.direct() { DropCache::None } else { DropCache::Dontneed };
    Workload { cache, drop_cache, ..workload }
}

/// A cell of six visits with an error of a thousandth; all of its requests take the same time.
pub fn cell(workload: Workload, iops: f64, latency_ns: f64) -> Cell {
    let exact = |value: f64| Estimate::symmetric(value, 0.001 * value, 6);
    let bucket = bucket_index(latency_ns as u64) as u32;
    Cell {
        cell: workload.cell(),
        trial_ids: Vec::new(),
        ios: 10_000,
        iops: exact(iops),
        rerun_iops: exact(iops),
        bytes_per_s: exact(iops * workload.max_bs().0 as f64),
        latency_ns: exact(latency_ns),
        read_latency_ns: None,
        write_latency_ns: None,
        median_visit: None,
        histogram: HistogramSnapshot { buckets: vec![(bucket, 10_000)] },
        utilization: Measured::not("synthetic"),
        service_ns: Measured::not("synthetic"),
        device_share: Measured::not("synthetic"),
        cpu_us_per_io: Measured::not("synthetic"),
        precise: true,
        workload,
    }
}

/// The same for a closed loop, whose latency follows from Little's law.
pub fn closed_cell(workload: Workload, iops: f64) -> Cell {
    let latency_ns = f64::from(workload.depth) / iops * 1e9;
    cell(workload, iops, latency_ns)
}

/// A valid trial: `iops` requests per second, latency by Little's law, the device busy all the time.
pub fn trial(workload: &Workload, iops: f64) -> Trial {
    let ios = (iops * WINDOW_NS as f64 / 1e9).round() as u64;
    let result = direction(workload, ios.max(1), iops);
    let reads = workload.read_percent == 100;
    Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: "0.0.0".to_owned(),
        measured_by: None,
        id: format!("{}-{iops}", workload.cell()),
        time: None,
        seed: 1,
        simulated: true,
        cell: workload.cell(),
        targets: vec![target()],
        workload: workload.clone(),
        result: TrialResult {
            duration_ns: Nanos(WINDOW_NS),
            steady: Some(true),
            read: reads.then(|| result.clone()),
            write: (!reads).then_some(result),
            concurrency: f64::from(workload.depth),
            ..TrialResult::default()
        },
        cpu: Measured::Value(cpu()),
        device_counters: Measured::Value(counters(ios)),
        harness: Measured::not("synthetic"),
        findings: Vec::new(),
        environment: None,
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
        total: None,
        clients: None,
        parts: Vec::new(),
    }
}

fn direction(workload: &Workload, ios: u64, iops: f64) -> DirectionResult {
    let bytes = workload.max_bs().0;
    let mean = f64::from(workload.depth) * 1e9 / iops;
    let bucket = bucket_index(mean as u64) as u32;
    let summary = TimeSummary {
        mean,
        mean_ci95_rel: Some(0.02),
        stddev: 0.0,
        min: mean as u64,
        max: mean as u64,
        p50: Some(mean),
        p90: Some(mean),
        p95: Some(mean),
        p99: None,
        p99_9: None,
        p99_99: None,
    };
    DirectionResult {
        ios,
        bytes: ios * bytes,
        iops,
        bytes_per_s: iops * bytes as f64,
        iops_ci95_rel: Some(0.02),
        errors: 0,
        error_kinds: Vec::new(),
        short: 0,
        latency_ns: Some(summary.clone()),
        completion_ns: Some(summary),
        offered_iops: None,
        histogram: HistogramSnapshot { buckets: vec![(bucket, ios)] },
    }
}

fn cpu() -> CpuCost {
    CpuCost {
        user_ms: 1.0,
        system_ms: 2.0,
        workers_ms: 0.0,
        lower_us_per_io: Some(5.0),
        upper_us_per_io: None,
        upper_method: None,
        upper: None,
        clocks_per_byte: None,
        clock: None,
        instructions_per_io: Measured::not("synthetic"),
        saturation_iops: None,
        saturation_bytes_per_s: None,
        ms_per_mib: None,
        steal_ms: None,
        all_cpus_ms: None,
        others_user_ms: None,
        idle_ms: None,
        split: CpuSplit::Exact,
    }
}

fn counters(ios: u64) -> DeviceCounters {
    DeviceCounters {
        other_bytes: None,
        device: "synthetic".to_owned(),
        ios,
        bytes: 0,
        mean_request_bytes: None,
        merges: 0,
        splits: None,
        busy_ms: WINDOW_NS as f64 / 1e6,
        concurrency: 1.0,
        ratio_ios: Some(1.0),
        ratio_bytes: Some(1.0),
    }
}

/// A test file of 1 GiB that fills most of a disk with a trustworthy rotational flag.
pub fn target() -> Target {
    Target {
        path: "synthetic".to_owned(),
        kind: TargetKind::Directory,
        size_bytes: Bytes(1 << 30),
        device: Some(DeviceFacts {
            name: "synthetic".to_owned(),
            disk: "synthetic".to_owned(),
            size_bytes: Bytes(5 << 28),
            rotational: Some(false),
            rotational_trusted: true,
            ..DeviceFacts::default()
        }),
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    }
}

/// Three visits whose mean is `iops` and whose 95 % interval is about ±2 % of it.
pub fn visits(workload: &Workload, iops: f64) -> Vec<Trial> {
    [0.992, 1.0, 1.008].iter().map(|factor| trial(workload, iops * factor)).collect()
}

/// Standard normal noise from a seed.
pub struct Noise(pub u64);

impl Noise {
    /// The next value.
    pub fn next(&mut self) -> f64 {
        // A multiplicative generator (Knuth's MMIX constants); its top bits are good enough here.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        stats::normal_quantile(((self.0 >> 12) as f64 + 0.5) / (1u64 << 52) as f64)
    }
}

/// Rounds of visits of every workload in turn. The rate of each has relative noise of standard deviation
/// `noise_rel`.
pub fn rounds(
    design: &[Workload],
    rate: impl Fn(&Workload) -> f64,
    rounds: usize,
    noise_rel: f64,
    noise: &mut Noise,
) -> Vec<Trial> {
    (0..rounds)
        .flat_map(|_| design)
        .map(|workload| trial(workload, rate(workload) * (1.0 + noise_rel * noise.next())))
        .collect()
}

/// Random requests of 4 KiB at depths 1, 2, 4, … `max_depth`.
pub fn depths(op: OpKind, max_depth: u32) -> Vec<Workload> {
    std::iter::successors(Some(1), |depth| Some(depth * 2))
        .take_while(|&depth| depth <= max_depth)
        .map(|depth| workload(op, Pattern::Random, 4096, depth))
        .collect()
}

/// Sequential requests of 4 KiB, 8 KiB, … 1 MiB at one depth.
pub fn sizes(op: OpKind, depth: u32) -> Vec<Workload> {
    (12..=20).map(|exponent| workload(op, Pattern::Sequential, 1 << exponent, depth)).collect()
}
