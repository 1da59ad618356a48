//! Tests members of a built device, each a simulated device with known properties, under one load.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, by_no_profile, closed, has_cause, longest, may_be, reads, seen,
};
use diagnose::{DiagnoseOptions, FittedProfile, diagnose};
use plan::scenarios::{GroupLimit, ScenarioLoad};
use record::{
    ArrayState, CauseCode, Confidence, DeviceFacts, Diagnosis, Episode, LayerKind, Measured,
    Observation, ObservedDevice, ObservedPath, Strategy, Verdict, Volume, VolumeKind,
};

const ARRAY_CAUSES: [CauseCode; 2] = [CauseCode::ArrayRebuilds, CauseCode::ArrayDegraded];
const SLOW: &str = "mmc,servers=8,service=8ms";

/// Observations of the members of a btrfs raid0, named a, b, c, ...
fn stripe(members: &[(&str, ScenarioLoad)]) -> Observation {
    let mut whole = side_by_side(members);
    let names: Vec<String> = whole.devices.iter().map(|device| device.name.clone()).collect();
    whole.paths.push(ObservedPath {
        path: "/srv/db".to_owned(),
        filesystem: None,
        layout: None,
        volumes: vec![Volume {
            name: "12-34".to_owned(),
            kind: VolumeKind::Btrfs,
            level: Some("raid0".to_owned()),
            state: None,
            members: names.clone(),
        }],
        devices: names,
    });
    whole
}

/// Observations of independent devices, named a, b, c, ...
fn side_by_side(devices: &[(&str, ScenarioLoad)]) -> Observation {
    let mut whole = Observation::default();
    for (name, (device, load)) in ["a", "b", "c"].into_iter().zip(devices) {
        let mut one = seen(device, vec![load.clone()], false);
        one.intervals.iter_mut().for_each(|interval| name.clone_into(&mut interval.device));
        whole.intervals.append(&mut one.intervals);
        whole.contexts = one.contexts;
        whole.devices.push(ObservedDevice { name: name.to_owned(), ..ObservedDevice::default() });
    }
    whole.intervals.sort_by_key(|interval| interval.begin_ns);
    whole
}

fn diagnosed(observation: &Observation, profile: Option<&FittedProfile>) -> Diagnosis {
    let options = DiagnoseOptions { chosen: true, ..DiagnoseOptions::default() };
    diagnose(observation, &|_| profile, &options)
}

fn of<'d>(diagnosis: &'d Diagnosis, name: &str) -> &'d Episode {
    let device = diagnosis.devices.iter().find(|one| one.device == name).unwrap();
    device.episodes.iter().max_by_key(|episode| episode.duration_ns).unwrap()
}

#[test]
fn load_is_moved_to_a_device_that_has_time_left_and_not_to_one_that_is_slow() {
    let advised = |other: &str| {
        let seen = side_by_side(&[(EIGHT, reads(0, 60, 7_600)), (other, reads(0, 60, 100))]);
        let found = diagnosed(&seen, Some(&EIGHT_PROFILE));
        let busy = of(&found, "a");
        assert_eq!(busy.verdict, Verdict::Overloaded, "{busy:#?}");
        let device = found.devices.iter().find(|one| one.device == "a").unwrap();
        (
            has_cause(busy, CauseCode::HotDevice),
            device.advice.iter().map(|it| it.strategy).collect(),
        )
    };
    let (hot, advice): (bool, Vec<Strategy>) = advised(EIGHT);
    assert!(hot && advice.contains(&Strategy::LoadBalancing), "{advice:?}");
    let (hot, advice) = advised(SLOW);
    assert!(!hot && !advice.contains(&Strategy::LoadBalancing), "{advice:?}");
}

#[test]
fn load_is_moved_only_to_whole_disks_of_the_same_kind() {
    let hot = |names: [&str; 2]| {
        let mut seen = side_by_side(&[(EIGHT, reads(0, 60, 7_600)), (EIGHT, reads(0, 60, 100))]);
        for (device, name) in seen.devices.iter_mut().zip(names) {
            name.clone_into(&mut device.name);
        }
        for interval in &mut seen.intervals {
            let name = if interval.device == "a" { names[0] } else { names[1] };
            name.clone_into(&mut interval.device);
        }
        let found = diagnosed(&seen, Some(&EIGHT_PROFILE));
        has_cause(of(&found, names[0]), CauseCode::HotDevice)
    };
    assert!(hot(["sda", "sdb"]));
    // A file, memory, a volume, and a disk of another kind.
    for other in ["loop0", "zram0", "dm-0", "vda"] {
        assert!(!hot(["sda", other]), "{other}");
    }
}

