//! `report`: self-contained pages, tested in a real browser, and the other outputs.

use crate::program::{Outcome, halfpower, names, profiled_into};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use testkit::requires;

/// Actions of a reader on a page, with the expected results.
const READER: &str = include_str!("report_page.js");
/// What was checked for the reported profile.
const CHECKED: &str = "sim:mmc,service=1ms,servers=4 --budget 20s";

fn with_database(folder: &Path, words: &str) -> Outcome {
    halfpower(&format!("{words} --db {}", folder.join("kept.db").display()))
}

/// A database with a profile of a simulated device and its trials, and a report of it.
fn reported() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    profiled_into(&folder.path().join("kept.db"), CHECKED);
    let page = folder.path().join("report.html");
    let said = with_database(folder.path(), &format!("report last -o {}", page.display()));
    assert!(said.expect(0).stdout.contains("1 document, "));
    let html = std::fs::read_to_string(page).unwrap();
    (folder, html)
}

/// The DOM of a page in a browser after its scripts have run, and the browser's messages.
fn in_browser(folder: &Path, html: &str) -> (String, String) {
    let page = folder.join("opened.html");
    std::fs::write(&page, html).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8(output.stdout).unwrap(), complaints.join("\n"))
}

/// The page with the reader's script, which the page's policy would otherwise block.
fn with_reader(html: &str) -> String {
    let (before, policy) = html.split_once("script-src 'sha256-").unwrap();
    let (_, after) = policy.split_once('\'').unwrap();
    let open = format!("{before}script-src 'unsafe-inline'{after}");
    open.replace("</body>", &format!("<script>{READER}</script></body>"))
}

/// Number of the reader's passed checks, and the failed ones.
fn results(dom: &str) -> (usize, Vec<&str>) {
    let list = dom.split_once("<pre id=\"results\">").unwrap().1.split_once("</pre>").unwrap().0;
    let failed: Vec<&str> = list.lines().filter(|line| !line.starts_with("ok ")).collect();
    (list.lines().count() - failed.len(), failed)
}

#[test]
fn a_report_opens_in_a_browser_without_a_complaint_and_its_plots_are_live() {
    requires!(Chromium);
    let (folder, html) = reported();
    let (dom, complaints) = in_browser(folder.path(), &html);
    assert_eq!(complaints, "");
    let figures = html.matches("<figure class=\"chart\"").count();
    assert!(figures >= 5, "{figures}");
    assert_eq!(dom.matches("<figure class=\"chart live\"").count(), figures);
    assert_eq!(dom.matches("aria-roledescription=\"interactive plot\"").count(), figures);
}

#[test]
fn a_reader_zooms_reads_values_and_switches_series_and_scales() {
    requires!(Chromium);
    let (folder, html) = reported();
    let (dom, complaints) = in_browser(folder.path(), &with_reader(&html));
    assert_eq!(complaints, "");
    let (held, failed) = results(&dom);
    assert_eq!(failed, Vec::<&str>::new());
    assert!(held > 80, "{held}");
}

#[test]
fn the_reader_sees_it_when_a_page_does_not_answer() {
    requires!(Chromium);
    let (folder, html) = reported();
    // Hidden series are still drawn.
    let broken = html.replace("if (this.shown[index]) this.series", "this.series");
    assert_ne!(broken, html);
    let (dom, _) = in_browser(folder.path(), &with_reader(&broken));
    let (_, failed) = results(&dom);
    assert!(
        !failed.is_empty() && failed.iter().all(|line| line.ends_with("a series goes")),
        "{failed:?}"
    );
    // The policy allows only the script that it names.
    let (dom, complaints) = in_browser(folder.path(), &broken);
    assert!(complaints.contains("Content Security Policy"), "{complaints}");
    assert!(!dom.contains("class=\"chart live\""));
}

#[test]
fn a_page_holds_the_answer_the_conditions_and_the_command_and_refers_to_nothing_outside() {
    let (folder, html) = reported();
    for text in ["Reads up to ", "What was found", "What to do", "Conditions", "SIMULATED device"] {
        assert!(html.contains(text), "{text}");
    }
    assert!(html.contains("halfpower check sim:mmc,service=1ms,servers=4 --budget 20s --seed 1"));
    for outside in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 1_000_000, "{}", html.len());
    let again = folder.path().join("again.html");
    with_database(folder.path(), &format!("report last -o {}", again.display())).expect(0);
    assert_eq!(std::fs::read_to_string(again).unwrap(), html, "the same page each time");
}

