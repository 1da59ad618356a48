//! The published figures: reproduced values depend on the physics only.

use crate::documents::check_schema;
use crate::program::{halfpower, halfpower_in};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The document of `halfpower papers`, with any exit code.
fn document(words: &str) -> (i32, Value, String) {
    let ended = halfpower(&format!("papers --json {words}"));
    let code = ended.code.unwrap();
    (code, serde_json::from_str(&ended.stdout).unwrap(), ended.stdout)
}

/// The document of all rows. It takes seconds, so it is made once.
fn whole() -> &'static Value {
    static WHOLE: OnceLock<Value> = OnceLock::new();
    WHOLE.get_or_init(|| document("").1)
}

fn rows(document: &Value) -> impl Iterator<Item = &Value> {
    document["rows"].as_array().unwrap().iter()
}

/// The reproduced values of all rows, without the published ones.
fn reproduced(document: &Value) -> Vec<(String, Value, Vec<Value>)> {
    rows(document)
        .map(|row| {
            let points = row["points"].as_array().unwrap();
            let values = points.iter().map(|point| point["reproduced"].clone()).collect();
            (row["id"].to_string(), row["reproduced"].clone(), values)
        })
        .collect()
}

/// The ids of the rows with this verdict.
fn with_verdict(document: &Value, verdict: &str) -> Vec<String> {
    let chosen = rows(document).filter(|row| row["verdict"] == verdict);
    chosen.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_reproduced_follows_the_published_values() {
    let figures = "--only riedel --only chung --only friedman";
    let (code, scaled, _) = document(&format!("{figures} --scale-published 1.2"));
    assert_eq!(code, 1, "published values that are 20 % off must not pass");
    let ids: BTreeSet<String> = rows(&scaled).map(|row| row["id"].to_string()).collect();
    let mut honest = whole().clone();
    honest["rows"].as_array_mut().unwrap().retain(|row| ids.contains(&row["id"].to_string()));
    assert_eq!(reproduced(&honest), reproduced(&scaled));
    let count = |document: &Value| with_verdict(document, "reproduced").len();
    assert!(count(&scaled) < count(&honest) / 2, "{} of {}", count(&scaled), count(&honest));
}

#[test]
fn each_part_of_the_physics_carries_a_figure_that_fails_without_it() {
    let carried = [
        ("seek", "C220"),
        ("rotation", "fig03_unbuffered_write_noWCE"),
        ("readahead", "fig14_radial_zones"),
        ("coalesce", "fig08_write_stripes_3deep_fast_WCE"),
        ("contention", "fig08_write_stripes_3deep_fast_WCE"),
        ("zones", "fig14_radial_zones"),
    ];
    for (part, figure) in carried {
        let (_, honest, _) = document(&format!("--only {figure}"));
        let reproduced = with_verdict(&honest, "reproduced");
        assert!(!reproduced.is_empty(), "{figure}");
        let (_, without, _) = document(&format!("--only {figure} --without {part}"));
        let failed = with_verdict(&without, "deviates");
        let lost = reproduced.iter().filter(|id| failed.contains(id)).count();
        assert!(2 * lost >= reproduced.len(), "{figure} without {part}: only {failed:?}");
        assert_eq!(without["without"], serde_json::json!([part]));
    }
}

#[test]
fn the_document_follows_its_schema_and_is_the_same_twice() {
    let (_, _, text) = document("--only fig06_write_depth_1fast --only R001");
    check_schema("papers-1", &text);
    assert_eq!(text, document("--only fig06_write_depth_1fast --only R001").2);
}

#[test]
fn a_run_of_the_report_typed_by_hand_gives_the_same() {
    let (_, document, _) = document("--only fig03.write.fast");
    let row = &document["rows"][0];
    let line = row["runs"][0].as_str().unwrap();
    let words = line.strip_prefix("halfpower ").unwrap();
    let trial = halfpower(&format!("{words} --no-save --json")).expect(0).trial();
    let typed = trial.result.write.unwrap().bytes_per_s / 1_048_576.0;
    assert_eq!(row["points"][0]["reproduced"].as_f64(), Some(typed));
}

#[test]
fn every_published_row_is_there_in_one_class_and_those_not_testable_say_why() {
    let document = whole();
    let counts = document["counts"].as_array().unwrap();
    let of_class = |name: &str| counts.iter().find(|count| count["class"] == name).unwrap();
    let sum: u64 = counts.iter().map(|count| count["rows"].as_u64().unwrap()).sum();
    assert_eq!(sum, rows(document).count() as u64);
    let derived = of_class("derived");
    assert_eq!(derived["rows"], derived["reproduced"]);
    let total = |name: &str| {
        let text = std::fs::read_to_string(format!(
            "{}/../model/data/{name}/claims.csv",
            env!("CARGO_MANIFEST_DIR")
        ));
        text.unwrap().lines().count() - 1
    };
    for paper in ["riedel", "chung", "friedman"] {
        let claims = rows(document).filter(|row| row["paper"] == paper && row["chart"].is_null());
        assert_eq!(claims.count(), total(paper), "{paper}");
    }
    let untried = ["not_testable", "own_computation"].map(Value::from);
    for row in rows(document).filter(|row| untried.contains(&row["class"])) {
        assert!(row["reason"].as_str().unwrap().len() > 8, "{row}");
        assert!(row["reproduced"].is_null(), "{row}");
    }
}

#[test]
fn every_run_of_every_row_can_be_carried_out() {
    let failed = with_verdict(whole(), "failed");
    assert!(failed.is_empty(), "{failed:?}");
}

/// The verdict of each row, in order. `HALFPOWER_BLESS=1` rewrites the file, so a change of the simulator
/// shows its effects in the diff.
#[test]
fn every_verdict_is_the_committed_one() {
    let lines = rows(whole()).filter(|row| row["verdict"] != "not_tried").map(|row| {
        let words = [&row["id"], &row["class"], &row["verdict"]].map(|it| it.as_str().unwrap());
        format!("{}\n", words.join(" "))
    });
    let text: String = lines.collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/papers-verdicts.txt");
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == text, "{path} is stale: look at the difference with HALFPOWER_BLESS=1");
}

#[test]
fn the_page_stands_alone_and_draws_each_figure_twice() {
    let folder = tempfile::tempdir().unwrap();
    let words = "papers --only fig06_write_depth_1fast --html page.html";
    let first = halfpower_in(folder.path(), words);
    assert!(first.stdout.contains("fig06.write.3"), "{}", first.stdout);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert_eq!(page.matches("role=\"img\" aria-label=\"One Fast-Wide drive").count(), 2);
    for text in ["request size (KiB)", "throughput (MiB/s)", ", published", ", reproduced"] {
        assert!(page.contains(text), "{text}");
    }
    for outside in ["http:", "https:", "src=", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // It replaces only its own page.
    halfpower_in(folder.path(), words).expect(first.code.unwrap());
    std::fs::write(folder.path().join("page.html"), "mine").unwrap();
    let refused = halfpower_in(folder.path(), words).expect(3);
    assert!(refused.stderr.contains("page.html"), "{}", refused.stderr);
}

#[test]
fn what_names_no_row_or_no_part_is_a_mistake_of_usage() {
    let nothing = halfpower("papers --only fig99").expect(2);
    assert!(nothing.stderr.contains("fig99"), "{}", nothing.stderr);
    let nothing = halfpower("papers --without gravity").expect(2);
    assert!(nothing.stderr.contains("rotation"), "{}", nothing.stderr);
}
