//! Sample trials: a clean one, one with errors, one without a device.

use super::facts::{environment, target, virtual_disk};
use super::{KIB, histogram, workload};
use record::{
    CacheMode, CpuCost, CpuSplit, DeviceCounters, DirectionResult, ErrorCount, Finding,
    FindingCode, Harness, HistogramSnapshot, Measured, Nanos, OpKind, Pattern, Series, Severity,
    TRIAL_SCHEMA, TimeSummary, Trial, TrialResult,
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
        response_ns: Some(times(mean, &histogram)),
        completion_ns: Some(times(mean, &histogram)),
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
            series: Series::default(),
        },
        cpu: Measured::Value(CpuCost {
            user_ms: 1_210.0,
            system_ms: 3_640.0,
            workers_ms: 20.0,
            lower_us_per_io: Some(4.11),
            upper_us_per_io: None,
            upper_method: None,
            ms_per_mib: Some(1.05),
            steal_ms: Some(12.0),
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
        }),
        findings: Vec::new(),
        environment: Some(environment()),
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
    if let Some(times) = &mut write.response_ns {
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
