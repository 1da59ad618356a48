//! Points of commits: which trials form them, and what their intervals include.

use crate::model::compare::profile_of;
use crate::model::synthetic::{trial, workload};
use model::{CompareOptions, Flushes, Sessions, Side};
use record::{
    CommitPoint, CommitPrediction, Commits, ComparedMetric, ComparedVerdict, DirectionResult,
    Estimate, Flush, FlushKind, HistogramSnapshot, LogKind, Measured, OpKind, Pattern, TimeSummary,
    Trial, Workload, bucket_index,
};

fn committing(committers: u32, new_blocks: bool) -> Workload {
    Workload {
        numjobs: committers,
        depth: committers,
        from_start: new_blocks,
        flush: Some(Flush { kind: FlushKind::Fdatasync, every: 1 }),
        ..workload(OpKind::Write, Pattern::Sequential, 8192, 1)
    }
}

/// A trial whose flushes take these times, with these counts.
fn flushed(workload: &Workload, iops: f64, times: &[(u64, u64)]) -> Trial {
    let buckets = times.iter().map(|&(ns, count)| (bucket_index(ns) as u32, count)).collect();
    let histogram = HistogramSnapshot { buckets };
    let count = histogram.count();
    let mean = times.iter().map(|&(ns, many)| ns as f64 * many as f64).sum::<f64>() / count as f64;
    let summary = TimeSummary {
        mean,
        mean_ci95_rel: Some(0.02),
        stddev: 0.0,
        min: 0,
        max: 0,
        p50: None,
        p90: None,
        p95: None,
        p99: None,
        p99_9: None,
        p99_99: None,
    };
    let mut trial = trial(workload, iops);
    trial.result.flush = Some(DirectionResult {
        ios: count,
        iops,
        iops_ci95_rel: Some(0.03),
        latency_ns: Some(summary),
        histogram,
        ..DirectionResult::default()
    });
    trial
}

#[test]
fn commits_are_points_by_log_and_committers_and_no_cells_of_the_device() {
    let (old, new) = (committing(4, false), committing(1, true));
    let plain = workload(OpKind::Write, Pattern::Sequential, 8192, 1);
    let trials = [
        flushed(&new, 500.0, &[(2_000_000, 100)]),
        flushed(&old, 4000.0, &[(1_000_000, 100)]),
        flushed(&old, 4200.0, &[(1_000_000, 100)]),
        trial(&plain, 9000.0),
    ];
    let points = model::commit_points(&trials);
    let found: Vec<_> = points.iter().map(|point| (point.log, point.committers)).collect();
    assert_eq!(found, [(LogKind::Overwritten, 4), (LogKind::NewBlocks, 1)]);
    assert!((points[0].commits_per_s.value - 4100.0).abs() < 1e-6);
    assert_eq!(points[0].histogram.count(), 200);
    assert!((points[1].flush_ns.value - 2e6).abs() < 1.0);
    assert!((points[1].commits_per_s.relative_half_width() - 0.03).abs() < 1e-4, "its own");
    let cells = model::aggregate(&trials, 0.05);
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].cell, plain.cell());
}

#[test]
fn the_percentile_holds_those_of_its_visits_and_is_not_told_of_few_flushes() {
    let workload = committing(1, true);
    let few = [flushed(&workload, 100.0, &[(1_000_000, 999)])];
    let reason = model::commit_points(&few)[0].flush_p99_ns.reason().unwrap().to_owned();
    assert_eq!(reason, "999 flushes are too few; 1,000 are needed");
    // Two in a hundred are slow in one visit, none in the other: one in a hundred of all.
    let uneven = [
        flushed(&workload, 100.0, &[(1_000_000, 2940), (9_000_000, 60)]),
        flushed(&workload, 100.0, &[(1_000_000, 3000)]),
    ];
    let p99 = *model::commit_points(&uneven)[0].flush_p99_ns.value().unwrap();
    assert!(p99.low < 1.02e6 && p99.high > 8.9e6, "{p99:?}");
    // The same in each: only the rank is uncertain.
    let even = [flushed(&workload, 100.0, &[(1_000_000, 2900), (9_000_000, 100)])];
    let p99 = *model::commit_points(&even)[0].flush_p99_ns.value().unwrap();
    assert!(p99.low > 8.9e6 && p99.high < 9.1e6, "{p99:?}");
}

#[test]
fn a_trial_whose_writes_failed_makes_no_point() {
    let mut bad = flushed(&committing(1, false), 100.0, &[(1_000_000, 2000)]);
    bad.result.write.as_mut().unwrap().errors = 1;
    assert!(model::commit_points(&[bad]).is_empty());
}

#[test]
fn visits_that_lie_far_apart_make_no_rate_below_zero() {
    let visits = [900.0, 4000.0, 6000.0]
        .map(|rate| flushed(&committing(1, false), rate, &[(200_000, 1000)]));
    let rate = model::commit_points(&visits)[0].commits_per_s;
    assert!(rate.low > 0.0 && rate.low < 1000.0 && rate.high > 6000.0, "{rate:?}");
}

