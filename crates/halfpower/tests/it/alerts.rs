//! Tests the exporter's alert rules in virtual time, with disks of known truth: each alert fires when it is
//! due, and no other alert fires.
//!
//! Each disk is profiled by `check` and loaded by `diagnose --load`, as a user does with a simulated device.
//! Its counters pass sample by sample through `live::Judge` and the exporter's own text, so Prometheus
//! receives what a scrape would give. A normal test runs some disks for a minute;
//! `HALFPOWER_PROVE=1 cargo test` runs all of them for an hour.

use crate::program::profiled_into;
use anyhow::{Context as _, Result, ensure};
use diagnose::ProfileSet;
use diagnose::observe::Sample;
use host::kernel::Roots;
use live::Judge;
use live::exporter::{self, Format, Snapshot};
use plan::session;
use record::{Observation, Profile};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use store::Store;
use testkit::requires;

/// Time between two samples, and between two scrapes, as in the documentation.
const SAMPLE_S: u64 = 1;
const SCRAPE_S: u64 = 10;
const HOUR_S: u64 = 3600;
/// Length of the recording of the disk in its profiled state.
const BEFORE_S: u64 = 10;
/// Length of the recording in a normal test. The alert for a slow disk fires after half a minute.
const SHORT_S: u64 = 60;

/// A disk: its name, the device when profiled and now, its loads, and the alert that must fire.
struct Disk {
    name: &'static str,
    profiled: &'static str,
    device: &'static str,
    loads: &'static [&'static str],
    alert: Option<&'static str>,
}

const ARRAY: &str = "mmc,servers=8,service=5ms";

/// Busy but healthy disks, which must not fire an alert; and slow, overloaded and capped ones, which must
/// fire theirs.
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

/// The alerts on verdicts.
const ALERTS: [&str; 3] = ["HalfpowerDiskSlow", "HalfpowerDiskOverloaded", "HalfpowerDiskCapped"];

/// Values of a series at each scrape; `None` if it was missing.
type Series = BTreeMap<String, Vec<Option<String>>>;

#[test]
fn each_alert_fires_where_it_is_due_and_nowhere_else() {
    requires!(Prometheus);
    let seconds = testkit::draws(SHORT_S, HOUR_S);
    let sample: &[&str] = testkit::draws(&["array", "slower"], &[]);
    let disks: Vec<&Disk> =
        DISKS.iter().filter(|disk| sample.is_empty() || sample.contains(&disk.name)).collect();
    let mut series = Series::new();
    for disk in &disks {
        let (profile, observation) = observed(disk, seconds).unwrap();
        series.extend(rendered(disk.name, profile, &observation, seconds).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.yml");
    std::fs::write(&path, promtool_test(&disks, &series, seconds).unwrap()).unwrap();
    let output = Command::new("promtool").args(["test", "rules"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn label(disk: &str) -> String {
    format!("device=\"{disk}\"")
}

/// The profile of a disk, and its counters under its loads.
fn observed(disk: &Disk, seconds: u64) -> Result<(Profile, Observation)> {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("alerts.db");
    let run = |words: &[&str], loads: &[&str]| -> Result<()> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        command.args(words).arg("--db").arg(&database).arg("--quiet");
        for load in loads {
            command.args(["--load", load]);
        }
        let ended = command.output()?;
        let words = String::from_utf8_lossy(&ended.stderr);
        ensure!(matches!(ended.status.code(), Some(0 | 1)), "{command:?}: {words}");
        Ok(())
    };
    let interval = format!("{SAMPLE_S}s");
    let observe = |device: &str, loads: &[&str], seconds: u64| -> Result<Observation> {
        let (device, length) = (format!("sim:{device}"), format!("{seconds}s"));
        let words =
            ["diagnose", &device, "--profile", "last", "--for", &length, "--interval", &interval];
        run(&words, loads)?;
        Ok(Store::open_existing(&database)?.document("last")?)
    };
    profiled_into(&database, &format!("sim:{}", disk.profiled));
    // With the description of the profiled device, by which the profile is found.
    let before = observe(disk.profiled, &disk.loads[..1], BEFORE_S)?;
    let observation =
        Observation { devices: before.devices, ..observe(disk.device, disk.loads, seconds)? };
    Ok((Store::open_existing(&database)?.document("last")?, observation))
}

/// Judges the samples one by one, and returns what scrapes would show.
fn rendered(
    name: &str,
    profile: Profile,
    observation: &Observation,
    seconds: u64,
) -> Result<Series> {
    let [device] = observation.devices.as_slice() else {
        anyhow::bail!("{} devices were observed", observation.devices.len());
    };
    // The profile is found as on a real machine. The case's name is used only in its series.
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

/// A test for promtool: the rules, the scraped series, and for each disk the alerts that must fire.
fn promtool_test(disks: &[&Disk], series: &Series, seconds: u64) -> Result<String> {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exporter/halfpower.rules.yml");
    let mut test = format!(
        "rule_files: [{rules}]\nevaluation_interval: {SCRAPE_S}s\ntests:\n  - interval: {SCRAPE_S}s\n    \
         input_series:\n"
    );
    for (name, values) in series {
        let values: Vec<&str> =
            values.iter().map(|value| value.as_deref().unwrap_or("_")).collect();
        writeln!(test, "      - series: '{name}'\n        values: '{}'", values.join(" "))?;
    }
    writeln!(test, "    promql_expr_test:")?;
    for (disk, alert) in disks.iter().flat_map(|disk| ALERTS.map(|alert| (disk, alert))) {
        let due = disk.alert == Some(alert);
        let samples = if due { "[{labels: '{}', value: 1}]" } else { "[]" };
        let alerts =
            format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\",{}}}", label(disk.name));
        writeln!(
            test,
            "      - expr: 'count(count_over_time({alerts}[{seconds}s]))'\n        \
             eval_time: {seconds}s\n        exp_samples: {samples}"
        )?;
    }
    Ok(test)
}
