//! Recordings of three hosts on one queue, one of which bursts.

use super::*;
use record::{ObservedDevice, OpInterval};
use stats::SplitMix64;

const SECOND: u64 = 1_000_000_000;
const NS: f64 = 1e9;

/// The third host's load between bursts and in bursts, in multiples of its usual rate.
const NEVER: [f64; 2] = [1.0, 1.0];
const BURSTS: [f64; 2] = [1.0, 6.0];
const BURSTS_ALONE: [f64; 2] = [0.0, 6.0];

/// Three hosts on one queue. The third sends bursts, and its clock is ahead.
fn recordings(ahead_s: f64, [calm, loud]: [f64; 2]) -> Vec<Observation> {
    let mut random = SplitMix64::new(11);
    let mut burst = calm;
    let rates: Vec<[f64; 4]> = (0..400)
        .map(|_| {
            if random.unit() < 0.15 {
                burst = if random.unit() < 0.5 { loud } else { calm };
            }
            [100.0, 120.0, 110.0 * burst, 0.0].map(|rate| rate * (0.1 * random.normal()).exp())
        })
        .collect();
    observations(&rates, ahead_s, &mut random)
}

/// What three hosts record of the load of four on one queue. The third host's clock is ahead.
fn observations(rates: &[[f64; 4]], ahead_s: f64, random: &mut SplitMix64) -> Vec<Observation> {
    (0..3)
        .map(|host| {
            let offset = if host == 2 { ahead_s } else { 0.0 };
            let intervals = rates
                .iter()
                .enumerate()
                .map(|(at, rates)| {
                    let load: f64 = rates.iter().sum::<f64>() / 1200.0;
                    let latency = 1e6 / (1.0 - load.min(0.95)) * (0.05 * random.normal()).exp();
                    let has_requests = rates[host] > 0.0;
                    let op = OpInterval {
                        per_s: Some(Figure::measured(rates[host], 0.0)),
                        bytes_per_s: Some(Figure::measured(rates[host] * 4096.0, 0.0)),
                        request_bytes: Some(Figure::measured(4096.0, 0.0)),
                        merged_per_s: None,
                        latency_ns: has_requests.then(|| Figure::measured(latency, 0.0)),
                    };
                    Interval {
                        device: "sdb".to_owned(),
                        begin_ns: (1000.0 * NS + (at as f64 + offset) * NS) as u64,
                        duration_ns: SECOND,
                        read: op,
                        all: op,
                        concurrency: Some(Figure::derived(rates[host] * latency / NS, 0.0)),
                        busy_share: Some(Figure::measured(0.5, 0.0)),
                        ..Interval::default()
                    }
                })
                .collect();
            Observation {
                host: Some(format!("h{host}")),
                devices: vec![ObservedDevice { name: "sdb".to_owned(), ..Default::default() }],
                intervals,
                ..Observation::default()
            }
        })
        .collect()
}

/// Recordings of `seconds` seconds. An unrecorded host also sends bursts; both `bursts` and
/// `unrecorded` are multiples of the usual rate.
fn beside_an_unrecorded_one(
    seed: u64,
    seconds: usize,
    bursts: f64,
    unrecorded: f64,
) -> Vec<Observation> {
    let mut random = SplitMix64::new(seed);
    let mut states = [1.0, 0.0];
    let rates: Vec<[f64; 4]> = (0..seconds)
        .map(|_| {
            for (state, [calm, loud]) in states.iter_mut().zip([[1.0, bursts], [0.0, unrecorded]]) {
                if random.unit() < 0.15 {
                    *state = if random.unit() < 0.4 { loud } else { calm };
                }
            }
            [100.0, 120.0, 110.0 * states[0], 110.0 * states[1]]
                .map(|rate| rate * (0.1 * random.normal()).exp())
        })
        .collect();
    observations(&rates, 0.0, &mut random)
}

fn names() -> Vec<String> {
    ["a", "b", "c"].map(str::to_owned).to_vec()
}

