//! `limits` and `zones`, tested with the binary: on devices with a known truth, and for wrong input.

use crate::program::{found, halfpower, halfpower_in};
use record::{
    CacheEvidence, ComponentKind, FindingCode, Growth, HalfPower, LimitsRun, PathComponent,
    ZoneMap, ZonePosition,
};
use testkit::requires;

#[track_caller]
fn limits(code: i32, words: &str) -> LimitsRun {
    let ended = halfpower(&format!("limits {words} --no-save --json")).expect(code);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

#[track_caller]
fn zones(words: &str) -> ZoneMap {
    let ended = halfpower(&format!("zones {words} --no-save --json")).expect(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

fn component(run: &LimitsRun, kind: ComponentKind) -> &PathComponent {
    run.components.iter().find(|component| component.kind == kind).unwrap()
}

/// Chung 2000, section 3.3: four Fireballs send 58.9 MB/s from their caches through a 3ware card, which is
/// the card's limit.
#[test]
fn the_card_of_four_ide_disks_is_full_and_the_bus_test_says_so_with_its_evidence() {
    let run = limits(0, "sim:fireball,disks=4 --pap bus=133MB/s");
    let test = run.bus.value().unwrap();
    assert_eq!((test.evidence, test.growth), (CacheEvidence::Served, Growth::Stopped));
    let limit = test.limit_bytes_per_s.value().unwrap();
    assert!((limit.value / 58.9e6 - 1.0).abs() < 0.1, "{limit:?}");
    let bus = component(&run, ComponentKind::Bus);
    assert!(!bus.rap_is_lower_bound);
    // 44 % of its PCI bus.
    assert_eq!(bus.half_power, HalfPower::Missed);
    assert!(found(&run.findings, FindingCode::HalfPowerMissed));
    // "approximately the combined throughput of three": 19 MB/s a disk.
    let disks = bus.disks.as_ref().unwrap();
    assert_eq!(disks.carried, 3, "{disks:?}");
    assert_eq!(run.binding.value().unwrap().names, ["device"]);
}

#[test]
fn one_disk_alone_gives_the_bus_no_limit() {
    let run = limits(0, "sim:fireball");
    let test = run.bus.value().unwrap();
    assert_eq!(test.growth, Growth::OneTarget);
    assert!(test.limit_bytes_per_s.reason().unwrap().contains("one target"));
    assert!(!found(&run.findings, FindingCode::HalfPowerMissed));
}

#[test]
fn a_device_without_a_cache_is_no_evidence_of_any_bus() {
    let run = limits(0, "sim:md1,service=1ms,rate=100MB/s");
    let test = run.bus.value().unwrap();
    assert_eq!(test.evidence, CacheEvidence::NotServed);
    let link = component(&run, ComponentKind::Link);
    assert!(link.rap_bytes_per_s.reason().unwrap().contains("no sign of a cache"), "{link:?}");
    let memory = component(&run, ComponentKind::Memory);
    assert_eq!(memory.rap_bytes_per_s.reason(), Some("simulated target"));
    // One server of 1 ms and 10 ns per byte: the hit is as slow as any other request.
    let fit = run.hits.value().unwrap().again_fit.value().unwrap();
    assert!((fit.intercept_ns.value / 1e6 - 1.0).abs() < 0.05, "{fit:?}");
    assert!((fit.slope_ns_per_byte.value / 10.0 - 1.0).abs() < 0.1, "{fit:?}");
}

#[test]
fn a_component_that_gives_half_of_what_is_stated_is_no_finding() {
    let run = limits(0, "sim:md1,service=1ms,rate=100MB/s --pap device=120MB/s");
    assert_eq!(component(&run, ComponentKind::Device).half_power, HalfPower::Reached);
    assert!(!found(&run.findings, FindingCode::HalfPowerMissed));
    let run = limits(0, "sim:md1,service=1ms,rate=100MB/s --pap device=400MB/s");
    assert_eq!(component(&run, ComponentKind::Device).half_power, HalfPower::Missed);
    assert!(found(&run.findings, FindingCode::HalfPowerMissed));
}

/// Riedel 1997: media rates of 8.8 to 5.9 and of 15 to 10 MB/s, 33 %; figure 14, which ends before the last
/// tracks: 29.8 and 28.5 %.
#[test]
fn the_published_losses_of_simulated_drives_are_found_with_zones() {
    for (drive, low, high) in [
        ("st15150w", 0.29, 0.35),
        ("st34371w", 0.28, 0.35),
        // Chung 2000, figure 2 and table 6: 29 to 35 %; 35 to 40 %.
        ("atlas10k", 0.26, 0.37),
        ("fireball", 0.32, 0.42),
    ] {
        let map = zones(&format!("sim:{drive}"));
        let loss = map.inner_loss.value().unwrap();
        assert!((low..high).contains(&loss.value), "{drive}: {loss:?}");
        assert!(map.bands.len() >= 3, "{drive}: {:?}", map.bands);
        assert!(found(&map.findings, FindingCode::ZonesFound), "{drive}");
        let lowest = map.lowest.value().unwrap();
        assert!(lowest.bytes_per_s.value <= map.mean_bytes_per_s.value);
        let last = map.positions.last().unwrap();
        assert!(lowest.offset_bytes.0 * 10 >= last.offset_bytes.0 * 9, "{drive}: {lowest:?}");
    }
}

/// The platters of this drive do not rotate, so the same steps are not reported as zones.
#[test]
fn steps_on_what_is_not_known_to_turn_are_not_called_zones() {
    let map = zones("sim:st15150w,rotation=off");
    assert!(map.bands.len() > 1, "{:?}", map.bands);
    assert!(found(&map.findings, FindingCode::RateByPosition), "{:?}", map.findings);
    assert!(!found(&map.findings, FindingCode::ZonesFound));
}

#[test]
fn media_without_zones_have_none_whatever_their_noise() {
    let flat = ["md1,service=1ms", "mm1,service=1ms", "jittery", "sata-ssd,size=1GiB", "cloud"];
    for (device, seed) in flat.iter().flat_map(|device| [1, 2].map(|seed| (device, seed))) {
        let map = zones(&format!("sim:{device} --positions 30 --passes 3 --seed {seed}"));
        assert_eq!(map.bands.len(), 1, "{device} {seed}: {:?}", map.bands);
        for code in [FindingCode::ZonesFound, FindingCode::RateByPosition] {
            assert!(!found(&map.findings, code), "{device} {seed}");
        }
    }
}

/// Chung 2000, section 7.4: a fourth disk adds "a negligible improvement" to reads on the outer edge, where
/// the card is the limit, and "performance at the inner diameter can still be improved substantially".
#[test]
fn a_fourth_disk_on_a_card_raises_the_least_rate_of_an_array_and_hardly_the_first() {
    let map = |disks: u32| zones(&format!("sim:fireball,disks={disks},raid=0 --positions 40"));
    let (three, four) = (map(3), map(4));
    let first = |map: &ZoneMap| map.positions[0].bytes_per_s.value;
    let lowest = |map: &ZoneMap| map.lowest.value().unwrap().bytes_per_s.value;
    assert!((1.0..1.1).contains(&(first(&four) / first(&three))), "{three:?} {four:?}");
    assert!((1.2..1.34).contains(&(lowest(&four) / lowest(&three))), "{three:?} {four:?}");
    for (map, least) in [(&three, 0.9), (&four, 0.7)] {
        let array = map.array.as_ref().unwrap().value().unwrap();
        assert_eq!(
            (array.members.len(), array.count, map.depth),
            (1, map.depth / 4, array.count * 4)
        );
        let [at_first, at_last] =
            [&array.first_share, &array.last_share].map(|it| it.value().unwrap());
        assert!(at_first.value > least && at_first.value < 1.01, "{array:?}");
        assert!(at_last.value > 0.95 && at_last.value < 1.01, "{array:?}");
        assert!(array.slowest_cost.value().is_none());
        // The share is relative to the member's rates at those positions: the whole, divided by members times
        // the slowest.
        let member = &array.members[0];
        let rate =
            |places: &[ZonePosition]| places[0].bytes_per_s.value + places[1].bytes_per_s.value;
        let share = rate(&map.positions) / (f64::from(array.count) * rate(&member.positions));
        assert!((share / at_first.value - 1.0).abs() < 0.01, "{share} {at_first:?}");
    }
    let [of_four, of_three] = [&four, &three].map(|map| map.inner_loss.value().unwrap().value);
    assert!(of_four < 0.6 * of_three, "{of_four} {of_three}");
    let page =
        halfpower("zones sim:fireball,disks=4,raid=0 --positions 40 --no-save").expect(0).stdout;
    assert!(page.contains("of 4 times the slowest member's rate: the"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn size_and_depth_of_the_requests_of_a_map_can_be_chosen() {
    let map = zones("sim:st15150w --bs 256k --iodepth 4 --positions 30");
    assert_eq!((map.request_bytes.0, map.depth), (256 << 10, 4));
    let loss = map.inner_loss.value().unwrap();
    assert!((0.27..0.37).contains(&loss.value), "{loss:?}");
    let page = halfpower("zones sim:md1,service=1ms --no-save --verbose").expect(0).stdout;
    assert!(page.contains("--bs 65536 --iodepth 1"), "{page}");
    let words = "zones sim:md1 --no-save";
    halfpower(&format!("{words} --bs 1g")).refuses(2, &["fewer positions, or smaller requests"]);
    halfpower(&format!("{words} --chunk 64k")).refuses(2, &["disks=N,raid=0"]);
    halfpower(&format!("{words} --rw write")).refuses(2, &["--rw"]);
    halfpower("zones /tmp /var --no-save").refuses(2, &["--chunk 64k"]);
    halfpower("zones /tmp /var --chunk 64k --no-save").refuses(2, &["block devices or files"]);
    halfpower("zones /tmp --chunk 64k --no-save").refuses(2, &["two or more targets"]);
}

#[test]
fn a_stripe_over_files_is_mapped_with_each_of_them_alone() {
    requires!(Disk);
    let folder = testkit::disk_folder().unwrap();
    for (name, bytes) in [("a", 32 << 20), ("b", 24 << 20)] {
        std::fs::write(folder.path().join(name), vec![7; bytes]).unwrap();
    }
    let words = "zones a b --chunk 16k --bs 4k --positions 30 --passes 3 --no-save --json";
    let ended = halfpower_in(folder.path(), words);
    let map: ZoneMap =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    let array = map.array.as_ref().unwrap().value().unwrap();
    assert_eq!((array.count, array.chunk_bytes.0, array.members.len()), (2, 16 << 10, 2));
    let paths: Vec<&str> = array.members.iter().map(|member| member.target.path.as_str()).collect();
    assert_eq!((paths.as_slice(), map.target.path.as_str()), (&["a", "b"][..], "a b"));
    assert!(map.target.device.is_none(), "a stripe is no part of a device");
    // Both contribute the size of the smaller one.
    assert!(map.target.size_bytes.0 <= 48 << 20 && map.target.size_bytes.0 > 46 << 20);
    assert!(array.slowest_cost.value().is_some());
    assert!(found(&map.findings, FindingCode::TargetsShareDisk), "{:?}", map.findings);
}

#[test]
fn a_simulated_run_is_the_same_each_time_and_another_seed_another_one() {
    let words = "limits sim:fireball,disks=2 --no-save --json";
    let (first, second) = (halfpower(words).expect(0), halfpower(words).expect(0));
    assert_eq!(first.stdout, second.stdout);
    let other = halfpower(&format!("{words} --seed 2")).expect(0);
    assert_ne!(first.stdout, other.stdout);
    let run = |words: &str| serde_json::from_str::<LimitsRun>(&halfpower(words).expect(0).stdout);
    let id = |flags: &str| run(&format!("{words} {flags}")).unwrap().id;
    assert_ne!(id(""), id("--budget 90s"));
}

#[test]
fn documents_are_those_of_their_schemas_and_pages_fit_eighty_columns() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| halfpower_in(folder.path(), &format!("{words} --db db")).expect(0);
    let kinds = [
        (
            "limits sim:fireball,disks=2 --pap bus=133MB/s",
            record::document_schema::<LimitsRun>(record::LIMITS_SCHEMA),
        ),
        (
            "zones sim:fireball --positions 30 --passes 3",
            record::document_schema::<ZoneMap>(record::ZONES_SCHEMA),
        ),
    ];
    for (words, schema) in kinds {
        let document: serde_json::Value =
            serde_json::from_str(&run(&format!("{words} --json")).stdout).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{words}: {errors:?}");
        let page = run(words).stdout + &run(&format!("{words} --verbose")).stdout;
        let widest = page.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{words}: {widest:?}\n{page}");
    }
}

#[test]
fn what_cannot_be_mapped_is_refused_with_the_way_out() {
    halfpower("zones sim:md1,size=1m --no-save").refuses(2, &["larger target", "positions"]);
    halfpower("zones sim:md1 --positions 29 --no-save").refuses(2, &["--positions"]);
    halfpower("limits sim:md1 . --no-save").refuses(2, &["cannot be combined", "disks=N"]);
    halfpower("limits sim:md1 --pap cable=1GB/s --no-save").refuses(2, &["file-cache"]);
}

#[test]
fn a_directory_is_measured_with_memory_and_its_own_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let words = "limits . --size 64m --budget 2s --no-save --json";
    let ended = halfpower_in(folder.path(), words);
    // A directory without space for a test file cannot be measured.
    if ended.code == Some(3) {
        return testkit::skip("limits of a directory", &ended.stderr);
    }
    let run: LimitsRun = serde_json::from_str(&ended.stdout).unwrap();
    assert!(component(&run, ComponentKind::Memory).rap_bytes_per_s.value().is_some());
    assert!(component(&run, ComponentKind::FileCache).rap_bytes_per_s.value().is_some());
    assert!(component(&run, ComponentKind::Device).rap_bytes_per_s.value().is_some());
}

#[test]
fn two_targets_on_one_disk_say_nothing_of_a_bus() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| std::fs::write(folder.path().join(name), vec![7; 8 << 20]).unwrap();
    make("a");
    make("b");
    let words = "limits a b --budget 1s --no-save --json";
    let ended = halfpower_in(folder.path(), words);
    let run: LimitsRun = serde_json::from_str(&ended.stdout).unwrap();
    assert!(found(&run.findings, FindingCode::TargetsShareDisk), "{:?}", run.findings);
    let one = halfpower_in(folder.path(), "limits a --budget 1s --no-save --json");
    let run: LimitsRun = serde_json::from_str(&one.stdout).unwrap();
    assert!(!found(&run.findings, FindingCode::TargetsShareDisk));
}
