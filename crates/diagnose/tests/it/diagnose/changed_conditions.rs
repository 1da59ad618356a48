//! Tests conditions that differ from the profile, the I/O scheduler, and waits for other things than the
//! disk. Each is a named doubt, a verdict if the tracer saw the wait, or a cause with its figure.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, by_no_profile, closed, diagnosed, first_advice, has_cause, has_doubt,
    longest, may_be, profiled, reads, seen,
};
use diagnose::{Fit, FittedProfile, ProfileSet, fit};
use record::{
    Bytes, CauseCode, CgroupShare, Context, CpuStops, DeviceDiagnosis, DeviceFacts, Doubt, Figure,
    Finding, FindingCode, HistogramSnapshot, LoopFile, NoteCode, Observation, Profile, ShareKind,
    Strategy, Traced, TracedOp, Verdict, bucket_index,
};

/// Facts of a device with this scheduler.
fn facts(scheduler: &str) -> DeviceFacts {
    DeviceFacts {
        scheduler: Some(scheduler.to_owned()),
        write_cache: Some("write through".to_owned()),
        ..DeviceFacts::default()
    }
}

/// The profile of the eight servers, with these device facts.
fn profile_with(facts: DeviceFacts) -> FittedProfile {
    let mut profile = EIGHT_PROFILE.profile().clone();
    profile.target.device = Some(facts);
    FittedProfile::new(profile)
}

/// The observation with facts of its single device.
fn with(mut observation: Observation, facts: &DeviceFacts) -> Observation {
    observation.devices[0].facts = Some(facts.clone());
    observation
}

fn times(count: u64, ns: u64) -> HistogramSnapshot {
    HistogramSnapshot { buckets: vec![(bucket_index(ns) as u32, count)] }
}

/// Adds a trace in which requests wait `queue_ns` above the device and take `device_ns` in it.
fn traced(mut observation: Observation, queue_ns: u64, device_ns: u64) -> Observation {
    for interval in &mut observation.intervals {
        let count = interval.all.per_s.map_or(0.0, |rate| rate.value) as u64;
        let read = TracedOp {
            queue_ns: times(count, queue_ns),
            device_ns: times(count, device_ns),
            ..TracedOp::default()
        };
        interval.traced = Some(Box::new(Traced { read, ..Traced::default() }));
    }
    observation
}

/// A device of 3 ms instead of 1 ms: a healthy device as seen by a program that the scheduler delays.
const WAITING: &str = "mmc,servers=8,service=3ms";

#[test]
fn a_wait_in_the_scheduler_that_the_tracer_saw_is_not_the_devices() {
    let bfq = facts("bfq");
    let profile = profile_with(bfq.clone());
    let waiting = with(seen(WAITING, vec![reads(0, 60, 500)], false), &bfq);
    let found = diagnosed(&traced(waiting.clone(), 2_000_000, 1_000_000), Some(&profile));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    assert!(has_cause(episode, CauseCode::SchedulerHolds));
    assert!(may_be(episode, Verdict::Overloaded), "bursts are not excluded");
    assert_eq!(first_advice(&found), Some(Strategy::Scheduler));
    // The counterpart: the same time, spent in the device.
    let found = diagnosed(&traced(waiting.clone(), 10_000, 3_000_000), Some(&profile));
    assert_eq!(longest(&found).verdict, Verdict::Slow);
    // The counterpart: without a scheduler, requests wait for the device.
    let none = with(waiting, &facts("none"));
    let found = diagnosed(&traced(none, 2_000_000, 1_000_000), Some(&profile));
    assert_eq!(longest(&found).verdict, Verdict::Slow);
}

#[test]
fn a_full_device_is_overloaded_wherever_its_requests_wait() {
    let bfq = facts("bfq");
    let full = with(seen(EIGHT, vec![closed(0, 60, 64)], false), &bfq);
    let found = diagnosed(&traced(full, 7_000_000, 1_000_000), Some(&profile_with(bfq)));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Overloaded, "{episode:#?}");
    assert!(may_be(episode, Verdict::Capped), "bfq may serve others first");
}

#[test]
fn a_scheduler_by_share_or_another_than_profiled_is_a_rival_and_mq_deadline_as_profiled_is_none() {
    let waiting = seen(WAITING, vec![reads(0, 60, 500)], false);
    for (then, now, rival) in [
        ("none", "bfq", true),
        ("bfq", "bfq", true),
        ("none", "mq-deadline", true),
        ("mq-deadline", "mq-deadline", false),
        ("none", "none", false),
    ] {
        let observation = with(waiting.clone(), &facts(now));
        let found = diagnosed(&observation, Some(&profile_with(facts(then))));
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::Slow, "{then} {now}: {episode:#?}");
        assert_eq!(may_be(episode, Verdict::Capped), rival, "{then} {now}: {episode:#?}");
    }
}

