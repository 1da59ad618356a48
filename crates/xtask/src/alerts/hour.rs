//! Holds the rules against an hour of virtual time of disks whose truth is known.
//!
//! Each disk is profiled by `check` and loaded by `diagnose --load`, as a user does it on a simulated
//! device. Its counters go sample by sample through `live::Judge` and the exporter's own text, so
//! that Prometheus is given what a scrape would have given it.

use super::Tried;
use crate::child;
use anyhow::{Context as _, Result, ensure};
use diagnose::ProfileSet;
use exporter::{Format, Snapshot};
use kernel::Roots;
use live::Judge;
use observe::Sample;
use record::{Observation, Profile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;

/// Time between two samples, and between two scrapes: those of the documentation.
const SAMPLE_S: u64 = 1;
const SCRAPE_S: u64 = 10;
const HOUR_S: u64 = 3600;
/// Of a look at the disk as it was.
const BEFORE_S: u64 = 10;
/// Of a smoke run.
const SHORT_S: u64 = 900;

/// A disk: its name, the device when it was profiled and as it is, its loads, and the alert that has to
/// come.
struct Disk {
    name: &'static str,
    profiled: &'static str,
    device: &'static str,
    loads: &'static [&'static str],
    alert: Option<&'static str>,
}

const ARRAY: &str = "mmc,servers=8,service=5ms";

/// Busy and well: none of them may raise an alert. Slow, overloaded, capped: each has to raise its own.
const DISKS: [Disk; 9] = [
    Disk {
        name: "scan",
        profiled: "atlas10k",
        device: "atlas10k",
        loads: &["rw=read bs=64k iodepth=1"],
        alert: None,
    },
    Disk {
        name: "database",
        profiled: "atlas10k",
        device: "atlas10k",
        loads: &["rw=randread bs=8k rate-iops=80 arrival=poisson iodepth=64"],
        alert: None,
    },
    Disk {
        name: "array",
        profiled: ARRAY,
        device: ARRAY,
        loads: &["rw=randread bs=4k rate-iops=1000 arrival=poisson iodepth=64"],
        alert: None,
    },
    Disk {
        name: "batches",
        profiled: ARRAY,
        device: ARRAY,
        loads: &[
            "rw=randread bs=4k rate-iops=300 arrival=poisson iodepth=64",
            "rw=randread bs=4k rate-iops=700 arrival=poisson iodepth=64 from=5m for=6m",
            "rw=randread bs=4k rate-iops=700 arrival=poisson iodepth=64 from=25m for=11m",
        ],
        alert: None,
    },
    Disk {
        name: "cloud",
        profiled: "cloud",
        device: "cloud",
        loads: &["rw=randrw rwmixread=70 bs=16k rate-iops=1500 arrival=poisson iodepth=64"],
        alert: None,
    },
    Disk {
        name: "one-by-one",
        profiled: ARRAY,
        device: ARRAY,
        loads: &["rw=randread bs=4k iodepth=1"],
        alert: None,
    },
    Disk {
        name: "slower",
        profiled: ARRAY,
        device: "mmc,servers=8,service=10ms",
        loads: &["rw=randread bs=4k rate-iops=400 arrival=poisson iodepth=64"],
        alert: Some("HalfpowerDiskSlow"),
    },
    Disk {
        name: "flooded",
        profiled: ARRAY,
        device: ARRAY,
        loads: &["rw=randread bs=4k iodepth=64"],
        alert: Some("HalfpowerDiskOverloaded"),
    },
    Disk {
        name: "held",
        profiled: ARRAY,
        device: ARRAY,
        loads: &["rw=randread bs=4k iodepth=8 riops=300"],
        alert: Some("HalfpowerDiskCapped"),
    },
];

/// Rules of thumb: an alert on iostat's %util, as collections of rules have it, and one on a latency.
const THUMB_RULES: &str = "groups:\n  - name: thumb\n    interval: 10s\n    rules:\n      \
    - alert: ThumbUtil\n        expr: avg_over_time(halfpower_device_busy_ratio[5m]) > 0.8\n        for: 5m\n      \
    - alert: ThumbLatency\n        expr: avg_over_time(halfpower_device_latency_seconds[1m]) > 0.1\n        for: 2m\n";