#[test]
fn the_rate_times_the_time_of_a_flush_is_the_number_of_committers_however_the_visits_differ() {
    let of = |rate: f64, times: &[(u64, u64)]| flushed(&committing(1, false), rate, times);
    let visits = [of(2000.0, &[(500_000, 4000)]), of(100.0, &[(10_000_000, 200)])];
    let point = model::commit_points(&visits).remove(0);
    let committers = point.commits_per_s.value * point.flush_ns.value / 1e9;
    assert!((committers - 1.0).abs() < 0.01, "{committers}: {point:?}");
}

/// One committer whose flush always takes this time, without a write before it.
fn constant(ns: u64) -> CommitPoint {
    let trial = flushed(&committing(1, false), 1e9 / ns as f64, &[(ns, 1000)]);
    let mut point = model::commit_points(&[trial]).remove(0);
    point.write_ns = Estimate::symmetric(0.0, 0.0, 1);
    point
}

/// Commits if both one committer and several have the flushes of this point.
fn grouped(point: &CommitPoint, sessions: &Sessions, level: f64) -> CommitPrediction {
    let flushes = Flushes { log: point, rewritten: None };
    model::group_commit([flushes; 2], sessions, level)
}

fn predicted(sessions: u32, work_us: f64, processors: u32) -> CommitPrediction {
    let sessions = Sessions { sessions, work_ns: work_us * 1e3, processors, record_bytes: None };
    grouped(&constant(1_000_000), &sessions, 0.0)
}

#[test]
fn records_of_a_batch_that_exceed_a_block_always_meet_a_new_one() {
    let (new, old) = (constant(3_000_000), constant(100_000));
    let flushes = Flushes { log: &new, rewritten: Some(&old) };
    let sessions = Sessions { sessions: 16, work_ns: 0.0, processors: 16, record_bytes: Some(300) };
    let found = model::group_commit([flushes; 2], &sessions, 0.0).commits_per_s;
    // 16 times 300 bytes are more than 4 KiB: each flush of 3 ms serves all.
    assert!((found.value / (16.0 / 3e-3) - 1.0).abs() < 0.02, "{found:?}");
}

#[test]
fn the_worst_case_is_what_as_many_committers_reached_with_a_flush_each() {
    let alone = constant(1_000_000);
    let commits_per_s = Estimate::symmetric(8_000.0, 1.0, 3);
    let separate = CommitPoint { committers: 64, commits_per_s, ..constant(8_000_000) };
    let sessions = Sessions { sessions: 64, work_ns: 0.0, processors: 2, record_bytes: None };
    let of = |log| Flushes { log, rewritten: None };
    let found = model::group_commit([of(&alone), of(&separate)], &sessions, 0.0).commits_per_s;
    assert!((7_500.0..8_100.0).contains(&found.low), "64 in 8 ms: {found:?}");
    let points = vec![alone, separate];
    let commits = Commits { points, verdicts: Vec::new() };
    let measured = |sessions| {
        let sessions = Sessions { sessions, work_ns: 0.0, processors: 2, record_bytes: None };
        let [alone, separate] = Flushes::of(&commits, LogKind::Overwritten, &sessions).unwrap();
        [alone.log.committers, separate.log.committers]
    };
    assert_eq!([1, 2, 64, 100].map(measured), [[1, 1], [1, 64], [1, 64], [1, 64]]);
}

#[test]
fn small_records_of_a_growing_log_meet_a_new_block_now_and_then() {
    let one = |new, ns: u64| flushed(&committing(1, new), 1000.0, &[(ns, 1000)]);
    let trials = [one(true, 1_000_000), one(false, 100_000)];
    let mut profile = profile_of(&trials);
    let points = model::commit_points(&trials);
    profile.commits = Measured::Value(Commits { points, verdicts: Vec::new() });
    let question = model::PredictQuestion {
        mix: record::Mix::default(),
        offered: None,
        objectives: Vec::new(),
        halfpower_version: String::new(),
    };
    let commit = |record_bytes| {
        let sessions = Sessions { sessions: 1, work_ns: 0.0, processors: 2, record_bytes };
        let log = LogKind::NewBlocks;
        let found = question.by_commits(&profile, log, &sessions).unwrap().commits.unwrap();
        (found.commit_ns.value, found.commit_p99_ns.value)
    };
    let (whole, _) = commit(None);
    let (quarter, slowest) = commit(Some(1_024));
    let write = whole - 1_000_000.0;
    // One in four is flushed with a new block.
    let expected = 0.25 * 1_000_000.0 + 0.75 * 100_000.0 + write;
    assert!((quarter / expected - 1.0).abs() < 0.05, "{quarter} {expected}");
    assert!(slowest > 900_000.0, "{slowest}");
    let (rare, usual) = commit(Some(16));
    assert!(rare < 0.15e6 + write && usual < 0.2e6 + write, "{rare} {usual}");
}