#[test]
fn a_disk_below_a_loop_device_that_the_user_named_refers_to_it() {
    let path = |devices: &[&str], volumes: Vec<Volume>| ObservedPath {
        path: format!("/dev/{}", devices[0]),
        filesystem: None,
        layout: None,
        volumes,
        devices: devices.iter().map(|device| (*device).to_owned()).collect(),
    };
    let above = |observation: &Observation| {
        let found = diagnosed(observation, None);
        found.devices.into_iter().map(|device| device.above).collect::<Vec<_>>()
    };
    let mut seen = side_by_side(&[(EIGHT, reads(0, 1, 10)), (EIGHT, reads(0, 1, 10))]);
    let on_b = Volume {
        name: "a".to_owned(),
        kind: VolumeKind::Loop,
        level: None,
        state: None,
        members: vec!["b".to_owned()],
    };
    seen.paths.push(path(&["a", "b"], vec![on_b]));
    assert_eq!(above(&seen), [None, Some("a".to_owned())]);
    // The opposites: the user named both, or none.
    let mut both = seen.clone();
    both.paths.push(path(&["b"], Vec::new()));
    assert_eq!(above(&both), [None, None]);
    seen.paths[0].devices.pop();
    assert_eq!(above(&seen), [None, None]);
}

#[test]
fn a_member_that_takes_far_longer_than_its_siblings_is_named_without_a_profile() {
    let load = || reads(0, 60, 400);
    let found = diagnosed(&stripe(&[(EIGHT, load()), (SLOW, load()), (EIGHT, load())]), None);
    let slow = of(&found, "b");
    assert_eq!((slow.verdict, slow.confidence), (Verdict::Slow, Confidence::Certain), "{slow:#?}");
    assert!(has_cause(slow, CauseCode::SlowestMember));
    let (first, others) = slow.claim.split_once(" and ").unwrap();
    assert!(first.contains("ms at b ("), "{}", slow.claim);
    assert!(others.contains("the btrfs raid0 waits for its slowest member"), "{}", slow.claim);
    let advised = |name: &str| {
        let device = found.devices.iter().find(|one| one.device == name).unwrap();
        device.advice.iter().map(|it| it.strategy).collect::<Vec<_>>()
    };
    assert_eq!(advised("b"), [Strategy::Restore]);
    for sibling in ["a", "c"] {
        let other = of(&found, sibling);
        assert_eq!(other.verdict, Verdict::NotTheDisk, "{other:#?}");
        assert!(other.claim.contains("waits for b"), "{}", other.claim);
        assert!(may_be(other, Verdict::Slow));
        assert_eq!(advised(sibling), []);
    }
}

#[test]
fn members_that_are_alike_or_not_comparable_are_not_held_against_each_other() {
    let load = || reads(0, 60, 400);
    let large = || {
        crate::diagnose::staged::load(0, 60, |spec| {
            spec.asked.rate_iops = Some(400);
            *spec = std::mem::take(spec).with_bs(1 << 20);
        })
    };
    for members in [
        [(EIGHT, load()), (EIGHT, load())],
        // The slow member has more load.
        [(EIGHT, reads(0, 60, 200)), (SLOW, load())],
        // Its requests are larger.
        [(EIGHT, load()), (SLOW, large())],
        // Its sibling has no load.
        [(EIGHT, reads(0, 20, 1)), (SLOW, reads(0, 20, 1))],
    ] {
        let found = diagnosed(&stripe(&members), None);
        for name in ["a", "b"] {
            let episode = of(&found, name);
            assert!(!episode.verdict.is_slow(), "{episode:#?}");
            assert!(!has_cause(episode, CauseCode::SlowestMember), "{episode:#?}");
        }
    }
}

#[test]
fn a_capped_member_is_what_its_sibling_waits_for() {
    let mut capped = closed(0, 60, 32);
    capped.limits.extend(GroupLimit::of("riops", 400));
    let mut observation = stripe(&[(EIGHT, reads(0, 60, 400)), (EIGHT, capped)]);
    // The limits of a simulated machine apply to device 0:0.
    for (device, numbers) in observation.devices.iter_mut().zip(["9:9", "0:0"]) {
        device.facts =
            Some(DeviceFacts { major_minor: numbers.to_owned(), ..DeviceFacts::default() });
    }
    let found = diagnosed(&observation, None);
    let held = of(&found, "b");
    assert_eq!(held.verdict, Verdict::Capped, "{held:#?}");
    assert!(held.claim.contains("the btrfs raid0 waits for b"), "{}", held.claim);
    assert_eq!(of(&found, "a").verdict, Verdict::NotTheDisk);
}

