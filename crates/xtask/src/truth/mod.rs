//! Checks predictions on the reader's own files: fio on files that fio laid out, that dd wrote and that
//! PostgreSQL made (read only), against the intervals of `predict`.
//!
//! It starts with a check of the folder. Then it runs every load on every file several times, in a shuffled
//! order, so that drift affects all alike. An interval is right if it includes fio's result. Its width is
//! shown next to the spread of fio over the same files and minutes, so that wide intervals do not win. There
//! are two controls. A/A compares each result of fio with an interval from fio's other results. The planted
//! change takes a fifth off fio's results, and must be missed more often. A second check at the end shows how
//! well two checks agree.
//!
//! QD 1 requests use fio's default engine, psync, as most programs read and write. Deeper queues use io_uring
//! with registered files and buffers, submitted and reaped in batches. By default, fio makes a system call
//! per request, and on memory it would mainly measure these calls.
//!
//! The caller chooses the folder: on the disk, on a loop device, on a zram device.

mod postgres;

use crate::{child, kept, place};
use anyhow::{Context, Result};
use postgres::Postgres;
use record::{Estimate, Prediction, PredictionDocument, Profile};
use serde_json::{Value, json};
use stats::{grouped, mean, median};
use std::path::{Path, PathBuf};
use std::process::Command;
use workload::Rng;

#[derive(clap::Args)]
pub(crate) struct Flags {
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Part of the name of the saved result.
    #[arg(long, default_value = "disk")]
    site: String,
    #[arg(long)]
    no_keep: bool,
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// How often each load runs on each file, and for how many seconds.
const REPEATS: usize = 2;
const SECONDS: u32 = 3;
const BUDGET: &str = "60s";
const MIB: u64 = 1 << 20;
/// Size of all test files of a check. The other files have half this size.
const SIZE: u64 = 1024 * MIB;
/// The planted change: a fifth less.
const PLANTED: f64 = 0.8;

/// Loads as fio's kind of access, KiB, queue depth, and the percentage of reads of a mix. Some of these are
/// cells of a check; most are not.
const LOADS: &str = "randread:4:1 randread:4:2 randread:4:6 randread:4:16 randread:4:32 randread:8:1 \
    randread:8:8 randread:16:4 randread:16:12 randread:32:4 randread:64:2 randread:64:16 read:64:1 \
    read:256:4 randwrite:4:1 randwrite:4:4 randwrite:4:16 randwrite:8:8 randwrite:16:4 randwrite:64:8 \
    write:64:1 write:256:4 randrw:8:8:70 randrw:4:16:70 randrw:16:4:50 randrw:64:8:90";

/// A closed loop.
struct Load {
    rw: &'static str,
    bytes: u64,
    depth: u32,
    /// Read percentage.
    reads: u32,
}

/// A result of fio and its prediction.
struct Pair {
    load: usize,
    what: &'static str,
    file: &'static str,
    predicted: Estimate,
    measured: f64,
}

/// fio's figures for both directions together.
struct Reported {
    iops: f64,
    mean_ns: f64,
    p99_ns: Option<f64>,
}

struct File {
    name: &'static str,
    path: PathBuf,
    bytes: u64,
    writable: bool,
}

impl Load {
    fn all() -> Result<Vec<Self>> {
        let load = |words: &'static str| {
            let (rw, numbers) = words.split_once(':').context("a load without a size")?;
            let numbers: Vec<u32> = numbers.split(':').map(str::parse).collect::<Result<_, _>>()?;
            let all = if rw.ends_with("read") { 100 } else { 0 };
            let reads = numbers.get(2).copied().unwrap_or(all);
            Ok(Self { rw, bytes: u64::from(numbers[0]) << 10, depth: numbers[1], reads })
        };
        LOADS.split_whitespace().map(load).collect()
    }

    fn name(&self) -> String {
        let Self { rw, bytes, depth, reads } = self;
        let mix = if *rw == "randrw" { format!(" {reads} % reads") } else { String::new() };
        format!("{rw}{mix} {}k QD {depth}", bytes >> 10)
    }