#[test]
fn what_is_not_as_it_was_takes_the_certainty_from_slowness() {
    let waiting = seen(WAITING, vec![reads(0, 60, 500)], false);
    let then = facts("none");
    let same = diagnosed(&with(waiting.clone(), &then), Some(&profile_with(then.clone())));
    assert!(!has_doubt(longest(&same), Doubt::ConditionsChanged));
    let now = DeviceFacts { write_cache: Some("write back".to_owned()), ..then.clone() };
    let other = diagnosed(&with(waiting, &now), Some(&profile_with(then)));
    let episode = longest(&other);
    assert!(has_doubt(episode, Doubt::ConditionsChanged), "{episode:#?}");
    assert!(other.notes.iter().any(|note| note.code == NoteCode::ConditionsChanged));
    let differences = &other.profile.value().unwrap().differences;
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(differences[0].what, "write cache");
    assert_eq!(differences[0].a, "write through");
    assert_eq!(differences[0].b, "write back");
}

#[test]
fn a_loop_device_is_known_by_its_file() {
    let on = |path: &str, on: &str| DeviceFacts {
        name: "loop3".to_owned(),
        disk: "loop3".to_owned(),
        loop_file: Some(LoopFile { path: path.to_owned(), on: Some(on.to_owned()), direct: true }),
        ..DeviceFacts::default()
    };
    let mut profile = profiled(EIGHT).profile().clone();
    profile.simulated = false;
    profile.target.path = "/dev/loop3".to_owned();
    profile.target.device = Some(on("/a/disk", "tmpfs on tmpfs"));
    let stands = |now: DeviceFacts| {
        let device = record::ObservedDevice {
            name: "loop3".to_owned(),
            facts: Some(now),
            ..record::ObservedDevice::default()
        };
        fit(&device, &profile, true)
    };
    assert!(matches!(stands(on("/a/disk", "tmpfs on tmpfs")), Fit::Of(..)));
    let Fit::Not(why) = stands(on("/b/disk", "ext4 on /dev/vda")) else {
        panic!("another file is another device")
    };
    assert!(why.contains("/b/disk") && why.contains("tmpfs on tmpfs"), "{why}");
    assert!(matches!(stands(on("/a/disk", "ext4 on /dev/vda")), Fit::Not(_)));
}

#[test]
fn what_programs_wait_for_beside_a_fine_disk_is_named_with_its_figure() {
    let fine = seen(EIGHT, vec![reads(0, 60, 500)], false);
    type Staged = fn(&mut Context);
    let named = |change: Staged| {
        let mut observation = fine.clone();
        observation.contexts.iter_mut().for_each(change);
        let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::NotTheDisk, "{episode:#?}");
        let causes = episode.causes.iter().filter(|cause| cause.code.is_elsewhere());
        causes.map(|cause| (cause.code, cause.claim.clone())).collect::<Vec<_>>()
    };
    assert_eq!(named(|_| {}), []);
    let cases: [(Staged, CauseCode, &str); 5] = [
        (|it| it.cpu_some_share = Some(0.6), CauseCode::ProcessorsBusy, "60 %"),
        (|it| it.idle_share = Some(0.01), CauseCode::ProcessorsBusy, "1 %"),
        (|it| it.steal_share = Some(0.2), CauseCode::StolenTime, "20 %"),
        (|it| it.memory_some_share = Some(0.25), CauseCode::MemoryShort, "25 %"),
        (
            |it| {
                it.cpu_stops =
                    vec![CpuStops { group: "/db".to_owned(), processors: 0.5, share: 0.4 }];
            },
            CauseCode::CpuQuota,
            "\"/db\" has a quota of 0.5 CPUs and was throttled in 40 % of its periods",
        ),
    ];
    for (change, code, figure) in cases {
        let told = named(change);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 == code && told[0].1.contains(figure), "{told:?}");
    }
    // This is found even without a profile, when nothing is known of the disk.
    let mut observation = fine.clone();
    observation.contexts.iter_mut().for_each(|it| it.cpu_some_share = Some(0.6));
    let found = diagnosed(&observation, None);
    assert!(by_no_profile(longest(&found)), "{:#?}", longest(&found));
    assert!(has_cause(longest(&found), CauseCode::ProcessorsBusy));
    // The counterparts: below the thresholds nothing is reported.
    assert_eq!(named(|it| it.cpu_some_share = Some(0.2)), []);
    assert_eq!(named(|it| it.memory_some_share = Some(0.05)), []);
}

