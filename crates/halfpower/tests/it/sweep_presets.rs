//! Every preset finds its effect in a simulated target with the effect, and does not find it in one without
//! it.
//!
//! The command line reduces the designs to the relevant levels, because here simulated time costs test time.

use crate::program::halfpower;
use record::{EffectMeasure, Experiment, ExperimentEffect, FindingCode};
use workload::PRESETS;

/// An experiment that is not saved.
#[track_caller]
pub(crate) fn swept(words: &str) -> Experiment {
    let ended = halfpower(&format!("sweep {words} --json --no-save")).expect(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

/// The effects of a level, at these levels of other axes (`axis level axis level …`).
fn effects<'a>(experiment: &'a Experiment, level: &str, at: &str) -> Vec<&'a ExperimentEffect> {
    let words: Vec<&str> = at.split_whitespace().collect();
    let matches = |effect: &&ExperimentEffect| {
        effect.level == level
            && words
                .chunks(2)
                .all(|pair| effect.within.get(pair[0]).is_some_and(|level| level == pair[1]))
    };
    experiment.effects.iter().filter(matches).collect()
}

/// The only effect of a level there.
#[track_caller]
pub(crate) fn effect<'a>(
    experiment: &'a Experiment,
    level: &str,
    at: &str,
) -> &'a ExperimentEffect {
    let found = effects(experiment, level, at);
    assert_eq!(found.len(), 1, "{level} at {at}: {:#?}", experiment.effects);
    found[0]
}

/// Checks that an effect is found with one target, of about this ratio, and not with another.
#[track_caller]
fn check(preset: &str, with: &str, without: &str, level: &str, at: &str, ratio: [f64; 2]) {
    let there = swept(&format!("{preset} sim:{with}"));
    let there = effect(&there, level, at);
    assert_eq!(there.found, Some(true), "{there:?}");
    assert!((ratio[0]..=ratio[1]).contains(&there.ratio.value), "{there:?}");
    let absent = swept(&format!("{preset} sim:{without}"));
    let absent = effect(&absent, level, at);
    assert_eq!(absent.found, Some(false), "{absent:?}");
}

#[test]
fn friedman_finds_what_seeking_costs_and_nothing_where_nothing_seeks() {
    check(
        "friedman --size 64m --runtime 2s --set rw=read,randread --set bs=4k",
        "st34371w",
        "md1,service=1ms",
        "randread",
        "bs 4k",
        [0.0, 0.2],
    );
}

#[test]
fn friedman_full_finds_a_cache_where_there_is_one() {
    check(
        "friedman-full --size 64m --runtime 2s --set bs=4k",
        "md1,service=1ms,cache=4MiB,hit=100us",
        "md1,service=1ms",
        "hit read",
        "bs 4k",
        [5.0, 15.0],
    );
}

#[test]
fn riedel_finds_the_page_cache_of_a_machine_that_has_one() {
    check(
        "riedel --size 16m --set bs=64k --set iodepth=1 --set rw=write",
        "st34371w",
        "md1,service=1ms",
        "buffered",
        "rw write",
        [3.0, 10.0],
    );
}

#[test]
fn riedel_and_chung_name_the_size_from_which_half_is_reached() {
    let sweep = "riedel --size 16m --set cache=direct --set rw=read --set iodepth=1 --blocks 1";
    // 1 ms and 10 ns per byte: half of the rate of 256 KiB needs 1 ms of transfer per ms of service.
    let sized = swept(&format!("{sweep} sim:md1,service=1ms,rate=100MB/s"));
    assert_eq!(sized.reached.len(), 1);
    assert_eq!(sized.reached[0].half_bytes, Some(64 << 10), "{:?}", sized.reached);
    assert_eq!(sized.reached[0].most_bytes, Some(256 << 10));
    let flat = swept(&format!("{sweep} sim:md1,service=1us,rate=1MB/s"));
    assert_eq!(flat.reached[0].half_bytes, Some(2 << 10), "size makes no difference");
    assert_eq!(flat.reached[0].most_bytes, Some(2 << 10));
}

