//! Imports other tools' files with the program: what is printed, saved and found, and whether a monitoring
//! server and the real iostat report the same about the same disks.

use crate::program::{Outcome, Running, found, halfpower, halfpower_in, program, run};
use host::kernel::Roots;
use host::kernel::live::{Sampler, Selection};
use record::{Diagnosis, Figure, FindingCode, Interval, Observation, Verdict};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use store::Store;
use testkit::{LoopDevice, Service, requires};

/// Longer than a server needs for its first scrapes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A file of another tool.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/samples").join(name)
}

fn import(code: i32, words: &str) -> Outcome {
    halfpower(&format!("record --no-save {words}")).expect(code)
}

#[track_caller]
fn observation(words: &str) -> Observation {
    parsed(&import(0, &format!("--json {words}")).stdout)
}

#[track_caller]
fn parsed(text: &str) -> Observation {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn of_sample(name: &str) -> Observation {
    observation(&sample(name).display().to_string())
}

#[test]
fn what_was_read_is_printed_within_80_columns_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample("iostat.json");
    let ended = halfpower_in(folder.path(), &format!("record --db a.db {}", file.display()));
    let text = ended.expect(0).stdout;
    assert!(text.contains("--verbose shows 2 more parts: "), "{text}");
    // The command for its page names the database, because it is not the default one.
    let mut offered = text.lines().last().unwrap().split_whitespace().skip(2);
    let id = offered.next().unwrap().to_owned();
    assert_eq!(offered.collect::<Vec<_>>(), ["--db", "a.db"]);
    let ended = halfpower_in(folder.path(), &format!("record -v --db a.db {}", file.display()));
    let text = ended.expect(0).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for words in [
        "iostat -o JSON of oak",
        "2020-06-01 12:00:01 to 2020-06-01 12:00:06 UTC",
        "1 report of averages since boot",
        "not available: hung requests",
    ] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{text}");
    }
    let store = Store::open_existing(&folder.path().join("a.db")).unwrap();
    let kept: Observation = store.document(&id).unwrap();
    assert_eq!(kept.intervals.len(), 10);
    // Its JSON is a file in a supported format.
    let json = serde_json::to_string(&kept).unwrap();
    std::fs::write(folder.path().join("own.json"), json).unwrap();
    let again = halfpower_in(folder.path(), "record --no-save --json own.json").expect(0);
    assert_eq!(parsed(&again.stdout).id, id);
}

#[test]
fn files_of_several_tools_give_an_observation_each_and_scrapes_one_together() {
    let names = ["iostat.json", "sadf.csv", "node-exporter-comments.prom", "typeperf.csv"];
    let words: Vec<String> = names.map(|name| sample(name).display().to_string()).into();
    let text = import(0, &format!("{} --json", words.join(" "))).stdout;
    let read = serde_json::Deserializer::from_str(&text).into_iter::<Observation>();
    let sources: Vec<String> = read.map(|it| it.unwrap().source).collect();
    let expected = ["iostat -o JSON", "sadf -d", "node_exporter", "Windows PhysicalDisk CSV"];
    assert_eq!(sources, expected);
}

#[test]
fn averages_since_boot_have_no_verdict_and_a_table_of_an_interval_has_one() {
    let text = std::fs::read_to_string(sample("iostat-x-12.txt")).unwrap();
    let second = text.match_indices("avg-cpu").nth(1).unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let diagnosed = |text: &str| {
        std::fs::write(folder.path().join("a.txt"), text).unwrap();
        let ended = halfpower_in(folder.path(), "diagnose a.txt --json --no-save");
        let diagnosis: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        let vda = diagnosis.devices.into_iter().find(|it| it.device == "vda").unwrap();
        (vda.shown_episode().unwrap().verdict, found(&diagnosis.findings, FindingCode::SinceBoot))
    };
    assert_eq!(diagnosed(&text[..second]), (Verdict::NotEnoughEvidence, true));
    let (verdict, since_boot) = diagnosed(&text);
    assert!(verdict != Verdict::NotEnoughEvidence && !since_boot, "{verdict:?}");
}