    fn fio(&self, file: &File) -> Result<Reported> {
        let Self { rw, bytes, depth, reads } = self;
        let engine = match *depth {
            1 => "--ioengine=psync".to_owned(),
            _ => format!(
                "--ioengine=io_uring --registerfiles --fixedbufs --iodepth_batch_submit={depth} \
                 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max={depth}"
            ),
        };
        let words = format!(
            "--name=truth --direct=1 --time_based --norandommap --randrepeat=0 --scramble_buffers=0 \
             --allow_file_create=0 --lat_percentiles=1 --unified_rw_reporting=mixed \
             --output-format=json+ --size={} --runtime={SECONDS} --rw={rw} --bs={bytes} \
             --iodepth={depth} --rwmixread={reads} {engine}",
            file.bytes
        );
        let mut command = Command::new("fio");
        command.args(words.split(' ')).arg(format!("--filename={}", file.path.display()));
        let job = crate::contest::fio::job(&child::text(&mut command, &[0])?)?;
        let both = &job["mixed"];
        let number = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
        Ok(Reported {
            iops: number(&both["iops"]).context("fio reports no rate")?,
            mean_ns: number(&both["lat_ns"]["mean"]).context("fio reports no latency")?,
            p99_ns: number(&both["lat_ns"]["percentile"]["99.000000"]),
        })
    }

    fn predicted(&self, binary: &Path, database: &Path) -> Result<Prediction> {
        let mut command = Command::new(binary);
        command.args(["predict", "last", "--json", "--db"]).arg(database);
        for (flag, value) in [
            ("--iodepth", self.depth.to_string()),
            ("--bs", self.bytes.to_string()),
            ("--rwmixread", format!("{}%", self.reads)),
            ("--sequential", if self.rw.starts_with("rand") { "0%" } else { "100%" }.to_owned()),
        ] {
            command.args([flag, &value]);
        }
        let text = child::output(&mut command, &[0])?;
        let document: PredictionDocument = serde_json::from_slice(&text)?;
        let advised = document.advised;
        let of_model = |one: &Prediction| Some(one.model) == advised;
        document.predictions.into_iter().find(of_model).context("no prediction")
    }
}

/// Runs everything. Returns whether at least 90 % of the results are inside the intervals.
pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let site = &flags.site;
    let binary = place::binary(flags.binary.as_deref(), false)?;
    place::needs(testkit::Capability::Fio.lack())?;
    let folder = testkit::Folder::within(&flags.folder, "halfpower-truth-")?;
    let (first, database) = check(&binary, folder.path(), "first")?;
    let loads = Load::all()?;
    let predictions: Vec<Prediction> =
        loads.iter().map(|load| load.predicted(&binary, &database)).collect::<Result<_>>()?;
    let files = files(folder.path(), SIZE / 2)?;
    let mut turns: Vec<(usize, usize)> = Vec::new();
    for (at, load) in loads.iter().enumerate() {
        for (file, _) in files.iter().enumerate().filter(|it| it.1.writable || load.reads == 100) {
            turns.extend(std::iter::repeat_n((at, file), REPEATS));
        }
    }
    Rng::new(1).shuffle(&mut turns);
    let mut pairs = Vec::new();
    for (load, file) in &turns {
        let reported = loads[*load].fio(&files[*file])?;
        let prediction = &predictions[*load];
        let both = [
            ("IOPS", Some((prediction.iops, reported.iops))),
            ("mean", Some((prediction.latency_ns, reported.mean_ns))),
            ("p99", prediction.p99_ns.zip(reported.p99_ns)),
        ];
        let (load, file) = (*load, files[*file].name);
        pairs.extend(both.into_iter().filter_map(|(what, both)| {
            let (predicted, measured) = both?;
            Some(Pair { load, what, file, predicted, measured })
        }));
    }
    println!("{site}: {} loads, {} runs of fio of {SECONDS} s", loads.len(), turns.len());
    let (good, summary) = table(&loads, &pairs);
    // A second check that fails, for example on a full file system, must not lose the pairs.
    let agreed = match check(&binary, folder.path(), "second") {
        Ok((second, _)) => {
            let (agree, cells) = agreement(&first, &second);
            println!("two checks: {agree} of {cells} cells agree within their own ±");
            Some([agree, cells])
        }
        Err(error) => {
            println!("no second check: {error:#}");
            None
        }
    };
    if !flags.no_keep {
        let row = |Pair { load, what, file, predicted, measured }: &Pair| {
            let load = loads[*load].name();
            json!({ "load": load, "file": file, "what": what, "predicted": predicted, "fio": measured })
        };
        let rows: Vec<Value> = pairs.iter().map(row).collect();
        let parts = [
            ("site", json!(site)),
            ("areas", json!(first.areas)),
            ("summary", summary),
            ("cells_that_agree", json!(agreed)),
            ("pairs", json!(rows)),
        ];
        kept::keep(&format!("truth-{site}"), &parts)?;
    }
    Ok(good)
}

