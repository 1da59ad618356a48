//! Complete runs of `check` on devices with a known truth.

use crate::program::{found, halfpower, profile};
use record::{Cell, DepthCurve, Estimate, FindingCode, OpKind, Pattern, Profile, Severity};

/// Checks that the truth is in an interval, widened by a share of it for errors that repetition does not
/// show.
#[track_caller]
fn check_within(what: &str, estimate: &Estimate, truth: f64, share: f64) {
    let (low, high) = (estimate.low - share * truth, estimate.high + share * truth);
    assert!(low <= truth && truth <= high, "{what}: {estimate:?}, not {truth}");
}

/// Times of a device without variance are rounded to whole nanoseconds.
const ROUNDING: f64 = 1e-6;
/// A window counts whole requests. On a device without variance, each visit of at least 64 requests has the
/// same error of up to one.
const COUNTING: f64 = 1.0 / 64.0;

/// A limit is the largest rate of several cells at the same capacity. It exceeds their mean by up to one and
/// a half standard errors, which its interval does not include.
const SELECTION: f64 = 0.01;

fn random_reads(profile: &Profile) -> &DepthCurve {
    profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read).unwrap()
}

#[test]
fn fits_recover_service_time_and_transfer_rate() {
    let profile = profile(0, "sim:md1,service=1ms,rate=100MB/s");
    for op in [OpKind::Read, OpKind::Write] {
        let fits: Vec<_> = profile.service_time_fits.iter().filter(|fit| fit.op == op).collect();
        assert!(fits.iter().any(|fit| fit.pattern == Pattern::Sequential), "no line for {op:?}");
        for fit in fits {
            let what = format!("{op:?} {:?}", fit.pattern);
            check_within(&format!("{what}, intercept"), &fit.intercept_ns, 1e6, ROUNDING);
            check_within(&format!("{what}, slope"), &fit.slope_ns_per_byte, 10.0, ROUNDING);
            assert!(fit.sizes_bytes.len() >= 5 && fit.left_out.is_empty(), "{fit:?}");
        }
    }
    assert!(!found(&profile.findings, FindingCode::FitPoor));
}

#[test]
fn fits_recover_service_time_and_transfer_rate_from_times_that_vary() {
    let profile = profile(0, "sim:mm1,service=1ms,rate=100MB/s --budget 600s");
    assert!(profile.service_time_fits.len() >= 2, "reads and writes");
    for fit in &profile.service_time_fits {
        let what = format!("{:?} {:?}", fit.op, fit.pattern);
        check_within(&format!("{what}, intercept"), &fit.intercept_ns, 1e6, 0.0);
        check_within(&format!("{what}, slope"), &fit.slope_ns_per_byte, 10.0, 0.0);
        // An interval that includes everything would prove nothing.
        assert!(fit.intercept_ns.relative_half_width() < 0.1, "{fit:?}");
        assert!(fit.slope_ns_per_byte.relative_half_width() < 0.1, "{fit:?}");
    }
}

#[test]
fn the_knee_is_at_the_number_of_servers_and_the_limit_is_theirs() {
    for servers in [1, 4, 16, 64] {
        let kind = format!("sim:mdc,servers={servers},service=1ms");
        let profile = profile(0, &kind);
        for curve in &profile.depth_curves {
            assert_eq!(curve.knee, Some(servers), "{kind} {:?}", curve.op);
        }
        let truth = f64::from(servers) * 1000.0;
        check_within(&kind, profile.limits.read_iops.as_ref().unwrap(), truth, COUNTING);
        check_within(&kind, profile.limits.write_iops.as_ref().unwrap(), truth, COUNTING);
        assert!(profile.caps.is_empty(), "{kind}: {:?}", profile.caps);
    }
}

#[test]
fn the_limit_of_servers_whose_times_vary_lies_in_its_interval() {
    for servers in testkit::draws(&[1, 8][..], &[1, 4, 8, 16]).iter().copied() {
        let kind = format!("sim:mmc,servers={servers},service=1ms --budget 600s");
        let profile = profile(0, &kind);
        let truth = f64::from(servers) * 1000.0;
        for limit in [&profile.limits.read_iops, &profile.limits.write_iops] {
            check_within(&kind, limit.as_ref().unwrap(), truth, SELECTION);
        }
    }
}

#[test]
fn the_depth_curve_of_many_servers_is_a_straight_line_up_to_them() {
    let profile = profile(0, "sim:mmc,servers=8,service=1ms");
    let points = &random_reads(&profile).points;
    assert!(points.len() >= 5, "{points:?}");
    for point in points {
        let busy = f64::from(point.depth.min(8));
        let rate = point.iops.value / (busy * 1000.0);
        assert!((rate - 1.0).abs() < 0.1, "depth {}: {:?}", point.depth, point.iops);
        let latency = point.latency_ns.value / (f64::from(point.depth) / busy * 1e6);
        assert!((latency - 1.0).abs() < 0.1, "depth {}: {:?}", point.depth, point.latency_ns);
    }
}

