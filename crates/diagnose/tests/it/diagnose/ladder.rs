//! Tests the expectation for a device without a profile of its own: from a device of the same
//! model, from its own past, from its peers.

use crate::diagnose::staged::{closed, diagnosed, longest, may_be, profiled, reads, seen};
use diagnose::{DiagnoseOptions, FittedProfile, diagnose, past_until};
use record::{
    Bytes, Confidence, DeviceDiagnosis, DeviceFacts, LoneReads, Observation, Rung, Verdict,
};

/// A disk with this name that takes `service` per request and serves eight in parallel, with 900
/// reads per second.
fn disk(name: &str, service: &str) -> Observation {
    disk_at(900, name, service)
}

/// The same with another rate.
fn disk_at(rate: u64, name: &str, service: &str) -> Observation {
    let mut observation =
        seen(&format!("mmc,servers=8,service={service}"), vec![reads(0, 60, rate)], false);
    observation.id = format!("{name} {service}");
    observation.host = Some("db1".to_owned());
    for device in &mut observation.devices {
        (device.name, device.file_hash) = (name.to_owned(), None);
    }
    observation.intervals.iter_mut().for_each(|interval| interval.device = name.to_owned());
    observation
}

fn with_past(observation: &Observation, past: Vec<Observation>) -> DeviceDiagnosis {
    let options = DiagnoseOptions { past: past.into(), ..DiagnoseOptions::default() };
    diagnose(observation, &|_| None, &options).devices.remove(0)
}

fn rung(device: &DeviceDiagnosis) -> Rung {
    longest(device).baseline.as_ref().unwrap().rung
}

#[test]
fn a_disk_that_was_quicker_under_the_same_load_is_slow_and_one_that_was_not_is_fine() {
    let today = disk("sda", "4ms");
    let slow = with_past(&today, vec![disk("sda", "1ms")]);
    assert_eq!(rung(&slow), Rung::Past);
    assert_eq!(longest(&slow).verdict, Verdict::Slow, "{:#?}", longest(&slow));
    for past in [vec![disk("sda", "4100us")], Vec::new()] {
        let found = with_past(&today, past);
        assert!(longest(&found).verdict.is_fine(), "{:#?}", longest(&found));
    }
}

#[test]
fn the_past_is_at_least_twelve_hours_old() {
    let at = |mut observation: Observation, begin_ns: u64| {
        observation.intervals.iter_mut().for_each(|it| it.begin_ns += begin_ns);
        observation.contexts.iter_mut().for_each(|it| it.begin_ns += begin_ns);
        observation
    };
    let (today_ns, hour_ns) = (1_767_225_600_000_000_000, 3_600_000_000_000);
    let today = at(disk("sda", "4ms"), today_ns);
    for (hours, found) in [(1, false), (11, false), (13, true)] {
        let earlier = at(disk("sda", "1ms"), today_ns - hours * hour_ns);
        let device = with_past(&today, vec![earlier]);
        assert_eq!(rung(&device) == Rung::Past, found, "{hours} hours");
    }
    let until = past_until(std::slice::from_ref(&today));
    assert_eq!(until.as_deref(), Some("2025-12-31T12:00:00Z"));
    assert_eq!(past_until(&[disk("sda", "4ms")]), None);
}

/// A recording followed by another one of the same disk.
fn and_then(mut first: Observation, second: Observation) -> Observation {
    let end = first.intervals.iter().map(|it| it.begin_ns + it.duration_ns).max().unwrap();
    first.intervals.extend(second.intervals.into_iter().map(|mut interval| {
        interval.begin_ns += end;
        interval
    }));
    first
}

