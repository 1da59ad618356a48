//! Order, seeds and effects of a sweep, on artificial trials: a real effect is found, and repeats without
//! an effect hardly ever show one.

use plan::session::{Session, simulated};
use plan::{blocks_in_order, conclude, missing, trial_seed};
use record::{
    Bytes, CacheMode, DirectionResult, DoneTrial, EffectMeasure, EngineName, Experiment,
    ExperimentEffect, Finding, FindingCode, Nanos, PlannedTrial, Trial, Workload,
};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use workload::{Axis, Contrast, Design, Level, Order, Rng, Setting, Spec};

fn axis(name: &str, levels: &[&str]) -> Axis {
    let level = |value: &&str| Level {
        name: (*value).to_owned(),
        settings: vec![Setting { key: name.to_owned(), value: Some((*value).to_owned()) }],
    };
    Axis { name: name.to_owned(), levels: levels.iter().map(level).collect() }
}

fn design() -> Design {
    let contrast = Contrast {
        axis: "cache".to_owned(),
        base: "device".to_owned(),
        by: vec!["bs".to_owned()],
        measure: EffectMeasure::Throughput,
    };
    let text = "[axes]\nbs = [\"4k\"]\n";
    Design {
        axes: vec![axis("cache", &["device", "none"]), axis("bs", &["4k", "64k"])],
        contrasts: vec![contrast],
        ..Design::parse("x", text).unwrap()
    }
}

/// A plan of the design in `blocks` blocks.
fn plan(blocks: u32) -> Vec<PlannedTrial> {
    let combinations = design().combinations();
    blocks_in_order(combinations.len(), blocks, Order::Random, 1)
        .into_iter()
        .map(|(block, combination)| PlannedTrial {
            block,
            levels: combinations[combination].levels.clone(),
            workload: Workload::default(),
            ..PlannedTrial::default()
        })
        .collect()
}

/// A valid trial with this many requests and bytes per second.
fn trial(rate: f64) -> Trial {
    static CLEAN: OnceLock<Trial> = OnceLock::new();
    let clean = CLEAN.get_or_init(|| {
        let spec = simulated("sim:md1,service=1ms").unwrap().unwrap();
        let mut session = Session::simulated(&spec, None, 1, &Arc::default());
        let runtime_ns = Nanos(10_000_000);
        let asked = Workload { engine: EngineName::Sim, runtime_ns, ..Workload::default() };
        session.trial(&Spec::of(asked).build(Bytes(1 << 20)).unwrap(), 1, &mut |_| ()).unwrap()
    });
    let mut trial = clean.clone();
    trial.findings.clear();
    trial.result.read =
        Some(DirectionResult { iops: rate, bytes_per_s: rate, ..DirectionResult::default() });
    trial
}

/// The experiment of these planned trials, all completed, and its trials with the rates of `rate`.
fn done(
    plan: Vec<PlannedTrial>,
    rate: &mut dyn FnMut(&PlannedTrial) -> f64,
) -> (Experiment, Vec<Trial>) {
    let trials = plan.iter().map(|planned| trial(rate(planned))).collect();
    let done =
        (0..plan.len() as u32).map(|position| DoneTrial { position, ..DoneTrial::default() });
    (Experiment { done: done.collect(), plan, ..Experiment::default() }, trials)
}

/// The effects of trials whose rates vary by `noise` between trials and by three times that between blocks,
/// with `loss` for the level `none` at 64k.
fn effects_with(noise: f64, loss: f64, blocks: u32, seed: u64) -> Vec<ExperimentEffect> {
    let mut rng = Rng::new(seed);
    // Uniform, with standard deviation 1.
    let mut draw = || (rng.unit() - 0.5) * 12.0_f64.sqrt();
    let levels: Vec<f64> = (0..blocks).map(|_| 1.0 + 3.0 * noise * draw()).collect();
    let (experiment, trials) = done(plan(blocks), &mut |planned| {
        let lost = planned.levels["cache"] == "none" && planned.levels["bs"] == "64k";
        let level = levels[planned.block as usize] * if lost { 1.0 - loss } else { 1.0 };
        1e4 * level * (1.0 + noise * draw())
    });
    conclude(experiment, &design(), &trials).effects
}