/// Mean latency of M/M/c in units of the service time, at a share `rho` of its capacity (Erlang 1917;
/// Kleinrock 1975, section 3.5).
fn erlang_c_latency(servers: u32, rho: f64) -> f64 {
    let c = f64::from(servers);
    let offered = c * rho;
    // Erlang B by its recursion, then C from B.
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    let waits = blocked / (1.0 - rho * (1.0 - blocked));
    1.0 + waits / (c * (1.0 - rho))
}

#[test]
fn what_to_expect_is_what_theory_says_of_the_device() {
    for servers in [1, 8] {
        let kind = format!("sim:mmc,servers={servers},service=1ms --budget 600s");
        let profile = profile(0, &kind);
        let reads = |op| op == OpKind::Read;
        let expected: Vec<_> = profile.expectations.iter().filter(|it| reads(it.op)).collect();
        let shares: Vec<f64> = expected.iter().map(|it| it.saturation).collect();
        assert_eq!(shares, [0.25, 0.5, 0.75, 0.9]);
        for it in expected {
            let truth = 1e6 * erlang_c_latency(servers, it.saturation);
            let ratio = it.latency_ns.value / truth;
            // The curve is measured to 5 % per point. Near saturation, an error of 1 % in the limit changes
            // the latency by 10 %.
            let tolerance = if it.saturation < 0.8 { 0.1 } else { 0.25 };
            assert!((ratio - 1.0).abs() < tolerance, "{kind} {it:?}: theory has {truth}");
            let rate = it.iops / (f64::from(servers) * 1000.0 * it.saturation);
            assert!((rate - 1.0).abs() < 0.05, "{kind} {it:?}");
        }
    }
}

#[test]
fn m_m_1_is_right_for_one_server_and_its_error_is_shown_for_many() {
    let error = |kind: &str| {
        let profile = profile(0, &format!("{kind},service=1ms --budget 600s"));
        let at_quarter = profile.expectations.iter().find(|it| it.saturation == 0.25).unwrap();
        at_quarter.mm1_error_rel
    };
    assert!(error("sim:mm1").abs() < 0.1);
    // Its S is the time between completions, an eighth of the service time: far too fast.
    assert!(error("sim:mmc,servers=8") < -0.5);
}

#[test]
fn a_cache_is_seen_where_there_is_one_and_not_where_there_is_none() {
    let with = profile(0, "sim:mdc,service=1ms,hit=50us,cache=64m");
    assert!(found(&with.findings, FindingCode::CacheSeen), "{:?}", with.findings);
    assert!(!found(&with.findings, FindingCode::NoCacheSeen));
    let without = profile(0, "sim:mdc,service=1ms");
    assert!(found(&without.findings, FindingCode::NoCacheSeen), "{:?}", without.findings);
    assert!(!found(&without.findings, FindingCode::CacheSeen));
}

#[test]
fn a_device_that_slows_down_is_told_and_a_steady_one_is_not() {
    let slowing = profile(0, "sim:mmc,service=1ms,drift=50%");
    assert!(found(&slowing.findings, FindingCode::Drift), "{:?}", slowing.findings);
    for seed in 1..=testkit::draws(2, 5) {
        let steady = profile(0, &format!("sim:mmc,service=1ms --seed {seed}"));
        assert!(!found(&steady.findings, FindingCode::Drift), "{seed}: {:?}", steady.findings);
    }
}

#[test]
fn precision_is_reached_on_a_regular_device_and_its_lack_is_told_on_an_irregular_slow_one() {
    let regular = profile(0, "sim:mdc,service=1ms");
    assert!(regular.cells.iter().all(|cell| cell.precise));
    assert!(!found(&regular.findings, FindingCode::PrecisionNotReached));
    let irregular = profile(0, "sim:mm1,service=20ms");
    assert!(irregular.cells.iter().any(|cell| !cell.precise));
    assert!(found(&irregular.findings, FindingCode::PrecisionNotReached));
}

#[test]
fn every_cell_is_visited_three_times_at_least_and_says_truly_whether_it_is_precise() {
    let profile = profile(0, "sim:mmc,service=1ms");
    for cell in &profile.cells {
        assert!(cell.trial_ids.len() >= 3, "{:?}", cell.workload);
        assert_eq!(cell.precise, cell.iops.relative_half_width() <= 0.05, "{:?}", cell.iops);
    }
}

#[test]
fn errors_make_a_check_not_clean() {
    let bad = profile(1, "sim:mmc,service=1ms,error=0.001");
    let invalid =
        |code| bad.findings.iter().any(|it| it.code == code && it.severity == Severity::Invalid);
    assert!(invalid(FindingCode::IoErrors), "{:?}", bad.findings);
}