#[test]
fn a_disk_that_is_quicker_at_another_time_of_the_recording_is_slow_and_was_not_then() {
    let (quick, slow) = (|| disk("vdb", "1ms"), || disk("vdb", "6ms"));
    for (recording, slow_first) in
        [(and_then(quick(), slow()), false), (and_then(slow(), quick()), true)]
    {
        let found = with_past(&recording, Vec::new());
        assert_eq!(found.episodes.len(), 2, "{:#?}", found.episodes);
        let [one, other] = [0, 1].map(|at| &found.episodes[at]);
        let (slow, quick) = if slow_first { (one, other) } else { (other, one) };
        assert_eq!(slow.verdict, Verdict::Slow, "{slow:#?}");
        assert_eq!(slow.baseline.as_ref().unwrap().rung, Rung::Past);
        assert!(quick.verdict.is_fine(), "{quick:#?}");
    }
    // On a disk that may be rotating, the requests may have become random, but not at the same rate.
    for (rate, confidence) in [(700, Confidence::Possible), (900, Confidence::Likely)] {
        let then = and_then(disk("sda", "1ms"), disk_at(rate, "sda", "6ms"));
        let with_arm = with_past(&then, Vec::new());
        let slow = with_arm.episodes.last().unwrap();
        assert!(slow.verdict == Verdict::Slow || may_be(slow, Verdict::Slow), "{slow:#?}");
        assert_eq!(slow.confidence, confidence, "{slow:#?}");
    }
    let steady = with_past(&and_then(disk("sda", "6ms"), disk("sda", "6100us")), Vec::new());
    assert!(longest(&steady).verdict.is_fine(), "{:#?}", longest(&steady));
    assert_ne!(rung(&steady), Rung::Past);
}

#[test]
fn a_disk_that_takes_eighty_times_as_long_at_the_same_rate_is_slow_and_has_no_deep_queue() {
    let recording = and_then(disk_at(200, "sda", "400us"), disk_at(200, "sda", "32ms"));
    let found = with_past(&recording, Vec::new());
    let shown = found.shown_episode().unwrap();
    assert!(shown.verdict.is_slow(), "{shown:#?}");
    assert_eq!(found.shown(), Some(1));
}

#[test]
fn without_bytes_there_is_no_verdict_and_the_counters_to_record_are_named() {
    let mut recording = disk("1 D:", "4ms");
    recording.source = "Windows PhysicalDisk CSV".to_owned();
    for interval in &mut recording.intervals {
        for op in [&mut interval.all, &mut interval.read, &mut interval.write] {
            (op.request_bytes, op.bytes_per_s) = (None, None);
        }
    }
    let found = with_past(&recording, Vec::new());
    let shown = found.shown_episode().unwrap();
    assert_eq!(shown.verdict, Verdict::NotEnoughEvidence, "{shown:#?}");
    assert!(shown.claim.contains("no bytes"), "{}", shown.claim);
}

#[test]
fn the_past_of_another_disk_or_of_other_requests_says_nothing() {
    let today = disk("sda", "4ms");
    let mut elsewhere = disk("sda", "1ms");
    elsewhere.host = Some("db2".to_owned());
    let mut large = disk("sda", "1ms");
    for interval in &mut large.intervals {
        for op in [&mut interval.all, &mut interval.read] {
            op.request_bytes = op.request_bytes.map(|mut size| {
                size.value *= 32.0;
                size
            });
            op.bytes_per_s = op.bytes_per_s.map(|mut rate| {
                rate.value *= 32.0;
                rate
            });
        }
    }
    for past in [disk("sdb", "1ms"), elsewhere, large] {
        assert_ne!(rung(&with_past(&today, vec![past])), Rung::Past);
    }
}

#[test]
fn one_slow_disk_beside_three_of_its_kind_is_found_and_they_are_not() {
    let mut observation = disk("sda", "1ms");
    for (name, service) in [("sdb", "1050us"), ("sdc", "980us"), ("sdd", "5ms")] {
        let one = disk(name, service);
        observation.devices.extend(one.devices);
        observation.intervals.extend(one.intervals);
    }
    let found = diagnose(&observation, &|_| None, &DiagnoseOptions::default());
    for device in &found.devices {
        let verdict = longest(device).verdict;
        assert_eq!(rung(device), Rung::Peers, "{}", device.device);
        assert_eq!(verdict == Verdict::Slow, device.device == "sdd", "{:#?}", longest(device));
        assert!(device.device == "sdd" || verdict.is_fine(), "{:#?}", longest(device));
    }
    // A device of unknown kind has no peers.
    observation.devices[3].name = "dm-3".to_owned();
    observation.intervals.iter_mut().filter(|it| it.device == "sdd").for_each(|it| {
        it.device = "dm-3".to_owned();
    });
    let found = diagnose(&observation, &|_| None, &DiagnoseOptions::default());
    assert_ne!(rung(&found.devices[3]), Rung::Peers);
}