#[test]
fn standard_input_is_a_file() {
    let mut command = program();
    command.stdin(std::fs::File::open(sample("sadf.json")).unwrap());
    let ended = run(command, "record - --json --no-save").expect(0);
    assert_eq!(parsed(&ended.stdout).source, "sadf -j");
}

#[test]
fn what_a_source_lacks_is_found_and_its_opposite_is_not() {
    for (with, without, code) in [
        // sar's latencies cover reads and writes together.
        ("sadf.json", "node-exporter.prom", FindingCode::FiguresMixed),
        // 0.08 ms in steps of 0.01 ms; then several milliseconds in the same steps.
        ("iostat-iso-megabytes.json", "iostat.json", FindingCode::FiguresCoarse),
        // A first report since boot; then none.
        ("iostat.json", "iostat-iso-megabytes.json", FindingCode::IntervalsLeftOut),
        // Times without a zone; then with one.
        ("typeperf.csv", "relog-utf16.csv", FindingCode::TimesAssumed),
        // Counters from two boots of a machine; then from one.
        ("node-exporter.prom", "node-exporter-comments.prom", FindingCode::CountersReset),
        // Kernel 4.19; then 6.12.
        ("iostat.json", "iostat-iso-megabytes.json", FindingCode::BusyDoubtful),
    ] {
        assert!(found(&of_sample(with).findings, code), "{with} without {code:?}");
        assert!(!found(&of_sample(without).findings, code), "{without} with {code:?}");
    }
    let lost = |name: &str, words: &str| {
        let findings = of_sample(name).findings;
        let missing = findings.iter().filter(|it| it.code == FindingCode::FiguresMissing);
        missing.filter(|it| it.claim.contains(words)).count()
    };
    assert_eq!(
        (
            lost("sadf.json", "not available: the mix"),
            lost("iostat.json", "not available: the mix")
        ),
        (1, 0)
    );
}

#[test]
fn a_damaged_file_is_read_with_a_finding_and_a_whole_one_without() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(sample("iostat.json")).unwrap();
    std::fs::write(folder.path().join("cut.json"), &whole[..whole.len() * 3 / 4]).unwrap();
    let cut = halfpower_in(folder.path(), "record cut.json --json --no-save").expect(0);
    let cut = parsed(&cut.stdout);
    assert!(found(&cut.findings, FindingCode::SourceDamaged));
    assert!((4..10).contains(&cut.intervals.len()), "{}", cut.intervals.len());
    assert!(!found(&of_sample("iostat.json").findings, FindingCode::SourceDamaged));
}

#[test]
fn a_file_in_any_code_page_or_with_damaged_bytes_is_read_to_its_end() {
    const ROWS: usize = 3_000;
    let counters = ["Lectures disque/s", "\u{90}critures disque/s", "Moyenne disque s/lecture"];
    let path = |name: &&str| format!("\"\\\\H\\Disque physique(0 C:)\\{name}\"");
    let header = counters.iter().map(path).collect::<Vec<_>>().join(",");
    let mut text = format!("\"(PDH-CSV 4.0)\",{header}\r\n");
    for second in 0..=ROWS {
        let time = format!("10/10/2026 04:{:02}:{:02}.000", second / 60, second % 60);
        text += &format!("\"{time}\",\"120\",\"60\",\"0.004\"\r\n");
    }
    assert!(text.len() > 2 * (64 << 10));
    // In the code pages of consoles, 0x90 is a letter.
    let letters: Vec<u8> = text.chars().map(|it| it as u8).collect();
    let mut zeros = letters.clone();
    let row = zeros.windows(6).position(|it| it == b"04:00:").unwrap();
    zeros[row..row + 6].fill(0);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, lost) in [("letters.csv", letters, 0), ("zeros.csv", zeros, 1)] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let ended = halfpower_in(folder.path(), &format!("record --no-save --json {name}"));
        let read = parsed(&ended.expect(0).stdout);
        assert_eq!(read.intervals.len(), ROWS - lost, "{name}");
        assert!(read.intervals.iter().all(|it| it.write.per_s.is_some()), "{name}");
    }
}

