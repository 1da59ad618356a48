//! Tests `watch --listen` from outside: what a scrape shows, who has access, and whether a real Prometheus
//! accepts the metrics, the rules and the dashboard.

use crate::imports::fetched;
use crate::program::{Running, halfpower, program, unprivileged};
use record::{Bytes, DeviceFacts, Profile};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::Store;
use testkit::{Fake, Service, requires};

/// Longer than any expected event takes on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);
const TURN: Duration = Duration::from_millis(100);
const RULES: &str = "docs/exporter/halfpower.rules.yml";
const DASHBOARD: &str = "docs/exporter/halfpower.dashboard.json";

/// A simulated machine with two disks. Each `turn` adds activity to their counters.
pub(crate) struct Disks {
    fake: Fake,
    turn: u64,
}

impl Disks {
    pub(crate) fn new() -> Self {
        let fake = Fake::new();
        fake.block("pci/block/sda", "8:0", 2_000_000);
        fake.sys("devices/pci/block/sda/device/model", "Disk \"A\" \\ 5\n");
        fake.block("pci/block/sdb", "8:16", 1_000_000);
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let group = |name: &str, text: &str| fake.sys(&format!("fs/cgroup/db/{name}"), text);
        group("io.max", "8:0 rbps=1000000 wbps=max riops=500 wiops=max\n");
        group("io.stat", "8:0 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
        for (file, text) in [
            (
                "pressure/io",
                "some avg10=0 avg60=0 avg300=0 total=1\nfull avg10=0 avg60=0 avg300=0 total=1\n",
            ),
            ("stat", "cpu 1 0 1 100 0 0 0 5 0 0\n"),
        ] {
            fake.proc(file, text);
        }
        let mut disks = Self { fake, turn: 0 };
        disks.turn(2);
        disks
    }

    /// Adds activity to the first `disks` disks; the others disappear.
    fn turn(&mut self, disks: u64) {
        self.turn += 1;
        let mut text = String::new();
        for disk in 0..disks {
            let (ios, ms) = (1_000 + 4 * self.turn, 4_000 + 6 * self.turn);
            let (minor, letter, sectors) = (16 * disk, ["a", "b"][disk as usize], 8 * ios);
            text += &format!(
                "8 {minor} sd{letter} {ios} 0 {sectors} {ms} {ios} 0 {sectors} {ms} 0 {ms} {} 0 0 0 0 {} {ms}\n",
                2 * ms,
                10 + self.turn
            );
        }
        let path = self.fake.path("proc/diskstats");
        std::fs::write(path.with_extension("next"), text).unwrap();
        std::fs::rename(path.with_extension("next"), path).unwrap();
    }

    pub(crate) fn roots(&self) -> String {
        let path = |name: &str| self.fake.path(name).display().to_string();
        format!("--procfs {} --sysfs {}", path("proc"), path("sys"))
    }

    /// Starts the exporter for this machine; returns its address.
    pub(crate) fn exported(&self, words: &str) -> (Running, String) {
        let words = format!("watch --listen 127.0.0.1:0 {} {words}", self.roots());
        started(program(), &words)
    }
}

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

fn started(mut command: Command, words: &str) -> (Running, String) {
    command.args(words.split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("/metrics\n");
    let said = running.complained();
    let address = said.split("://").nth(1).and_then(|rest| rest.split('/').next());
    (running, address.unwrap().to_owned())
}

/// The value of a series, by its name and labels.
pub(crate) fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

/// Scrapes until the text meets the condition.
#[track_caller]
fn scraped(address: &str, mut before: impl FnMut(), is_so: impl Fn(&str) -> bool) -> String {
    let begin = Instant::now();
    loop {
        before();
        let text = fetched(address, "/metrics", "");
        if is_so(&text) {
            return text;
        }
        assert!(begin.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(POLL);
    }
}

#[test]
fn a_scrape_shows_the_devices_that_are_there_and_a_device_that_goes_takes_its_series_along() {
    let mut disks = Disks::new();
    let (exporter, address) = disks.exported("--interval 20ms --db /proc/none/x");
    let latency = |name: &str| format!("halfpower_device_latency_seconds{{device=\"{name}\"}}");
    let text = scraped(&address, || disks.turn(2), |text| value(text, &latency("sdb")).is_some());
    // 6 ms for 4 reads, and the same for 4 writes.
    let seconds = value(&text, &latency("sda")).unwrap();
    assert!((seconds - 0.0015).abs() < 1e-9, "{seconds}");
    let limit = "halfpower_device_cgroup_limit_requests_per_second{device=\"sda\",cgroup=\"/db\",op=\"read\"}";
    assert_eq!(value(&text, limit), Some(500.0), "{text}");
    assert_eq!(value(&text, "halfpower_device_profiled{device=\"sda\"}"), Some(0.0));
    assert!(!text.contains("halfpower_device_verdict{"), "no profile, no verdict: {text}");
    assert!(text.contains("model=\"Disk \\\"A\\\" \\\\ 5\""), "labels are escaped: {text}");
    let text = scraped(&address, || disks.turn(1), |text| !text.contains("\"sdb\""));
    assert!(text.contains("device=\"sda\""), "{text}");
    assert!(value(&text, "halfpower_samples_total").unwrap() >= 2.0);
    assert!(value(&text, "halfpower_scrapes_total").unwrap() >= 2.0);
    exporter.signal("TERM");
    let ended = exporter.end().expect(0);
    assert_eq!(ended.stdout, "");
}

#[test]
fn both_formats_pages_and_refusals_are_those_of_http() {
    let disks = Disks::new();
    let (exporter, address) = disks.exported("--interval 20ms --db /proc/none/x");
    scraped(&address, || {}, |text| value(text, "halfpower_devices{shown=\"yes\"}") == Some(2.0));
    let open =
        fetched(&address, "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(
        open.ends_with("# EOF\n") && open.contains("# TYPE halfpower_scrapes counter\n"),
        "{open}"
    );
    let plain = fetched(&address, "/metrics", "Accept: */*\r\n");
    assert!(plain.contains("# TYPE halfpower_scrapes_total counter\n"), "{plain}");
    assert!(!plain.contains("# EOF"), "{plain}");
    assert!(fetched(&address, "/", "").contains("href=\"/metrics\""));
    assert_eq!(fetched(&address, "/-/healthy", ""), "halfpower is running.\n");
    assert_eq!(fetched(&address, "/-/ready", ""), "The first sample has been taken.\n");
    assert!(fetched(&address, "/nothing", "").starts_with("Use /metrics"));
    // The address is in use.
    halfpower(&format!("watch --listen {address}"))
        .refuses(4, &[&address, "another program uses the port"]);
    exporter.signal("INT");
    exporter.end().expect(0);
}

#[test]
fn clients_that_hold_all_connections_do_not_stop_a_scrape() {
    let disks = Disks::new();
    let (exporter, address) = disks.exported("--interval 20ms --db /proc/none/x");
    let connect = || TcpStream::connect(&address).unwrap();
    // Some begin a request, most send nothing.
    let mut silent: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    for client in silent.iter_mut().step_by(8) {
        client.write_all(b"GET /metrics HT").unwrap();
    }
    for _ in 0..3 {
        assert!(fetched(&address, "/metrics", "").contains("halfpower_scrapes_total"));
    }
    // The oldest was replaced.
    assert_eq!(silent[1].read(&mut [0]).unwrap(), 0);
    exporter.signal("TERM");
    exporter.end().expect(0);
}

#[test]
fn a_profile_that_is_saved_while_the_exporter_runs_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("r.db");
    let disks = Disks::new();
    // Profiles are checked every sixty intervals.
    let (exporter, address) =
        disks.exported(&format!("--interval 20ms --db {}", database.display()));
    let profiled = "halfpower_device_profiled{device=\"sda\"}";
    scraped(&address, || {}, |text| value(text, profiled) == Some(0.0));
    let made = halfpower("check sim:mm1 --quiet --json --no-save").expect(0);
    let mut profile: Profile = serde_json::from_str(&made.stdout).unwrap();
    profile.target.device = Some(DeviceFacts {
        name: "sda".to_owned(),
        model: Some("Disk \"A\" \\ 5".to_owned()),
        size_bytes: Bytes(2_000_000 * 512),
        ..DeviceFacts::default()
    });
    Store::open(&database).unwrap().add_profile(&profile, &[]).unwrap();
    scraped(&address, || {}, |text| value(text, profiled) == Some(1.0));
    exporter.signal("TERM");
    exporter.end().expect(0);
}

#[test]
fn what_cannot_be_listened_on_is_refused_with_what_to_do() {
    for (words, code, said) in [
        ("--listen 0.0.0.0:0", 3, ["--listen-beyond-loopback", "127.0.0.1:0"]),
        ("--listen [::]:0", 3, ["--listen-beyond-loopback", "reverse proxy"]),
        ("--listen :9750", 2, ["127.0.0.1:9750", "ADDRESS:PORT"]),
        ("--listen disks:9750", 2, ["127.0.0.1:9750", "ADDRESS:PORT"]),
        ("--listen 192.0.2.1:1 --listen-beyond-loopback", 4, ["192.0.2.1:1", "ip address"]),
        ("--listen 127.0.0.1:0 --once", 2, ["--once", "--listen"]),
        ("--listen 127.0.0.1:0 --sort busy", 2, ["--sort", "--listen"]),
        ("--listen 127.0.0.1:0 --procfs /none", 4, ["/none/diskstats", "check the path"]),
    ] {
        halfpower(&format!("watch {words}")).refuses(code, &said);
    }
    let alone = halfpower("watch --listen-beyond-loopback").expect(2);
    assert!(alone.stderr.contains("--listen <ADDRESS:PORT>"), "{alone:?}");
}

#[test]
fn anybody_can_serve_the_counters_of_this_machine() {
    requires!(Root, Setpriv);
    let folder = tempfile::tempdir().unwrap();
    let words = "watch --listen localhost:0 --interval 50ms --all --db /proc/none/x";
    let (exporter, address) = started(unprivileged(folder.path()), words);
    scraped(&address, || {}, |text| value(text, "halfpower_samples_total") >= Some(1.0));
    exporter.signal("TERM");
    exporter.end().expect(0);
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
