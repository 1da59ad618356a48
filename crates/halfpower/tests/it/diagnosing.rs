//! `diagnose`, tested from outside: simulated devices with a known truth, files, and the output.

use crate::program::{Outcome, halfpower, profiled_into, program, run};
use record::{CauseCode, Diagnosis, Episode, Strategy, Verdict};
use std::path::Path;
use tempfile::TempDir;

const EIGHT: &str = "sim:mmc,servers=8,service=1ms";

/// A database with the profile of eight servers.
fn with_profile() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    profiled_into(&folder.path().join("db"), EIGHT);
    folder
}

/// `diagnose` with loads, whose words may contain spaces.
fn diagnose(folder: &Path, source: &str, loads: &[&str], more: &str) -> Outcome {
    let mut command = program();
    command.args(["diagnose", source]);
    for load in loads {
        command.args(["--load", load]);
    }
    run(command, &format!("--db {} {more}", folder.join("db").display()))
}

fn diagnosis(outcome: Outcome) -> Diagnosis {
    serde_json::from_str(&outcome.expect(0).stdout).unwrap()
}

fn longest(diagnosis: &Diagnosis) -> &Episode {
    let episodes = &diagnosis.devices[0].episodes;
    episodes.iter().max_by_key(|episode| episode.duration_ns).unwrap()
}

#[test]
fn what_is_not_saved_is_not_offered_to_be_asked_for() {
    let folder = with_profile();
    let loads = ["rate-iops=3000 arrival=poisson"];
    let unsaved = diagnose(folder.path(), EIGHT, &loads, "--no-save --verbose").expect(0).stdout;
    for word in ["To repeat it", "repeat by", "report ID", "\n  id ", "observation "] {
        assert!(!unsaved.contains(word), "{word:?} in {unsaved}");
    }
    let short = diagnose(folder.path(), EIGHT, &loads, "--no-save").expect(0).stdout;
    assert!(short.contains("--verbose shows ") && !short.contains("halfpower report"), "{short}");
    let saved = diagnose(folder.path(), EIGHT, &loads, "--verbose").expect(0).stdout;
    assert!(saved.contains("To repeat it") && saved.contains("report ID"), "{saved}");
    // A document that was saved before can be used, even if its diagnosis is not saved.
    let again = diagnose(folder.path(), "last", &[], "--no-save --verbose").expect(0).stdout;
    assert!(again.contains("halfpower diagnose ") && !again.contains("\n  id "), "{again}");
}

#[test]
fn a_fine_device_a_slow_one_and_an_overloaded_one_are_told_apart() {
    let folder = with_profile();
    let slow = "sim:mmc,servers=8,service=1500us";
    for (device, load, verdict) in [
        (EIGHT, "rate-iops=3000 arrival=poisson", Verdict::Healthy),
        (EIGHT, "rate-iops=400 arrival=poisson", Verdict::NotTheDisk),
        (slow, "rate-iops=3000 arrival=poisson", Verdict::Slow),
        (EIGHT, "iodepth=64", Verdict::Overloaded),
        (slow, "iodepth=64", Verdict::SlowAndOverloaded),
        (EIGHT, "iodepth=32 limit=1000", Verdict::Capped),
        (EIGHT, "rate-iops=1 for=20s", Verdict::NotEnoughEvidence),
    ] {
        let found = diagnosis(diagnose(folder.path(), device, &[load], "--profile last --json"));
        assert_eq!(longest(&found).verdict, verdict, "{device} {load}");
    }
}