#[test]
fn what_cannot_be_imported_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        format!("record --no-save {name}")
    };
    for (words, code, said) in [
        (file("a", "hello"), 4, ["unknown file format", "iostat as text and JSON"]),
        (file("b", "avg-cpu:  %user"), 4, ["iostat", "-o JSON -x -t 1"]),
        (file("c", "node_disk_io_now{device=\"sda\"} 1\n"), 4, ["--timestamp", "two or more"]),
        ("record --no-save none.json".to_owned(), 2, ["none.json", "does not exist"]),
        (
            "record --no-save --prometheus http://u:p@h --query-range now-1h..now".to_owned(),
            2,
            ["http[s]://HOST", "password"],
        ),
        (
            "record --no-save --prometheus http://127.0.0.1:1 --query-range now-1h..now".to_owned(),
            4,
            ["127.0.0.1:1", "running"],
        ),
        ("record --no-save a --format x".to_owned(), 2, ["--format", "'x'"]),
    ] {
        halfpower_in(folder.path(), &words).refuses(code, &said);
    }
    file("night.json", "{}");
    for flag in ["--for 1s", "--all", "--trace", "--output x"] {
        let words = format!("record --no-save night.json {flag}");
        let name = flag.split(' ').next().unwrap();
        halfpower_in(folder.path(), &words).refuses(2, &[name, "you named files"]);
    }
}

