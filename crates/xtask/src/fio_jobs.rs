//! Lines of fio, run by fio and by halfpower as they stand, in pairs: whether the same words give the same
//! rate and the same median latency.
//!
//! Both print fio's JSON, which one reader reads. Rates and medians are compared as ratios with their
//! intervals ([`crate::pairs`]); where a median lies on a step of either histogram it moves by up to 2 %.

use crate::child::{self, Plant};
use crate::contest::{self, target::Target};
use crate::pairs::{Ratio, Verdict};
use crate::{arguments::Arguments, kept, place};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::process::Command;

pub(crate) const SWITCHES: [&str; 1] = ["--no-keep"];
pub(crate) const VALUES: [&str; 5] = ["--pairs", "--seconds", "--target", "--only", "--binary"];
const PAIRS: usize = 8;
const SECONDS: u32 = 2;

/// The kinds of lines that people publish, without the file and the time.
const LINES: [&str; 13] = [
    "--name=rand-read-1 --rw=randread --bs=4k --ioengine=io_uring --iodepth=1 --direct=1",
    "--name=rand-read-32 --rw=randread --bs=4k --ioengine=libaio --iodepth=32 --direct=1",
    "--name=rand-read-jobs --rw=randread --bs=4k --ioengine=psync --numjobs=4 --direct=1 --group_reporting",
    "--name=rand-write-16 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=16 --direct=1",
    "--name=seq-read --rw=read --bs=1m --ioengine=libaio --iodepth=8 --direct=1",
    "--name=seq-write --rw=write --bs=128k --ioengine=io_uring --iodepth=4 --direct=1",
    "--name=mix-70-30 --rw=randrw --rwmixread=70 --bs=8k --ioengine=io_uring --iodepth=8 --direct=1",
    "--name=split --rw=randread --bssplit=4k/60:64k/40 --ioengine=libaio --iodepth=8 --direct=1",
    "--name=zipf --rw=randread --random_distribution=zipf:1.2 --bs=4k --ioengine=libaio --iodepth=8 --direct=1",
    "--name=etcd-log --rw=write --bs=2300 --ioengine=sync --fdatasync=1",
    "--name=durable --rw=write --bs=4k --ioengine=psync --direct=1 --sync=dsync",
    "--name=buffered --rw=read --bs=128k --ioengine=psync",
    "--name=paced --rw=randread --bs=4k --ioengine=io_uring --iodepth=8 --direct=1 --rate_iops=200",
];

/// The line that reads its file once: fio empties the page cache again before each pass, a run once.
const ONE_PASS: &str = "buffered";

/// What a program reported of a job.
struct Reported {
    iops: f64,
    /// `None` where too few requests bear one.
    p50_ns: Option<f64>,
}

/// Runs all pairs; whether no rate and no median is surely another one.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let pairs = flags.value("--pairs")?.unwrap_or(PAIRS);
    let seconds: u32 = flags.value("--seconds")?.unwrap_or(SECONDS);
    let only: Option<String> = flags.value("--only")?;
    let kind: String = flags.value("--target")?.unwrap_or_else(|| "disk".to_owned());
    let kind = match kind.as_str() {
        "disk" => "disk",
        "loop" => "loop",
        "tmpfs" => bail!("no direct I/O on tmpfs; use disk or loop"),
        other => bail!("no target {other:?}; use disk or loop"),
    };
    let binary = place::binary(flags.value("--binary")?, false)?;
    if Command::new("fio").arg("--version").output().is_err() {
        testkit::skip("fio-jobs", "needs fio");
        return Ok(true);
    }
    let target = match Target::prepare(kind, false)? {
        Ok(target) => target,
        Err(lacks) => {
            testkit::skip("fio-jobs", &lacks);
            return Ok(true);
        }
    };
    println!("{}; {pairs} pairs of {seconds} s", target.description);
    println!(
        "{:16} {:>24} {:>14} {:>24} {:>14}",
        "job", "IOPS of fio's", "", "median of fio's", ""
    );
    let (mut rows, mut good) = (Vec::new(), true);
    for line in LINES {
        let name = name_of(line)?;
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let place = format!(
            "--filename={} --size={} --runtime={seconds} --norandommap --randrepeat=0{}",
            target.path.display(),
            target.size_bytes,
            if name == ONE_PASS { "" } else { " --time_based" }
        );
        let words: Vec<&str> = line.split(' ').chain(place.split(' ')).collect();
        let of_fio = || {
            let mut command = Command::new("fio");
            command.args(&words).args(["--allow_file_create=0", "--output-format=json+"]);
            // From before the request is handed over, as ours count.
            command.arg("--lat_percentiles=1");
            told(&mut command)
        };
        let of_ours = || {
            let mut command = Command::new(&binary);
            command.arg("run").args(&words).args(["--output-format=json+", "--no-save"]);
            if line.contains("write") || line.contains("=randrw") {
                match &target.device_name {
                    Some(name) => command.args(["--destroy-data-on", name]),
                    None => command.arg("--overwrite"),
                };
            }
            told(&mut command)
        };
        let (mut rates, mut medians) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            // ABBA: a drift of the machine falls on both.
            let (fio, ours) = if pair % 2 == 0 {
                let fio = of_fio()?;
                (fio, of_ours()?)
            } else {
                let ours = of_ours()?;
                (of_fio()?, ours)
            };
            rates.push((fio.iops, ours.iops));
            // In an open loop ours count from the arrival, and fio's from when it lets a request go.
            let comparable = fio.p50_ns.zip(ours.p50_ns).filter(|_| !line.contains("rate_iops"));
            medians.extend(comparable);
        }
        let none = Ratio { value: f64::NAN, low: 0.0, high: f64::INFINITY };
        let rate = Ratio::of_pairs(&rates);
        let median = if medians.is_empty() { none } else { Ratio::of_pairs(&medians) };
        println!(
            "{name:16} {rate:>24} {:>14} {median:>24} {:>14}",
            rate.verdict().to_string(),
            median.verdict().to_string(),
            rate = rate.to_string(),
            median = median.to_string()
        );
        good &= ![rate, median].iter().any(|ratio| ratio.verdict() == Verdict::Different);
        rows.push(json!({
            "line": line,
            "iops": numbers(&rate, &rates),
            "p50_ns": numbers(&median, &medians),
        }));
    }
    ensure!(!rows.is_empty(), "no job of that name");
    if only.is_none() && !flags.has("--no-keep") {
        let parts = [("target", json!(target.description)), ("seconds", json!(seconds))];
        kept::keep("fio-jobs", &[&parts[..], &[("jobs", json!(rows))]].concat())?;
    }
    Ok(good)
}

