//! Tests the derivation of each setting on a profile with known numbers.

use crate::diagnose::synthetic::{closed_cell, workload};
use diagnose::{Program, settings};
use record::{
    Bytes, Cell, CommitPoint, Commits, DepthCurve, DepthPoint, DeviceFacts, Estimate, FlushKind,
    HistogramSnapshot, Limits, LogKind, Measured, Nanos, OpKind, Pattern, Profile, Reruns, Target,
    TargetKind, bucket_index,
};

const PAGE: &str = include_str!("../../../../../docs/predict.md");

fn exact(value: f64) -> Estimate {
    Estimate::symmetric(value, 0.001 * value, 6)
}

fn cell(op: OpKind, pattern: Pattern, bytes: u64, depth: u32, iops: f64) -> Cell {
    closed_cell(workload(op, pattern, bytes, depth), iops)
}

/// A rotating disk: a random request takes 8 ms, whatever its size and depth. Sequential requests
/// reach 200 MB/s from 64 KiB and half of that below.
fn arm() -> Profile {
    let mut cells = Vec::new();
    for op in [OpKind::Read, OpKind::Write] {
        for bytes in [4u64 << 10, 8 << 10, 16 << 10] {
            for depth in [1u32, 2, 4, 8] {
                cells.push(cell(op, Pattern::Random, bytes, depth, 125.0));
            }
        }
        for (bytes, rate) in
            [(4u64 << 10, 100e6), (16 << 10, 100e6), (64 << 10, 200e6), (256 << 10, 200e6)]
        {
            cells.push(cell(op, Pattern::Sequential, bytes, 1, rate / bytes as f64));
        }
    }
    profile(cells, 125.0, Some(2))
}

/// A drive that serves 32 reads in parallel, random or sequential, in 100 us each, and 60,000
/// writes per second.
fn flash() -> Profile {
    let mut cells = Vec::new();
    for bytes in [4u64 << 10, 8 << 10, 16 << 10] {
        for depth in [1u32, 8, 32, 64] {
            let iops = 10_000.0 * f64::from(depth.min(32));
            cells.push(cell(OpKind::Read, Pattern::Random, bytes, depth, iops));
            cells.push(cell(OpKind::Write, Pattern::Random, bytes, depth, 60_000.0));
            cells.push(cell(OpKind::Read, Pattern::Sequential, bytes, depth, iops));
            cells.push(cell(OpKind::Write, Pattern::Sequential, bytes, depth, 60_000.0));
        }
    }
    profile(cells, 320_000.0, Some(32))
}

/// Rate as a share of the maximum: all of it from the knee, and proportional to the depth below it.
fn rate_at(depth: u32, knee: Option<u32>) -> f64 {
    knee.map_or(1.0, |knee| f64::from(depth.min(knee)) / f64::from(knee))
}

fn profile(cells: Vec<Cell>, max: f64, knee: Option<u32>) -> Profile {
    let curve = |op| DepthCurve {
        op,
        bs_bytes: 4096,
        points: [1u32, 2, 8, 32, 64]
            .into_iter()
            .map(|depth| DepthPoint {
                depth,
                iops: exact(max * rate_at(depth, knee)),
                latency_ns: exact(f64::from(depth) / max * 1e9),
                p99_ns: None,
                cpu_us_per_io: None,
            })
            .collect(),
        knee,
        knee_gain: 0.15,
        max_iops: exact(max),
        max_depth: 64,
    };
    Profile {
        schema: record::PROFILE_SCHEMA.to_owned(),
        halfpower_version: "0".to_owned(),
        id: "0192".to_owned(),
        time: None,
        seed: 1,
        simulated: false,
        target: Target {
            path: "/dev/sdb".to_owned(),
            kind: TargetKind::BlockDevice,
            size_bytes: Bytes(1 << 40),
            device: Some(DeviceFacts {
                disk: "sdb".to_owned(),
                major_minor: "8:16".to_owned(),
                scheduler: Some("none".to_owned()),
                ..DeviceFacts::default()
            }),
            filesystem: None,
            extents: None,
            file_hash: None,
            test_file: None,
        },
        clients: Vec::new(),
        facts: Vec::new(),
        environment: None,
        budget_ns: Nanos(1),
        measured_ns: Nanos(1),
        level_se_rel: None,
        run_spread: None,
        areas: Vec::new(),
        area_spreads: Vec::new(),
        earlier_levels: Vec::new(),
        cells,
        mixes: Vec::new(),
        lone_reads: Vec::new(),
        caps: Vec::new(),
        sustained: Vec::new(),
        commits: Measured::not("not made up"),
        service_time_fits: Vec::new(),
        depth_curves: vec![curve(OpKind::Read), curve(OpKind::Write)],
        size_curves: Vec::new(),
        limits: Limits {
            read_iops: None,
            write_iops: None,
            read_bytes_per_s: None,
            write_bytes_per_s: None,
        },
        expectations: Vec::new(),
        advice: Vec::new(),
        findings: Vec::new(),
    }
}