#[test]
fn a_member_with_a_profile_keeps_the_verdict_of_that_and_the_siblings_are_its_cause() {
    let load = || reads(0, 60, 400);
    let mut observation = stripe(&[(EIGHT, load()), (SLOW, load())]);
    // A simulated device is identified by its name.
    let known = format!("sim:{EIGHT}");
    for interval in observation.intervals.iter_mut().filter(|it| it.device == "b") {
        interval.device.clone_from(&known);
    }
    observation.devices[1].name.clone_from(&known);
    observation.paths[0].volumes[0].members[1].clone_from(&known);
    let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
    let slow = of(&found, &known);
    assert!(slow.verdict.is_slow() && slow.calibrated.is_some(), "{slow:#?}");
    for code in [CauseCode::SlowestMember, CauseCode::ServiceSlower] {
        assert!(has_cause(slow, code), "{slow:#?}");
    }
}

#[test]
fn the_map_of_a_path_has_every_layer_the_cause_in_its_place_and_what_is_out_of_sight() {
    let load = || reads(0, 60, 400);
    let mut observation = stripe(&[(EIGHT, load()), (SLOW, load())]);
    for (device, driver) in observation.devices.iter_mut().zip(["virtio_blk", "loop"]) {
        device.facts = Some(DeviceFacts {
            disk: device.name.clone(),
            driver: Some(driver.to_owned()),
            virtual_disk: true,
            scheduler: Some("none".to_owned()),
            ..DeviceFacts::default()
        });
    }
    let found = diagnosed(&observation, None);
    let [map] = &found.paths[..] else { panic!("{:#?}", found.paths) };
    assert_eq!(map.path, "/srv/db");
    let of = |kind: LayerKind| map.layers.iter().filter(|it| it.kind == kind).collect::<Vec<_>>();
    let kinds: Vec<LayerKind> = map.layers.iter().map(|layer| layer.kind).collect();
    assert!(kinds.is_sorted(), "from the top: {kinds:?}");
    assert_eq!(of(LayerKind::Volume)[0].now.as_deref(), Some("btrfs raid0 over a, b"));
    let [shared] = of(LayerKind::Scheduler)[..] else { panic!("{map:#?}") };
    assert_eq!((shared.devices.concat(), shared.now.as_deref()), ("ab".to_owned(), Some("none")));
    let blamed: Vec<_> = map.layers.iter().filter(|layer| !layer.causes.is_empty()).collect();
    let [blamed] = blamed[..] else { panic!("{map:#?}") };
    assert_eq!((blamed.kind, blamed.devices.concat()), (LayerKind::Device, "b".to_owned()));
    assert_eq!(blamed.causes, [CauseCode::SlowestMember.name()]);
    // The file and the host below the virtual disk cannot be observed. Loop devices have no host below them.
    let [below] = of(LayerKind::Below)[..] else { panic!("{map:#?}") };
    assert_eq!((below.devices.concat(), &below.now), ("a".to_owned(), &None));
    assert_eq!(of(LayerKind::File)[0].now, None);
}

#[test]
fn a_cap_below_a_virtual_disk_is_an_alternative_to_its_own_slowness() {
    let load = || reads(0, 60, 400);
    let verdict_of = |driver: &str| {
        let mut observation = stripe(&[(EIGHT, load()), (SLOW, load())]);
        observation.devices[1].facts = Some(DeviceFacts {
            disk: "b".to_owned(),
            driver: Some(driver.to_owned()),
            virtual_disk: true,
            ..DeviceFacts::default()
        });
        let found = diagnosed(&observation, None);
        let slow = of(&found, "b");
        assert_eq!(slow.verdict, Verdict::Slow, "{slow:#?}");
        let hidden = slow.alternatives.iter().find(|it| it.verdict == Verdict::Capped);
        hidden.map(|hidden| hidden.because.clone())
    };
    assert!(verdict_of("virtio_blk").unwrap().contains("not visible here"));
    assert_eq!(verdict_of("loop"), None);
}

