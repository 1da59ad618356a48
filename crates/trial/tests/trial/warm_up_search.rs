//! Tests the search for a warm-up: what is found, and how often a steady run is cut.

use trial::{SLICES, Slice, segments_to_cut};
use workload::Rng;

fn slices(rate: impl Fn(usize) -> f64, rng: &mut Rng) -> Vec<Slice> {
    let noisy = |index| {
        // Approximately normal: the sum of twelve uniform numbers.
        let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        (rate(index) * (1.0 + 0.05 * noise)).max(0.0) as u64
    };
    (0..SLICES).map(noisy).map(|ios| Slice { ios: [ios, 0, 0, 0], ..Slice::default() }).collect()
}

#[test]
fn a_start_that_differs_is_cut_up_to_the_next_segment() {
    let mut rng = Rng::new(1);
    let slow = |index| if index < 150 { 700.0 } else { 1_000.0 };
    assert_eq!(segments_to_cut(&slices(slow, &mut rng), false), 3);
    let decay = |index: usize| 1_000.0 * (1.0 + 2.0 * (-(index as f64) / 30.0).exp());
    let cut = segments_to_cut(&slices(decay, &mut rng), false);
    assert!((1..=3).contains(&cut), "{cut}");
}

#[test]
fn a_start_of_more_than_half_is_not_a_start() {
    let mut rng = Rng::new(2);
    let late = |index| if index < 700 { 700.0 } else { 1_000.0 };
    assert_eq!(segments_to_cut(&slices(late, &mut rng), false), 0);
    // A second half that is much slower or faster does not make the first half a warm-up.
    for (first, second) in [(1_000.0, 70.0), (70.0, 1_000.0)] {
        let halves = |index| if index < 512 { first } else { second };
        assert_eq!(segments_to_cut(&slices(halves, &mut rng), false), 0);
    }
}

#[test]
fn steady_runs_are_hardly_ever_cut() {
    let mut rng = Rng::new(3);
    let runs = 1_000;
    let cut = (0..runs).filter(|_| segments_to_cut(&slices(|_| 100.0, &mut rng), false) > 0);
    let cut = cut.count();
    println!("false cuts of steady independent slices: {cut} of {runs}");
    assert!(cut <= 10, "{cut}");
}

fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// A run of a single server in an open loop at this load, with this mean number of arrivals per slice;
/// latencies are summed in the slice of their completion. The queue starts empty, or in its steady state.
fn open_run(load: f64, per_slice: f64, empty: bool, rng: &mut Rng) -> Vec<Slice> {
    let mut slices = vec![Slice::default(); SLICES];
    let mean_gap = 1.0 / per_slice;
    let service = load * mean_gap;
    // Lindley's recursion; the wait of an arrival at a busy server is exponential.
    let busy = !empty && rng.unit() < load;
    let mut wait = if busy { exponential(rng) * service / (1.0 - load) } else { 0.0 };
    let mut arrival = exponential(rng) * mean_gap;
    loop {
        let latency = wait + exponential(rng) * service;
        let gap = exponential(rng) * mean_gap;
        if let Some(slice) = slices.get_mut((arrival + latency) as usize) {
            slice.ios[0] += 1;
            slice.latency_ns[0] += (latency * 1e6) as u64;
        }
        if arrival > SLICES as f64 {
            return slices;
        }
        wait = (latency - gap).max(0.0);
        arrival += gap;
    }
}

/// Share of steady runs that are cut, less three standard errors if the sample is small.
fn false_cuts(
    name: &str,
    runs: u32,
    open: bool,
    most: f64,
    run: impl Fn(&mut Rng) -> Vec<Slice>,
) -> f64 {
    let mut rng = Rng::new(6);
    let runs = testkit::draws(runs / 5, runs);
    let of_chance = testkit::draws(3.0, 0.0) * (most * (1.0 - most) / f64::from(runs)).sqrt();
    let cut = (0..runs).filter(|_| segments_to_cut(&run(&mut rng), open) > 0).count();
    println!("{name}: {cut} of {runs} steady runs were cut");
    cut as f64 / f64::from(runs) - of_chance
}