#[test]
fn a_device_that_is_divided_among_control_groups_may_hold_some_back_above_its_counters() {
    let none = DeviceFacts { major_minor: "8:0".to_owned(), ..facts("none") };
    let profile = profile_with(none.clone());
    let share = |kind, numbers: &str, value| CgroupShare {
        group: "/light".to_owned(),
        kind,
        major_minor: Some(numbers.to_owned()),
        value,
    };
    let shared = |shares: Vec<CgroupShare>| {
        let mut observation = with(seen(EIGHT, vec![reads(0, 60, 500)], false), &none);
        observation.contexts.iter_mut().for_each(|it| it.cgroup_shares.clone_from(&shares));
        observation
    };
    for (kind, value, words) in [
        (ShareKind::Cost, 1, "io.cost.qos on"),
        (ShareKind::LatencyTarget, 10_000, "io.latency=10000 of /light"),
    ] {
        let here = shared(vec![share(kind, "8:0", value)]);
        let found = diagnosed(&here, Some(&profile));
        let episode = longest(&found);
        assert!(has_doubt(episode, Doubt::GroupShares) && may_be(episode, Verdict::Capped));
        assert!(episode.alternatives.iter().any(|one| one.because.contains(words)), "{episode:#?}");
        // The tracer shows that nothing waits above, or the share belongs to another device.
        let unseen = diagnosed(&traced(here, 10_000, 1_000_000), Some(&profile));
        assert!(!has_doubt(longest(&unseen), Doubt::GroupShares));
        let elsewhere = diagnosed(&shared(vec![share(kind, "8:16", value)]), Some(&profile));
        assert!(!has_doubt(longest(&elsewhere), Doubt::GroupShares));
    }
    // A weight alone does not divide the device.
    let weighed = diagnosed(&shared(vec![share(ShareKind::Weight, "8:0", 10)]), Some(&profile));
    assert!(!has_doubt(longest(&weighed), Doubt::GroupShares));
}

#[test]
fn requests_are_held_above_the_device_where_they_wait_longer_than_for_a_processor() {
    const QUICK: &str = "mmc,servers=8,service=100us";
    let held = |share: f64, wait_ns: u64| {
        let seen = seen(QUICK, vec![reads(0, 60, 500)], false);
        let mut seen = traced(seen, 1_000, 100_000);
        for interval in &mut seen.intervals {
            let count = interval.all.per_s.map_or(0.0, |rate| rate.value);
            let waits = times((count * share) as u64, wait_ns);
            interval.traced.as_mut().unwrap().before_start_ns = waits;
        }
        diagnosed(&seen, None)
    };
    let throttled = held(0.2, 1_000_000);
    assert_eq!(longest(&throttled).verdict, Verdict::Capped);
    assert!(has_cause(longest(&throttled), CauseCode::WaitsAbove));
    // All requests wait as long as other programs use the CPU, or few of them wait long.
    for (share, wait_ns) in [(1.0, 200_000), (0.02, 1_000_000)] {
        let found = held(share, wait_ns);
        assert_ne!(longest(&found).verdict, Verdict::Capped, "{share} {wait_ns}");
    }
}

#[test]
fn requests_that_wait_for_a_tag_all_the_time_are_more_than_the_device_takes() {
    let found = |tags: u64, wait_ns: u64| {
        let facts = DeviceFacts { nr_requests: Some(tags), ..facts("none") };
        let seen = with(seen(EIGHT, vec![closed(0, 60, 8)], false), &facts);
        let mut seen = traced(seen, 1_000, 1_000_000);
        for interval in &mut seen.intervals {
            let count = interval.all.per_s.map_or(0.0, |rate| rate.value);
            interval.traced.as_mut().unwrap().before_start_ns = times(count as u64, wait_ns);
        }
        diagnosed(&seen, Some(&profile_with(facts)))
    };
    // One after another, as from a program that stops when it submits a request.
    let waits = found(8, 125_000);
    let episode = longest(&waits);
    assert_eq!(episode.verdict, Verdict::Overloaded);
    let deep = episode.causes.iter().find(|cause| cause.code == CauseCode::DepthBeyondKnee);
    assert!(deep.unwrap().claim.contains("is 8, more than the device accepts;"), "{deep:?}");
    assert_eq!(first_advice(&waits), Some(Strategy::ShallowerQueue));
    assert!(waits.advice[0].effect.value().is_none(), "how deep the queue is was not seen");
    // With free tags the wait is for something else, and with hardly any wait nothing is too deep.
    for (tags, wait_ns) in [(16, 125_000), (8, 5_000)] {
        let other = found(tags, wait_ns);
        assert!(!has_cause(longest(&other), CauseCode::DepthBeyondKnee), "{tags} {wait_ns}");
    }
}

