//! Tests processor cost: the arithmetic, and the comparison of the two bounds.

use engine::{CpuSample, Processors};
use record::{Confidence, CpuClock, CpuCost, CpuSplit, CpuUpper, Estimate, FindingCode};
use trial::{cpu_cost, cpu_findings};

fn processors() -> Processors {
    Processors {
        usable: 2.0,
        clock: Some(CpuClock { hz: 2e9, source: "cpuinfo".to_owned() }),
        no_instructions_reason: "there is no counter".to_owned(),
    }
}

fn sample(user_ns: u64, system_ns: u64) -> CpuSample {
    CpuSample { user_ns, system_ns, ..CpuSample::default() }
}

fn cost(ios: u64, bytes: u64, spin_ns: u64) -> CpuCost {
    let (before, after) = (sample(5_000_000, 1_000_000), sample(35_000_000, 71_000_000));
    cpu_cost(&before, &after, ios, bytes, spin_ns, CpuSplit::Sampled, &processors())
}

#[test]
fn one_cost_is_stated_per_request_per_byte_in_clocks_and_as_saturation() {
    // 30 ms and 70 ms for 10,000 requests of 4 KiB.
    let cost = cost(10_000, 40_960_000, 0);
    assert_eq!((cost.user_ms, cost.system_ms), (30.0, 70.0));
    assert_eq!(cost.lower_us_per_io, Some(10.0));
    let close = |value: Option<f64>, wanted: f64| (value.unwrap() / wanted - 1.0).abs() < 1e-12;
    assert!(close(cost.ms_per_mib, 2.56), "{:?}", cost.ms_per_mib);
    // 10 µs at 2 GHz for 4096 bytes.
    assert!(close(cost.clocks_per_byte, 20_000.0 / 4096.0), "{:?}", cost.clocks_per_byte);
    assert!(close(cost.saturation_iops, 200_000.0), "{:?}", cost.saturation_iops);
    assert!(close(cost.saturation_bytes_per_s, 200_000.0 * 4096.0));
    assert_eq!(cost.instructions_per_io.reason(), Some("there is no counter"));
}

#[test]
fn a_pacer_s_spinning_is_taken_off_user_time_first_and_never_below_zero() {
    assert_eq!(cost(10, 10, 10_000_000).user_ms, 20.0);
    assert_eq!(cost(10, 10, 10_000_000).system_ms, 70.0);
    let more = cost(10, 10, 40_000_000);
    assert_eq!((more.user_ms, more.system_ms), (0.0, 60.0));
    let all = cost(10, 10, 400_000_000);
    assert_eq!((all.user_ms, all.system_ms), (0.0, 0.0));
    assert_eq!(all.saturation_iops, None, "a cost of nothing saturates nothing");
}

#[test]
fn without_requests_or_facts_there_is_no_number() {
    let none = cost(0, 0, 0);
    assert_eq!(none.lower_us_per_io, None);
    assert_eq!((none.ms_per_mib, none.clocks_per_byte), (None, None));
    let (before, after) = (sample(0, 0), sample(1_000, 0));
    let unknown = Processors::default();
    let cost = cpu_cost(&before, &after, 1, 512, 0, CpuSplit::Exact, &unknown);
    assert_eq!(cost.lower_us_per_io, Some(1.0));
    assert_eq!((cost.clocks_per_byte, cost.saturation_iops), (None, None));
}

#[test]
fn instructions_are_those_between_the_samples() {
    let counted = |n| CpuSample { instructions: Some(n), ..sample(n, 0) };
    let cost =
        cpu_cost(&counted(1_000), &counted(9_000), 4, 4, 0, CpuSplit::Sampled, &processors());
    assert_eq!(cost.instructions_per_io.value(), Some(&2_000.0));
}

/// A cost of 10 µs charged, with an upper bound of `us` ± `half` and a difference of `others`.
fn bounded(us: f64, half: f64, charged: f64, doubts: &[&str]) -> CpuCost {
    let upper = CpuUpper {
        us_per_io: Estimate::symmetric(us, half, 6),
        rate_change_rel: 0.0,
        ios: 1,
        cpus: 2,
        busy_share: 0.5,
        baseline_share: 0.01,
        lower_us_per_io: Some(Estimate::symmetric(charged, 0.1, 6)),
        elsewhere_us_per_io: Some(Estimate::symmetric(us - charged, half, 6)),
        calibration_change_rel: 0.001,
        kernel: None,
        doubts: doubts.iter().map(ToString::to_string).collect(),
    };
    CpuCost { upper_us_per_io: Some(us), upper: Some(upper), ..cost(10_000, 40_960_000, 0) }
}

fn codes(cost: &CpuCost) -> Vec<FindingCode> {
    cpu_findings(cost).iter().map(|finding| finding.code).collect()
}