#[track_caller]
fn value(profile: &Profile, program: Program, name: &str) -> String {
    let found = settings(profile, &[], program, "0");
    let setting = found.settings.iter().find(|setting| setting.name == name);
    let setting = setting.unwrap_or_else(|| panic!("no {name} in {found:#?}"));
    if setting.value.value().is_some() {
        assert!(!setting.derivation.is_empty() || program == Program::Fio, "{setting:?}");
    }
    match &setting.value {
        Measured::Value(value) => value.clone(),
        Measured::NotMeasured { not_measured } => format!("not: {not_measured}"),
    }
}

#[test]
fn postgresql_pays_a_tenth_of_a_seek_per_random_page_and_never_less_than_a_sequential_one() {
    // 8 ms over 8 KiB at 200 MB/s (40.96 us): 195 times.
    assert_eq!(value(&arm(), Program::PostgreSql, "random_page_cost"), "19.5");
    // At queue depth 1, random 8 KiB take 100 us, and sequential 8 KiB take half of the 100 us of
    // 16 KiB: a tenth of the ratio 2 is below one. The ratio 64 to a stream at depth 32 does not
    // matter to a planner that waits.
    assert_eq!(value(&flash(), Program::PostgreSql, "random_page_cost"), "1.0");
    assert_eq!(value(&flash(), Program::PostgreSql, "effective_io_concurrency"), "32");
    assert_eq!(value(&arm(), Program::PostgreSql, "effective_io_concurrency"), "2");
    assert_eq!(value(&arm(), Program::PostgreSql, "io_combine_limit"), "128kB");
}

#[test]
fn mysql_gets_half_of_the_writes_and_neighbours_only_with_an_arm() {
    assert_eq!(value(&flash(), Program::MySql, "innodb_io_capacity"), "20000");
    assert_eq!(value(&arm(), Program::MySql, "innodb_io_capacity"), "100");
    assert_eq!(value(&arm(), Program::MySql, "innodb_io_capacity_max"), "112");
    assert_eq!(value(&arm(), Program::MySql, "innodb_flush_neighbors"), "1");
    assert_eq!(value(&flash(), Program::MySql, "innodb_flush_neighbors"), "0");
    assert_eq!(value(&arm(), Program::MySql, "innodb_read_io_threads"), "4");
}

#[test]
fn linux_reads_ahead_twice_what_saturates_and_orders_only_for_an_arm() {
    assert_eq!(value(&arm(), Program::Linux, "read_ahead_kb"), "128");
    assert_eq!(value(&arm(), Program::Linux, "scheduler"), "mq-deadline");
    assert_eq!(value(&flash(), Program::Linux, "scheduler"), "none");
    assert_eq!(value(&flash(), Program::Linux, "nr_requests"), "64");
    let found = settings(&arm(), &[], Program::Linux, "0");
    assert_eq!(found.settings[0].lines, ["echo 128 > /sys/block/sdb/queue/read_ahead_kb"]);
    // A change of the scheduler resets nr_requests.
    let names = found.settings.iter().map(|one| one.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["read_ahead_kb", "scheduler", "nr_requests"]);
}

/// The same with a read curve: these rates at QD 1, 2, 8, 32 and 64, with this relative error.
fn with_rates(rates: [f64; 5], error_rel: f64) -> Profile {
    let mut profile = flash();
    let curve = &mut profile.depth_curves[0];
    for (point, rate) in curve.points.iter_mut().zip(rates) {
        point.iops = Estimate::symmetric(rate, error_rel * rate, 6);
    }
    curve.max_iops = Estimate::symmetric(rates[4], error_rel * rates[4], 6);
    profile
}