#[test]
fn the_whole_is_compared_with_a_profile_of_the_whole_and_its_members_are_not() {
    let load = || reads(0, 60, 1_500);
    // Members with four servers each: together they have the profile's eight.
    let half = |time: &str| format!("mmc,servers=4,service={time}");
    let profile_of_both = {
        let mut profile = EIGHT_PROFILE.profile().clone();
        profile.simulated = false;
        profile.target.device = Some(DeviceFacts {
            disk: "a".to_owned(),
            leaves: vec!["b".to_owned(), "a".to_owned()],
            ..DeviceFacts::default()
        });
        FittedProfile::new(profile)
    };
    for (time, slow) in [("1ms", false), ("2ms", true)] {
        let device = half(time);
        let mut observation = stripe(&[(device.as_str(), load()), (device.as_str(), load())]);
        for device in &mut observation.devices {
            device.facts =
                Some(DeviceFacts { disk: device.name.clone(), ..DeviceFacts::default() });
        }
        let found =
            diagnose(&observation, &|_| Some(&profile_of_both), &DiagnoseOptions::default());
        let whole = of(&found, "a and b");
        assert_eq!(whole.verdict.is_slow(), slow, "{whole:#?}");
        assert!((whole.numbers.iops.unwrap() / 3_000.0 - 1.0).abs() < 0.05, "{whole:#?}");
        assert!(by_no_profile(of(&found, "a")), "{:#?}", of(&found, "a"));
    }
    // A profile of a member does not describe the whole.
    let observation = stripe(&[(EIGHT, load()), (EIGHT, load())]);
    assert_eq!(diagnosed(&observation, Some(&EIGHT_PROFILE)).devices.len(), 2);
}

#[test]
fn an_array_that_works_of_its_own_or_lacks_members_is_the_cause_whoever_tells_its_state() {
    let load = || reads(0, 60, 300);
    let cases = [
        (1, None, vec![CauseCode::ArrayDegraded]),
        (0, Some("recover"), vec![CauseCode::ArrayRebuilds]),
        (1, Some("recover"), vec![CauseCode::ArrayRebuilds, CauseCode::ArrayDegraded]),
        (0, None, vec![]),
    ];
    for (missing, work, causes) in cases {
        let state = ArrayState { missing, work: work.map(str::to_owned) };
        let mut by_file_system = stripe(&[(EIGHT, load()), (EIGHT, load())]);
        by_file_system.paths[0].volumes[0].state = Some(state.clone());
        let mut by_device = side_by_side(&[(EIGHT, load()), (EIGHT, load())]);
        let facts = DeviceFacts { array: Some(state), ..DeviceFacts::default() };
        by_device.devices.push(ObservedDevice {
            name: "md0".to_owned(),
            facts: Some(facts),
            built_of: vec!["a".to_owned(), "b".to_owned()],
            ..ObservedDevice::default()
        });
        let seen = [by_file_system, by_device];
        for (seen, profile) in
            seen.iter().flat_map(|seen| [(seen, Some(&*EIGHT_PROFILE)), (seen, None)])
        {
            let found = diagnosed(seen, profile);
            for name in ["a", "b"] {
                let codes = of(&found, name).causes.iter().map(|cause| cause.code);
                let told: Vec<CauseCode> =
                    codes.filter(|code| ARRAY_CAUSES.contains(code)).collect();
                assert_eq!(told, causes, "{:#?}", of(&found, name));
                let device = found.devices.iter().find(|one| one.device == name).unwrap();
                // The advice is given without evidence on the disk, too, and a second rebuild is
                // not recommended.
                let advised: Vec<CauseCode> = device.advice.iter().map(|it| it.cause).collect();
                assert_eq!(advised.first(), causes.first(), "{:#?}", device.advice);
                let both = advised.contains(&ARRAY_CAUSES[0]) && advised.contains(&ARRAY_CAUSES[1]);
                assert!(!both, "{:#?}", device.advice);
            }
        }
    }
}