/// Number of cells of the matrix: direct I/O at queue depth 1.
fn matrix(profile: &Profile, sizes: &[u64], patterns: &[Pattern], op: OpKind) -> usize {
    let in_matrix = |cell: &&Cell| {
        let workload = &cell.workload;
        workload.cache == record::CacheMode::Device
            && workload.depth == 1
            && workload.only_op() == Some(op)
            && sizes.contains(&workload.max_bs().0)
            && patterns.contains(&workload.pattern)
    };
    profile.cells.iter().filter(in_matrix).count()
}

#[test]
fn the_matrix_is_whole() {
    let sizes = [4 << 10, 16 << 10, 64 << 10];
    let patterns = [Pattern::Sequential, Pattern::Random];
    // Also on a slow device with a short budget.
    for words in ["sim:mdc,service=1ms", "sim:md1,service=20ms --budget 10s"] {
        let profile = profile(0, words);
        for op in [OpKind::Read, OpKind::Write] {
            assert_eq!(matrix(&profile, &sizes, &patterns, op), 6, "{words} {op:?}");
        }
    }
}

#[test]
fn the_full_matrix_has_36_cells() {
    let sizes: Vec<u64> = (12..18).map(|power| 1 << power).collect();
    let patterns = [Pattern::Sequential, Pattern::Random, Pattern::Hit];
    let full = profile(0, "sim:mdc,service=1ms --full");
    for op in [OpKind::Read, OpKind::Write] {
        assert_eq!(matrix(&full, &sizes, &patterns, op), 18, "{op:?}");
    }
}

#[test]
fn without_writes_no_cell_writes_and_the_page_says_so() {
    let reads = profile(0, "sim:mdc,service=1ms --no-write");
    assert!(reads.cells.iter().all(|cell| !cell.workload.writes()));
    assert!(reads.limits.write_iops.is_none() && reads.limits.read_iops.is_some());
    assert!(found(&reads.findings, FindingCode::WritesSkipped));
    let page =
        halfpower("check sim:mdc,service=1ms --no-write --no-save --verbose").expect(0).stdout;
    assert!(page.contains("Writes were not measured, as requested."), "{page}");
    let both = profile(0, "sim:mdc,service=1ms");
    assert!(both.cells.iter().any(|cell| cell.workload.writes()));
    assert!(!found(&both.findings, FindingCode::WritesSkipped));
}

#[test]
fn the_budget_is_kept_on_fast_and_slow_devices() {
    let devices = ["sim:mdc,service=10us", "sim:mm1,service=5ms", "sim:md1,service=20ms"];
    for words in devices {
        for budget_s in [10, 60] {
            let profile = profile(0, &format!("{words} --budget {budget_s}s"));
            let (measured, budget) = (profile.measured_ns.0, budget_s * 1_000_000_000);
            // QD 1 reads take additional virtual time: a sixth, at most 10 s.
            let on_top = (budget / 6).min(10_000_000_000);
            assert!(measured <= budget + on_top, "{words}: {measured} ns of {budget_s} s");
            // A device without variance needs only three visits per cell: a fifth of the budget.
            assert!(measured > budget / 8, "{words}: {measured} ns of {budget_s} s");
            assert_eq!(profile.budget_ns.0, budget);
        }
    }
}

#[test]
fn half_of_the_maximum_is_reached_at_the_size_that_arithmetic_says() {
    // A request of b bytes takes 1 ms + b / 100 MB/s. At 1 MiB that gives 91.3 MB/s. Half of it is reached
    // where b / (1 ms + 10 ns b) = 45.6 MB/s, at 83.9 kB; 128 KiB is the next size.
    let profile = profile(0, "sim:md1,service=1ms,rate=100MB/s");
    let curve = profile.size_curves.iter().find(|it| it.op == OpKind::Read && it.depth == 1);
    let curve = curve.unwrap();
    assert_eq!(curve.half_power_bytes, Some(128 << 10), "{curve:?}");
    let truth = (1 << 20) as f64 / (1e-3 + (1 << 20) as f64 * 1e-8) / 2.0;
    assert!((curve.half_of_max_bytes_per_s / truth - 1.0).abs() < 0.02, "{curve:?}");
}

#[test]
fn the_seeds_of_the_trials_are_whole_numbers_that_a_double_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.db");
    let words = "check sim:mdc,service=1ms --budget 5s --seed 18446744073709551615 --json --db";
    let profile = halfpower(&format!("{words} {}", path.display())).expect(0).profile();
    let store = store::Store::open_existing(&path).unwrap();
    let trials = store.trials_of::<Profile>(&profile.id).unwrap();
    let seeds: std::collections::BTreeSet<u64> = trials.iter().map(|trial| trial.seed).collect();
    assert_eq!(seeds.len(), trials.len(), "two trials have one seed");
    assert!(seeds.iter().all(|seed| *seed < 1 << 53));
}