const THUMBS: [&str; 2] = ["ThumbUtil", "ThumbLatency"];
/// The alerts on verdicts.
const ALERTS: [&str; 3] = ["HalfpowerDiskSlow", "HalfpowerDiskOverloaded", "HalfpowerDiskCapped"];

/// Values of a series at each scrape; `None` where it was not there.
type Series = BTreeMap<String, Vec<Option<String>>>;

pub(super) fn run(binary: &Path, rules: &Path, smoke: bool) -> Result<Tried> {
    let seconds = if smoke { SHORT_S } else { HOUR_S };
    let folder = tempfile::tempdir()?;
    // A smoke run asks whether the way works: one that is well, and one that is not.
    let is_tried = |disk: &&Disk| !smoke || ["array", "slower"].contains(&disk.name);
    let disks: Vec<&Disk> = DISKS.iter().filter(is_tried).collect();
    let one = |disk: &&Disk| -> Result<Series> {
        let database = folder.path().join(format!("{}.db", disk.name));
        let (profile, observation) = observed(binary, &database, disk, seconds)?;
        rendered(disk.name, profile, &observation, seconds)
    };
    let all = scenarios::on_all_processors(&disks, &AtomicBool::new(false), one, |done| {
        println!("  {done} of {} disks", disks.len());
    });
    let mut series = Series::new();
    for of_disk in all {
        series.extend(of_disk?);
    }
    let thumb = folder.path().join("thumb.yml");
    std::fs::write(&thumb, THUMB_RULES)?;
    let queries: Vec<(&str, &str)> = disks
        .iter()
        .flat_map(|disk| ALERTS.iter().chain(&THUMBS).map(|alert| (disk.name, *alert)))
        .collect();
    let fired = firing(folder.path(), &[rules, &thumb], &series, seconds, &queries)?;
    let fired = Fired(queries.into_iter().zip(fired).collect());
    Ok(told(&disks, &series, &fired, seconds))
}

/// By disk and alert: seconds in which it was firing, and after how many it did first.
struct Fired<'a>(BTreeMap<(&'a str, &'a str), (f64, Option<f64>)>);

impl Fired<'_> {
    fn seconds(&self, disk: &Disk, alert: &str) -> f64 {
        self.0.get(&(disk.name, alert)).map_or(0.0, |it| it.0)
    }

    fn any(&self, disk: &Disk, alerts: &[&str]) -> bool {
        alerts.iter().any(|alert| self.seconds(disk, alert) > 0.0)
    }
}