fn of_postgresql(profile: &Profile, earlier: &[Profile], name: &str) -> record::Setting {
    let found = settings(profile, earlier, Program::PostgreSql, "0").settings;
    found.into_iter().find(|it| it.name == name).unwrap()
}

#[test]
fn a_second_check_keeps_the_depth_of_the_first_unless_its_error_excludes_it() {
    let depth = |profile: &Profile, earlier: &[Profile]| {
        of_postgresql(profile, earlier, "effective_io_concurrency")
    };
    // QD 1 reaches just below, or just above, four fifths of the maximum rate; QD 2 clearly more.
    let first = with_rates([79e3, 98e3, 99e3, 100e3, 100e3], 0.03);
    let second = with_rates([81e3, 98e3, 99e3, 100e3, 100e3], 0.03);
    assert_eq!(depth(&first, &[]).value.value().unwrap(), "2");
    assert_eq!(depth(&second, &[]).value.value().unwrap(), "1");
    let kept = depth(&second, std::slice::from_ref(&first));
    assert_eq!(kept.value.value().unwrap(), "2");
    assert!(kept.derivation.contains("earlier check"), "{kept:?}");
    // QD 2 reaches too little, by more than any error.
    let other = with_rates([10e3, 20e3, 80.5e3, 81e3, 81e3], 0.001);
    assert_eq!(depth(&other, &[first]).value.value().unwrap(), "8");
}

#[test]
fn a_setting_that_the_errors_of_the_check_leave_open_is_not_set() {
    // Errors of ±150 %: every depth may reach four fifths of the maximum rate.
    let noisy = with_rates([40e3, 60e3, 90e3, 100e3, 100e3], 1.5);
    let open = of_postgresql(&noisy, &[], "effective_io_concurrency");
    let why = open.value.reason().unwrap();
    assert!(why.contains("range from 1 to") && why.contains("--budget"), "{why}");
    assert!(open.lines.is_empty() && open.derivation.is_empty(), "{open:?}");
    // The same rates with small errors.
    let known = with_rates([40e3, 60e3, 90e3, 100e3, 100e3], 0.01);
    let set = of_postgresql(&known, &[], "effective_io_concurrency");
    assert_eq!(set.value.value().unwrap(), "8");
    // A setting clamped at both ends is determined even by a poor check.
    let mut poor = flash();
    poor.level_se_rel = Some(0.8);
    assert_eq!(of_postgresql(&poor, &[], "random_page_cost").value.value().unwrap(), "1.0");
}

#[test]
fn a_check_that_is_not_valid_gives_no_setting() {
    let mut invalid = flash();
    let found = record::Finding::new(
        record::FindingCode::IoErrors,
        record::Severity::Invalid,
        "Requests failed.",
        "",
    );
    invalid.findings.push(found);
    for program in Program::ALL {
        for one in settings(&invalid, &[], program, "0").settings {
            assert!(one.value.reason().is_some_and(|why| why.contains("io_errors")), "{one:?}");
            assert!(one.lines.is_empty(), "{one:?}");
        }
    }
}

#[test]
fn the_queue_of_linux_holds_what_writes_gain_from_and_is_never_made_shorter() {
    let mut profile = flash();
    let writes = &mut profile.depth_curves[1];
    for point in &mut writes.points {
        point.iops = exact(1e3 * f64::from(point.depth));
    }
    assert_eq!(value(&profile, Program::Linux, "nr_requests"), "128");
    profile.target.device.as_mut().unwrap().nr_requests = Some(256);
    assert_eq!(value(&profile, Program::Linux, "nr_requests"), "256");
}

#[test]
fn a_setting_that_an_older_postgresql_refuses_is_a_comment_with_its_version() {
    let found = settings(&arm(), &[], Program::PostgreSql, "0").settings;
    let combine = found.iter().find(|it| it.name == "io_combine_limit").unwrap();
    assert!(combine.lines.iter().all(|line| line.starts_with("# ")), "{combine:?}");
    assert!(combine.lines[0].contains("PostgreSQL 17"), "{combine:?}");
    assert_eq!(combine.lines[1], "# io_combine_limit = 128kB");
    let others = found.iter().filter(|it| it.name != "io_combine_limit");
    assert!(others.flat_map(|it| &it.lines).all(|line| !line.starts_with('#')));
}