#[test]
fn clocks_are_put_right_and_the_host_that_slows_the_others_is_named() {
    for (ahead_s, load) in
        [(0.0, BURSTS), (7.3, BURSTS), (-42.0, BURSTS), (7.3, BURSTS_ALONE), (-0.5, BURSTS_ALONE)]
    {
        let all = together(&recordings(ahead_s, load), &names(), &[]).unwrap();
        let third = all.hosts.iter().find(|host| host.host == "h2").unwrap();
        let found = third.ahead_s.value().unwrap();
        assert!((found.value - ahead_s).abs() <= 0.5, "{ahead_s} {load:?}: {found:?}");
        assert_eq!(all.filled_by, Measured::Value("h2".to_owned()));
        assert!(third.effect.value().unwrap().value > 1.3, "{third:?}");
        let sum: f64 = all.hosts.iter().map(|host| host.per_s).sum();
        let whole =
            mean(&all.whole.intervals.iter().map(|it| value(it.all.per_s)).collect::<Vec<_>>());
        assert!((whole / sum - 1.0).abs() < 1e-9, "{whole} {sum}");
    }
}

#[test]
fn no_host_is_named_if_all_do_the_same_all_the_time() {
    let all = together(&recordings(0.0, NEVER), &names(), &[]).unwrap();
    assert!(all.filled_by.value().is_none(), "{:?}", all.filled_by);
}

#[test]
fn no_host_is_named_if_one_clock_is_off_and_another_is_unknown() {
    let mut all = recordings(7.3, BURSTS);
    for interval in &mut all[1].intervals {
        interval.all.latency_ns = Some(Figure::measured(1e6, 0.0));
        interval.concurrency = Some(Figure::derived(0.1, 0.0));
    }
    let found = together(&all, &names(), &[]).unwrap();
    let why = found.filled_by.reason().unwrap_or_default();
    assert!(why.contains("clock of h1") && why.contains("h2 is 7."), "{:?}", found.filled_by);
}

/// Much of the waiting is outside the known bursts, though the bursts of both may coincide by chance.
#[test]
fn a_host_whose_bursts_explain_little_of_the_waiting_is_not_named() {
    let named = |seeds: u64, bursts: f64, unrecorded: f64| {
        let of = |seed: u64| {
            let all = beside_an_unrecorded_one(seed, 300, bursts, unrecorded);
            let found = together(&all, &names(), &[]).unwrap();
            let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
            (third.slows_others(), found.filled_by.value().is_some(), third.explains)
        };
        (0..seeds).map(of).collect::<Vec<_>>()
    };
    // The third host alone, and together with unrecorded bursts half as large.
    for unrecorded in [0.0, 3.0] {
        let all = named(10, 6.0, unrecorded);
        assert!(all.iter().all(|(slows, named, _)| *slows && *named), "{all:?}");
    }
    let all = named(100, 2.0, 5.0);
    let met: Vec<_> = all.iter().filter(|(slows, ..)| *slows).collect();
    let wrong = met.iter().filter(|(_, named, _)| *named).count();
    assert!(met.len() >= 4 && wrong < met.len(), "{wrong} of {met:?}");
}

/// Counters have ticks: with few fast requests, some intervals have no tick and others one.
#[test]
fn ticks_of_an_idle_disk_hide_no_clock() {
    let mut all = recordings(7.3, BURSTS);
    let mut random = SplitMix64::new(5);
    for interval in all.iter_mut().flat_map(|one| &mut one.intervals) {
        let latency = interval.all.latency_ns.map_or(0.0, |it| it.value);
        let tick = 1e5;
        let seen =
            if latency > 2e6 { 40.0 * latency } else { tick * (random.unit() * 2.0).floor() };
        interval.all.latency_ns = Some(Figure::measured(seen, tick));
    }
    let found = together(&all, &names(), &[]).unwrap();
    for host in &found.hosts {
        let truth = if host.host == "h2" { 7.3 } else { 0.0 };
        let ahead = host.ahead_s.value().unwrap_or_else(|| panic!("{host:?}"));
        assert!((ahead.value - truth).abs() <= 0.5, "{host:?}");
    }
    assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
    // The comparison uses a tick, not zero.
    let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
    assert!(third.effect.value().unwrap().value < 2e3, "{third:?}");
}