#[test]
fn documents_are_named_by_the_beginnings_of_their_ids_and_by_files() {
    let folder = tempfile::tempdir().unwrap();
    let trial =
        with_database(folder.path(), "run sim:mm1,service=1ms --iodepth 4 --json").expect(0);
    let file = folder.path().join("trial.json");
    std::fs::write(&file, &trial.stdout).unwrap();
    let id = trial.trial().id;
    let by_id =
        with_database(folder.path(), &format!("report {} --md", &id[..10])).expect(0).stdout;
    let by_file =
        with_database(folder.path(), &format!("report {} --md", file.display())).expect(0);
    assert_eq!(by_id, by_file.stdout);
    assert!(by_id.contains("## Trial: ") && by_id.contains("### To repeat it"), "{by_id}");
    let both = format!("report {id} {} --json", file.display());
    let both: serde_json::Value =
        serde_json::from_str(&with_database(folder.path(), &both).expect(0).stdout).unwrap();
    assert_eq!(both["schema"], "halfpower/report/1");
    // Two single trials, and both together.
    let kinds: Vec<&str> =
        both["documents"].as_array().unwrap().iter().map(|d| d["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Trials", "Trial", "Trial"]);
}

#[test]
fn the_command_of_a_report_repeats_the_trial() {
    let runs = [
        "run sim:mm1,service=1ms --iodepth 4 --rw randrw --rwmixread 70 --runtime 3s",
        "run sim:mmc,service=1ms,servers=4 --rate-iops 500 --arrival poisson --bs 4k/60:64k/40",
        "run sim:st34371w --rw write --bs 64k --size 512m --offset 1g --runtime 2s --ramp-time 100ms",
        "run sim:mm1 --pattern zipf --zipf-theta 0.9 --numjobs 2 --passes 1 --size 4m --keep-warm-up",
    ];
    for words in runs {
        let folder = tempfile::tempdir().unwrap();
        let trial = with_database(folder.path(), &format!("{words} --json")).expect(0).trial();
        let words = format!("report {} --json", trial.id);
        let report = with_database(folder.path(), &words).expect(0).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let command = report["documents"][0]["commands"][0].as_str().unwrap();
        let again = command.strip_prefix("halfpower ").unwrap();
        let again = with_database(folder.path(), &format!("{again} --json")).expect(0).trial();
        assert_eq!(again, trial, "{command}");
    }
}

#[test]
fn drawings_and_values_are_written_and_replaced_and_nothing_else_is() {
    let (folder, html) = reported();
    let plots = folder.path().join("plots");
    let csv = folder.path().join("values.csv");
    let words = format!("report last --svg {} --csv {}", plots.display(), csv.display());
    for _ in 0..2 {
        with_database(folder.path(), &words).expect(0);
    }
    let drawn = names(&plots);
    assert_eq!(drawn.len(), html.matches("<figure class=\"chart\"").count());
    let values = std::fs::read_to_string(&csv).unwrap();
    assert!(values.starts_with("document,chart,series,") && values.lines().count() > 50);
    std::fs::write(plots.join(&drawn[0]), "mine").unwrap();
    with_database(folder.path(), &words).refuses(3, &["--svg", "is not a halfpower plot"]);
    std::fs::write(&csv, "mine").unwrap();
    with_database(folder.path(), &words).refuses(3, &["--csv", "values.csv"]);
    let page = folder.path().join("mine.html");
    std::fs::write(&page, "mine").unwrap();
    let words = format!("report last -o {}", page.display());
    with_database(folder.path(), &words).refuses(3, &["--output", "mine.html"]);
    assert_eq!(std::fs::read_to_string(page).unwrap(), "mine");
}

