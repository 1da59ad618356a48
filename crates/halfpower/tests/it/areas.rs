//! A check measures several files of a disk, and reports if they differ.

use crate::program::{found, halfpower, halfpower_in, profile};
use crate::traps::noise;
use record::{AreaSpread, FindingCode, Locality, MeasuredArea, OpKind, TestFile, Trial, Written};
use std::collections::BTreeSet;
use testkit::{disk_folder, requires};

#[test]
fn files_that_differ_are_told_with_both_and_those_that_hardly_do_are_not() {
    let area = |number: u32, written| MeasuredArea {
        path: ".".to_owned(),
        test_file: Some(TestFile { number, written }),
        size_bytes: record::Bytes(1 << 29),
        pieces: Some(u64::from(number) + 1),
    };
    let findings = |rate: f64| {
        let mut profile = profile(0, "sim:md1,service=1ms --no-write");
        profile.areas = vec![area(0, Written::ThroughCache), area(2, Written::PastCache)];
        profile.area_spreads = vec![AreaSpread {
            op: OpKind::Write,
            locality: Locality::Random,
            alone: false,
            rates: vec![Some(1.0), Some(rate)],
            rate_se: 0.0,
            percentile_ses: [None; 3],
        }];
        diagnose::profile_findings(&profile, &[], diagnose::Omitted::default())
    };
    let told = findings(1.9);
    let differ = told.iter().find(|it| it.code == FindingCode::AreasDiffer).unwrap();
    for words in [
        "random writes are 1.9 times",
        "with direct I/O (3 pieces)",
        "through the page cache (1 piece)",
    ] {
        assert!(differ.claim.contains(words), "{differ:?}");
    }
    assert!(!found(&findings(1.1), FindingCode::AreasDiffer));
}

#[test]
fn a_check_of_a_directory_visits_six_files_and_one_that_is_there_and_changes_nothing_of_it() {
    requires!(Disk);
    let (folder, kept) = (disk_folder().unwrap(), tempfile::tempdir().unwrap());
    let own = noise(64 << 20);
    std::fs::write(folder.path().join("own"), &own).unwrap();
    let database = kept.path().join("kept.db");
    let words =
        format!("check . --size 384m --budget 6s --file own --json --db {}", database.display());
    let ended = halfpower_in(folder.path(), &words);
    let profile = ended.profile();
    assert!(ended.code == Some(0) || ended.code == Some(1), "{ended:?}");
    let written: BTreeSet<_> = profile.areas.iter().map(|area| area.test_file.is_some()).collect();
    assert_eq!((profile.areas.len(), written.len()), (7, 2), "{:?}", profile.areas);
    // A cell of reads has visits to several files; a cell of writes never visits the user's file.
    let store = store::Store::open(&database).unwrap();
    for cell in &profile.cells {
        let trials: Vec<Trial> =
            cell.trial_ids.iter().map(|id| store.document::<Trial>(id).unwrap()).collect();
        let on_own = trials.iter().any(|trial| trial.targets[0].path.ends_with("own"));
        assert!(!(on_own && cell.workload.writes()), "{cell:?}");
    }
    assert!(std::fs::read(folder.path().join("own")).unwrap() == own);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_cannot_stand_for_the_disk_is_refused_with_what_would() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    std::fs::write(folder.path().join("small"), vec![7; 1 << 20]).unwrap();
    halfpower_in(folder.path(), "check . --size 64m --file small --no-save")
        .refuses(2, &["--file small", "64 MiB"]);
    halfpower_in(folder.path(), "check . --size 64m --file . --no-save").refuses(2, &["--file ."]);
    halfpower("check sim:md1 --file small --no-save").refuses(2, &["--file", "simulated"]);
}