/// Two disks at these rates, of which the second takes this long.
fn beside(rates: [u64; 2], service: &str) -> DeviceDiagnosis {
    let mut observation = disk_at(rates[0], "sda", "1ms");
    let other = disk_at(rates[1], "sdb", service);
    observation.devices.extend(other.devices);
    observation.intervals.extend(other.intervals);
    diagnose(&observation, &|_| None, &DiagnoseOptions::default()).devices.remove(1)
}

#[test]
fn the_slower_of_two_disks_with_the_same_load_is_slow_unless_they_differ_in_kind() {
    let slow = beside([60, 60], "23ms");
    assert_eq!(longest(&slow).verdict, Verdict::Slow, "{:#?}", longest(&slow));
    let fine = longest(&slow).alternatives.iter().find(|one| one.verdict.is_fine()).unwrap();
    assert!(fine.because.contains("differ in kind"), "{fine:#?}");
    // Two alike, and two with loads of their own: a rotating disk beside a flash drive.
    for found in [beside([60, 60], "1300us"), beside([120, 60], "9ms")] {
        assert!(longest(&found).verdict.is_fine(), "{:#?}", longest(&found));
    }
}

#[test]
fn a_profile_of_the_same_model_stands_for_a_drive_and_says_so() {
    let facts = |serial: &str| DeviceFacts {
        disk: "sda".to_owned(),
        name: "sda".to_owned(),
        model: Some("WDC WD40EFRX".to_owned()),
        serial: Some(serial.to_owned()),
        size_bytes: Bytes(4_000_787_030_016),
        ..DeviceFacts::default()
    };
    let mut profile = profiled("mmc,servers=8,service=1ms").profile().clone();
    profile.simulated = false;
    profile.target.device = Some(facts("A1"));
    let profile = FittedProfile::new(profile);
    let mut observation = seen("mmc,servers=8,service=3ms", vec![closed(0, 60, 1)], false);
    observation.devices[0].facts = Some(facts("B2"));
    let found = diagnosed(&observation, Some(&profile));
    let episode = longest(&found);
    assert_eq!((rung(&found), episode.verdict), (Rung::Model, Verdict::Slow), "{episode:#?}");
    assert!(found.profile.value().unwrap().doubt.as_ref().unwrap().contains("A1"));
    // Providers sell volumes of many kinds under one model name.
    observation.devices[0].facts.as_mut().unwrap().virtual_disk = true;
    assert_ne!(rung(&diagnosed(&observation, Some(&profile))), Rung::Model);
}

#[test]
fn lone_reads_that_are_quick_make_a_queue_of_long_times_and_slow_ones_a_slow_disk() {
    let with = |device: &str, rate: u64, quick_ns: u64| {
        let mut observation = seen(device, vec![reads(0, 60, rate)], false);
        observation.devices[0].lone_reads =
            Some(LoneReads { reads: 40, quick_ns, median_ns: quick_ns, slowest_ns: quick_ns });
        with_past(&observation, Vec::new())
    };
    // Back to back, nearly all of the time.
    let queue = with("mm1,service=1ms", 970, 1_000_000);
    assert_eq!(longest(&queue).verdict, Verdict::Overloaded, "{:#?}", longest(&queue));
    assert!(longest(&queue).baseline.as_ref().unwrap().says.contains("test reads by halfpower"));
    // The same latencies without a queue.
    let slow = with("mmc,servers=64,service=120ms", 3, 110_000_000);
    assert_eq!(longest(&slow).verdict, Verdict::Slow, "{:#?}", longest(&slow));
    assert_eq!(rung(&slow), Rung::Observation);
}