#[test]
fn the_job_for_fio_reads_at_the_knee_and_never_writes() {
    assert_eq!(value(&flash(), Program::Fio, "iodepth"), "32");
    assert_eq!(value(&flash(), Program::Fio, "bs"), "4096");
    assert_eq!(value(&flash(), Program::Fio, "rw"), "randread");
    assert_eq!(value(&flash(), Program::Fio, "filename"), "/dev/sdb");
    // A directory gets a file of fio's own, so no placeholder is left to fill in.
    let mut of_directory = flash();
    of_directory.target.kind = TargetKind::Directory;
    of_directory.target.path = "/srv".to_owned();
    let text = settings(&of_directory, &[], Program::Fio, "0").settings;
    let lines: Vec<String> = text.into_iter().flat_map(|it| it.lines).collect();
    assert!(lines.iter().any(|line| line == "directory=/srv"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("size=")), "{lines:?}");
}

/// Programs and their settings in the table of the page. An empty first column repeats the program.
fn settings_of_the_page() -> Vec<(&'static str, Vec<&'static str>)> {
    let (_, table) = PAGE.split_once("| program | setting | derived from |").unwrap();
    let mut programs: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    // The rest of the header's line, and the line below it.
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
        if !columns[1].is_empty() {
            programs.push((columns[1], Vec::new()));
        }
        let (_, names) = programs.last_mut().unwrap();
        names.extend(columns[2].split('`').skip(1).step_by(2));
    }
    programs
}

#[test]
fn the_page_lists_the_settings_of_each_program_in_the_order_of_output() {
    let page = settings_of_the_page();
    assert_eq!(page.len(), Program::ALL.len(), "{page:?}");
    for program in Program::ALL {
        let row = page.iter().find(|(name, _)| *name == program.name());
        let (_, listed) = row.unwrap_or_else(|| panic!("no {} in {page:?}", program.name()));
        let found = settings(&flash(), &[], program, "0").settings;
        let derived: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        // The page describes the job for fio as a whole.
        let expected = if program == Program::Fio { Vec::new() } else { derived };
        assert_eq!(*listed, expected, "{}", program.name());
    }
}

#[test]
fn a_device_without_a_request_queue_gets_no_setting_of_one() {
    let mut profile = flash();
    profile.target.device.as_mut().unwrap().scheduler = None;
    for name in ["nr_requests", "scheduler"] {
        let told = value(&profile, Program::Linux, name);
        assert_eq!(told, "not: the device has no request queue");
    }
}

#[test]
fn an_empty_profile_sets_nothing_and_says_why() {
    let empty = Profile { depth_curves: Vec::new(), ..profile(Vec::new(), 1.0, None) };
    for program in [Program::PostgreSql, Program::MySql, Program::Linux] {
        for setting in settings(&empty, &[], program, "0").settings {
            assert!(setting.lines.is_empty(), "{setting:?}");
            let why = setting.value.reason().unwrap_or_default();
            assert!(why.contains("the profile has "), "{setting:?}");
        }
    }
}

/// Commits of a single committer: flushes take 2 ms on overwritten blocks and 5 ms on new ones. One
/// in a thousand of the latter takes `slow_ns`.
fn committing(slow_ns: u64) -> Profile {
    let point = |log, flush_ns: u64, slow_ns: u64| CommitPoint {
        log,
        committers: 1,
        bytes: Bytes(8192),
        flush: FlushKind::Fdatasync,
        trial_ids: Vec::new(),
        commits_per_s: exact(1e9 / flush_ns as f64),
        flush_ns: exact(flush_ns as f64),
        write_ns: exact(0.0),
        flush_p99_ns: Measured::Value(exact(flush_ns as f64)),
        histogram: HistogramSnapshot {
            buckets: vec![
                (bucket_index(flush_ns) as u32, 49_900),
                (bucket_index(slow_ns) as u32, 100),
            ],
        },
    };
    let mut commits = Commits {
        points: vec![
            point(LogKind::Overwritten, 2_000_000, slow_ns),
            point(LogKind::NewBlocks, 5_000_000, slow_ns),
        ],
        verdicts: Vec::new(),
    };
    commits.verdicts = diagnose::commit_verdicts(&commits, &Reruns::default());
    Profile { commits: Measured::Value(commits), ..arm() }
}