fn check(binary: &Path, folder: &Path, name: &str) -> Result<(Profile, PathBuf)> {
    let database = folder.join(format!("{name}.db"));
    let mut command = Command::new(binary);
    // A fixed size, so that two checks have the same cells.
    command.arg("check").arg(folder).args(["--budget", BUDGET, "--json", "--size"]);
    command.arg(SIZE.to_string()).arg("--db").arg(&database);
    let text = child::output(&mut command, &[0, 1])?;
    Ok((serde_json::from_slice(&text).context("the profile of a check")?, database))
}

/// A file laid out by fio, one written by dd, and one of PostgreSQL's if it is installed.
fn files(folder: &Path, bytes: u64) -> Result<Vec<File>> {
    let [laid, copied] = ["laid-out", "copied"].map(|name| folder.join(name));
    let mut lay_out = Command::new("fio");
    lay_out.args(["--name=lay", "--rw=randread", "--create_only=1", "--filename"]).arg(&laid);
    child::output(lay_out.arg(format!("--size={bytes}")), &[0])?;
    let mut copy = Command::new("dd");
    copy.args(["if=/dev/urandom", "bs=1M", "conv=fsync", "status=none"]);
    copy.arg(format!("count={}", bytes / MIB)).arg(format!("of={}", copied.display()));
    child::output(&mut copy, &[0])?;
    let own = |name, path| File { name, path, bytes, writable: true };
    let mut files = vec![own("fio", laid), own("dd", copied)];
    match Postgres::start(folder)? {
        Ok(server) => {
            let (path, bytes) = server.large_table(bytes)?;
            files.push(File {
                name: "PostgreSQL",
                path,
                bytes: bytes / MIB * MIB,
                writable: false,
            });
            // The file remains when the server stops.
            drop(server);
        }
        Err(lacks) => println!("  SKIP PostgreSQL: {lacks}"),
    }
    Ok(files)
}

