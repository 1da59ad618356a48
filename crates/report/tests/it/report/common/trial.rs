//! Provides sample trials: a clean one, one with errors, one without a device.

use super::facts::{environment, target, virtual_disk};
use super::{KIB, histogram, workload};
use record::{
    Arrival, BadBlock, Batching, BlockFault, Bytes, CacheDropped, CacheMode, CpuCost, CpuSplit,
    CpuUpper, Data, DeviceCounters, DirectionResult, DropCache, EndedBy, ErrorCount, Estimate,
    Finding, FindingCode, Harness, HistogramSnapshot, IntervalDirection, IntervalResult, Measured,
    Nanos, OpKind, OpenLoop, Pattern, Preconditioning, Severity, SizeShare, TRIAL_SCHEMA,
    TimeSummary, Trial, TrialResult, VerifyResult, WarmUp,
};

fn times(mean: f64, histogram: &HistogramSnapshot) -> TimeSummary {
    TimeSummary {
        mean,
        mean_ci95_rel: Some(0.0064),
        stddev: mean * 0.31,
        min: (mean * 0.61) as u64,
        max: (mean * 21.1) as u64,
        p50: histogram.percentile(0.5),
        p90: histogram.percentile(0.9),
        p95: histogram.percentile(0.95),
        p99: histogram.percentile(0.99),
        p99_9: histogram.percentile(0.999),
        p99_99: histogram.percentile(0.9999),
    }
}

pub fn direction_result(iops: f64, bytes: u64, depth: f64) -> DirectionResult {
    let mean = depth / iops * 1e9;
    let histogram = histogram(mean);
    let ios = (iops * 10.0) as u64;
    DirectionResult {
        ios,
        bytes: ios * bytes,
        iops,
        bytes_per_s: iops * bytes as f64,
        iops_ci95_rel: Some(0.0071),
        errors: 0,
        error_kinds: Vec::new(),
        short: 0,
        latency_ns: Some(times(mean, &histogram)),
        completion_ns: Some(times(mean, &histogram)),
        offered_iops: None,
        histogram,
    }
}

pub fn clean_trial() -> Trial {
    let workload = workload(OpKind::Read, Pattern::Random, 4 * KIB, 32);
    let read = direction_result(118_000.0, 4 * KIB, 32.0);
    let device = DeviceCounters {
        device: "vda".into(),
        ios: read.ios + 40,
        bytes: read.bytes + 40 * 4096,
        other_bytes: Some(0),
        mean_request_bytes: Some(4096.0),
        merges: 0,
        splits: Some(0),
        busy_ms: 9_990.0,
        concurrency: 31.4,
        ratio_ios: Some(1.000_03),
        ratio_bytes: Some(1.000_03),
    };
    Trial {
        schema: TRIAL_SCHEMA.into(),
        halfpower_version: "0.1.0".into(),
        measured_by: None,
        id: "0190f3a2-6c1e-7b52-9d7e-3f0c5a8e1b45".into(),
        time: Some("2026-03-01T14:05:59.120Z".into()),
        seed: 42,
        simulated: false,
        cell: workload.cell(),
        targets: vec![target(Some(virtual_disk()))],
        workload,
        result: TrialResult {
            duration_ns: Nanos(10_000_000_000),
            steady: Some(true),
            read: Some(read),
            write: None,
            concurrency: 31.97,
            ..TrialResult::default()
        },
        cpu: Measured::Value(CpuCost {
            user_ms: 1_210.0,
            system_ms: 3_640.0,
            workers_ms: 20.0,
            lower_us_per_io: Some(4.11),
            upper_us_per_io: None,
            upper_method: None,
            upper: None,
            clocks_per_byte: None,
            clock: None,
            instructions_per_io: Measured::not("this machine counts no instructions"),
            saturation_iops: None,
            saturation_bytes_per_s: None,
            ms_per_mib: Some(1.05),
            steal_ms: Some(12.0),
            all_cpus_ms: None,
            others_user_ms: None,
            idle_ms: None,
            split: CpuSplit::Sampled,
        }),
        device_counters: Measured::Value(device),
        harness: Measured::Value(Harness {
            ceiling_iops: 1_900_000.0,
            clock: "tsc".into(),
            clock_cost_ns: 11.2,
            engine_features: vec![
                "single issuer".into(),
                "deferred task run".into(),
                "registered buffers".into(),
            ],
            batching: None,
        }),
        findings: Vec::new(),
        environment: Some(environment()),
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
        total: None,
        clients: None,
        parts: Vec::new(),
    }
}