/// An interval that one host did not record does not count as idle.
#[test]
fn a_gap_of_one_host_is_left_out_for_all_and_counted() {
    for kind in ["missing", "unknown", "slept"] {
        let mut all = recordings(7.3, BURSTS);
        let intervals = &mut all[1].intervals;
        match kind {
            "missing" => drop(intervals.drain(100..180)),
            // Counters that were reset.
            "unknown" => intervals[100..180].iter_mut().for_each(|it| it.all.per_s = None),
            // One interval in which the time of the requests is unknown.
            _ => {
                intervals.drain(101..180);
                intervals[100].duration_ns = 80 * SECOND;
            }
        }
        let found = together(&all, &names(), &[]).unwrap();
        // A clock that is found to be slightly ahead moves the ends.
        let (count, left_out) = (found.intervals, found.left_out);
        assert!((398..=400).contains(&count) && (80..=82).contains(&left_out), "{found:?}");
        let second = found.hosts.iter().find(|host| host.host == "h1").unwrap();
        assert_eq!(second.not_recorded, left_out, "{kind}");
        assert!(found.hosts.iter().all(|host| host.host == "h1" || host.not_recorded == 0));
        assert_eq!(found.whole.intervals.len() as u64, count - left_out);
        // Its rate refers to the time in which it recorded.
        assert!((second.per_s / 120.0 - 1.0).abs() < 0.05, "{kind}: {second:?}");
        assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
        let third = found.hosts.iter().find(|host| host.host == "h2").unwrap();
        assert!((third.ahead_s.value().unwrap().value - 7.3).abs() <= 0.5, "{kind}");
    }
    let mut all = recordings(0.0, BURSTS);
    all[1].intervals.drain(20..391);
    let refused = together(&all, &names(), &[]);
    let is_so = |refused: &_| matches!(refused, SharedError::Gaps { host, complete: ..30, .. } if host == "h1");
    assert!(refused.as_ref().is_err_and(is_so), "{refused:?}");
}

/// A recorder merges intervals without requests into long ones, which count as recorded.
#[test]
fn a_host_that_asks_for_nothing_has_recorded_that() {
    let mut all = recordings(0.0, BURSTS);
    let intervals = &mut all[0].intervals;
    let mut joined = intervals[0].clone();
    joined.duration_ns = 400 * SECOND;
    for op in [&mut joined.all, &mut joined.read] {
        *op = OpInterval { per_s: Some(Figure::measured(0.0, 0.0)), ..OpInterval::default() };
    }
    joined.concurrency = Some(Figure::derived(0.0, 0.0));
    *intervals = vec![joined];
    let found = together(&all, &names(), &[]).unwrap();
    assert!(found.intervals >= 398 && found.left_out == 0, "{found:?}");
    assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
    let first = found.hosts.iter().find(|host| host.host == "h0").unwrap();
    assert_eq!((first.per_s, first.latency_ns), (0.0, None));
}

/// As if the machine's clock was set after its start.
#[test]
fn an_interval_of_another_year_costs_neither_time_nor_memory() {
    let mut all = recordings(0.0, BURSTS);
    for observation in &mut all {
        observation.intervals[0].begin_ns = 0;
        for interval in &mut observation.intervals[1..] {
            interval.begin_ns += 1_700_000_000 * SECOND;
        }
    }
    let found = together(&all, &names(), &[]).unwrap();
    assert!((398..=400).contains(&found.whole.intervals.len()));
    assert_eq!(found.filled_by, Measured::Value("h2".to_owned()));
}

#[test]
fn what_is_no_shared_disk_is_refused() {
    let mut all = recordings(0.0, BURSTS);
    assert!(matches!(together(&all[..1], &names(), &[]), Err(SharedError::Few)));
    all[1].devices.push(ObservedDevice { name: "sdc".to_owned(), ..Default::default() });
    assert!(matches!(together(&all, &names(), &[]), Err(SharedError::Which { .. })));
    let chosen = ["h1:sdb".to_owned()];
    assert!(together(&all, &names(), &chosen).is_ok());
    all[1].intervals.iter_mut().for_each(|it| it.begin_ns += 10_000 * SECOND);
    assert!(matches!(together(&all, &names(), &chosen), Err(SharedError::Apart { .. })));
}
