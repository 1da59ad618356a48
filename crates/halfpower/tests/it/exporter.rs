//! Tests `watch --listen` from outside: what a scrape shows, and who has access.

use crate::imports::fetched;
use crate::program::{Running, halfpower, program, unprivileged};
use record::{Bytes, DeviceFacts, Profile};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use store::Store;
use testkit::{Fake, requires};

/// Longer than any expected event takes on a slow and busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const POLL: Duration = Duration::from_millis(20);

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
    pub(crate) fn turn(&mut self, disks: u64) {
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