fn name_of(line: &str) -> Result<&str> {
    let name = line.split(' ').find_map(|word| word.strip_prefix("--name="));
    name.context("a line without a name")
}

fn numbers(ratio: &Ratio, pairs: &[(f64, f64)]) -> Value {
    if pairs.is_empty() {
        return json!({"not_measured": "they count from other moments"});
    }
    json!({
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "verdict": ratio.verdict().to_string(),
        "fio": stats::median(pairs.iter().map(|pair| pair.0).collect()),
        "halfpower": stats::median(pairs.iter().map(|pair| pair.1).collect()),
    })
}

/// Runs a program that prints fio's JSON of jobs, and reads it.
fn told(command: &mut Command) -> Result<Reported> {
    let child = child::run(command, Plant::Nothing)?;
    // Code 1 of ours comes with a finding, as that a cache served the requests.
    let fine = matches!(child.status.code(), Some(0 | 1));
    ensure!(fine, "{command:?} failed: {}", child.stderr.trim());
    read(&child.stdout).with_context(|| format!("{command:?} was not understood"))
}

/// Rate of both directions together, and the median of the one with more requests, over all jobs.
fn read(output: &str) -> Result<Reported> {
    let jobs = contest::fio::jobs(output)?;
    let sides = || jobs.iter().flat_map(|job| [&job["read"], &job["write"]]);
    let count = |side: &Value| side["total_ios"].as_u64().unwrap_or(0);
    let iops: f64 = sides().filter_map(|side| side["iops"].as_f64()).sum();
    ensure!(iops > 0.0, "nothing completed");
    let larger = sides().max_by_key(|side| count(side)).context("no direction")?;
    Ok(Reported { iops, p50_ns: larger["lat_ns"]["percentile"]["50.000000"].as_f64() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_both_directions_and_the_median_of_the_one_with_more() {
        let side = |count: u64, iops: f64, p50: u64| json!({"total_ios": count, "iops": iops, "lat_ns": {"percentile": {"50.000000": p50}}});
        let text =
            json!({"jobs": [{"error": 0, "read": side(70, 7.0, 90), "write": side(30, 3.0, 20)}]});
        let told = read(&format!("fio: a warning\n{text}")).unwrap();
        assert_eq!((told.iops, told.p50_ns), (10.0, Some(90.0)));
        assert!(read("{\"jobs\": []}").is_err() && read("no").is_err());
    }

    #[test]
    fn each_line_has_a_name_of_its_own_and_is_understood_by_our_reader() {
        let mut names = Vec::new();
        for line in LINES {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (_, sections) = fio::read_words(&words).unwrap();
            let mut sections = sections.into_iter();
            let mut section = sections.next().unwrap();
            let file = |name: &str| fio::Setting {
                name: name.to_owned(),
                value: Some(if name == "filename" { "data" } else { "1g" }.to_owned()),
                place: "test".to_owned(),
            };
            section.settings.extend([file("filename"), file("size")]);
            let run = fio::run_of(&section, &|_: &str| fio::FileKind::File { bytes: None });
            assert!(run.is_ok(), "{run:?}");
            names.push(name_of(line).unwrap());
        }
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
