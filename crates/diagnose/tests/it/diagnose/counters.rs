//! Tests conclusions from counters alone: figures of episodes, and where the use of a device changes.

use crate::diagnose::staged::diagnosed;
use record::{
    DeviceDiagnosis, Episode, Figure, Interval, NoteCode, Observation, ObservedDevice, OpInterval,
};
use stats::SplitMix64;

/// The diagnosis of consecutive seconds, without a profile.
fn of(seconds: &[Interval]) -> DeviceDiagnosis {
    let device = ObservedDevice { name: "sda".to_owned(), ..ObservedDevice::default() };
    let second = |(at, one): (u64, &Interval)| Interval {
        device: "sda".to_owned(),
        begin_ns: at * 1_000_000_000,
        duration_ns: 1_000_000_000,
        ..one.clone()
    };
    let observation = Observation {
        devices: vec![device],
        intervals: (0..).zip(seconds).map(second).collect(),
        ..Observation::default()
    };
    diagnosed(&observation, None)
}

#[track_caller]
fn episode(seconds: &[Interval]) -> Episode {
    let mut found = of(seconds);
    assert_eq!(found.episodes.len(), 1, "{:#?}", found.episodes);
    found.episodes.remove(0)
}

/// The seconds at which the series is divided.
fn cuts(seconds: &[Interval]) -> Vec<usize> {
    of(seconds).episodes.iter().map(|one| (one.begin_ns / 1_000_000_000) as usize).collect()
}

fn requests(per_s: f64, bytes: f64, latency_ns: f64) -> OpInterval {
    let figure = |value| Some(Figure::measured(value, 0.0));
    OpInterval {
        per_s: figure(per_s),
        bytes_per_s: figure(per_s * bytes),
        latency_ns: figure(latency_ns),
        ..OpInterval::default()
    }
}

fn reads(per_s: f64, latency_ns: f64, busy: f64) -> Interval {
    Interval {
        read: requests(per_s, 4096.0, latency_ns),
        write: OpInterval { per_s: Some(Figure::measured(0.0, 0.0)), ..OpInterval::default() },
        busy_share: Some(Figure::measured(busy, 0.0)),
        ..Interval::default()
    }
}

#[test]
fn a_response_time_over_intervals_weighs_requests_and_not_intervals() {
    let numbers = episode(&[reads(10.0, 1e6, 0.01), reads(990.0, 3e6, 0.99)]).numbers;
    assert_eq!(numbers.latency_ns, Some((10.0 * 1e6 + 990.0 * 3e6) / 1000.0));
    assert_eq!((numbers.iops, numbers.utilization), (Some(500.0), Some(0.5)));
    assert!((numbers.concurrency.unwrap() - 1.49).abs() < 1e-9);
    assert_eq!(numbers.read_share, Some(1.0));
}

#[test]
fn friedmans_split_is_that_of_his_formulae() {
    // 100 requests/s, 50 % utilization, 15 ms each: S = 5 ms, Q = 10 ms.
    let split = episode(&[reads(100.0, 15e6, 0.5)]).utilization_law.unwrap();
    assert!((split.service_ns - 5e6).abs() < 1.0 && (split.queue_ns - 10e6).abs() < 1.0);
    assert_eq!(episode(&[reads(0.0, 0.0, 0.0)]).utilization_law, None);
}

#[test]
fn percent_disk_time_is_cut_at_a_hundred_and_the_queue_length_is_not() {
    let shown = episode(&[reads(1000.0, 4e6, 1.0)]).misleading;
    assert_eq!(shown.disk_time_percent, Some(100.0));
    assert_eq!(shown.queue_length, Some(4.0));
    assert_eq!(shown.svctm_ns, Some(1e6));
}

#[test]
fn a_device_is_busy_only_while_a_request_is_in_flight() {
    // 40 us each at 10,000 per second give a concurrency of 0.4; the counter says 77 % busy.
    let seconds = [reads(10_000.0, 40e3, 0.77)];
    let found = episode(&seconds);
    let (busy, present) = (found.numbers.utilization, found.numbers.concurrency);
    assert_eq!((busy, present), (Some(0.4), Some(0.4)));
    assert!(found.utilization_law.unwrap().service_ns <= 40e3 * 1.0001, "{found:?}");
    let notes = of(&seconds).notes;
    let doubt = notes.iter().find(|note| note.code == NoteCode::BusyDoubtful).unwrap();
    assert!((doubt.evidence[0].value - 0.77).abs() < 1e-9, "{doubt:?}");
    let words = "it counts 77 % of the time as busy, but requests were in flight for at most 40 %";
    assert!(doubt.claim.contains(words), "{doubt:?}");
}