#[test]
fn chung_finds_what_depth_gives_where_requests_are_served_side_by_side() {
    check(
        "chung --size 64m --runtime 1s --set cache=direct --set rw=randread --set iodepth=1,4",
        "mdc,servers=4,service=1ms",
        "md1,service=1ms",
        "4",
        "rw randread",
        [3.9, 4.1],
    );
    let turning = swept(
        "chung --size 64m --runtime 1s --set cache=direct --set rw=randread --set iodepth=1,4 \
         --set rpm=7200 sim:st34371w",
    );
    let turns = turning.cells[0].extras["ios_per_revolution"].value;
    assert!((0.3..2.0).contains(&turns), "{turns}");
    assert!((turns - turning.cells[0].iops.value / 120.0).abs() < 1e-9);
}

#[test]
fn modes_finds_what_a_write_cache_gives_where_it_is_on() {
    check(
        "modes --size 64m --runtime 1s --set bs=4k --set rw=write --set cache=device,none",
        "st34371w",
        "st34371w,wce=off",
        "none",
        "bs 4k",
        [0.0, 0.1],
    );
}

#[test]
fn extend_finds_the_zeros_that_a_file_system_fills_in() {
    check(
        "extend --size 8m --set bs=64k",
        "st34371w",
        "st34371w,fs=none",
        "last-first",
        "iodepth 8 bs 64k",
        [0.25, 0.6],
    );
}

#[test]
fn subpage_finds_the_read_before_a_part_of_a_page_and_none_before_a_whole_one() {
    let machine = swept("subpage --size 4m --set bs=2k,4k sim:st34371w,fs=none");
    let part = effect(&machine, "overwrite", "bs 2k");
    assert!(part.found == Some(true) && part.ratio.value < 0.5, "{part:?}");
    let whole = effect(&machine, "overwrite", "bs 4k");
    assert!(whole.found == Some(false), "{whole:?}");
}

#[test]
fn align_finds_the_chunks_of_an_array_and_none_on_one_disk() {
    check(
        "align --size 256m --runtime 2s --set bs=64k --set rw=randread --set shift=none,12k",
        "st34371w,disks=4,raid=0",
        "st34371w",
        "12k",
        "bs 64k",
        [0.7, 0.95],
    );
}

#[test]
fn stripe_finds_what_more_disks_give_and_nothing_where_one_request_waits_for_the_next() {
    let reads = "stripe --size 32m --runtime 1s --set disks=1,4 --set cache=direct --set rw=read \
                 --set bs=64k sim:st34371w";
    let deep = swept(&format!("{reads} --set iodepth=8"));
    let deep = effect(&deep, "4", "bs 64k");
    assert!(deep.found == Some(true) && deep.ratio.value > 1.5, "{deep:?}");
    // Without read-ahead, QD 1 uses one disk at a time.
    let alone = swept(&format!("{reads},readahead=off --set iodepth=1"));
    let alone = effect(&alone, "4", "bs 64k");
    assert!(alone.ratio.value < 1.5, "{alone:?}");
}

#[test]
fn stripe_holds_n_plus_one_outstanding_against_drives_on_which_it_holds_and_does_not() {
    let advice = |kind: &str, op: &str| {
        let swept = swept(&format!(
            "stripe sim:st34371w{kind} --set disks=4 --set cache=direct --set bs=64k --set rw={op} \
             --size 64m --runtime 2s"
        ));
        let subject = format!("{op} queue depth for 4 striped disks");
        swept.advice.into_iter().find(|advice| advice.subject == subject).unwrap()
    };
    // Each write waits for the platter: five writes keep four disks busy.
    let holds = advice(",wce=off", "write");
    assert_eq!(
        (holds.recommendation.as_str(), holds.against_rule),
        ("QD 5 with 64 KiB requests", None)
    );
    // A drive without read-ahead loses a revolution between requests.
    let more = advice(",readahead=off", "read");
    assert!(more.against_rule.unwrap().ends_with("needs to be higher"));
    // A drive with read-ahead needs fewer.
    let fewer = advice("", "read");
    assert!(fewer.against_rule.unwrap().ends_with("can be lower"));
}

