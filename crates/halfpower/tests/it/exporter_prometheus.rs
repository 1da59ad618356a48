//! Tests whether a real Prometheus accepts the exporter's metrics and rules, and whether the dashboard has
//! what Grafana reads.

use crate::exporter::{Disks, PATIENCE, POLL};
use crate::imports::fetched;
use crate::program::halfpower;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testkit::{Service, requires};

const TURN: Duration = Duration::from_millis(100);
const RULES: &str = "docs/exporter/halfpower.rules.yml";
const DASHBOARD: &str = "docs/exporter/halfpower.dashboard.json";

/// Keeps the disks active, however busy the test machine is, until dropped.
struct Turning {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Turning {
    fn start(mut disks: Disks) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                disks.turn(2);
                // Longer than the added activity takes; the kernel could not have counted it otherwise.
                std::thread::sleep(TURN);
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Runs promtool on a text or on files; it must accept them.
#[track_caller]
fn promtool(words: &str, text: &str) {
    let mut command = Command::new("promtool");
    command.args(words.split_whitespace()).current_dir(root());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "promtool {words}: {ended:?}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// A Prometheus server's response to a query, as a list of series.
fn queried(address: &str, query: &str) -> Vec<Value> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let text = fetched(address, &format!("/api/v1/query?query={escaped}"), "");
    let answer: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(answer["status"], "success", "{query}: {text}");
    answer["data"]["result"].as_array().unwrap().clone()
}

/// All queries of the dashboard, with its variables set to everything.
fn dashboard_queries() -> Vec<String> {
    let text = std::fs::read_to_string(root().join(DASHBOARD)).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| target["expr"].as_str().unwrap());
    // Grafana inserts the selected values; by default, everything is selected.
    queries.map(|it| it.replace("$instance", ".*").replace("$device", ".*")).collect()
}

/// Fields that an object may have, each with a test of its value, and the fields that it must have.
type Fields<'a> = (&'a [(&'a str, fn(&Value) -> bool)], &'a [&'a str]);

/// Checks an object against Grafana's schema. Grafana silently ignores unknown fields, so a mistyped one
/// would go unnoticed.
#[track_caller]
fn has_fields(what: &str, object: &Value, (known, needed): Fields<'_>) {
    let fields = object.as_object().unwrap_or_else(|| panic!("{what} is no object"));
    for (name, value) in fields {
        let test = known.iter().find(|(known, _)| known == name);
        let (_, test) = test.unwrap_or_else(|| panic!("{what} has an unknown field {name}"));
        assert!(test(value), "{what}: {name} is {value}");
    }
    for name in needed {
        assert!(fields.contains_key(*name), "{what} has no {name}");
    }
}

fn is_one_of(value: &Value, all: &[&str]) -> bool {
    value.as_str().is_some_and(|value| all.contains(&value))
}

fn is_within(value: &Value, range: RangeInclusive<u64>) -> bool {
    value.as_u64().is_some_and(|value| range.contains(&value))
}

/// Fields and types of Grafana's dashboards (schema versions 36 to 39) and of queries to Prometheus, as far
/// as this dashboard uses them.
#[test]
fn the_dashboard_has_the_fields_and_types_that_grafana_reads() {
    let text = std::fs::read_to_string(root().join(DASHBOARD)).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let source: Fields<'_> = (
        &[
            ("type", |it| is_one_of(it, &["prometheus"])),
            // A variable, so that it can be imported anywhere.
            ("uid", |it| is_one_of(it, &["${datasource}"])),
        ],
        &["type", "uid"],
    );
    has_fields(
        "the dashboard",
        &dashboard,
        (
            &[
                ("title", Value::is_string),
                ("uid", |it| it.as_str().is_some_and(|it| (1..=40).contains(&it.len()))),
                ("schemaVersion", |it| is_within(it, 36..=39)),
                ("version", Value::is_u64),
                ("editable", Value::is_boolean),
                ("refresh", Value::is_string),
                ("time", |it| it["from"].is_string() && it["to"].is_string()),
                ("tags", |it| it.as_array().is_some_and(|it| it.iter().all(Value::is_string))),
                ("templating", |it| it["list"].is_array()),
                ("annotations", |it| it["list"].is_array()),
                ("panels", Value::is_array),
            ],
            &["title", "uid", "schemaVersion", "panels", "templating"],
        ),
    );
    let mut variables = BTreeSet::new();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        has_fields(
            "a variable",
            variable,
            (
                &[
                    ("name", Value::is_string),
                    ("label", Value::is_string),
                    ("type", |it| is_one_of(it, &["query", "datasource"])),
                    ("datasource", Value::is_object),
                    ("query", |it| {
                        it.is_string() || it["query"].is_string() && it["refId"].is_string()
                    }),
                    ("current", Value::is_object),
                    // Never, when the dashboard loads, when the time changes.
                    ("refresh", |it| is_within(it, 0..=2)),
                    ("sort", |it| is_within(it, 0..=8)),
                    ("includeAll", Value::is_boolean),
                    ("multi", Value::is_boolean),
                    ("allValue", Value::is_string),
                ],
                &["name", "type", "query"],
            ),
        );
        if variable["type"] == "query" {
            has_fields("a variable's source", &variable["datasource"], source);
        }
        variables.insert(variable["name"].as_str().unwrap());
    }
    let (mut ids, mut places) = (BTreeSet::new(), Vec::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        has_fields(
            "a panel",
            panel,
            (
                &[
                    ("id", Value::is_u64),
                    ("type", |it| is_one_of(it, &["timeseries", "stat", "table"])),
                    ("title", Value::is_string),
                    ("description", Value::is_string),
                    ("datasource", Value::is_object),
                    ("gridPos", Value::is_object),
                    ("fieldConfig", |it| it["defaults"].is_object() && it["overrides"].is_array()),
                    ("options", Value::is_object),
                    ("targets", Value::is_array),
                ],
                &["id", "type", "gridPos", "fieldConfig", "options", "targets"],
            ),
        );
        has_fields("a panel's source", &panel["datasource"], source);
        has_fields(
            "a panel's figures",
            &panel["fieldConfig"]["defaults"],
            (
                &[
                    ("unit", |it| is_one_of(it, &["percentunit", "s", "iops", "Bps"])),
                    ("min", Value::is_number),
                    ("max", Value::is_number),
                ],
                &[],
            ),
        );
        has_fields(
            "a panel's place",
            &panel["gridPos"],
            (
                &[
                    ("h", |it| is_within(it, 1..=100)),
                    ("w", |it| is_within(it, 1..=24)),
                    ("x", |it| is_within(it, 0..=23)),
                    ("y", |it| is_within(it, 0..=1_000)),
                ],
                &["h", "w", "x", "y"],
            ),
        );
        let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        let (left, top) = (at("x"), at("y"));
        let place = (left..left + at("w"), top..top + at("h"));
        assert!(place.0.end <= 24 && ids.insert(panel["id"].as_u64()), "{panel}");
        let apart =
            |one: &Range<u64>, two: &Range<u64>| one.end <= two.start || two.end <= one.start;
        let covered =
            places.iter().any(|(across, down)| !apart(across, &place.0) && !apart(down, &place.1));
        assert!(!covered, "a panel lies on another: {panel}");
        places.push(place);
        let mut letters = BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            has_fields(
                "a query",
                target,
                (
                    &[
                        ("refId", Value::is_string),
                        ("datasource", Value::is_object),
                        ("expr", Value::is_string),
                        ("legendFormat", Value::is_string),
                        ("instant", Value::is_boolean),
                        ("range", Value::is_boolean),
                        ("format", |it| is_one_of(it, &["time_series", "table", "heatmap"])),
                    ],
                    &["refId", "datasource", "expr"],
                ),
            );
            has_fields("a query's source", &target["datasource"], source);
            assert!(letters.insert(target["refId"].as_str()), "{panel}");
            for used in target["expr"].as_str().unwrap().split('$').skip(1) {
                let name: String = used.chars().take_while(|it| it.is_alphanumeric()).collect();
                assert!(variables.contains(name.as_str()), "no variable ${name}: {panel}");
            }
        }
    }
}

#[test]
fn a_real_prometheus_takes_metrics_rules_and_dashboard() {
    requires!(Prometheus);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let database = place("r.db");
    halfpower(&format!("check sim:mm1 --quiet --db {}", database.display())).expect(0);
    let disks = Disks::new();
    // Long enough for activity in each interval.
    let words = format!("--interval 500ms --profile last --db {}", database.display());
    let (_exporter, address) = disks.exported(&words);
    let _turning = Turning::start(disks);

    let configuration = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n  \
         - job_name: halfpower\n    static_configs: [{{targets: ['{address}']}}]\n",
        root().join(RULES).display(),
    );
    std::fs::write(place("prometheus.yml"), configuration).unwrap();
    let mut server = Command::new("prometheus");
    server
        .arg("--web.listen-address=127.0.0.1:0")
        .arg(format!("--config.file={}", place("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", place("data").display()))
        .current_dir(folder.path());
    let mut server = Service::start(server, &place("prometheus.log")).unwrap();
    let prometheus = server.address().unwrap();

    let begin = Instant::now();
    while !fetched(&prometheus, "/-/ready", "").contains("Ready") {
        assert!(begin.elapsed() < PATIENCE, "Prometheus is not ready");
        std::thread::sleep(POLL);
    }
    // Every query of the dashboard finds series.
    let mut without_series: BTreeSet<String> = dashboard_queries().into_iter().collect();
    assert!(without_series.len() > 20, "{without_series:?}");
    while !without_series.is_empty() {
        without_series.retain(|query| queried(&prometheus, query).is_empty());
        assert!(begin.elapsed() < PATIENCE, "no series: {without_series:#?}");
        std::thread::sleep(POLL);
    }
    let rules: Value = serde_json::from_str(&fetched(&prometheus, "/api/v1/rules", "")).unwrap();
    let groups = rules["data"]["groups"].as_array().unwrap();
    let rules: Vec<&Value> = groups.iter().flat_map(|it| it["rules"].as_array().unwrap()).collect();
    assert!(rules.len() >= 5 && rules.iter().all(|it| it["lastError"].is_null()), "{rules:?}");

    promtool(&format!("check rules {RULES}"), "");
    promtool("check metrics", &fetched(&address, "/metrics", ""));
    let text = fetched(&address, "/metrics", "");
    let probabilities = text
        .lines()
        .filter(|line| line.starts_with("halfpower_device_verdict_probability{device=\"sda\""));
    let sum: f64 =
        probabilities.map(|it| it.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}: {text}");
}