#[test]
fn bounds_that_agree_are_silent_and_a_real_difference_is_charged_elsewhere() {
    assert_eq!(codes(&bounded(10.3, 0.5, 10.0, &[])), []);
    // More than the margin, but within the interval.
    assert_eq!(codes(&bounded(12.0, 3.0, 10.0, &[])), []);
    assert_eq!(codes(&bounded(15.0, 1.0, 10.0, &[])), [FindingCode::CpuChargedElsewhere]);
    assert_eq!(codes(&cost(1, 1, 0)), [], "no pass, no finding");
}

#[test]
fn an_upper_bound_below_the_lower_one_says_why() {
    assert_eq!(codes(&bounded(9.8, 0.3, 9.7, &[])), []);
    let below = cpu_findings(&bounded(8.0, 0.3, 7.9, &[]));
    assert_eq!(below[0].code, FindingCode::CpuBoundUnsure);
    assert!(below[0].claim.contains("do not sleep"), "{}", below[0].claim);
    let wrong = cpu_findings(&bounded(8.0, 0.3, 10.0, &[]));
    assert!(wrong[0].claim.contains("calibration"), "{}", wrong[0].claim);
}

#[test]
fn a_doubt_is_told_and_weakens_what_is_charged_elsewhere() {
    let found = cpu_findings(&bounded(15.0, 1.0, 10.0, &["the calibration moved by 9 %"]));
    assert_eq!(found[0].code, FindingCode::CpuBoundUnsure);
    assert!(found[0].claim.contains("moved by 9 %"), "{}", found[0].claim);
    assert_eq!(found[1].confidence, Confidence::Possible);
}

/// Rows of one of the paper's tables: the number by series and request size in KiB.
fn table(text: &'static str) -> std::collections::BTreeMap<(&'static str, u64), f64> {
    text.lines()
        .skip(1)
        .map(|row| {
            let (kib, rest) = row.split_once(',').unwrap();
            let (name, rest) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once("\",").unwrap(),
                None => rest.split_once(',').unwrap(),
            };
            let value = rest.split(',').next().unwrap();
            ((name, kib.parse().unwrap()), value.parse().unwrap())
        })
        .collect()
}

/// The 1997 paper's figure 4 gives one cost in three units, and its figure 3 the throughput. Input: the
/// utilization of its one processor; expected: all three costs.
#[test]
fn the_costs_of_1997_agree_in_all_three_units() {
    let per_mb = table(include_str!("../data/riedel/fig04_cpu_ms_per_mb.csv"));
    let per_request = table(include_str!("../data/riedel/fig04_cpu_ms_per_request.csv"));
    let utilization = table(include_str!("../data/riedel/fig04_cpu_utilization.csv"));
    let last = table(include_str!("../data/riedel/fig03_fastwide_lastpoint_VARIANT.csv"));
    let throughputs = [
        ("read", table(include_str!("../data/riedel/fig03_unbuffered_read.csv"))),
        ("write noWCE", table(include_str!("../data/riedel/fig03_unbuffered_write_noWCE.csv"))),
        ("write WCE", table(include_str!("../data/riedel/fig03_unbuffered_write_WCE.csv"))),
    ];
    let one_processor = Processors { usable: 1.0, ..Processors::default() };
    assert_eq!(utilization.len(), 48);
    for ((series, labelled_kib), used) in utilization {
        let (drive, mode) = series.split_once(", ").unwrap();
        let moved = drive.starts_with("Fast") && labelled_kib == 192;
        let (kib, mib_per_s) = if moved {
            (256, last[&(mode, 192)])
        } else {
            let of_mode = throughputs.iter().find(|(name, _)| *name == mode);
            (labelled_kib, of_mode.unwrap().1[&(drive, labelled_kib)])
        };
        // An hour of it, in whole requests.
        let seconds = 3_600.0;
        let ios = (mib_per_s * seconds * 1024.0 / kib as f64).round() as u64;
        let after = sample((used * seconds * 1e9) as u64, 0);
        let bytes = ios * kib * 1024;
        let cost =
            cpu_cost(&sample(0, 0), &after, ios, bytes, 0, CpuSplit::Sampled, &one_processor);
        let key = (series, labelled_kib);
        // The last point of one series of the Ultra-Wide drive is 0.6 % off in the paper itself.
        let tolerance = if labelled_kib == 192 { 0.007 } else { 0.001 };
        let agrees = |found: f64, printed: f64| (found / printed - 1.0).abs() < tolerance;
        assert!(agrees(cost.ms_per_mib.unwrap(), per_mb[&key]), "{key:?} {cost:?}");
        assert!(agrees(cost.lower_us_per_io.unwrap() / 1e3, per_request[&key]), "{key:?} {cost:?}");
        let saturated = cost.saturation_bytes_per_s.unwrap();
        assert!(agrees(bytes as f64 / seconds / saturated, used), "{key:?} {cost:?}");
    }
}