pub fn failing_trial() -> Trial {
    let mut trial = clean_trial();
    let mut write = direction_result(21_400.0, 4 * KIB, 9.0);
    write.errors = 12;
    write.error_kinds = vec![
        ErrorCount { errno: 5, message: "Input/output error".into(), count: 9 },
        ErrorCount { errno: 28, message: "No space left on device".into(), count: 3 },
    ];
    write.short = 2;
    if let Some(times) = &mut write.latency_ns {
        (times.p99_9, times.p99_99) = (None, None);
    }
    trial.workload.read_percent = 70;
    trial.workload.numjobs = 4;
    trial.workload.iodepth = 8;
    trial.result.write = Some(write);
    trial.result.steady = Some(false);
    trial.findings = vec![
        Finding::new(
            FindingCode::ShortTransfers,
            Severity::Invalid,
            "2 requests transferred fewer bytes than asked.",
            "look for what shortens them: `dmesg`, a full file system, a file that was truncated",
        ),
        Finding::new(
            FindingCode::NotSteady,
            Severity::Warning,
            "The rate moved during the run.",
            "run longer (--runtime 60s) or let it warm up (--ramp-time 10s)",
        )
        .with("change over the run", 0.18, "share"),
        Finding::new(
            FindingCode::IoErrors,
            Severity::Invalid,
            "12 requests failed.",
            "see `dmesg` for the device's own words",
        )
        .with("failed", 12.0, ""),
    ];
    trial
}

pub fn trial_without_device() -> Trial {
    let mut trial = clean_trial();
    let mut target = target(None);
    if let Some(filesystem) = &mut target.filesystem {
        filesystem.kind = "tmpfs".into();
        filesystem.in_memory = true;
        filesystem.source = "tmpfs".into();
        filesystem.mount_point = "/dev/shm".into();
    }
    target.path = "/dev/shm".into();
    target.extents = None;
    trial.targets = vec![target];
    trial.device_counters = Measured::not("there is no block device below /dev/shm (tmpfs)");
    trial.cpu = Measured::not("the kernel worker threads could not be read");
    trial.workload.cache = CacheMode::All;
    trial.result.steady = None;
    trial.findings = vec![Finding::new(
        FindingCode::NoDevice,
        Severity::Warning,
        "The file system lives in memory: there is no device.",
        "name a directory on a disk",
    )];
    trial
}