#[test]
fn each_block_has_each_combination_once_and_the_seed_gives_the_order() {
    let order = blocks_in_order(20, 4, Order::Random, 7);
    assert_eq!(order, blocks_in_order(20, 4, Order::Random, 7));
    assert_ne!(order, blocks_in_order(20, 4, Order::Random, 8));
    for block in 0..4 {
        let mut inside: Vec<usize> =
            order.iter().filter(|(of, _)| *of == block).map(|(_, which)| *which).collect();
        assert!(!inside.is_sorted());
        inside.sort_unstable();
        assert_eq!(inside, (0..20).collect::<Vec<_>>());
    }
    let written = blocks_in_order(3, 2, Order::Written, 7);
    assert_eq!(written, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn every_place_of_a_block_gets_every_combination_about_as_often() {
    let mut first = [0_u32; 6];
    for seed in 0..600 {
        first[blocks_in_order(6, 1, Order::Random, seed)[0].1] += 1;
    }
    // Chi-square with 5 degrees of freedom exceeds 20.5 once in a thousand.
    let chi_square: f64 = first.iter().map(|n| (f64::from(*n) - 100.0).powi(2) / 100.0).sum();
    assert!(chi_square < 20.5, "{first:?}");
}

#[test]
fn seeds_differ_at_each_place_and_are_short() {
    let seeds: BTreeSet<u64> = (0..10_000).map(|position| trial_seed(9, position)).collect();
    assert_eq!(seeds.len(), 10_000);
    assert!(seeds.iter().all(|seed| *seed <= u64::from(u32::MAX)));
    assert_ne!(trial_seed(9, 0), trial_seed(10, 0));
}

#[test]
fn what_is_missing_is_what_has_no_trial() {
    let done = |position| DoneTrial { position, ..DoneTrial::default() };
    let experiment =
        Experiment { plan: plan(1), done: vec![done(2), done(0)], ..Experiment::default() };
    assert_eq!(missing(&experiment), [1, 3]);
}

#[test]
fn an_effect_is_found_where_it_is_and_not_beside_it() {
    let effects = effects_with(0.005, 0.2, 3, 1);
    let at = |bs: &str| effects.iter().find(|effect| effect.within["bs"] == bs).unwrap();
    let (with, without) = (at("64k"), at("4k"));
    assert_eq!((with.found, without.found), (Some(true), Some(false)), "{effects:?}");
    assert!(with.ratio.low < 0.8 && 0.8 < with.ratio.high, "{with:?}");
    assert!(
        with.ratio.relative_half_width() < 0.05,
        "what a block has in common cancels: {with:?}"
    );
    assert_eq!((with.ratio.n, with.combinations), (3, 1));
}

#[test]
fn of_repeats_without_an_effect_hardly_any_is_called_one() {
    let count = |loss: f64| -> usize {
        let all = (0..400).flat_map(|seed| effects_with(0.03, loss, 5, seed));
        all.filter(|effect| effect.found == Some(true) && effect.within["bs"] == "64k").count()
    };
    let (none, planted) = (count(0.0), count(0.2));
    assert!(none <= 20, "{none} of 400 are above 5 %");
    assert!(planted >= 360, "only {planted} of 400 plants of 20 % were found");
}

#[test]
fn two_blocks_cannot_tell_and_say_so() {
    assert!(effects_with(0.001, 0.5, 2, 1).iter().all(|effect| effect.found.is_none()));
    let one = effects_with(0.001, 0.5, 1, 1);
    assert!(one.iter().all(|effect| effect.found.is_none() && effect.ratio.n == 1));
}

#[test]
fn an_effect_is_averaged_over_the_combinations_that_all_blocks_have() {
    let mut design = design();
    design.contrasts[0].by.clear();
    // 64k is missing in one block: only 4k counts, where both levels are equal.
    let mut plan = plan(3);
    plan.retain(|planned| planned.block != 1 || planned.levels["bs"] == "4k");
    let (experiment, trials) = done(plan, &mut |planned| {
        let half = planned.levels["cache"] == "none" && planned.levels["bs"] == "64k";
        if half { 50.0 } else { 100.0 }
    });
    let effects = conclude(experiment, &design, &trials).effects;
    assert_eq!((effects.len(), effects[0].combinations), (1, 1));
    assert!((effects[0].ratio.value - 1.0).abs() < 1e-12, "{effects:?}");
}

#[test]
fn the_spread_of_blocks_is_flagged_above_three_percent_only() {
    let of = |rates: [f64; 3]| {
        let mut plan = plan(3);
        plan.retain(|planned| planned.levels["bs"] == "4k" && planned.levels["cache"] == "none");
        let (experiment, trials) = done(plan, &mut |planned| rates[planned.block as usize]);
        let found = conclude(experiment, &design(), &trials);
        let flagged = found.findings.iter().any(|it| it.code == FindingCode::BlockSpread);
        (found.cells[0].spread_rel.unwrap(), flagged)
    };
    assert!(!of([100.0, 101.0, 102.0]).1);
    let (spread, flagged) = of([100.0, 98.0, 102.0]);
    assert!(flagged && (spread - 0.04).abs() < 1e-12);
}

/// The crash-loss finding of an experiment that writes in these modes, one trial each, with this much data
/// left in memory.
fn crash_loss(modes: &[(CacheMode, Option<f64>)], read_percent: u8) -> Option<Finding> {
    let mut experiment = Experiment::default();
    for ((cache, unwritten), position) in modes.iter().zip(0..) {
        let workload = Workload { cache: *cache, read_percent, ..Workload::default() };
        experiment.plan.push(PlannedTrial { workload, ..PlannedTrial::default() });
        let extras = unwritten.iter().map(|bytes| ("unwritten_bytes".to_owned(), *bytes)).collect();
        experiment.done.push(DoneTrial { position, extras, ..DoneTrial::default() });
    }
    let trials = vec![trial(1.0); modes.len()];
    let findings = conclude(experiment, &design(), &trials).findings;
    findings.into_iter().find(|finding| finding.code == FindingCode::CrashLoss)
}

#[test]
fn the_most_that_was_in_memory_is_said_and_durable_modes_lose_nothing() {
    let megabyte = f64::from(1 << 20);
    let modes = [
        (CacheMode::All, Some(megabyte)),
        (CacheMode::All, Some(3.0 * megabyte)),
        (CacheMode::Device, None),
        (CacheMode::None, None),
    ];
    let finding = crash_loss(&modes, 0).unwrap();
    assert!(finding.claim.contains("at most 3 MiB"), "{finding:?}");
    assert!(finding.claim.contains("device: until a flush, the contents of the drive's cache"));
    assert!(finding.claim.ends_with("none: nothing."), "{finding:?}");
    let uncounted = crash_loss(&[(CacheMode::All, None), (CacheMode::Fs, None)], 0);
    assert!(uncounted.unwrap().claim.contains("all: the contents of the page cache, and "));
}

#[test]
fn without_a_choice_or_a_write_nothing_is_said_of_crashes() {
    assert_eq!(crash_loss(&[(CacheMode::All, None), (CacheMode::Device, None)], 0), None);
    assert_eq!(crash_loss(&[(CacheMode::Fs, None), (CacheMode::None, None)], 0), None);
    assert_eq!(crash_loss(&[], 0), None);
    assert_eq!(crash_loss(&[(CacheMode::All, None), (CacheMode::None, None)], 100), None);
}