/// Prints and keeps which alerts fired; good where they are those that were due.
fn told(disks: &[&Disk], series: &Series, fired: &Fired<'_>, seconds: u64) -> Tried {
    let (mut good, mut rows) = (true, Vec::new());
    println!("\n  {seconds} s of virtual time; seconds in which each alert was firing:");
    println!(
        "  disk              slow  overloaded    capped     %util   latency  after  mean probabilities"
    );
    for disk in disks {
        let [slow, over, capped] = ALERTS.map(|alert| fired.seconds(disk, alert));
        let [busy, latency] = THUMBS.map(|alert| fired.seconds(disk, alert));
        let after_s = disk.alert.and_then(|alert| fired.0.get(&(disk.name, alert))?.1);
        let probabilities = probabilities(series, disk.name);
        let after = after_s.map_or("-".to_owned(), |after| format!("{after}"));
        println!(
            "  {:12} {slow:>9} {over:>11} {capped:>9} {busy:>9} {latency:>9} {after:>6}  {probabilities}",
            disk.name
        );
        for alert in ALERTS {
            if fired.any(disk, &[alert]) != (disk.alert == Some(alert)) {
                println!("  NOT AS DUE: {} {alert}", disk.name);
                good = false;
            }
        }
        rows.push(json!({
            "disk": disk.name, "profiled": disk.profiled, "device": disk.device,
            "loads": disk.loads, "due": disk.alert, "fires_after_s": after_s,
            "mean_probabilities": probabilities,
            "firing_s": { "slow": slow, "overloaded": over, "capped": capped },
            "rules_of_thumb_firing_s": { "busy_above_80_percent": busy, "latency_above_100_ms": latency },
        }));
    }
    let well: Vec<&&Disk> = disks.iter().filter(|disk| disk.alert.is_none()).collect();
    let wrong = |alerts: &[&str]| well.iter().filter(|disk| fired.any(disk, alerts)).count();
    let (by_busy, by_verdicts) = (wrong(&THUMBS[..1]), wrong(&ALERTS));
    println!(
        "  of {} busy disks that are well, the rule on %util is wrong about {by_busy}, those on \
         verdicts about {by_verdicts}",
        well.len()
    );
    let details = json!({
        "seconds": seconds, "sample_s": SAMPLE_S, "scrape_s": SCRAPE_S, "disks": rows,
        "thumb_rules": THUMB_RULES, "well": well.len(), "wrong_by_busy": by_busy,
        "wrong_by_verdicts": by_verdicts,
    });
    Tried { good, details }
}

/// Mean probability of each verdict over the time, of those that were ever possible.
fn probabilities(series: &Series, disk: &str) -> Value {
    let mut means = serde_json::Map::new();
    let (name, label) = ("halfpower_device_verdict_probability{", label(disk));
    for (key, values) in
        series.iter().filter(|(key, _)| key.starts_with(name) && key.contains(&label))
    {
        let verdict = key.split("verdict=\"").nth(1).and_then(|rest| rest.split('"').next());
        let known: Vec<f64> = values.iter().flatten().filter_map(|it| it.parse().ok()).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        if mean > 0.0 {
            means.insert(verdict.unwrap_or_default().to_owned(), json!((mean * 1e3).round() / 1e3));
        }
    }
    Value::Object(means)
}

fn label(disk: &str) -> String {
    format!("device=\"{disk}\"")
}

/// The profile of a disk and its counters under its loads.
fn observed(
    binary: &Path,
    database: &Path,
    disk: &Disk,
    seconds: u64,
) -> Result<(Profile, Observation)> {
    let asked = |words: &[&str], loads: &[&str]| -> Result<()> {
        let mut command = Command::new(binary);
        command.args(words).arg("--db").arg(database).arg("--quiet");
        for load in loads {
            command.args(["--load", load]);
        }
        child::output(&mut command, &[0, 1]).map(drop)
    };
    let interval = format!("{SAMPLE_S}s");
    let observe = |device: &str, loads: &[&str], seconds: u64| -> Result<Observation> {
        let (device, length) = (format!("sim:{device}"), format!("{seconds}s"));
        let words =
            ["diagnose", &device, "--profile", "last", "--for", &length, "--interval", &interval];
        asked(&words, loads)?;
        Ok(Store::open_existing(database)?.document("last")?)
    };
    asked(&["check", &format!("sim:{}", disk.profiled)], &[])?;
    // A disk that has become slow is the one that it was.
    let before = observe(disk.profiled, &disk.loads[..1], BEFORE_S)?;
    let observation =
        Observation { devices: before.devices, ..observe(disk.device, disk.loads, seconds)? };
    Ok((Store::open_existing(database)?.document("last")?, observation))
}