#[test]
fn a_limit_of_one_kind_holds_what_it_names_and_nothing_else() {
    let folder = with_profile();
    let seen = |load: &str| {
        let found = diagnosis(diagnose(folder.path(), EIGHT, &[load], "--profile last --json"));
        let rate = longest(&found).numbers.iops.unwrap();
        (longest(&found).verdict, rate)
    };
    // 1 MB/s is 244 requests of 4 KiB per second.
    for (load, rate) in [
        ("rw=randread iodepth=32 riops=1000", 1000.0),
        ("rw=randwrite iodepth=32 wiops=1000", 1000.0),
        ("rw=randread iodepth=32 rbps=1000000", 244.1),
        ("rw=randwrite iodepth=32 wbps=1000000", 244.1),
    ] {
        let (verdict, seen) = seen(load);
        assert_eq!(verdict, Verdict::Capped, "{load}");
        assert!((seen / rate - 1.0).abs() < 0.02, "{load}: {seen}/s");
    }
    for load in ["rw=randread iodepth=32 wiops=1000", "rw=randwrite iodepth=32 rbps=1000000"] {
        assert_eq!(seen(load).0, Verdict::Overloaded, "{load}");
    }
}

#[test]
fn the_page_gives_the_verdict_first_the_rivals_behind_it_and_fits_eighty_columns() {
    let folder = with_profile();
    let ended = diagnose(folder.path(), EIGHT, &["iodepth=64 from=10s", "rate-iops=200"], "");
    let page = ended.expect(0).stdout;
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words:?}: {page}"));
    assert!(place("OVERLOADED") < place("--verbose shows "), "{page}");
    assert!(!page.contains("utilization law") && page.lines().count() <= 40, "{page}");
    assert!(place("do first") < place("  predicted  "), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(!page.contains('…'), "{page}");
    let paced = diagnose(folder.path(), EIGHT, &["rate-iops=1000"], "").expect(0).stdout;
    assert!(paced.contains("NOT THE DISK") && paced.contains("or capped:"), "{paced}");
    assert!(paced.contains("Leave the disk alone"), "{paced}");
}

#[test]
fn a_ticket_begins_with_the_verdict_and_its_command_gives_the_same() {
    let folder = with_profile();
    let more = "--profile last --for-ticket";
    let ended = diagnose(folder.path(), EIGHT, &["iodepth=32 limit=1000"], more).expect(0);
    let ticket = ended.stdout;
    assert!(ticket.starts_with("## CAPPED"), "{ticket}");
    let command = ticket.lines().find_map(|line| line.strip_prefix("- `halfpower diagnose "));
    let words =
        command.and_then(|line| line.strip_suffix('`')).unwrap_or_else(|| panic!("{ticket}"));
    let db = folder.path().join("db");
    let again = format!("diagnose {words} --for-ticket --db {}", db.display());
    assert_eq!(halfpower(&again).expect(0).stdout, ticket);
    for other in ["--json", "--verbose"] {
        halfpower(&format!("{again} {other}")).refuses(2, &[other]);
    }
}

#[test]
fn a_diagnosis_can_be_drawn_again_from_the_database_and_is_the_same() {
    let folder = with_profile();
    let first = diagnosis(diagnose(folder.path(), EIGHT, &["iodepth=64"], "--json"));
    let db = folder.path().join("db");
    for source in ["last", first.observation_id.as_str()] {
        let again = halfpower(&format!("diagnose {source} --json --db {}", db.display())).expect(0);
        assert_eq!(serde_json::from_str::<Diagnosis>(&again.stdout).unwrap(), first);
    }
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/diagnosis-1.schema.json"))
            .unwrap();
    let document = serde_json::to_value(&first).unwrap();
    assert!(jsonschema::is_valid(&schema, &document));
}

#[test]
fn without_a_profile_it_says_what_a_profile_would_add() {
    let folder = tempfile::tempdir().unwrap();
    let more = "--no-save --verbose";
    let ended = diagnose(folder.path(), EIGHT, &["iodepth=64"], more).expect(0);
    assert!(ended.stdout.contains("OVERLOADED"), "{}", ended.stdout);
    assert!(ended.stdout.contains("No usable profile"), "{}", ended.stdout);
    assert!(ended.stdout.contains("halfpower check"), "{}", ended.stdout);
    assert!(ended.stdout.contains("utilization law"), "{}", ended.stdout);
}

