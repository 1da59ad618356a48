//! The extra latency of isolated reads, and the predicted latency of a light load.

use crate::model::synthetic::{Noise, cell, rounds, workload};
use model::{DriftFactors, Predictor, is_lone, lone_reads};
use record::{
    Arrival, Cell, HistogramSnapshot, Locality, Mix, Objective, Offered, OpKind, Pattern,
    Prediction, Profile, Workload, bucket_index,
};

const AWAKE_NS: f64 = 100e3;

/// Isolated reads at the rate, with these latencies in turn.
fn lone(rate_per_s: u64, latencies_ns: &[f64], reads: usize) -> Cell {
    let mut workload = random_reads(1);
    workload.arrival = Arrival::Constant;
    workload.rate_iops = Some(rate_per_s);
    assert!(is_lone(&workload));
    let times = latencies_ns.iter().cycle().take(reads);
    let buckets = times.map(|&ns| (bucket_index(ns as u64) as u32, 1)).collect();
    let histogram = HistogramSnapshot { buckets };
    Cell { histogram, ..cell(workload, rate_per_s as f64, latencies_ns[0]) }
}

fn random_reads(depth: u32) -> Workload {
    workload(OpKind::Read, Pattern::Random, 4 << 10, depth)
}

/// Closed loops at several depths on eight servers.
fn loops() -> Vec<Cell> {
    let at = |depth: u32| {
        let rate = f64::from(depth.min(8)) * 1e9 / AWAKE_NS;
        cell(random_reads(depth), rate, f64::from(depth) / rate * 1e9)
    };
    [1, 2, 4, 8, 16].map(at).to_vec()
}

fn predicted(cells: &[Cell], offered: Offered) -> Prediction {
    let mix = Mix::one(OpKind::Read, Locality::Random, 4 << 10);
    Predictor::of_cells(cells).predict(&mix, offered).unwrap()
}

#[test]
fn a_rest_adds_the_difference_of_the_medians_whatever_a_few_requests_met() {
    let late = lone(10, &[250e3, 248e3, 251e3, 249e3, 250e3, 30e6], 12);
    let quick = lone(1_000, &[100e3, 101e3, 99e3], 90);
    let cells: Vec<Cell> = loops().into_iter().chain([late, quick]).collect();
    let found = lone_reads(&cells);
    assert_eq!(found.iter().map(|one| one.rate_per_s).collect::<Vec<_>>(), [1_000, 10]);
    assert_eq!(found[0].added_ns.value, 0.0, "the same as one behind the other");
    let added = found[1].added_ns;
    assert!((147e3..153e3).contains(&added.value), "{added:?}");
}

#[test]
fn what_chance_makes_of_few_requests_adds_nothing() {
    // Their median is 50 % higher, but six requests do not prove that.
    let few = lone(1, &[150e3, 60e3, 210e3, 90e3, 160e3, 170e3], 6);
    let cells: Vec<Cell> = loops().into_iter().chain([few]).collect();
    assert_eq!(lone_reads(&cells)[0].added_ns.value, 0.0);
    // Without the same reads back to back there is nothing to compare with.
    assert!(lone_reads(&cells[5..]).is_empty());
}

#[test]
fn a_light_load_takes_longer_by_its_rests_and_a_deep_one_does_not() {
    let lone = [lone(100, &[250e3], 60), lone(10, &[400e3], 12)];
    let cells: Vec<Cell> = loops().into_iter().chain(lone).collect();
    let light = predicted(&cells, Offered::PoissonPerS(10.0));
    let without = predicted(&loops(), Offered::PoissonPerS(10.0));
    assert!(light.latency_ns.value > 330e3 && light.latency_ns.value < 400e3, "{light:?}");
    assert!((without.latency_ns.value / AWAKE_NS - 1.0).abs() < 0.02, "{without:?}");
    assert!(without.after_rest_ns.is_none());
    // Half of the largest rate leaves no idle times of that length, and a closed loop none.
    let loaded = predicted(&cells, Offered::PoissonPerS(40_000.0)).latency_ns.value;
    let alone = predicted(&loops(), Offered::PoissonPerS(40_000.0)).latency_ns.value;
    assert!((loaded / alone - 1.0).abs() < 0.05, "{loaded} and {alone}");
    let closed = |cells: &[Cell]| predicted(cells, Offered::Depth(1.0)).latency_ns;
    assert_eq!(closed(&cells), closed(&loops()));
}

#[test]
fn a_heavier_load_may_meet_a_target_that_the_lightest_misses() {
    // The first request after a rest takes 0.3 ms more; those of a busy device do not rest.
    let lone = [lone(2_000, &[400e3], 60), lone(100, &[400e3], 60), lone(10, &[400e3], 12)];
    let cells: Vec<Cell> = loops().into_iter().chain(lone).collect();
    let predictor = Predictor::of_cells(&cells);
    let mix = Mix::one(OpKind::Read, Locality::Random, 4 << 10);
    let most = predictor.max_rate(&mix).unwrap().value;
    let at = |share: f64| predictor.predict(&mix, Offered::PoissonPerS(share * most)).unwrap();
    let (light, half) = (at(0.01).latency_ns, at(0.5).latency_ns);
    assert!(half.high < light.value, "{light:?} {half:?}");
    let target = Objective::MeanNs(f64::midpoint(half.high, light.value));
    let found = predictor.highest_rate((DriftFactors::PROFILED, &[]), &mix, target).unwrap().iops;
    assert!(found.low > 0.4 * most && found.value >= found.low, "{found:?}");
}

#[test]
fn a_light_load_has_no_negative_latency_and_a_faster_disk_the_same_idle_times() {
    // A few reads after long pauses met stalls, so their extra latency is hardly known.
    let far = [250e3, 110e3, 90e3, 60e6, 100e6, 300e6, 120e3, 95e3];
    let lone = [lone(100, &[250e3], 60), lone(10, &far, 8)];
    let cells: Vec<Cell> = loops().into_iter().chain(lone).collect();
    let light = predicted(&cells, Offered::PoissonPerS(100.0));
    let latency = light.latency_ns;
    assert!(latency.high > 10.0 * latency.value && latency.low > 0.0, "{latency:?}");
    let predictor = Predictor::of_cells(&cells);
    let faster = DriftFactors::clock(1.0 / 0.7);
    let mix = Mix::one(OpKind::Read, Locality::Random, 4 << 10);
    let offered = Offered::PoissonPerS(100.0);
    let found = predictor.predict_at(faster, light.model, &mix, offered).unwrap().latency_ns;
    assert!((found.value / latency.value / 0.7 - 1.0).abs() < 0.01, "{found:?} {latency:?}");
    assert!((found.high / latency.high / 0.7 - 1.0).abs() < 0.01, "{found:?} {latency:?}");
}

#[test]
fn a_profile_from_before_lone_reads_is_read_and_expects_a_closed_loop() {
    let trials = rounds(&[random_reads(1), random_reads(8)], |_| 1e4, 3, 0.0, &mut Noise(1));
    let document = serde_json::to_value(crate::model::expect::profile(&trials)).unwrap();
    assert!(document.get("lone_reads").is_none(), "none are written where there are none");
    let profile: Profile = serde_json::from_value(document).unwrap();
    let mix = Mix::one(OpKind::Read, Locality::Random, 4 << 10);
    assert_eq!(Predictor::new(&profile).after_rest_ns(&mix, 1e8), None);
}
