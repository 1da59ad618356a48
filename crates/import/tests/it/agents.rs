//! Files of agents that read /proc/diskstats give the same as the counters that they read.

use crate::forms::sample;
use crate::texts::{of, plain};
use import::{Format, Options, detect};
use record::Interval;
use std::collections::BTreeMap;
use std::fmt::Write;

/// telegraf's rows for dumps of /proc/diskstats, with a header before each dump.
fn as_telegraf(dumps: &str, header: &str) -> String {
    let (mut csv, mut time) = (String::new(), "");
    for line in dumps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "TS" {
            time = words[1];
            let _ = writeln!(
                csv,
                "timestamp,measurement,cpu,usage_idle\n{time},cpu,cpu0,99.5\n{header}"
            );
            continue;
        }
        let of = |at: usize| words[at].parse::<u64>().unwrap();
        let (reads, merged, read, read_ms) = (of(3), of(4), of(5) * 512, of(6));
        let (writes, merged_writes, written, write_ms) = (of(7), of(8), of(9) * 512, of(10));
        let (now, busy, weighted) = (of(11), of(12), of(13));
        let _ = writeln!(
            csv,
            "{time},diskio,db1,{},{busy},{now},{merged},{merged_writes},{read},{read_ms},{reads},{weighted},{written},\
             {write_ms},{writes}",
            words[2]
        );
    }
    csv
}

#[test]
fn rows_of_telegraf_say_the_same_as_the_counters_that_it_read() {
    let dumps = String::from_utf8(sample("diskstats-snapshots.txt")).unwrap();
    let plain_header = "timestamp,measurement,host,name,io_time,iops_in_progress,merged_reads,merged_writes,\
                        read_bytes,read_time,reads,weighted_io_time,write_bytes,write_time,writes";
    let prefixed = plain_header.split(',').enumerate().map(|(at, name)| match at {
        0 | 1 => name.to_owned(),
        2 | 3 => format!("tag_{name}"),
        _ => format!("field_{name}"),
    });
    let prefixed = prefixed.collect::<Vec<_>>().join(",");
    let mut counted = plain("diskstats-snapshots.txt", Format::Diskstats).intervals;
    // telegraf records neither discards nor flushes.
    for interval in &mut counted {
        (interval.discards_per_s, interval.flushes_per_s) = (None, None);
        interval.flush_latency_ns = None;
    }
    for header in [plain_header, prefixed.as_str()] {
        let read =
            of(as_telegraf(&dumps, header).as_bytes(), Format::Telegraf, &Options::default());
        assert_eq!(read.host.as_deref(), Some("db1"));
        assert_eq!(read.intervals, counted);
    }
    assert!(detect(as_telegraf(&dumps, "1,2,3").as_bytes()).is_err());
}

/// The files of collectd's disk and csv plugins for dumps of /proc/diskstats: names and texts.
fn as_collectd(dumps: &str, rates: bool) -> Vec<(String, Vec<u8>)> {
    let mut rows: BTreeMap<&str, Vec<(f64, Vec<f64>)>> = BTreeMap::new();
    let mut time = 0.0;
    for line in dumps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "TS" {
            time = words[1].parse::<f64>().unwrap();
            continue;
        }
        let counts = words[3..14].iter().map(|word| word.parse::<f64>().unwrap()).collect();
        rows.entry(words[2]).or_default().push((time, counts));
    }
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (disk, rows) in rows {
        let mut means = [0.0; 2];
        for (at, (time, counts)) in rows.iter().enumerate() {
            let before = &rows[at.saturating_sub(1)];
            let seconds = time - before.0;
            for (op, first) in [0, 4].into_iter().enumerate() {
                let more = |at: usize| counts[at] - before.1[at];
                if more(first) > 0.0 {
                    means[op] += (seconds * more(first + 3) / more(first) + 0.5).floor();
                }
            }
            let figures: [(&str, &str, Vec<f64>); 5] = [
                ("disk_ops", "read,write", vec![counts[0], counts[4]]),
                ("disk_octets", "read,write", vec![counts[2] * 512.0, counts[6] * 512.0]),
                ("disk_merged", "read,write", vec![counts[1], counts[5]]),
                ("disk_time", "read,write", means.to_vec()),
                ("disk_io_time", "io_time,weighted_io_time", vec![counts[9], counts[10]]),
            ];
            for (figure, columns, values) in figures {
                let name = format!("/var/lib/collectd/db1/disk-{disk}/{figure}-2026-11-27");
                let file = files.entry(name).or_insert_with(|| format!("epoch,{columns}\n"));
                let words = values.iter().map(f64::to_string).collect::<Vec<_>>();
                let _ = writeln!(file, "{time:.3},{}", words.join(","));
            }
            let name = format!("/var/lib/collectd/db1/disk-{disk}/pending_operations-2026-11-27");
            let file = files.entry(name).or_insert_with(|| "epoch,value\n".to_owned());
            let _ = writeln!(file, "{time:.3},{}", counts[8]);
        }
    }
    if rates {
        for (name, file) in files.iter_mut().filter(|(name, _)| !name.contains("pending")) {
            *file = as_rates(file, name);
        }
    }
    files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()
}