/// Prints a summary of the pairs. Returns whether it meets the goals, and the summary for the document.
fn table(loads: &[Load], pairs: &[Pair]) -> (bool, Value) {
    let inside = |pairs: &[&Pair], factor: f64| {
        let held = |pair: &&Pair| pair.predicted.includes(pair.measured * factor);
        share(&pairs.iter().map(held).collect::<Vec<bool>>())
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (mut good, mut summary) = (true, Vec::new());
    let heads = ["inside", "A/A", "planted", "med. err", "width", "fio's"];
    let heads = heads.map(|head| format!(" {head:>9}")).concat();
    println!("{:6} {:>5}{heads} {:>12}", "", "pairs", "width/fio's");
    for what in ["IOPS", "mean", "p99"] {
        let own: Vec<&Pair> = pairs.iter().filter(|pair| pair.what == what).collect();
        if own.is_empty() {
            continue;
        }
        let error = |pair: &&Pair| (pair.predicted.value / pair.measured - 1.0).abs();
        let errors = median(own.iter().map(error).collect());
        let width = |pair: &&Pair| (pair.predicted.high / pair.predicted.low).ln() / 2.0;
        let width = median(own.iter().map(width).collect());
        let by_load = grouped(own.iter().map(|pair| (pair.load, pair.measured.ln())));
        let spread =
            median(by_load.iter().map(|(_, logs)| record::NORMAL_95 * deviation(logs)).collect());
        let control: Vec<bool> = by_load.iter().flat_map(|(_, logs)| others_hold(logs)).collect();
        let held = share(&control);
        let (share, planted) = (inside(&own, 1.0), inside(&own, PLANTED));
        let figures = [
            ("inside", share),
            ("inside_of_fios_own", held),
            ("inside_when_a_fifth_is_planted", planted),
            ("median_error", errors),
            ("median_half_width", width),
            ("median_spread_of_fio", spread),
        ];
        let cells = figures.map(|(_, figure)| format!(" {:>9}", percent(figure))).concat();
        println!("{what:6} {:>5}{cells} {:>12.1}", own.len(), width / spread);
        good &= share >= 0.9 && planted <= share;
        let mut row = json!({ "what": what, "pairs": own.len() });
        for (name, figure) in figures {
            row[name] = json!(figure);
        }
        summary.push(row);
    }
    for (at, load) in loads.iter().enumerate() {
        let own: Vec<&Pair> =
            pairs.iter().filter(|it| it.load == at && it.what == "IOPS").collect();
        let Some(first) = own.first() else { continue };
        let of = |name: &str| {
            let values: Vec<f64> =
                own.iter().filter(|pair| pair.file == name).map(|pair| pair.measured).collect();
            if values.is_empty() { "–".to_owned() } else { record::format_count(mean(&values)) }
        };
        println!(
            "  {:24} {:>7} ({} to {})   fio {:>7}  dd {:>7}  PostgreSQL {:>7}   inside {}",
            load.name(),
            record::format_count(first.predicted.value),
            record::format_count(first.predicted.low),
            record::format_count(first.predicted.high),
            of("fio"),
            of("dd"),
            of("PostgreSQL"),
            percent(inside(&own, 1.0))
        );
    }
    (good, json!(summary))
}

/// The share of those that hold.
fn share(held: &[bool]) -> f64 {
    held.iter().filter(|held| **held).count() as f64 / held.len().max(1) as f64
}

/// Standard deviation of a few values.
fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// For each value, whether it is within the 95 % prediction interval of the others.
fn others_hold(values: &[f64]) -> Vec<bool> {
    let held = |at: usize| {
        let others: Vec<f64> =
            values.iter().enumerate().filter(|it| it.0 != at).map(|it| *it.1).collect();
        let count = others.len() as f64;
        let quantile = stats::student_t_quantile(0.975, count - 1.0);
        let reach = quantile * deviation(&others) * (1.0 + 1.0 / count).sqrt();
        (values[at] - mean(&others)).abs() <= reach
    };
    if values.len() < 3 { Vec::new() } else { (0..values.len()).map(held).collect() }
}

/// Of the cells that two checks share: how many agree within their intervals, and how many there are.
fn agreement(first: &Profile, second: &Profile) -> (usize, usize) {
    let pairs = first.cells.iter().filter_map(|cell| {
        let other = second.cells.iter().find(|other| other.workload == cell.workload)?;
        Some((cell.rerun_iops, other.rerun_iops))
    });
    let agree = |one: &Estimate, other: &Estimate| {
        let reach = one.half_width().hypot(other.half_width());
        (one.value - other.value).abs() <= reach
    };
    let held: Vec<bool> = pairs.map(|(one, other)| agree(&one, &other)).collect();
    (held.iter().filter(|held| **held).count(), held.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_the_others_includes_similar_values_and_no_outlier() {
        let alike = [0.0, 0.1, -0.1, 0.05, -0.05];
        assert_eq!(others_hold(&alike), [true; 5]);
        let apart = [0.0, 0.1, -0.1, 0.05, 3.0];
        assert!(!others_hold(&apart)[4]);
        assert!(others_hold(&alike[..2]).is_empty());
    }

    #[test]
    fn a_pair_inside_counts_and_the_planted_fifth_leaves_a_narrow_interval() {
        let pair = |measured: f64| Pair {
            load: 0,
            what: "IOPS",
            file: "fio",
            predicted: Estimate::symmetric(100.0, 10.0, 1),
            measured,
        };
        let pairs: Vec<Pair> = [95.0, 100.0, 105.0, 104.0].map(pair).into();
        let (good, summary) = table(&Load::all().unwrap(), &pairs);
        assert!(good, "{summary}");
        assert_eq!(summary[0]["inside"], 1.0);
        assert_eq!(summary[0]["inside_when_a_fifth_is_planted"], 0.0);
        let (bad, _) = table(&Load::all().unwrap(), &[pair(150.0), pair(160.0), pair(140.0)]);
        assert!(!bad);
    }
}