/// A server's response to a request with these headers, each with its line end.
pub(crate) fn fetched(address: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n{headers}\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8(answer).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Basic authentication of the user u with the password U*U.
const USER: &str = "Basic dTpVKlU=";

/// Makes the files for a server with TLS and a password.
fn secured(folder: &Path) {
    let words = "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out certificate.pem \
                 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
                 -addext basicConstraints=critical,CA:FALSE";
    let mut openssl = Command::new("openssl");
    let made = openssl.args(words.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    // A published test vector of bcrypt.
    let web = "tls_server_config:\n  cert_file: certificate.pem\n  key_file: key.pem\n\
               basic_auth_users:\n  u: $2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW\n";
    std::fs::write(folder.join("web.yml"), web).unwrap();
}

#[test]
fn a_prometheus_server_and_its_exporter_give_the_intervals_between_scrapes() {
    requires!(Prometheus);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let mut exporter = Command::new("prometheus-node-exporter");
    exporter.args([
        "--web.listen-address=127.0.0.1:0",
        "--collector.diskstats.device-exclude=^(loop|zram|ram|md|dm-).*",
    ]);
    let mut exporter = Service::start(exporter, &place("exporter.log")).unwrap();
    let target = exporter.address().unwrap();
    let configuration = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: node\n    \
         static_configs:\n      - targets: ['{target}']\n"
    );
    std::fs::write(place("prometheus.yml"), configuration).unwrap();
    secured(folder.path());
    let mut server = Command::new("prometheus");
    server
        .arg("--web.listen-address=127.0.0.1:0")
        .arg(format!("--web.config.file={}", place("web.yml").display()))
        .arg(format!("--config.file={}", place("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", place("data").display()))
        .current_dir(folder.path());
    let mut server = Service::start(server, &place("prometheus.log")).unwrap();
    let address = server.address().unwrap();

    // The exporter by itself: two files, in any order.
    std::fs::write(place("one.prom"), fetched(&target, "/metrics", "")).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    std::fs::write(place("two.prom"), fetched(&target, "/metrics", "")).unwrap();
    let words = "record --json --no-save two.prom one.prom";
    let scrapes = parsed(&halfpower_in(folder.path(), words).expect(0).stdout);
    let devices = scrapes.devices.len();
    assert_eq!((scrapes.source.as_str(), scrapes.intervals.len()), ("node_exporter", devices));
    assert!(scrapes.contexts.iter().all(|it| it.idle_share.is_some()), "{:?}", scrapes.contexts);
    let length = scrapes.intervals[0].duration_ns;
    assert!((1_400_000_000..30_000_000_000).contains(&length), "{length}");

    let asked = |trusted: bool, header: &[&str], words: &str| {
        let mut command = program();
        let certificates = if trusted { "certificate.pem" } else { "key.pem" };
        command.env("SSL_CERT_FILE", place(certificates)).arg("record").args(header);
        let server = format!("--json --no-save --prometheus https://{address}");
        run(command, &format!("{server} {words}"))
    };
    let import = |words: &str| asked(true, &["--header", &format!("Authorization: {USER}")], words);
    let hour = "--query-range now-1h..now";
    asked(false, &[], hour).refuses(4, &[&address, "certificate", "SSL_CERT_FILE"]);
    asked(true, &[], hour).refuses(4, &["401", "--token-file"]);
    let begin = Instant::now();
    let read = loop {
        let ended = import(&format!("--query-range now-1m..now@1s --instance {target}"));
        if ended.code == Some(0) && parsed(&ended.stdout).intervals.len() >= 4 * devices {
            break parsed(&ended.stdout);
        }
        assert!(begin.elapsed() < PATIENCE, "{ended:?}");
        std::thread::sleep(Duration::from_millis(300));
    };
    assert_eq!(read.host.as_deref(), Some(target.as_str()));
    let names = |it: &Observation| {
        let mut names: Vec<String> = it.devices.iter().map(|it| it.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&read), names(&scrapes));
    assert!(!found(&read.findings, FindingCode::TimesAssumed), "{:?}", read.findings);
    assert!(!found(&read.findings, FindingCode::SourceDamaged), "{:?}", read.findings);
    // One second apart, as configured, regardless of the steps. A busy machine is late.
    let usual = |it: &&Interval| (900_000_000..1_100_000_000).contains(&it.duration_ns);
    let count = read.intervals.iter().filter(usual).count();
    assert!(2 * count > read.intervals.len(), "{count} of {}", read.intervals.len());
    assert!(read.intervals.iter().all(|it| it.all.per_s.is_some() && it.busy_share.is_some()));
    // With longer steps, intervals are means over several scrapes, and are as long as the steps.
    let thin = import("--query-range now-4s..now@2s");
    if thin.code == Some(0) {
        let lengths: Vec<u64> =
            parsed(&thin.stdout).intervals.iter().map(|it| it.duration_ns).collect();
        assert!(lengths.iter().all(|length| *length > 1_500_000_000), "{lengths:?}");
    }
    // Empty ranges and errors of the server are reported as such.
    let empty = import("--query-range 1600000000..1600000060@15s");
    empty.refuses(4, &["no disk counters", "range"]);
    import("--query-range now-1m..now --instance nobody:1").refuses(4, &["no disk counters"]);
}

/// Direct reads and writes on a device with dd.
fn load(device: &Path, block: &str) {
    let dd = |from: &str, to: &str, flag: &str| {
        let words = [
            format!("if={from}"),
            format!("of={to}"),
            format!("bs={block}"),
            "count=2000".to_owned(),
            flag.to_owned(),
            "conv=notrunc".to_owned(),
        ];
        assert!(Command::new("dd").args(words).stderr(Stdio::null()).status().unwrap().success());
    };
    let device = device.display().to_string();
    dd(&device, "/dev/null", "iflag=direct");
    dd("/dev/zero", &device, "oflag=direct");
}

/// Values of two intervals that do not depend on their lengths, but differ by more than both resolutions.
fn differences(one: &Interval, other: &Interval) -> Vec<&'static str> {
    let differ = |one: Option<Figure>, other: Option<Figure>| {
        let (one, other) = (one.unwrap(), other.unwrap());
        (one.value - other.value).abs() > one.resolution + other.resolution
    };
    let per_request = |it: &Interval, figure: Option<Figure>| {
        let (rate, figure) = (it.all.per_s.unwrap(), figure.unwrap());
        Some(Figure::derived(figure.value / rate.value, figure.resolution / rate.value))
    };
    let pairs = [
        ("read response", one.read.latency_ns, other.read.latency_ns),
        ("write response", one.write.latency_ns, other.write.latency_ns),
        ("read size", one.read.request_bytes, other.read.request_bytes),
        ("write size", one.write.request_bytes, other.write.request_bytes),
        ("busy", per_request(one, one.busy_share), per_request(other, other.busy_share)),
        ("in progress", per_request(one, one.concurrency), per_request(other, other.concurrency)),
    ];
    pairs.into_iter().filter(|(_, a, b)| differ(*a, *b)).map(|(name, _, _)| name).collect()
}

#[test]
fn the_real_iostat_and_our_own_counters_agree_on_the_same_requests() {
    requires!(Sysstat, Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let recorded = |name: &str| folder.path().join(name);
    let iostat = |file: &str| {
        let mut command = Command::new("iostat");
        command.args(["-o", "JSON", "-x", "-t", "-y", &name, "5", "1"]).env("S_TIME_FORMAT", "ISO");
        command.stdout(Stdio::from(std::fs::File::create(recorded(file)).unwrap()));
        command.spawn().unwrap()
    };
    let selection = Selection { named: vec![name.clone()], ..Selection::default() };
    let mut sampler = Sampler::new(Roots::default(), selection).unwrap();
    let (mut first, mut second) = (iostat("first"), iostat("second"));
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    load(device.path(), "4k");
    if begin.elapsed() > Duration::from_secs(4) {
        let _ = (first.wait(), second.wait());
        return testkit::skip(
            "imports::the_real_iostat",
            "the machine is too busy for one interval",
        );
    }
    let ours = sampler.sample().unwrap();
    let ours = ours.iter().find(|it| it.device == name).unwrap();
    assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
    let theirs = |file: &str| {
        let words = format!("record --no-save --json --interval 5s {}", recorded(file).display());
        parsed(&halfpower(&words).expect(0).stdout).intervals.remove(0)
    };
    // A/A: the same tool twice; then the comparison; then other requests, which must differ.
    assert_eq!(differences(&theirs("first"), &theirs("second")), [""; 0]);
    assert_eq!(differences(&theirs("first"), ours), [""; 0]);
    let requests = theirs("first").all.per_s.unwrap().value * 5.0;
    assert!((requests / 4_000.0 - 1.0).abs() < 0.02, "{requests} requests");
    load(device.path(), "8k");
    let planted = sampler.sample().unwrap();
    let planted = planted.iter().find(|it| it.device == name).unwrap();
    let differ = differences(&theirs("first"), planted);
    assert!(differ.contains(&"read size") && differ.contains(&"write size"), "{differ:?}");
}

#[test]
fn a_recording_that_is_imported_twice_by_programs_at_once_is_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"sysstat":{"hosts":[{"nodename":"h","sysname":"Linux","release":"6.1","machine":"x86_64",
        "number-of-cpus":2,"date":"06/01/20","statistics":[
        {"timestamp":"2020-01-06T12:00:01+0000","disk":[{"disk_device":"sda","r/s":100.0,"w/s":0.0,"d/s":0.0,
        "f/s":0.0,"rkB/s":400.0,"wkB/s":0.0,"dkB/s":0.0,"rrqm/s":0.0,"wrqm/s":0.0,"drqm/s":0.0,"r_await":1.0,
        "w_await":0.0,"d_await":0.0,"f_await":0.0,"rareq-sz":4.0,"wareq-sz":0.0,"dareq-sz":0.0,"aqu-sz":0.1,
        "util":10.0}]},
        {"timestamp":"2020-01-06T12:00:02+0000","disk":[{"disk_device":"sda","r/s":100.0,"w/s":0.0,"d/s":0.0,
        "f/s":0.0,"rkB/s":400.0,"wkB/s":0.0,"dkB/s":0.0,"rrqm/s":0.0,"wrqm/s":0.0,"drqm/s":0.0,"r_await":1.0,
        "w_await":0.0,"d_await":0.0,"f_await":0.0,"rareq-sz":4.0,"wareq-sz":0.0,"dareq-sz":0.0,"aqu-sz":0.1,
        "util":10.0}]}]}]}}"#;
    std::fs::write(folder.path().join("one.json"), text).unwrap();
    std::fs::write(folder.path().join("other.json"), text.replace("100.0", "200.0")).unwrap();
    let start = |name: &str| {
        let mut command = program();
        command.current_dir(folder.path()).args(["record", name, "--db", "kept.db"]);
        Running::start(command)
    };
    // Four programs at once, two of them with the same recording; then all again.
    for _ in 0..2 {
        let running = ["one.json", "other.json", "one.json", "other.json"].map(start);
        for ended in running.map(Running::end) {
            assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        }
    }
    let store = Store::open_existing(&folder.path().join("kept.db")).unwrap();
    assert_eq!(store.list::<Observation>().unwrap().len(), 2);
}