/// The output of the csv plugin with `StoreRates true`: no row for the first moment.
fn as_rates(file: &str, name: &str) -> String {
    let fields = |line: &str| -> Vec<f64> {
        line.split(',').map(|field| field.parse().unwrap_or_else(|_| panic!("{name}"))).collect()
    };
    let lines: Vec<&str> = file.lines().collect();
    let mut text = format!("{}\n", lines[0]);
    for pair in lines[1..].windows(2) {
        let (before, after) = (fields(pair[0]), fields(pair[1]));
        let rate = |at: usize| (after[at] - before[at]) / (after[0] - before[0]);
        let _ = writeln!(text, "{:.3},{:.15},{:.15}", after[0], rate(1), rate(2));
    }
    text
}

#[test]
fn files_of_collectd_say_the_same_as_the_counters_that_it_read() {
    let dumps = String::from_utf8(sample("diskstats-snapshots.txt")).unwrap();
    let counted = plain("diskstats-snapshots.txt", Format::Diskstats);
    for rates in [false, true] {
        let files = as_collectd(&dumps, rates);
        assert_eq!(detect(&files[0].1), Ok(Format::Collectd));
        let mut read = import::read_files(&files, None, &Options::default()).unwrap();
        assert_eq!(read.len(), 1);
        let read = read.remove(0);
        assert_eq!(read.host.as_deref(), Some("db1"));
        // The first moment of stored rates has no row.
        let expected = counted.intervals.iter().filter(|interval| {
            !rates || interval.begin_ns > counted.intervals[0].begin_ns + 1_000_000
        });
        let expected: Vec<&Interval> = expected.collect();
        assert_eq!(read.intervals.len(), expected.len(), "{rates}");
        for (own, real) in read.intervals.iter().zip(expected) {
            assert_eq!(own.device, real.device);
            let near = |own: Option<record::Figure>, real: Option<record::Figure>, off: f64| {
                let (own, real) = (own.unwrap().value, real.unwrap().value);
                assert!((own - real).abs() <= 1e-2 * real + off, "{own} {real} {rates}");
            };
            near(own.busy_share, real.busy_share, 1e-9);
            near(own.concurrency, real.concurrency, 1e-9);
            assert_eq!(own.in_flight.map(|it| it.value), real.in_flight.map(|it| it.value));
            for (own, real) in [(&own.read, &real.read), (&own.write, &real.write)] {
                near(own.per_s, real.per_s, 1e-9);
                near(own.bytes_per_s, real.bytes_per_s, 1e-9);
                // Means are stored in whole milliseconds times seconds.
                if real.latency_ns.is_some() {
                    near(own.latency_ns, real.latency_ns, 1.1e6);
                }
            }
        }
    }
}

#[test]
fn one_file_of_collectd_says_what_else_to_give() {
    let dumps = sample("diskstats-snapshots.txt");
    let mut files = as_collectd(std::str::from_utf8(&dumps).unwrap(), false);
    files.retain(|(name, _)| name.contains("/disk_time-"));
    let error = import::read_files(&files, None, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("name all files of a disk together"), "{error}");
}
