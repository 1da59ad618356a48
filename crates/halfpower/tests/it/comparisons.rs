//! `compare`: documents of all kinds, verdicts and exit codes.

use crate::program::{halfpower, halfpower_in};
use record::{ComparedKind, ComparedVerdict, Comparison};
use std::path::Path;

fn comparison(text: &str) -> Comparison {
    serde_json::from_str(text).unwrap()
}

/// Writes five trials of the same cell to a file, one after the other, as they are printed.
fn trials(folder: &Path, name: &str, device: &str, seeds: std::ops::Range<u32>) {
    let documents: Vec<String> = seeds
        .map(|seed| {
            let run = format!("run {device} --runtime 2s --seed {seed} --no-save --json");
            halfpower(&run).expect(0).stdout
        })
        .collect();
    std::fs::write(folder.join(name), documents.concat()).unwrap();
}

#[test]
fn a_slower_device_fails_where_that_is_established_and_an_unchanged_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    trials(path, "a.json", "sim:mm1,service=1ms", 1..6);
    trials(path, "b.json", "sim:mm1,service=1ms", 11..16);
    trials(path, "slow.json", "sim:mm1,service=1500us", 21..26);
    let unchanged = halfpower_in(path, "compare a.json b.json --fail-on worse:10% --json");
    let unchanged = comparison(&unchanged.expect(0).stdout);
    assert_eq!(
        unchanged.count(ComparedVerdict::Worse) + unchanged.count(ComparedVerdict::Better),
        0
    );
    let slower =
        halfpower_in(path, "compare a.json slow.json --fail-on worse:10%").expect(1).stdout;
    assert!(slower.contains("FAILS") && slower.contains("WORSE"), "{slower}");
    assert!(slower.contains("B is 3") && slower.contains(" % slower: worse in"), "{slower}");
    assert!(slower.contains("Conditions that differ"), "{slower}");
    assert!(slower.lines().all(|line| line.chars().count() <= 80), "{slower}");
    // The comparison is not saved, so no report of it is suggested.
    assert!(!slower.contains("halfpower report"), "{slower}");
    let kinder = "compare a.json slow.json --fail-on worse:60%";
    assert!(halfpower_in(path, kinder).expect(0).stdout.contains("Passes"));
    // Without a limit, "worse" is a result and not a failure.
    halfpower_in(path, "compare a.json slow.json").expect(0);
}

#[test]
fn a_file_against_itself_is_the_same_and_single_trials_cannot_tell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    trials(path, "a.json", "sim:mm1", 1..2);
    trials(path, "b.json", "sim:mm1", 2..3);
    let same = halfpower_in(path, "compare a.json a.json --fail-on worse:0% --json").expect(0);
    let same = comparison(&same.stdout);
    assert!(same.rows().all(|row| row.ratio == Some(1.0) && !row.fails), "{same:?}");
    let single = halfpower_in(path, "compare a.json b.json").expect(0).stdout;
    assert!(single.contains("Undecided: one run each cannot tell a difference"), "{single}");
    assert!(single.contains("1 and 1 trials") && !single.contains("no detectable"), "{single}");
    // The message says what would decide it.
    assert!(single.contains("at least three runs of each"), "{single}");
    for seed in [1, 2, 3, 11, 12, 13] {
        trials(path, &format!("{seed}.json"), "sim:mm1", seed..seed + 1);
    }
    let three = "compare 1.json,2.json,3.json 11.json,12.json,13.json";
    let three = halfpower_in(path, three).expect(0).stdout;
    assert!(three.contains("Inconclusive") && three.contains("Make more runs of each"), "{three}");
    assert!(!three.contains("at least three runs of each"), "{three}");
}