#[test]
fn stripe_finds_the_size_from_which_on_the_page_cache_holds_four_disks_back_and_not_one() {
    let swept = swept("stripe sim:st34371w --set iodepth=3 --set rw=read --set disks=1,4");
    let crossing = swept.advice.iter().find(|advice| advice.subject.starts_with("page cache for"));
    let crossing = crossing.unwrap();
    assert_eq!(crossing.subject, "page cache for reads of 4 striped disks");
    assert_eq!(crossing.recommendation, "buffered up to 8 KiB, direct from 64 KiB");
    assert_eq!(crossing.against_rule, None, "64 KiB is the size of the paper");
    assert_eq!(crossing.next_best, "", "one disk is no faster than the copy");
}

#[test]
fn raid_finds_the_second_copy_for_reads_and_its_price_for_small_writes_with_parity() {
    let arrays = swept(
        "raid --size 64m --runtime 2s --set bs=8k --set rw=randread,randwrite sim:st34371w,wce=off",
    );
    let mirror = effect(&arrays, "raid1", "rw randread bs 8k");
    assert!(mirror.found == Some(true) && mirror.ratio.value > 1.2, "{mirror:?}");
    let parity = effect(&arrays, "raid5", "rw randwrite bs 8k");
    let striped = effect(&arrays, "raid0", "rw randwrite bs 8k");
    assert!(parity.ratio.value < 0.5 * striped.ratio.value, "{parity:?} {striped:?}");
}

#[test]
fn engines_finds_the_stall_behind_the_oldest_request_where_some_are_slow() {
    check(
        "engines --size 64m --runtime 2s",
        "mmc,servers=8,cv=2,service=1ms",
        "mdc,servers=8,service=1ms",
        "oldest-first",
        "",
        [0.1, 0.6],
    );
}

#[test]
fn network_finds_the_small_requests_that_a_network_slows_down() {
    let places =
        swept("network --runtime 2s --set rw=read --set iodepth=4 --set bs=4k,128k sim:atlas10k");
    let small = effect(&places, "remote", "bs 4k rw read");
    assert!(small.found == Some(true) && small.ratio.value < 0.8, "{small:?}");
    let large = effect(&places, "remote", "bs 128k rw read");
    assert_eq!(large.found, Some(false), "{large:?}");
    let cost = effects(&places, "remote", "rw read");
    let cost = cost.iter().find(|effect| effect.measure == EffectMeasure::Cpu).unwrap();
    assert!(cost.found == Some(true) && cost.ratio.value > 2.0, "{cost:?}");
}

#[test]
fn re_reads_of_growing_areas_tell_the_size_of_a_cache_with_a_known_truth() {
    let size = |device: &str| {
        let swept = swept(&format!("cacheability sim:{device} --runtime 2s"));
        let found = swept.findings.into_iter().find(|it| it.code == FindingCode::CacheSize);
        let found = found.unwrap();
        (found.evidence[0].value / f64::from(1 << 20), found.claim)
    };
    // Equal to a level of the axis, between two levels, and above all of them.
    for (mib, low, high) in [(16, 14.0, 18.0), (24, 21.0, 27.0), (512, 64.0, 512.0)] {
        let (found, claim) = size(&format!("md1,service=5ms,cache={mib}m,hit=200us,size=4g"));
        assert!((low..=high).contains(&found), "{mib} MiB: {found}: {claim}");
        assert_eq!(claim.contains("or more"), mib == 512, "{claim}");
    }
    let (none, claim) = size("md1,service=5ms");
    assert!(none == 0.0 && claim.contains("No cache"), "{claim}");
}

#[test]
fn presets_about_a_real_machine_say_so_on_a_simulated_one() {
    let ended = halfpower("sweep wal sim:st34371w --no-save").expect(2);
    assert!(ended.stderr.contains("only a real target can be prepared"), "{ended:?}");
    let ended = halfpower("sweep layers sim:md1 --runtime 100ms --no-save").expect(0);
    assert!(ended.stderr.contains("it needs 2 targets"), "{ended:?}");
}

#[test]
fn every_preset_is_named_by_a_test_here() {
    let tests = include_str!("sweep_presets.rs");
    let missing: Vec<&str> = PRESETS
        .iter()
        .map(|preset| preset.name)
        .filter(|name| {
            let named = [format!("\"{name} "), format!("sweep {name} "), format!("\"{name}\"")];
            !named.iter().any(|words| tests.contains(words))
        })
        .collect();
    assert!(missing.is_empty(), "no test of {missing:?}");
}