#[test]
fn a_profile_of_another_device_is_told_apart_by_name() {
    let folder = with_profile();
    let load = ["rate-iops=100 arrival=poisson"];
    let page = diagnose(folder.path(), "sim:md1", &load, "--profile last").expect(0).stdout;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(&format!("the profile was made on the simulated device {EIGHT}")),
        "{page}"
    );
    assert!(words.contains("the observed device is sim:md1"), "{page}");
    for wrong in ["names no device", "Without a profile"] {
        assert!(!words.contains(wrong), "{page}");
    }
}

#[test]
fn the_csv_has_a_row_for_each_interval_and_a_number_for_each_column() {
    let folder = with_profile();
    let file = folder.path().join("split.csv");
    let more = format!("--csv {}", file.display());
    diagnose(folder.path(), EIGHT, &["rate-iops=2000 arrival=poisson"], &more).expect(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 31, "{text}");
    let page = concat!(
        include_str!("../../../../docs/diagnosis.md"),
        include_str!("../../../../docs/findings.md")
    );
    for column in &rows[0] {
        assert!(page.contains(&format!("`{column}`")), "{column} is not documented");
    }
    // The device's name contains commas and is quoted: three more fields.
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let shift = rows[5].len() - rows[0].len();
    let value = |name: &str| rows[5][at(name) + shift].parse::<f64>().unwrap();
    let (u, s) = (value("friedman_utilization"), value("friedman_service_ns"));
    assert!((s * value("iops") / 1e9 - u).abs() < 1e-6, "S = U/X: {s} {u}");
    let queue = value("latency_ns") - s;
    assert!((value("friedman_queue_ns") - queue).abs() < 1.0, "Q = R - S");
}

#[test]
fn advice_for_a_hidden_neighbour_takes_a_tracer() {
    let folder = with_profile();
    let loads =
        ["rate-iops=300 arrival=poisson name=database", "rw=randwrite iodepth=64 name=backup"];
    let found = |more: &str| {
        let found = diagnosis(diagnose(folder.path(), EIGHT, &loads, more));
        let named = longest(&found).causes.iter().any(|it| it.code == CauseCode::Neighbour);
        let advice = &found.devices[0].advice;
        (named, advice.iter().any(|it| it.strategy == Strategy::MoveNeighbour))
    };
    assert_eq!(found("--json"), (false, false));
    assert_eq!(found("--json --trace"), (true, true));
}

#[test]
fn mistakes_are_named_with_what_to_use() {
    halfpower(&format!("diagnose {EIGHT} --no-save")).refuses(2, &["--load"]);
    halfpower("diagnose --load iodepth=4 --no-save --for 1s").refuses(2, &["sim:NAME"]);
    let wrong = |load: &str, words: &[&str]| {
        let mut command = program();
        command.args(["diagnose", EIGHT, "--load", load, "--no-save"]);
        run(command, "").refuses(2, words);
    };
    wrong("iodepth", &["KEY=VALUE"]);
    wrong("depth=4", &["depth"]);
    wrong("iodepth=4 from=1m", &["never active"]);
    wrong("rw=randrw limit=100", &["only reads or only writes"]);
    wrong("riops=0", &["riops=0", "rate in IOPS"]);
    wrong("wbps=0", &["wbps=0", "allows no requests"]);
    wrong("write-back=maybe", &["write-back=maybe", "yes or no"]);
}

#[test]
fn every_code_of_a_diagnosis_is_explained_on_its_page() {
    let page = concat!(
        include_str!("../../../../docs/diagnosis.md"),
        include_str!("../../../../docs/findings.md")
    );
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/diagnosis-1.schema.json"))
            .unwrap();
    for kind in ["Verdict", "CauseCode", "NoteCode"] {
        let codes: Vec<String> = schema["$defs"][kind]["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["const"].as_str().unwrap().to_owned())
            .collect();
        assert!(codes.len() >= 7, "{kind}");
        for code in codes {
            assert!(page.contains(&format!("`{code}`")), "{code} is not explained");
        }
    }
}
