//! Makes a real disk slow below the program, and waits for the alert in Alertmanager.
//!
//! The disk is a loop device over a file on another loop device, of which a control group lets through ten
//! times what is asked for. Then a neighbour, which the disk does not see, asks the device below for all
//! that it can get: requests wait below the disk, where none of its own limits shows it. Prometheus scrapes the program every ten seconds and Alertmanager gets what
//! it fires, as the documentation sets both up. Requests end only when a processor attends to them, so
//! that the stage waits for one that has time, and says so where none comes.

use super::Tried;
use crate::child::{self, ProcessorTime};
use anyhow::{Context as _, Result, ensure};
use prometheus::Client;
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::{Capability, LoopDevice, Mounted, Service, Throttle, ThrottledGroup};

/// Where the disks lie.
const MEMORY: &str = "/dev/shm";
const LOWER_BYTES: u64 = 1 << 30;
const UPPER_BYTES: u64 = 512 << 20;
const NEIGHBOUR_BYTES: u64 = 64 << 20;
/// Requests per second that are asked for, and that the device below lets through; and how many the neighbour
/// has in flight. A limit close to what is asked for would do too, but slowly: a control group lets a tenth of a
/// second's requests through at once, and a queue at 97 % takes a minute to grow.
const ASKED: u64 = 200;
const HELD: u64 = 2_000;
const NEIGHBOUR_DEPTH: u32 = 8;
/// How long the disk is well before, and how long the alert may take.
const WELL: Duration = Duration::from_secs(90);
const PATIENCE: Duration = Duration::from_secs(180);
const GOAL: Duration = Duration::from_secs(60);
/// Share of the processors' time that has to be left, and how long it is waited for.
const IDLE: f64 = 0.15;
const LOOK: Duration = Duration::from_secs(10);
const LOOKS: usize = 40;
const POLL: Duration = Duration::from_millis(500);
const ALERT: &str = "HalfpowerDiskSlow";

pub(super) fn run(binary: &Path, rules: &Path) -> Result<Tried> {
    use Capability::{BlkioGroup, Ext4, Loop, Mount, Prometheus, Root};
    let needs = [Root, Loop, Mount, Ext4, BlkioGroup, Prometheus];
    let lacks = needs.into_iter().find_map(Capability::lack).or_else(|| {
        let found = Command::new("prometheus-alertmanager").arg("--version").output();
        found.is_err().then(|| "needs prometheus-alertmanager".to_owned())
    });
    if let Some(lacks) = lacks {
        return Ok(not_measured(&lacks));
    }
    let folder = tempfile::tempdir()?;
    let lower = LoopDevice::within(Path::new(MEMORY), LOWER_BYTES, 512)?;
    let mounted = Mounted::ext4(lower.path())?;
    let file = mounted.path().join("disk");
    let neighbours = mounted.path().join("of-a-neighbour");
    // Written, so that reads go to the disk below.
    for (file, bytes) in [(&file, UPPER_BYTES), (&neighbours, NEIGHBOUR_BYTES)] {
        let mut write = Command::new("dd");
        write.args(["if=/dev/urandom", "bs=1M", "oflag=direct"]);
        write.arg(format!("of={}", file.display())).arg(format!("count={}", bytes >> 20));
        child::output(&mut write, &[0])?;
    }
    let disk = LoopDevice::over(&file, &["--direct-io=on"])?;
    let group = ThrottledGroup::new()?;
    group.limit(lower.path(), Throttle::ReadIops, HELD)?;
    println!("  real: {} over {}", disk.path().display(), lower.path().display());

    let database = folder.path().join("kept.db");
    let mut check = Command::new(binary);
    check.arg("check").arg(disk.path()).arg("--db").arg(&database).arg("--quiet");
    child::output(&mut check, &[0, 1])?;
    let exporter_port = free_port()?;
    let mut exporter = Command::new(binary);
    exporter
        .arg("watch")
        .arg(disk.path())
        .args(["--profile", "last", "--interval", "5s", "--listen"])
        .arg(format!("127.0.0.1:{exporter_port}"))
        .arg("--db")
        .arg(&database);
    let log = |name: &str| folder.path().join(name);
    let _exporter = Service::start(exporter, &log("exporter.log"))?;
    let (prometheus_port, alertmanager_port) = (free_port()?, free_port()?);
    let ports = (exporter_port, prometheus_port, alertmanager_port);
    let _services = services(folder.path(), rules, ports)?;
    let mut load = group.entered();
    load.arg(binary).arg("run").arg(disk.path());
    load.args(["--rw", "randread", "--bs", "4k", "--arrival", "poisson", "--iodepth", "64"]);
    load.args(["--rate-iops", &ASKED.to_string(), "--runtime", "1h", "--no-save", "--quiet"]);
    let _load = Service::start(load, &log("load.log"))?;

    let alerts = Client::new(&format!("127.0.0.1:{alertmanager_port}"), None, &[])?;
    until("Alertmanager answers", PATIENCE, || Ok(alerts.get("/-/ready").is_ok()))?;
    let Some(idle) = spare_processors()? else {
        return Ok(not_measured("the processors had no time left for as long as was waited"));
    };
    // What a machine without time showed before is out of sight after the length of a verdict.
    std::thread::sleep(WELL);
    let before = is_active(&alerts)?;
    let mut neighbour = group.entered();
    neighbour.arg(binary).arg("run").arg(&neighbours);
    neighbour.args(["--rw", "randread", "--bs", "4k", "--iodepth", &NEIGHBOUR_DEPTH.to_string()]);
    neighbour.args(["--runtime", "1h", "--no-save", "--quiet"]);
    let neighbour = Service::start(neighbour, &log("neighbour.log"))?;
    let begin = Instant::now();
    let came = until(ALERT, PATIENCE, || is_active(&alerts)).ok();
    let idle_meanwhile = idle_share(begin.elapsed().min(LOOK))?;
    let exporter = Client::new(&format!("127.0.0.1:{exporter_port}"), None, &[])?;
    let text = String::from_utf8(exporter.get("/metrics")?)?;
    let shown: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("halfpower_device_verdict_probability{"))
        .filter(|line| !line.ends_with(" 0.0"))
        .collect();
    drop(neighbour);
    let took = came.map(|()| begin.elapsed().as_secs_f64().min(PATIENCE.as_secs_f64()));
    match took {
        Some(took) => {
            println!("  {ALERT} is in Alertmanager {took:.0} s after the disk became slow");
        }
        None => println!("  {ALERT} did not come within {} s: {shown:#?}", PATIENCE.as_secs()),
    }
    println!("  it was there before: {before}; processors idle {:.0} %", 100.0 * idle);
    let good = !before && took.is_some_and(|took| took <= GOAL.as_secs_f64());
    let details = json!({
        "asked_iops": ASKED, "below_iops": HELD, "neighbour_depth": NEIGHBOUR_DEPTH, "alert": ALERT, "fires_after_s": took,
        "goal_s": GOAL.as_secs(), "was_firing_while_well": before, "well_s": WELL.as_secs(),
        "processors_idle_before": idle, "processors_idle_after": idle_meanwhile, "verdicts": shown,
    });
    Ok(Tried { good, details })
}