/// Judges the samples one by one, and gives what scrapes would have shown.
fn rendered(
    name: &str,
    profile: Profile,
    observation: &Observation,
    seconds: u64,
) -> Result<Series> {
    let [device] = observation.devices.as_slice() else {
        anyhow::bail!("{} devices were observed", observation.devices.len());
    };
    // The profile is found as on a real machine; the name of the case is that of its series alone.
    let (device, own) = (Arc::new(device.clone()), label(&device.name));
    let nowhere = Roots::below(Path::new("/nonexistent"));
    let mut judge = Judge::new(&nowhere, ProfileSet::saved(vec![profile]), None, session::VERSION);
    let (mut series, scrapes) = (Series::new(), usize::try_from(seconds / SCRAPE_S)?);
    for interval in &observation.intervals {
        let interval = record::Interval { device: device.name.clone(), ..interval.clone() };
        let begins = |it: &&record::Context| it.begin_ns == interval.begin_ns;
        let context = observation.contexts.iter().find(begins).cloned().unwrap_or_default();
        let at_s = (interval.begin_ns + interval.duration_ns) / 1_000_000_000;
        let devices = vec![Arc::clone(&device)];
        judge.add(Sample { intervals: vec![interval], context, devices, ..Sample::default() });
        let scrape = usize::try_from(at_s / SCRAPE_S)?;
        if !at_s.is_multiple_of(SCRAPE_S) || scrape > scrapes {
            continue;
        }
        let text = exporter::text(Arc::new(Snapshot::of(&judge)), Format::Plain)?;
        for line in text.lines().filter(|line| line.contains(&own)) {
            let (key, value) = line.rsplit_once(' ').context("a sample without a value")?;
            let values = series.entry(key.replace(&own, &label(name))).or_default();
            values.resize(scrape + 1, None);
            values[scrape] = Some(value.to_owned());
        }
    }
    Ok(series)
}

/// How many seconds each alert of a disk was firing, and after how many seconds it did first, by
/// Prometheus' own evaluation. It prints what a query gives where that is not what is expected of it,
/// and nothing is.
fn firing(
    folder: &Path,
    rules: &[&Path],
    series: &Series,
    seconds: u64,
    queries: &[(&str, &str)],
) -> Result<Vec<(f64, Option<f64>)>> {
    let mut test = String::from("rule_files:\n");
    for path in rules {
        writeln!(test, "  - {}", path.display())?;
    }
    writeln!(
        test,
        "evaluation_interval: {SCRAPE_S}s\ntests:\n  - interval: {SCRAPE_S}s\n    input_series:"
    )?;
    for (name, values) in series {
        let values: Vec<&str> =
            values.iter().map(|value| value.as_deref().unwrap_or("_")).collect();
        writeln!(test, "      - series: '{name}'\n        values: '{}'", values.join(" "))?;
    }
    writeln!(test, "    promql_expr_test:")?;
    for (disk, alert) in queries {
        let alerts =
            format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\",device=\"{disk}\"}}");
        for query in [
            format!("sum(count_over_time({alerts}[{seconds}s]))"),
            format!("min(min_over_time(timestamp({alerts})[{seconds}s:{SCRAPE_S}s]))"),
        ] {
            writeln!(
                test,
                "      - expr: '{query}'\n        eval_time: {seconds}s\n        \
                 exp_samples: [{{labels: '{{}}', value: -1}}]"
            )?;
        }
    }
    let path = folder.join("test.yml");
    std::fs::write(&path, test)?;
    let mut promtool = Command::new("promtool");
    promtool.args(["test", "rules"]).arg(&path);
    let output = promtool.output().context("cannot run promtool: install Debian's prometheus")?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    read_answers(&said, queries.len()).with_context(|| format!("promtool said: {said}"))
}

/// The two answers of each query, in their order.
fn read_answers(said: &str, queries: usize) -> Result<Vec<(f64, Option<f64>)>> {
    let mut answers = Vec::new();
    for line in said.lines() {
        let Some((_, got)) = line.split_once("got:") else { continue };
        let value =
            got.split_whitespace().next_back().and_then(|word| word.trim_matches('"').parse().ok());
        answers.push(value);
    }
    ensure!(answers.len() == 2 * queries, "{} answers to {queries} queries", answers.len());
    let seconds = |count: Option<f64>| count.unwrap_or(0.0) * SCRAPE_S as f64;
    let pairs = answers.chunks(2).map(|pair| (seconds(pair[0]), pair[1]));
    Ok(pairs.collect())
}