#[test]
fn what_an_array_reads_of_its_own_is_told_beside_what_programs_ask_for() {
    let mut seen = side_by_side(&[(EIGHT, reads(0, 60, 300)), (EIGHT, reads(0, 60, 300))]);
    let half: Vec<_> = seen.intervals.iter().filter(|one| one.device == "a").cloned().collect();
    seen.intervals.extend(half.into_iter().map(|mut one| {
        "md0".clone_into(&mut one.device);
        one
    }));
    let state = ArrayState { missing: 0, work: Some("check".to_owned()) };
    seen.devices.push(ObservedDevice {
        name: "md0".to_owned(),
        facts: Some(DeviceFacts { array: Some(state), ..DeviceFacts::default() }),
        built_of: vec!["a".to_owned(), "b".to_owned()],
        ..ObservedDevice::default()
    });
    let found = diagnosed(&seen, Some(&EIGHT_PROFILE));
    let causes = &of(&found, "a").causes;
    let own = causes.iter().find(|cause| cause.code == CauseCode::ArrayRebuilds).unwrap();
    let figures: Vec<f64> = own.evidence.iter().map(|number| number.value).collect();
    let [members, asked] = figures[..] else { panic!("{own:#?}") };
    assert!((members / asked - 2.0).abs() < 0.1, "{own:#?}");
    assert!(own.claim.contains("check was running"), "{}", own.claim);
}

/// A disk and a volume above it, with `times` the latency of the disk.
fn below_a_volume(times: f64) -> Observation {
    let mut whole = side_by_side(&[(EIGHT, reads(0, 60, 300))]);
    let above: Vec<_> = whole
        .intervals
        .iter()
        .map(|interval| {
            let mut above = interval.clone();
            "dm-0".clone_into(&mut above.device);
            for op in [&mut above.read, &mut above.write, &mut above.all] {
                op.latency_ns.iter_mut().for_each(|figure| figure.value *= times);
            }
            above
        })
        .collect();
    whole.intervals.extend(above);
    whole.devices.push(ObservedDevice {
        name: "dm-0".to_owned(),
        built_of: vec!["a".to_owned()],
        ..ObservedDevice::default()
    });
    whole
}

#[test]
fn a_volume_that_holds_requests_itself_is_the_cause_and_the_disk_below_is_not_to_blame() {
    for (times, holds) in [(10.0, true), (1.1, false)] {
        let found = diagnosed(&below_a_volume(times), Some(&EIGHT_PROFILE));
        let disk = found.devices.iter().find(|device| device.device == "a").unwrap();
        assert_eq!(longest(disk).verdict, Verdict::NotTheDisk);
        assert_eq!(has_cause(longest(disk), CauseCode::VolumeHolds), holds, "{times}");
    }
}

#[test]
fn a_volume_that_takes_as_long_as_when_it_was_profiled_is_no_cause() {
    for (share, holds) in [(0.1, false), (0.5, true)] {
        let mut profile = EIGHT_PROFILE.profile().clone();
        let leaves = vec!["a".to_owned()];
        let device = DeviceFacts { name: "dm-0".to_owned(), leaves, ..DeviceFacts::default() };
        profile.target.device = Some(device);
        for cell in &mut profile.cells {
            cell.device_share = Measured::Value(share);
            // The device below is unchanged.
            cell.latency_ns.value /= share;
            cell.latency_ns.low /= share;
            cell.latency_ns.high /= share;
        }
        let profile = FittedProfile::new(profile);
        let found = diagnosed(&below_a_volume(10.0), Some(&profile));
        let disk = found.devices.iter().find(|device| device.device == "a").unwrap();
        assert_eq!(has_cause(longest(disk), CauseCode::VolumeHolds), holds, "{share}");
    }
}

#[test]
fn a_partition_that_takes_far_longer_than_its_disk_is_named_and_one_of_many_is_not() {
    let load = || reads(0, 60, 500);
    let named = |service: &str, share: f64| {
        let below = "mmc,servers=8,service=400us";
        let mut whole = side_by_side(&[(below, load()), (service, load())]);
        whole.devices[1].partition_of = Some("a".to_owned());
        let own = whole.intervals.iter_mut().filter(|interval| interval.device == "b");
        for op in own.flat_map(|interval| [&mut interval.all, &mut interval.read]) {
            op.per_s.iter_mut().for_each(|rate| rate.value *= share);
        }
        let found = diagnosed(&whole, None);
        assert_eq!(found.devices.len(), 1, "{:?}", found.left_out);
        has_cause(longest(&found.devices[0]), CauseCode::VolumeHolds)
    };
    assert!(named("mmc,servers=64,service=20ms", 1.0));
    // Its requests may be the slow ones among others.
    assert!(!named("mmc,servers=64,service=20ms", 0.5));
    assert!(!named("mmc,servers=8,service=450us", 1.0));
}