fn not_measured(why: &str) -> Tried {
    println!("SKIP alerts, real: {why}");
    Tried { good: true, details: json!({ "not_measured": why }) }
}

/// A port that nobody has now. Another program may take it before the one that it is for, which then
/// says so.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Prometheus and Alertmanager, as the documentation sets them up.
fn services(folder: &Path, rules: &Path, ports: (u16, u16, u16)) -> Result<[Service; 2]> {
    let (exporter, prometheus, alertmanager) = ports;
    let mut text = String::from("global:\n  scrape_interval: 10s\n  evaluation_interval: 10s\n");
    writeln!(text, "rule_files: ['{}']", rules.display())?;
    writeln!(
        text,
        "alerting:\n  alertmanagers:\n    - static_configs: [{{targets: ['127.0.0.1:{alertmanager}']}}]"
    )?;
    writeln!(
        text,
        "scrape_configs:\n  - job_name: halfpower\n    static_configs: [{{targets: \
         ['127.0.0.1:{exporter}']}}]"
    )?;
    let file = |name: &str| folder.join(name);
    std::fs::write(file("prometheus.yml"), text)?;
    let routes = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";
    std::fs::write(file("alertmanager.yml"), routes)?;
    let mut first = Command::new("prometheus");
    first
        .arg(format!("--web.listen-address=127.0.0.1:{prometheus}"))
        .arg(format!("--config.file={}", file("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", file("series").display()))
        .current_dir(folder);
    let mut second = Command::new("prometheus-alertmanager");
    second
        .arg(format!("--web.listen-address=127.0.0.1:{alertmanager}"))
        .arg(format!("--config.file={}", file("alertmanager.yml").display()))
        .arg(format!("--storage.path={}", file("alerts").display()))
        .arg("--cluster.listen-address=")
        .current_dir(folder);
    Ok([
        Service::start(second, &file("alertmanager.log"))?,
        Service::start(first, &file("prometheus.log"))?,
    ])
}

/// Whether the alert is active in Alertmanager.
fn is_active(alerts: &Client) -> Result<bool> {
    let answer = alerts.get("/api/v2/alerts?active=true")?;
    let found: Value = serde_json::from_slice(&answer)?;
    let found = found.as_array().context("Alertmanager answered with no list")?;
    Ok(found.iter().any(|alert| alert["labels"]["alertname"] == ALERT))
}

fn until(what: &str, patience: Duration, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !is_so()? {
        ensure!(begin.elapsed() < patience, "{what}: not within {} s", patience.as_secs());
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Waits until the processors have time left, and says how much; `None` where they do not get it.
fn spare_processors() -> Result<Option<f64>> {
    for _ in 0..LOOKS {
        let idle = idle_share(LOOK)?;
        if idle >= IDLE {
            return Ok(Some(idle));
        }
    }
    Ok(None)
}

/// Share of the processors' time that is idle or waits for I/O, over some time from now.
fn idle_share(time: Duration) -> Result<f64> {
    let before = ProcessorTime::now()?;
    std::thread::sleep(time.max(Duration::from_secs(1)));
    Ok(ProcessorTime::since(&before)?.idle_share())
}