#[test]
fn a_session_alone_commits_once_per_flush_and_work() {
    for (work_us, rate) in [(0.0, 1000.0), (1000.0, 500.0), (9000.0, 100.0)] {
        let found = predicted(1, work_us, 4);
        let error = found.commits_per_s.value / rate - 1.0;
        assert!(error.abs() < 0.02, "{work_us} us: {found:?}");
        assert!((found.commits_per_flush - 1.0).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn sessions_that_hardly_work_share_every_second_flush_and_wait_for_two() {
    let found = predicted(32, 1.0, 64);
    assert!((found.commits_per_flush - 16.0).abs() < 1.0, "{found:?}");
    assert!((found.commits_per_s.value / 16e3 - 1.0).abs() < 0.05, "{found:?}");
    assert!((found.commit_ns.value / 2e6 - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn processors_limit_many_sessions_and_then_flushes_hardly_matter() {
    // 2 processors at 1 ms each: 2,000 per second, whatever the number of sessions beyond.
    let found = predicted(64, 1000.0, 2);
    assert!((found.commits_per_s.value / 2000.0 - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn the_range_reaches_down_to_a_flush_for_each_commit() {
    let many = predicted(32, 1.0, 64).commits_per_s;
    assert!((many.low / 1000.0 - 1.0).abs() < 0.04, "a flush of a millisecond each: {many:?}");
    assert!(many.high >= many.value && many.value > 15e3, "{many:?}");
    let idle = predicted(16, 0.0, 64).commits_per_s;
    assert!((idle.low / 1000.0 - 1.0).abs() < 0.04, "without any work as well: {idle:?}");
    // A single session does not share a flush.
    let one = predicted(1, 1000.0, 4).commits_per_s;
    assert!(one.half_width() < 0.01 * one.value, "{one:?}");
}

#[test]
fn the_range_holds_the_measured_rate_of_separate_flushes_and_the_error_of_shared_ones() {
    // Half of a committer's turn is neither a write nor a flush, as on busy processors.
    let alone = CommitPoint { flush_ns: Estimate::symmetric(1e6, 2e5, 3), ..constant(1_000_000) };
    let rate = |committers: u32, turn_us: f64| CommitPoint {
        committers,
        commits_per_s: Estimate::symmetric(f64::from(committers) * 1e6 / turn_us, 1.0, 3),
        ..constant(1_300_000)
    };
    for (committers, turn_us) in [(4, 2600.0), (8, 6000.0)] {
        let separate = rate(committers, turn_us);
        let of = |log| Flushes { log, rewritten: None };
        let sessions =
            Sessions { sessions: committers, work_ns: 1e5, processors: 8, record_bytes: None };
        let found = model::group_commit([of(&alone), of(&separate)], &sessions, 0.0).commits_per_s;
        let measured = separate.commits_per_s.value;
        assert!(found.low < 1.03 * measured, "{measured}: {found:?}");
        assert!(found.low < 0.9 * found.value && found.high > 1.1 * found.value, "{found:?}");
    }
}

#[test]
fn a_doubtful_flush_time_widens_the_prediction() {
    let sessions = Sessions { sessions: 8, work_ns: 1e5, processors: 8, record_bytes: None };
    let sure = grouped(&constant(1_000_000), &sessions, 0.01).commits_per_s;
    let unsure = grouped(&constant(1_000_000), &sessions, 0.2).commits_per_s;
    let above = |found: &Estimate| found.high - found.value;
    assert!(above(&unsure) > 3.0 * above(&sure), "{sure:?} {unsure:?}");
    assert!(unsure.includes(unsure.value));
}

#[test]
fn profiles_are_also_compared_by_their_commits() {
    let side = |id: &str, rate: f64| {
        let reads = workload(OpKind::Read, Pattern::Random, 4096, 1);
        let committing = committing(4, false);
        let visits = [0.99, 1.0, 1.01]
            .map(|factor| flushed(&committing, rate * factor, &[(1_000_000, 1_000)]));
        let points = model::commit_points(&visits);
        let mut profile = profile_of(&[0.99, 1.0, 1.01].map(|factor| trial(&reads, 1e4 * factor)));
        profile.id = id.to_owned();
        profile.level_se_rel = Some(0.0);
        profile.commits = Measured::Value(Commits { points, verdicts: Vec::new() });
        Side::of_profile(id, &profile, &[]).unwrap()
    };
    let options = CompareOptions::default();
    let comparison = model::compare(&side("before", 4000.0), &side("after", 8000.0), &options);
    let mut cells = comparison.cells.iter();
    let commits = cells.find(|cell| cell.label == "commits, log overwritten, 4 committers");
    let row = &commits.unwrap().rows[0];
    assert_eq!((row.metric, row.verdict), (ComparedMetric::CommitsPerS, ComparedVerdict::Better));
    assert!(comparison.overall.is_none(), "commits are no load on the device");
}