#[test]
fn a_busy_counter_in_doubt_is_believed_where_requests_were_there_at_each_moment() {
    let found = |idle_moments: usize| {
        let mut seen = seen(EIGHT, vec![closed(0, 60, 64)], false);
        seen.devices[0].busy_doubt = Some("an old kernel".to_owned());
        for interval in &mut seen.intervals[20..20 + idle_moments] {
            interval.in_flight = interval.in_flight.map(|now| Figure { value: 0.0, ..now });
        }
        let found = diagnosed(&seen, Some(&EIGHT_PROFILE));
        let doubted = found.notes.iter().any(|note| note.code == NoteCode::BusyDoubtful);
        (has_cause(longest(&found), CauseCode::DepthBeyondKnee), doubted)
    };
    assert_eq!(found(0), (true, false));
    assert_eq!(found(1), (false, true));
}

#[test]
fn a_profile_that_is_not_valid_is_taken_last_and_takes_the_certainty() {
    let valid = EIGHT_PROFILE.profile().clone();
    let mut invalid = valid.clone();
    invalid.id = "of too few requests".to_owned();
    let claim = "90 of 92 cells saw fewer than 100 requests.";
    invalid.findings.push(Finding::invalid(FindingCode::TooFewRequests, claim, "More time."));
    let observation = seen(EIGHT, vec![reads(0, 60, 500)], false);
    let by = |profiles: &[&Profile]| {
        let found = ProfileSet::saved(profiles.iter().map(|one| (*one).clone()));
        found.diagnose(&observation, "test", Some(0)).devices.remove(0)
    };
    let used = |found: &DeviceDiagnosis| found.profile.value().unwrap().profile_id.clone();
    // The later of two equal profiles is used, unless it is invalid.
    let found = by(&[&valid, &invalid]);
    assert_eq!(used(&found), valid.id);
    assert!(found.notes.iter().all(|note| note.code != NoteCode::ProfileInvalid));
    let found = by(&[&invalid]);
    assert_eq!(used(&found), invalid.id);
    assert_eq!(found.profile.value().unwrap().invalid.as_deref(), Some(claim));
    let note = found.notes.iter().find(|note| note.code == NoteCode::ProfileInvalid).unwrap();
    assert!(note.claim.contains(claim), "{note:?}");
    let episode = longest(&found);
    assert!(has_doubt(episode, Doubt::ProfileInvalid), "{episode:#?}");
    assert!(episode.probability < longest(&by(&[&valid])).probability);
}

#[test]
fn a_profile_of_the_device_that_is_not_used_is_named_with_the_reason_and_the_action() {
    let disk = |name: &str, serial: Option<&str>, gib: u64| DeviceFacts {
        name: name.to_owned(),
        disk: name.to_owned(),
        serial: serial.map(str::to_owned),
        size_bytes: Bytes(gib << 30),
        ..DeviceFacts::default()
    };
    let profile = |id: &str, of: DeviceFacts| {
        let mut profile = EIGHT_PROFILE.profile().clone();
        (profile.id, profile.simulated) = (id.to_owned(), false);
        (profile.target.path, profile.target.device) = ("/srv".to_owned(), Some(of));
        profile
    };
    let idle = seen(EIGHT, vec![reads(0, 1, 10)], false);
    let unused = |profiles: ProfileSet, now: &DeviceFacts| {
        let observation = with(idle.clone(), now);
        profiles.diagnose(&observation, "test", Some(0)).devices.remove(0).unused_profile
    };
    let now = disk("sda", Some("A1"), 8);
    let grown = profile("grown", disk("sda", Some("A1"), 4));
    let other = profile("other", disk("sdz", Some("Z1"), 1));
    let why = "Profile grown of /srv does not fit this device: the device has a size of ";
    for profiles in [
        ProfileSet::chosen(grown.clone()),
        // A newer profile of an unrelated disk is not named.
        ProfileSet::saved([grown.clone(), other.clone()]),
    ] {
        let told = unused(profiles, &now).unwrap();
        assert!(told.starts_with(why), "{told}");
        assert!(told.ends_with("; run `halfpower check` on this device."), "{told}");
    }
    // Only the name has changed, so the user may know better.
    let told = unused(ProfileSet::saved([grown.clone()]), &disk("sdb", None, 4)).unwrap();
    assert!(told.ends_with("or use it anyway with `--profile grown`."), "{told}");
    // The opposites: nothing to explain.
    let fits = profile("fits", now.clone());
    assert_eq!(unused(ProfileSet::saved([other]), &now), None);
    assert_eq!(unused(ProfileSet::saved([grown, fits.clone()]), &now), None);
    // A newer one that fits, but is invalid.
    let mut invalid = profile("invalid", now.clone());
    invalid.findings.push(Finding::invalid(FindingCode::TooFewRequests, "Too few.", "More time."));
    let told = unused(ProfileSet::saved([fits, invalid]), &now).unwrap();
    assert!(told.starts_with("Profile invalid of /srv is newer but invalid: Too few;"), "{told}");
}