#[test]
fn open_loops_are_hardly_ever_cut_at_any_load() {
    for (runs, per_slice) in [(1_000, 0.3), (1_000, 1.0), (600, 10.0), (200, 50.0)] {
        for load in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9] {
            for empty in [false, true] {
                let name = format!("load {load}, {per_slice} a slice, empty at first: {empty}");
                let run = |rng: &mut Rng| open_run(load, per_slice, empty, rng);
                // If the true rate is 1 %, 25 or more of 1,000 runs are cut once in ten thousand cases.
                assert!(false_cuts(&name, runs, true, 0.025, run) < 0.025, "{name}");
            }
        }
    }
}

#[test]
fn closed_loops_are_hardly_ever_cut_however_few_requests_a_slice_has() {
    for (runs, per_slice) in [(2_000, 0.3), (2_000, 1.0), (1_000, 10.0), (300, 100.0)] {
        // A server that is always busy: completions are a Poisson process.
        let run = |rng: &mut Rng| {
            let mut slices = vec![Slice::default(); SLICES];
            let mut time = exponential(rng) / per_slice;
            while let Some(slice) = slices.get_mut(time as usize) {
                slice.ios[0] += 1;
                time += exponential(rng) / per_slice;
            }
            slices
        };
        let name = format!("closed, {per_slice} a slice");
        assert!(false_cuts(&name, runs, false, 0.012, run) < 0.012, "{name}");
    }
}

#[test]
fn a_level_that_wanders_slowly_is_not_cut() {
    for memory in [0.9_f64, 0.99, 0.9999] {
        let run = |rng: &mut Rng| {
            let mut deviation = 0.0;
            let mut next = |_| {
                let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                deviation = memory * deviation + (1.0 - memory * memory).sqrt() * noise;
                let ios = (10_000.0 * (1.0 + 0.1 * deviation)) as u64;
                Slice { ios: [ios, 0, 0, 0], ..Slice::default() }
            };
            (0..SLICES).map(&mut next).collect()
        };
        let name = format!("memory {memory}");
        assert!(false_cuts(&name, 1_000, false, 0.02, run) < 0.02, "{name}");
    }
}

#[test]
fn a_start_that_is_far_off_is_cut_however_the_rest_wanders() {
    let mut rng = Rng::new(8);
    let wander = |index: usize| {
        let along = index as f64 / SLICES as f64;
        200.0 * (1.0 + 0.5 * (4.0 * along).sin())
    };
    let fall = |end: usize| move |index| if index < end { 2_000.0 } else { wander(index) };
    for (end, segments) in [(56, 1), (64, 1), (150, 3), (192, 3)] {
        assert_eq!(segments_to_cut(&slices(fall(end), &mut rng), false), segments, "{end}");
        let rise = |index| if index < end { 2.0 } else { wander(index) };
        assert_eq!(segments_to_cut(&slices(rise, &mut rng), false), 0, "within the wander");
    }
    // The start deviates no more than the rest wanders.
    let near = |index| if index < 64 { 350.0 } else { wander(index) };
    assert_eq!(segments_to_cut(&slices(near, &mut rng), false), 0);
}

#[test]
fn a_start_that_decays_is_found_in_an_open_loop_too() {
    let mut rng = Rng::new(7);
    let found = (0..100).filter(|_| {
        let mut slices = open_run(0.5, 50.0, false, &mut rng);
        for (index, slice) in slices.iter_mut().enumerate() {
            let factor = 1.0 + 2.0 * (-(index as f64) / 30.0).exp();
            slice.latency_ns[0] = (slice.latency_ns[0] as f64 * factor) as u64;
        }
        segments_to_cut(&slices, true) > 0
    });
    assert!(found.count() >= 75);
}

#[test]
fn a_difference_that_does_not_matter_is_kept() {
    let mut rng = Rng::new(4);
    let trifle = |index| if index < 128 { 9_850.0 } else { 10_000.0 };
    assert_eq!(segments_to_cut(&slices(trifle, &mut rng), false), 0);
}
