//! Members of a built device, each a simulated device whose truth is known, under one load.

use crate::staged::{EIGHT, EIGHT_PROFILE, closed, has_cause, longest, may_be, reads, seen};
use diagnose::{DiagnoseOptions, FittedProfile, diagnose};
use record::{
    CauseCode, Confidence, DeviceFacts, Diagnosis, Episode, LayerKind, Observation, ObservedDevice,
    ObservedPath, Strategy, Verdict, Volume, VolumeKind,
};
use scenarios::{GroupLimit, ScenarioLoad};

const SLOW: &str = "mmc,servers=8,service=8ms";

/// What was seen of members of a btrfs raid0, named a, b, c, ...
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
            members: names.clone(),
        }],
        devices: names,
    });
    whole
}

/// What was seen of devices of their own, named a, b, c, ...
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
fn a_member_that_takes_far_longer_than_its_siblings_is_named_without_a_profile() {
    let load = || reads(0, 60, 400);
    let found = diagnosed(&stripe(&[(EIGHT, load()), (SLOW, load()), (EIGHT, load())]), None);
    let slow = of(&found, "b");
    assert_eq!((slow.verdict, slow.confidence), (Verdict::Slow, Confidence::Certain), "{slow:#?}");
    assert!(has_cause(slow, CauseCode::SlowestMember));
    for words in ["b takes", "the btrfs raid0 waits for its slowest member"] {
        assert!(slow.claim.contains(words), "{}", slow.claim);
    }
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
        crate::staged::load(0, 60, |spec| {
            spec.asked.rate_iops = Some(400);
            *spec = std::mem::take(spec).with_bs(1 << 20);
        })
    };
    for members in [
        [(EIGHT, load()), (EIGHT, load())],
        // More is asked of the slow one.
        [(EIGHT, reads(0, 60, 200)), (SLOW, load())],
        // Its requests are larger.
        [(EIGHT, load()), (SLOW, large())],
        // Nothing is asked of its sibling.
        [(EIGHT, reads(0, 20, 1)), (SLOW, reads(0, 20, 1))],
    ] {
        let found = diagnosed(&stripe(&members), None);
        for name in ["a", "b"] {
            let episode = of(&found, name);
            assert_eq!(episode.verdict, Verdict::NotEnoughEvidence, "{episode:#?}");
        }
    }
}

#[test]
fn a_capped_member_is_what_its_sibling_waits_for() {
    let mut capped = closed(0, 60, 32);
    capped.limits.extend(GroupLimit::of("riops", 400));
    let mut observation = stripe(&[(EIGHT, reads(0, 60, 400)), (EIGHT, capped)]);
    // The limits of a simulated machine hold for 0:0.
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
    // A simulated device is known by its name.
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
    assert_eq!(blamed.causes, [CauseCode::SlowestMember]);
    // Of the file nothing is seen, nor of the host below the virtual disk; loop devices have none.
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
    assert!(verdict_of("virtio_blk").unwrap().contains("out of sight"));
    assert_eq!(verdict_of("loop"), None);
}

#[test]
fn the_whole_is_compared_with_a_profile_of_the_whole_and_its_members_are_not() {
    let load = || reads(0, 60, 1_500);
    // Members of four servers: together the eight of the profile.
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
        assert!((whole.numbers.iops / 3_000.0 - 1.0).abs() < 0.05, "{whole:#?}");
        assert_eq!(of(&found, "a").verdict, Verdict::NotEnoughEvidence);
    }
    // A profile of a member says nothing of the whole.
    let observation = stripe(&[(EIGHT, load()), (EIGHT, load())]);
    assert_eq!(diagnosed(&observation, Some(&EIGHT_PROFILE)).devices.len(), 2);
}

/// A disk and a volume over it, at which requests take this many times as long.
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