#[test]
fn what_one_interval_lacks_is_unknown_of_the_sum() {
    let blind = Interval { busy_share: None, ..reads(10.0, 1e6, 0.0) };
    let numbers = episode(&[reads(10.0, 1e6, 0.1), blind]).numbers;
    assert_eq!((numbers.utilization, numbers.latency_ns), (None, Some(1e6)));
}

/// A second of requests of which only number, latency and size are known.
fn second(rate: f64, latency_ns: f64, bytes: f64) -> Interval {
    Interval { all: requests(rate, bytes, latency_ns), ..Interval::default() }
}

/// A segment with this relative noise; `kept` is its correlation from second to second.
fn segment(
    random: &mut SplitMix64,
    seconds: usize,
    rate: f64,
    noise: f64,
    kept: f64,
) -> Vec<Interval> {
    let mut level = 0.0;
    (0..seconds)
        .map(|_| {
            level = kept * level + (1.0 - kept * kept).sqrt() * random.normal();
            let factor = libm::exp(noise * level);
            second(rate * factor, 1e6 * factor, 4096.0)
        })
        .collect()
}

#[test]
fn a_series_that_does_not_change_is_hardly_ever_cut() {
    let mut random = SplitMix64::new(1);
    for (noise, kept) in [(0.02, 0.0), (0.2, 0.0), (0.3, 0.5), (0.3, 0.8)] {
        let cut = (0..60)
            .filter(|_| cuts(&segment(&mut random, 120, 500.0, noise, kept)).len() > 1)
            .count();
        assert!(cut <= 6, "noise {noise} kept {kept}: {cut} of 60 were cut");
    }
}

#[test]
fn changes_are_found_where_they_are() {
    let mut random = SplitMix64::new(2);
    let mut series = segment(&mut random, 40, 50.0, 0.15, 0.0);
    series.extend(segment(&mut random, 25, 800.0, 0.15, 0.0));
    series.extend(segment(&mut random, 60, 50.0, 0.15, 0.0));
    assert_eq!(cuts(&series), [0, 40, 65]);
}

#[test]
fn a_short_segment_of_work_between_rest_is_found() {
    let mut series = vec![second(0.0, 0.0, 0.0); 10];
    series.extend(vec![second(8_000.0, 8e6, 4096.0); 8]);
    series.extend(vec![second(0.0, 0.0, 0.0); 12]);
    assert_eq!(cuts(&series), [0, 10, 18]);
}

#[test]
fn spikes_that_return_are_one_segment() {
    for every in [3, 4, 5] {
        let mut random = SplitMix64::new(3);
        let mut series = segment(&mut random, 60, 500.0, 0.05, 0.0);
        for one in series.iter_mut().skip(1).step_by(every) {
            *one = second(500.0, 100e6, 4096.0);
        }
        assert_eq!(cuts(&series), [0], "every {every}");
    }
}

#[test]
fn an_interval_in_which_a_load_ends_belongs_to_one_side() {
    let mut series = vec![second(6_400.0, 20e6, 4096.0); 10];
    series.push(second(64.0, 20e6, 4096.0));
    series.extend(vec![second(0.0, 0.0, 0.0); 10]);
    let found = cuts(&series);
    assert!(found == [0, 10] || found == [0, 11], "{found:?}");
}

#[test]
fn the_first_second_is_no_segment_of_its_own() {
    let mut series = vec![second(500.0, 1e6, 4096.0); 30];
    series[0] = second(60.0, 9e6, 4096.0);
    assert_eq!(cuts(&series), [0]);
}

#[test]
fn a_change_of_size_alone_is_a_change() {
    let mut series = vec![second(500.0, 1e6, 4096.0); 20];
    series.extend(vec![second(500.0, 1e6, 65_536.0); 20]);
    assert_eq!(cuts(&series), [0, 20]);
}

#[test]
fn rest_is_a_segment_and_long_series_are_cut_on_means() {
    let mut series = vec![second(500.0, 1e6, 4096.0); 3_000];
    series.extend(vec![second(0.0, 0.0, 0.0); 3_000]);
    let found = cuts(&series);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].abs_diff(3_000) <= 3, "{found:?}");
    assert_eq!(cuts(&[]), Vec::<usize>::new());
    assert_eq!(cuts(&series[..1]), [0]);
}