#[test]
fn results_without_a_load_in_common_are_said_to_be_and_exit_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    trials(path, "a.json", "sim:mm1", 1..2);
    trials(path, "b.json", "sim:mm1 --bs 64k", 2..3);
    let nothing = halfpower_in(path, "compare a.json b.json --fail-on worse:10%").expect(1).stdout;
    assert!(nothing.contains("Nothing to compare: no load is in both"), "{nothing}");
    assert!(nothing.contains("no cell in common") && !nothing.contains("Passes"), "{nothing}");
}

#[test]
fn profiles_of_the_database_are_compared_by_id_and_by_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let check = |device: &str, seed: u32| {
        let words = format!("check {device} --budget 20s --seed {seed} --db kept.db --json");
        halfpower_in(path, &words).expect(0).profile().id
    };
    let first = check("sim:mmc,service=1ms", 1);
    check("sim:mmc,service=2ms", 2);
    let words = "compare last~1 last --db kept.db --fail-on worse:10% --json";
    let compared = comparison(&halfpower_in(path, words).expect(1).stdout);
    assert_eq!((compared.a.kind, &compared.a.ids), (ComparedKind::Profile, &vec![first.clone()]));
    let overall = compared.overall.as_ref().unwrap();
    assert_eq!(overall.verdict, ComparedVerdict::Worse, "{overall:?}");
    let itself = format!("compare {first} {} --db kept.db --json", &first[..8]);
    let itself = comparison(&halfpower_in(path, &itself).expect(0).stdout);
    assert!(itself.rows().all(|row| row.verdict == ComparedVerdict::Same), "{itself:?}");
}

#[test]
fn traces_are_read_with_and_without_a_head_line_and_not_against_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let trace = |name: &str, service: &str, seeds: std::ops::Range<u32>| {
        for seed in seeds {
            let run = format!(
                "run sim:mm1,service={service} --runtime 2s --seed {seed} --no-save --sqlio-csv {name}"
            );
            halfpower_in(path, &run).expect(0);
        }
    };
    trace("old.csv", "1ms", 1..5);
    trace("new.csv", "2ms", 11..15);
    let bare = std::fs::read_to_string(path.join("old.csv")).unwrap();
    let bare: Vec<&str> = bare.lines().skip(1).collect();
    std::fs::write(path.join("bare.csv"), bare.join("\r\n")).unwrap();
    let worse = halfpower_in(path, "compare bare.csv new.csv --fail-on worse:10% --json").expect(1);
    assert_eq!(comparison(&worse.stdout).count(ComparedVerdict::Worse), 1);
    let same = comparison(&halfpower_in(path, "compare old.csv old.csv --json").expect(0).stdout);
    assert!(same.rows().all(|row| row.ratio == Some(1.0)), "{same:?}");
    trials(path, "a.json", "sim:mm1", 1..2);
    halfpower_in(path, "compare old.csv a.json")
        .refuses(2, &["a trace", "compared only with another trace"]);
    std::fs::write(path.join("notes.csv"), "a,b\n").unwrap();
    halfpower_in(path, "compare notes.csv old.csv").refuses(2, &["notes.csv", "line 1"]);
}

#[test]
fn words_that_stand_for_nothing_are_refused_with_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    trials(path, "a.json", "sim:mm1", 1..2);
    halfpower_in(path, "compare a.json a.json --fail-on slower:3").refuses(2, &["worse:10%"]);
    halfpower_in(path, "compare a.json none --db none.db").refuses(4, &["none"]);
    halfpower_in(path, "run sim:mm1 --db kept.db").expect(0);
    halfpower_in(path, "compare a.json 0123 --db kept.db")
        .refuses(2, &["0123", "neither a file nor the id"]);
    halfpower_in(path, "compare a.json last --db kept.db").refuses(2, &["last", "no profile"]);
    let zones = halfpower_in(path, "zones sim:md1,service=1ms --json --db kept.db").expect(0);
    let zones: record::ZoneMap = serde_json::from_str(&zones.stdout).unwrap();
    halfpower_in(path, &format!("compare a.json {} --db kept.db", zones.id))
        .refuses(2, &["of kind zones", "before it with one after it"]);
}
