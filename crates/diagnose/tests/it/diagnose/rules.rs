//! Tests each rule of the papers on effects that support it, contradict it, and are inconclusive.

use diagnose::advise_experiment;
use record::{Advice, EffectMeasure, Estimate, Experiment, ExperimentCell, ExperimentEffect};
use std::collections::BTreeMap;

/// The ratio of a level to its base from five blocks, with this relative half-width.
fn ratio(value: f64, half_width_rel: f64) -> Estimate {
    Estimate::symmetric(value, half_width_rel * value, 5)
}

fn levels(levels: &[(&str, &str)]) -> BTreeMap<String, String> {
    levels.iter().map(|(axis, level)| ((*axis).to_owned(), (*level).to_owned())).collect()
}

fn effect(
    [axis, level, base]: [&str; 3],
    within: &[(&str, &str)],
    ratio: Estimate,
) -> ExperimentEffect {
    ExperimentEffect {
        axis: axis.to_owned(),
        level: level.to_owned(),
        base: base.to_owned(),
        within: levels(within),
        measure: EffectMeasure::Throughput,
        ratio,
        combinations: 1,
        found: None,
    }
}

fn advice_on(effects: Vec<ExperimentEffect>) -> Vec<Advice> {
    let all = advise_experiment(&Experiment { effects, ..Experiment::default() });
    for advice in &all {
        let against = advice.against_rule.as_deref().unwrap_or_default();
        for text in [&advice.recommendation, &advice.because, against] {
            assert!(text.chars().count() <= 200, "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
    all
}

fn only(effects: Vec<ExperimentEffect>) -> Advice {
    let mut all = advice_on(effects);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

const APPEND: [&str; 3] = ["file", "append", "written"];

#[test]
fn where_a_growing_file_is_slower_the_rule_holds_with_its_gain_and_its_price() {
    let slow = effect(APPEND, &[("iodepth", "8")], ratio(0.5, 0.02));
    let advice = only(vec![slow]);
    assert_eq!(advice.subject, "growing files");
    assert!(
        advice.recommendation.starts_with("write to a file whose blocks are already allocated"),
        "{advice:?}"
    );
    assert!(advice.because.contains("append compared with written: iodepth 8 -50 %"), "{advice:?}");
    let gain = advice.gain.unwrap();
    assert!((gain.value - 2.0).abs() < 1e-9 && gain.low > 1.9 && gain.high < 2.1, "{gain:?}");
    assert!(advice.price.unwrap().contains("space"));
    assert_eq!(advice.against_rule, None);
}

#[test]
fn where_it_is_as_fast_or_faster_the_measurement_wins_and_says_so() {
    let same = only(vec![effect(APPEND, &[], ratio(1.0, 0.02))]);
    assert!(same.recommendation.starts_with("let files grow: it costs nothing"), "{same:?}");
    assert!(same.against_rule.unwrap().ends_with("here append is no different"));
    assert_eq!((same.gain, same.price), (None, None));
    let faster = only(vec![effect(APPEND, &[], ratio(1.3, 0.02))]);
    assert!(faster.recommendation.contains("faster here"), "{faster:?}");
    assert!(faster.against_rule.unwrap().contains("append is faster"));
}

#[test]
fn where_depths_differ_each_gets_its_advice() {
    let effects = vec![
        effect(APPEND, &[("iodepth", "1")], ratio(1.0, 0.02)),
        effect(APPEND, &[("iodepth", "8")], ratio(0.4, 0.02)),
    ];
    let advice = only(effects);
    assert!(advice.recommendation.contains("(iodepth 8)"), "{advice:?}");
    assert!(advice.recommendation.contains("costs nothing here (iodepth 1)"), "{advice:?}");
    assert!(advice.against_rule.unwrap().contains("no different (iodepth 1)"));
}

#[test]
fn what_was_not_measured_or_cannot_tell_gives_no_advice() {
    assert!(advice_on(Vec::new()).is_empty());
    assert!(advice_on(vec![effect(APPEND, &[], ratio(0.8, 0.4))]).is_empty(), "too wide");
    let mut few = effect(APPEND, &[], ratio(0.5, 0.02));
    few.ratio.n = 2;
    assert!(advice_on(vec![few]).is_empty(), "two blocks");
    let mut cost = effect(APPEND, &[], ratio(0.5, 0.02));
    cost.measure = EffectMeasure::Cpu;
    assert!(advice_on(vec![cost]).is_empty(), "another measure");
    assert!(advice_on(vec![effect(["x", "append", "written"], &[], ratio(0.5, 0.02))]).is_empty());
}

#[test]
fn a_rule_that_looks_at_many_effects_asks_more_of_each() {
    // A single effect counts; one among forty may be chance.
    let weak = || effect(APPEND, &[("iodepth", "1")], ratio(0.9, 0.08));
    assert!(!advice_on(vec![weak()]).is_empty());
    let mut many = vec![weak()];
    let wide = |depth: i32| effect(APPEND, &[("iodepth", &depth.to_string())], ratio(1.0, 0.5));
    many.extend((2..41).map(wide));
    assert!(advice_on(many).is_empty());
}

#[test]
fn the_file_system_cache_is_judged_by_size_and_direction() {
    let cache = ["cache", "buffered", "direct"];
    let at = |rw: &str, bs: &str, value: f64| {
        effect(cache, &[("rw", rw), ("bs", bs), ("iodepth", "1")], ratio(value, 0.02))
    };
    // As in the papers.
    let papers = advice_on(vec![
        at("read", "2k", 2.0),
        at("read", "256k", 0.7),
        at("write", "4k", 3.0),
        at("write", "256k", 0.8),
    ]);
    assert_eq!(papers.len(), 4);
    assert!(papers.iter().all(|advice| advice.against_rule.is_none()), "{papers:?}");
    let small_writes = papers.iter().find(|advice| advice.subject == "small buffered writes");
    assert!(small_writes.unwrap().price.as_ref().unwrap().contains("a crash loses"));
    // A device that contradicts them.
    let other = advice_on(vec![at("read", "2k", 0.6), at("read", "256k", 1.5)]);
    assert_eq!(other.len(), 2);
    assert!(other.iter().all(|advice| advice.against_rule.is_some()), "{other:?}");
    assert!(other[0].recommendation.starts_with("bypass the page cache"), "{other:?}");
}

#[test]
fn write_caching_is_advised_with_its_risk_and_only_where_it_gains() {
    let modes = ["cache", "none", "device"];
    let risky = only(vec![effect(modes, &[("rw", "randwrite")], ratio(0.2, 0.02))]);
    assert!(risky.price.as_ref().unwrap().contains("not for logs and metadata"), "{risky:?}");
    assert!((risky.gain.unwrap().value - 5.0).abs() < 1e-9);
    let free = only(vec![effect(modes, &[("rw", "randwrite")], ratio(1.0, 0.02))]);
    assert!(free.recommendation.starts_with("--cache none"), "{free:?}");
    assert_eq!(free.price, None);
    assert!(free.against_rule.is_some());
}

/// A stripe of `disks` whose throughput grows up to `enough` requests.
fn stripe(disks: u32, enough: u32) -> Experiment {
    let cells = [1, 2, 3, 5, 8].map(|depth: u32| {
        let rate = 100e6 * f64::from(depth.min(enough));
        let rate = Estimate::symmetric(rate, 0.01 * rate, 5);
        ExperimentCell {
            levels: levels(&[
                ("disks", &disks.to_string()),
                ("cache", "direct"),
                ("rw", "read"),
                ("bs", "64k"),
                ("iodepth", &depth.to_string()),
            ]),
            trials: 5,
            iops: rate,
            bytes_per_s: rate,
            latency_ns: rate,
            cpu_us_per_io: None,
            spread_rel: None,
            extras: BTreeMap::new(),
        }
    });
    Experiment { cells: cells.to_vec(), ..Experiment::default() }
}

#[test]
fn n_plus_one_outstanding_is_confirmed_refuted_upwards_and_downwards() {
    let advice = |experiment: Experiment| {
        let mut all = advise_experiment(&experiment);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    };
    let right = advice(stripe(4, 5));
    assert_eq!(right.recommendation, "QD 5 with 64 KiB requests");
    assert_eq!(right.against_rule, None, "{right:?}");
    let more = advice(stripe(2, 8));
    assert_eq!(more.recommendation, "QD 8 with 64 KiB requests");
    assert!(more.against_rule.unwrap().ends_with("needs to be higher"));
    let fewer = advice(stripe(4, 2));
    assert_eq!(fewer.recommendation, "QD 2 with 64 KiB requests");
    assert!(fewer.against_rule.unwrap().ends_with("can be lower"));
    // A single disk has no N+1.
    assert!(advise_experiment(&stripe(1, 2)).is_empty());
}

/// The effect of the page cache on reads from three disks, at these sizes.
fn stripes(ratios: &[(&str, f64, f64)]) -> Vec<ExperimentEffect> {
    let one = |(size, value, half): &(&str, f64, f64)| {
        let within = [("disks", "3"), ("rw", "read"), ("bs", *size)];
        effect(["cache", "buffered", "direct"], &within, ratio(*value, *half))
    };
    ratios.iter().map(one).collect()
}

#[test]
fn the_page_cache_crosses_where_the_order_of_sizes_is_one_and_nowhere_else() {
    let crossing = |ratios: &[(&str, f64, f64)]| {
        let all = advice_on(stripes(ratios));
        all.into_iter().find(|advice| advice.subject == "page cache for reads of 3 striped disks")
    };
    let found = crossing(&[("8k", 1.5, 0.01), ("64k", 0.98, 0.5), ("256k", 0.6, 0.01)]).unwrap();
    assert_eq!(found.recommendation, "buffered up to 8 KiB, direct from 256 KiB");
    assert_eq!(found.against_rule, None);
    let small = crossing(&[("2k", 1.5, 0.01), ("8k", 0.5, 0.01), ("64k", 0.5, 0.01)]).unwrap();
    assert!(small.against_rule.unwrap().ends_with("here it is smaller"));
    let large = crossing(&[("64k", 1.5, 0.01), ("128k", 1.2, 0.01), ("1m", 0.5, 0.01)]).unwrap();
    assert_eq!(large.recommendation, "buffered up to 128 KiB, direct from 1 MiB");
    assert!(large.against_rule.unwrap().ends_with("here it is larger"));
    // Slower everywhere, faster everywhere, reversed, and unknown.
    assert_eq!(crossing(&[("8k", 0.5, 0.01), ("64k", 0.5, 0.01)]), None);
    assert_eq!(crossing(&[("8k", 1.5, 0.01), ("64k", 1.2, 0.01)]), None);
    assert_eq!(crossing(&[("8k", 0.5, 0.01), ("64k", 1.5, 0.01)]), None);
    assert_eq!(crossing(&[("8k", 1.5, 2.0), ("64k", 0.5, 0.01)]), None);
}