/// An open loop of reads and writes on a stripe, with all options of a run.
pub fn open_loop_trial() -> Trial {
    let mut trial = clean_trial();
    let workload = &mut trial.workload;
    workload.read_percent = 70;
    workload.pattern = Pattern::Zipf;
    workload.zipf_theta_milli = Some(1_200);
    workload.bs = vec![
        SizeShare { bytes: Bytes(4 * KIB), percent: 60 },
        SizeShare { bytes: Bytes(64 * KIB), percent: 40 },
    ];
    workload.arrival = Arrival::Poisson;
    workload.rate_iops = Some(30_000);
    workload.write_rate_iops = Some(9_000);
    workload.data = Data::Compressible;
    workload.compressible_percent = 50;
    workload.targets = 2;
    workload.stripe_bytes = Some(Bytes(64 * KIB));
    workload.polled = true;
    trial.targets.push(target(Some(virtual_disk())));
    let mut read = direction_result(20_900.0, 28 * KIB, 6.0);
    read.completion_ns = Some(times(212e3, &histogram(212e3)));
    read.offered_iops = Some(21_010.0);
    let write = DirectionResult {
        offered_iops: Some(9_005.0),
        completion_ns: Some(times(181e3, &histogram(181e3))),
        ..direction_result(8_990.0, 28 * KIB, 2.0)
    };
    trial.result.intervals = Some((0..50).map(|index| interval(index, &read, &write)).collect());
    trial.result.read = Some(read);
    trial.result.write = Some(write);
    trial.result.concurrency = 8.1;
    trial.result.warm_up =
        Some(WarmUp { duration_ns: Nanos(1_250_000_000), ios: 41_300, iops: 33_040.0 });
    trial.result.ended_by = Some(EndedBy::Precision);
    trial.result.open_loop = Some(OpenLoop {
        offered_iops: 30_015.0,
        late_mean_ns: 31_800.0,
        late_p99_ns: Some(402_000.0),
        late_max_ns: 8_310_000,
        pacer_late_mean_ns: Some(1_120.0),
        backlog_max: 41,
        backlog_end: 0,
        spin_ms: 3_120.0,
    });
    trial.result.verify = Some(VerifyResult {
        good: 81_204,
        lost: 1,
        stale: 2,
        bad: vec![BadBlock {
            offset_bytes: 1 << 20,
            fault: BlockFault::Lost,
            detail: "at 1048576: no tag".into(),
        }],
        ..VerifyResult::default()
    });
    trial.cache_dropped = Some(CacheDropped {
        method: DropCache::Dontneed,
        resident_before_bytes: Some(Bytes(1 << 30)),
        resident_after_bytes: Some(Bytes(0)),
    });
    trial.preconditioning = Some(Preconditioning {
        filled_bytes: Bytes(4 << 30),
        round_iops: vec![61_000.0, 44_000.0, 31_200.0, 30_900.0, 31_000.0, 30_700.0, 31_100.0],
        steady: true,
    });
    if let Measured::Value(cpu) = &mut trial.cpu {
        cpu.clocks_per_byte = Some(2.41);
        cpu.instructions_per_io = Measured::Value(9_480.0);
        cpu.saturation_iops = Some(486_000.0);
        cpu.saturation_bytes_per_s = Some(13.9e9);
        cpu.upper_us_per_io = Some(6.32);
        cpu.upper_method = Some("soaker".into());
        cpu.upper = Some(upper());
    }
    if let Measured::Value(harness) = &mut trial.harness {
        harness.batching = Some(Batching {
            requests_per_call: 3.4,
            error_mean_ns: 912.0,
            error_max_ns: 41_000,
            complete_batch: 1,
            held_mean_ns: None,
            held_max_ns: None,
        });
    }
    trial.cell = trial.workload.cell();
    trial
}

fn upper() -> CpuUpper {
    let estimate = |value: f64, half: f64| Estimate {
        value,
        low: value - half,
        high: value + half,
        se: half / 1.96,
        n: 12,
    };
    CpuUpper {
        us_per_io: estimate(6.32, 0.21),
        rate_change_rel: -0.031,
        ios: 290_000,
        cpus: 2,
        busy_share: 0.12,
        baseline_share: 0.01,
        lower_us_per_io: Some(estimate(4.3, 0.1)),
        elsewhere_us_per_io: Some(estimate(2.0, 0.2)),
        calibration_change_rel: 0.004,
        kernel: None,
        doubts: Vec::new(),
    }
}

fn interval(index: u64, read: &DirectionResult, write: &DirectionResult) -> IntervalResult {
    let of = |direction: &DirectionResult| IntervalDirection {
        ios: direction.ios / 10,
        bytes: direction.bytes / 10,
        iops: direction.iops * (1.0 + index as f64 / 1e3),
        bytes_per_s: direction.bytes_per_s,
        latency_ns: direction.latency_ns.clone(),
    };
    IntervalResult {
        begin_ns: Nanos(index * 1_000_000_000),
        length_ns: Nanos(1_000_000_000),
        read: Some(of(read)),
        write: Some(of(write)),
        trim: None,
        flush: None,
        concurrency: 8.1,
    }
}

/// The intervals of a run with reads only, few enough to be printed completely.
pub fn trial_with_intervals() -> Trial {
    let mut trial = clean_trial();
    let read = trial.result.read.clone().unwrap();
    let interval = |index| IntervalResult { write: None, ..interval(index, &read, &read) };
    trial.result.intervals = Some((0..4).map(interval).collect());
    trial
}