#[test]
fn what_memory_took_is_not_called_the_most_of_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let written = |cache: &str, bs: &str| {
        let words = "run sim:st34371w --rw write --runtime 2s --size 8m --no-save --json";
        let said = halfpower(&format!("{words} --cache {cache} --bs {bs}")).expect(0);
        let file = folder.path().join(format!("{cache}-{bs}.json"));
        std::fs::write(&file, said.stdout).unwrap();
        file.display().to_string()
    };
    let headline = |trials: [String; 2]| {
        let said = halfpower(&format!("report {} --md", trials.join(" "))).expect(0).stdout;
        let line = said.lines().find(|line| line.contains("The maximum throughput"));
        line.unwrap_or_else(|| panic!("no headline in {said}")).to_owned()
    };
    let both = headline([written("all", "64k"), written("device", "4k")]);
    assert!(both.contains("with direct I/O is"), "{both}");
    assert!(both.contains("through the page cache, "), "{both}");
    let alone = headline([written("all", "64k"), written("all", "4k")]);
    assert!(alone.contains("through the page cache"), "{alone}");
    let device = headline([written("device", "64k"), written("device", "4k")]);
    assert!(!device.contains("memory") && !device.contains("page cache"), "{device}");
}

#[test]
fn what_cannot_be_reported_is_refused_with_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    with_database(folder.path(), "report last --md")
        .refuses(4, &["no database", "halfpower check"]);
    with_database(folder.path(), "run sim:mm1").expect(0);
    with_database(folder.path(), "report ffff --md").refuses(4, &["ffff", "kept.db", "show list"]);
    let other = folder.path().join("other.json");
    std::fs::write(&other, "{\"schema\":\"elsewhere/1\"}").unwrap();
    let words = format!("report {} --md", other.display());
    with_database(folder.path(), &words).refuses(4, &["other.json", "elsewhere/1"]);
    std::fs::write(&other, "no JSON").unwrap();
    with_database(folder.path(), &words)
        .refuses(4, &["other.json", "not a halfpower JSON document"]);
    let words = format!("report {}", other.display());
    let page = format!("{words} -o {}", other.display());
    with_database(folder.path(), &page).refuses(3, &["other.json", "a document to report"]);
}

#[test]
fn a_name_from_outside_becomes_no_markup_in_any_rendering() {
    let folder = tempfile::tempdir().unwrap();
    let trial = with_database(folder.path(), "run sim:mm1 --json").expect(0).stdout;
    let hostile = "</script><script>alert(1)</script><img src=x>\\u001b[2J";
    let file = folder.path().join("trial.json");
    std::fs::write(&file, trial.replace("\"sim:mm1\"", &format!("\"{hostile}\""))).unwrap();
    let page = folder.path().join("page.html");
    let words = format!("report {} -o {}", file.display(), page.display());
    with_database(folder.path(), &words).expect(0);
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("&#60;/script&#62;&#60;script&#62;alert(1)"), "the name is there");
    assert_eq!(html.matches("<script").count(), 2);
    assert!(!html.contains("<img") && !html.contains('\u{1b}'));
    let text = with_database(folder.path(), &format!("report {} --md", file.display())).expect(0);
    assert!(!text.stdout.contains('\u{1b}') && !text.stdout.contains(" <img"), "{text:?}");
}

#[test]
fn every_answer_is_a_page_and_a_summary_as_it_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let id = profiled_into(&folder.path().join("kept.db"), CHECKED).profile().id;
    for (words, kind) in [
        ("predict last --rate-iops 500 --faster 30".to_owned(), "What if:"),
        ("predict last --rate-iops 500".to_owned(), "Prediction:"),
        ("predict last --iodepth 4 --rwmixread 70".to_owned(), "Prediction:"),
        (format!("advise --for fio {id}"), "Settings:"),
    ] {
        let document = with_database(folder.path(), &format!("{words} --json")).expect(0).stdout;
        let mut command = crate::program::program();
        command.args(["report", "-", "--md", "-o"]).arg(folder.path().join("page.html"));
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut reporting = command.spawn().unwrap();
        std::io::Write::write_all(&mut reporting.stdin.take().unwrap(), document.as_bytes())
            .unwrap();
        let output = reporting.wait_with_output().unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(summary.contains(kind), "{words}: {summary}");
        let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.contains(&format!("<span class=\"faint\">{kind}</span>")), "{words}");
        assert!(page.contains("class=\"answer"), "{words}");
    }
    with_database(folder.path(), "report - -o other.html").refuses(4, &["standard input", "empty"]);
}