#[test]
fn etcd_outlasts_the_slowest_flush_in_a_thousand_and_never_beats_faster_than_its_default() {
    let of = |slow_ms: u64, name| value(&committing(slow_ms * 1_000_000), Program::Etcd, name);
    assert_eq!(of(40, "heartbeat-interval"), "100");
    assert_eq!(of(40, "election-timeout"), "1000");
    // Within a bucket's width of 0.8 %.
    let slow: f64 = of(500, "heartbeat-interval").parse().unwrap();
    assert!((496.0..=504.0).contains(&slow), "{slow}");
    assert_eq!(of(40, "disk fast enough"), "yes");
}

#[test]
fn too_few_flushes_for_a_setting_of_etcd_name_the_budget_that_gives_enough() {
    let mut profile = committing(40_000_000);
    profile.budget_ns = Nanos(60_000_000_000);
    if let Measured::Value(commits) = &mut profile.commits {
        for point in &mut commits.points {
            point.histogram = HistogramSnapshot { buckets: vec![(700, 1_436)] };
        }
    }
    let told = value(&profile, Program::Etcd, "heartbeat-interval");
    // 1.25 * 10,000 / 1,436 is 8.7: nine times the budget.
    assert!(told.starts_with("not: 1436 flushes of a new log are too few"), "{told}");
    assert!(told.ends_with("--budget 540s"), "{told}");
}

#[test]
fn commits_set_the_delay_of_postgresql_and_tell_what_mysql_pays_for_durability() {
    let profile = committing(3_000_000);
    assert_eq!(value(&profile, Program::PostgreSql, "commit_delay"), "1000");
    assert_eq!(value(&profile, Program::MySql, "innodb_flush_log_at_trx_commit"), "1");
    let all = settings(&profile, &[], Program::MySql, "0");
    let derivation = &all.settings.last().unwrap().derivation;
    // 2 ms and 5 ms in sequence.
    assert!(derivation.contains("at most 143 times"), "{derivation}");
}

#[test]
fn a_need_is_met_by_a_whole_interval_or_not_by_any_of_it() {
    let with = |low: f64, high: f64| {
        let profile = committing(3_000_000);
        let mut commits = profile.commits.value().unwrap().clone();
        let p99 = Estimate::spanning((low + high) / 2.0, low, high, 3);
        commits.points[1].flush_p99_ns = Measured::Value(p99);
        commits.points[1].commits_per_s = p99.scaled(1.0 / 2e4);
        let verdicts = diagnose::commit_verdicts(&commits, &Reruns::default());
        verdicts.iter().map(|verdict| verdict.met).collect::<Vec<_>>()
    };
    // Requirements: the percentile below 10 ms; at least 50 and 500 per second.
    assert_eq!(with(8e6, 9e6), [Some(true), Some(true), Some(false)]);
    assert_eq!(with(9e6, 12e6), [None, Some(true), None]);
    assert_eq!(with(12e6, 13e6), [Some(false), Some(true), Some(true)]);
    let mut unknown = committing(3_000_000).commits.value().unwrap().clone();
    unknown.points[1].flush_p99_ns = Measured::not("999 flushes are too few");
    let of = |commits: &Commits| diagnose::commit_verdicts(commits, &Reruns::default()).remove(0);
    let verdict = of(&unknown);
    assert_eq!((verdict.met, verdict.measured.reason()), (None, Some("999 flushes are too few")));
    // 1 ms ±145 % is below 10 ms, but means next to nothing.
    let wide = Estimate::spanning(1e6, -4.5e5, 2.45e6, 3);
    unknown.points[1].flush_p99_ns = Measured::Value(wide);
    assert_eq!(of(&unknown).met, None);
}

#[test]
fn a_disk_that_changes_between_runs_gets_no_verdict_from_one_of_them() {
    let mut commits = committing(3_000_000).commits.value().unwrap().clone();
    commits.points[1].flush_p99_ns = Measured::Value(Estimate::spanning(32e6, 30e6, 36e6, 3));
    let of = |percentile_se| {
        let reruns = Reruns { common_percentile_ses: [percentile_se; 3], ..Reruns::default() };
        diagnose::commit_verdicts(&commits, &reruns).remove(0)
    };
    assert_eq!(of(0.0).met, Some(false));
    // Another run may differ by four times.
    let verdict = of(0.7);
    assert_eq!(verdict.met, None);
    assert!(verdict.measured.value().unwrap().includes(10e6), "{verdict:?}");
}
