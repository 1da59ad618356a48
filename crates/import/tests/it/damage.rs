//! Truncated, altered, joined and extreme files: every intact part is read, nothing panics, and every
//! result fits a document.

use crate::forms::sample;
use import::{Format, Options, detect, read};
use record::{FindingCode, Observation};
use stats::SplitMix64;
use std::time::{Duration, Instant};

const SECOND_NS: u64 = 1_000_000_000;
const SAMPLES: [(&str, Format); 25] = [
    ("iostat-d-12.txt", Format::IostatText),
    ("iostat-dxkt-iso-12.txt", Format::IostatText),
    ("iostat-hx-12.txt", Format::IostatText),
    ("iostat-x-10-comma.txt", Format::IostatText),
    ("iostat-x-11.txt", Format::IostatText),
    ("iostat-x-12.txt", Format::IostatText),
    ("iostat-xt-p-12.txt", Format::IostatText),
    ("sadf-p.txt", Format::SadfPairs),
    ("sadf.xml", Format::SadfXml),
    ("sar-d-12.txt", Format::Sar),
    ("diskstats-snapshots.txt", Format::Diskstats),
    ("iostat.json", Format::Iostat),
    ("iostat-iso-megabytes.json", Format::Iostat),
    ("iostat-short.json", Format::Iostat),
    ("iostat-basic-no-times.json", Format::Iostat),
    ("sadf.json", Format::SadfJson),
    ("sadf.csv", Format::SadfLines),
    ("sadf-across.csv", Format::SadfLines),
    ("node-exporter.prom", Format::NodeExporter),
    ("node-exporter-comments.prom", Format::NodeExporter),
    ("prometheus-counters.json", Format::Prometheus),
    ("prometheus-times.json", Format::Prometheus),
    ("typeperf.csv", Format::Perfmon),
    ("relog-utf16.csv", Format::Perfmon),
    ("typeperf-german.csv", Format::Perfmon),
];
/// Number of altered files per sample.
fn mutations() -> u64 {
    testkit::draws(100, 3_000)
}

fn options() -> Options {
    Options { interval_ns: Some(1_000_000_000), ..Options::default() }
}

/// Properties that every observation must have, however damaged its source.
fn check(observation: &Observation, what: &str) {
    assert!(!observation.intervals.is_empty(), "{what}");
    let mut begin = 0;
    for interval in &observation.intervals {
        assert!(interval.duration_ns > 0 && interval.begin_ns >= begin, "{what}: {interval:?}");
        begin = interval.begin_ns;
        for figure in interval.figures().flatten() {
            let sound = figure.value.is_finite() && figure.value >= 0.0;
            assert!(sound && figure.resolution.is_finite(), "{what}: {interval:?}");
        }
        assert!(interval.busy_share.is_none_or(|share| share.value <= 1.0), "{what}");
        let named = observation.devices.iter().any(|device| device.name == interval.device);
        assert!(named, "{what}: {interval:?}");
    }
    let text = serde_json::to_string(observation).unwrap();
    let back: Observation = serde_json::from_str(&text).unwrap();
    assert_eq!(back.intervals.len(), observation.intervals.len(), "{what}");
}

/// Reads arbitrary bytes; an error is acceptable.
fn survive(bytes: &[u8], format: Option<Format>, what: &str) -> Vec<Observation> {
    let read = read(&[bytes], format, &options()).unwrap_or_default();
    read.iter().for_each(|observation| check(observation, what));
    read
}

/// Random choices, the same on every machine.
struct Numbers(SplitMix64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_read_up_to_there() {
    for (name, format) in SAMPLES {
        let whole = sample(name);
        let all = survive(&whole, Some(format), name);
        let most: usize = all.iter().map(|it| it.intervals.len()).sum();
        let mut last = 0;
        // Each cut reads the file again, so longer files are cut at some places and the last ones.
        let (places, last_ones) = testkit::draws((200, 60), (2_000, 200));
        let step = (whole.len() / places).max(1);
        let cuts = (0..whole.len()).filter(|end| end % step == 0 || *end + last_ones > whole.len());
        for end in cuts {
            let read = survive(&whole[..end], Some(format), &format!("{name} up to {end}"));
            let intervals: usize = read.iter().map(|it| it.intervals.len()).sum();
            assert!(intervals <= most, "{name} up to {end}: {intervals} of {most}");
            last = intervals;
        }
        // The data before the cut are not lost with the last byte.
        assert!(2 * last >= most, "{name}: {last} of {most}");
    }
}

#[test]
fn an_iostat_that_was_killed_loses_its_last_report_only() {
    let text = String::from_utf8(sample("iostat.json")).unwrap();
    let end = text.rfind("\"r_await\"").unwrap();
    let read = survive(&text.as_bytes()[..end], None, "killed").remove(0);
    let of = |device: &str| read.intervals.iter().filter(|it| it.device == device).count();
    assert_eq!((of("sda"), of("dm-0")), (5, 4));
    assert!(read.findings.iter().any(|it| it.code == FindingCode::SourceDamaged));
}

#[test]
fn one_broken_place_in_the_middle_costs_one_report() {
    let text = String::from_utf8(sample("iostat.json")).unwrap();
    let at = text.match_indices("\"util\": ").nth(6).unwrap().0;
    let mut bytes = text.into_bytes();
    bytes[at..at + 6].copy_from_slice(b"\0\0\xff{{\"");
    let read = survive(&bytes, None, "middle").remove(0);
    let of = |device: &str| read.intervals.iter().filter(|it| it.device == device).count();
    assert_eq!((of("sda"), of("dm-0")), (4, 4), "{:?}", read.findings);
}

#[test]
fn random_changes_never_panic_and_leave_nothing_unbelievable() {
    let begin = Instant::now();
    for (number, (name, format)) in SAMPLES.into_iter().enumerate() {
        let whole = sample(name);
        let mut numbers = Numbers(SplitMix64::new(number as u64));
        let mut usable = 0;
        for round in 0..mutations() {
            let bytes = changed(&whole, &mut numbers);
            let asked = (round % 4 != 0).then_some(format);
            let read = survive(&bytes, asked, &format!("{name} round {round}"));
            usable += u64::from(!read.is_empty());
            // Time limit for a busy machine; the completed rounds count.
            if begin.elapsed() > Duration::from_secs(240) {
                break;
            }
        }
        let single = !["prometheus-times.json"].contains(&name);
        assert!(!single || usable > mutations() / 10, "{name}: only {usable} had anything left");
    }
}

/// The file with a few random changes.
fn changed(whole: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const WORDS: [&[u8]; 16] = [
        b"1e308",
        b"-1e308",
        b"NaN",
        b"inf",
        b"-0.00",
        b"99999999999999999999999999999999999999",
        b"0",
        b"\"",
        b"{",
        b"]}",
        b"\n",
        b";",
        b"\0",
        b"\xff\xfe",
        b"06/01/1970 00:00:00",
        b"\\u12",
    ];
    let mut bytes = whole.to_vec();
    for _ in 0..=numbers.below(4) {
        let (at, length) = (numbers.below(bytes.len()), numbers.below(40));
        let end = (at + length).min(bytes.len());
        match numbers.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len());
                drop(bytes.splice(to..to, part));
            }
            3 | 4 => {
                let word = WORDS[numbers.below(WORDS.len())];
                drop(bytes.splice(at..at, word.iter().copied()));
            }
            5 => number_replaced(&mut bytes, at, WORDS[numbers.below(7)]),
            6 => line_moved(&mut bytes, numbers),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
    }
    bytes
}

/// Replaces the next number from `at` on.
fn number_replaced(bytes: &mut Vec<u8>, at: usize, word: &[u8]) {
    let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let Some(begin) = bytes[at..].iter().position(digit).map(|found| at + found) else { return };
    let length = bytes[begin..].iter().position(|byte| !digit(byte)).unwrap_or(0);
    drop(bytes.splice(begin..begin + length, word.iter().copied()));
}

/// Copies a line to another place: repeated devices, decreasing time.
fn line_moved(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (from, to) = (numbers.below(lines.len()), numbers.below(lines.len()));
    let mut moved = lines.clone();
    moved.insert(to, lines[from].clone());
    *bytes = moved.concat();
}

#[test]
fn devices_twice_and_time_that_goes_back_are_counted_and_bearable() {
    let text = String::from_utf8(sample("iostat.json")).unwrap();
    let twice = text.replace("\"dm-0\"", "\"sda\"");
    let read = survive(twice.as_bytes(), None, "twice").remove(0);
    assert_eq!(read.intervals.len(), 5);
    let finding = |code: FindingCode| read.findings.iter().find(|it| it.code == code).unwrap();
    assert_eq!(finding(FindingCode::SourceDamaged).evidence[0].value, 5.0);
    let back = text.replace("12:00:05", "11:00:05").replace("12:00:06", "11:00:06");
    assert_eq!(survive(back.as_bytes(), None, "back")[0].intervals.len(), 10);
}

#[test]
fn bytes_that_are_no_file_of_any_tool_are_refused() {
    let mut numbers = Numbers(SplitMix64::new(7));
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length).map(|_| numbers.0.next_u64() as u8).collect();
        for format in Format::ALL {
            assert!(read(&[&bytes], Some(format), &options()).is_err(), "{format:?} {bytes:?}");
        }
        assert!(detect(&bytes).is_err(), "{bytes:?}");
    }
}

/// The only observation of a text.
fn only(text: &str) -> Observation {
    survive(text.as_bytes(), None, text).remove(0)
}

/// The claims of all findings with this code.
fn claims(observation: &Observation, code: FindingCode) -> String {
    let of_code = observation.findings.iter().filter(|it| it.code == code);
    of_code.map(|it| format!("{}\n", it.claim)).collect()
}

#[test]
fn a_queue_depth_far_below_rate_times_latency_is_replaced() {
    let table = |depth: &str| {
        format!(
            "Device   r/s rMB/s r_await rareq-sz  w/s wMB/s w_await wareq-sz aqu-sz %util\n\
             sda  1632.00 16.20    1.09    10.16 63.00  1.73    1.19    28.13 {depth} 100.00\n"
        )
    };
    let wrong = only(&table("0.08"));
    let depth = wrong.intervals[0].concurrency.unwrap().value;
    assert!((depth - 1.85).abs() < 0.01, "{depth}");
    assert!(wrong.devices[0].busy_doubt.is_none(), "{:?}", wrong.devices);
    let found = claims(&wrong, FindingCode::ImpossibleFigures);
    assert!(found.contains("the queue depth of sda is wrong"), "{found}");
    // Discards and hung requests raise the queue depth, and rounding changes it a little.
    for depth in ["1.80", "9.00"] {
        let right = only(&table(depth));
        assert_eq!(right.intervals[0].concurrency.unwrap().value, depth.parse::<f64>().unwrap());
        assert_eq!(claims(&right, FindingCode::ImpossibleFigures), "");
    }
}

#[test]
fn a_table_whose_writes_are_cut_off_keeps_its_reads() {
    let text = "Device    r/s  rMB/s rrqm/s %rrqm r_await rareq-sz %util\n\
                nvme0n1 43.00   2.71   0.00  0.00    0.42    64.56  4.00\n\
                nvme1n1 50.00   3.31   0.00  0.00    0.16    67.84  3.60\n";
    let read = only(text);
    let first = &read.intervals[0];
    assert_eq!(first.all, first.read);
    assert_eq!((first.all.per_s.unwrap().value, first.write.per_s), (43.0, None));
    assert!((first.concurrency.unwrap().value - 0.018_06).abs() < 1e-9, "{first:?}");
    let doubt = read.devices[1].busy_doubt.as_ref().unwrap();
    assert!(doubt.contains("includes the writes"), "{doubt}");
    let found = claims(&read, FindingCode::FiguresMissing);
    assert!(found.contains("reads but no writes"), "{found}");
}

#[test]
fn sums_over_groups_of_disks_are_no_disks() {
    let text = "Device:  r/s   w/s rkB/s wkB/s avgrq-sz avgqu-sz await %util\n\
                sdb    175.00 20.00 700.00 80.00 8.00 0.57 2.89 13.15\n\
                sda      2.00  1.00   8.00  4.00 8.00 0.01 6.26  0.04\n";
    let sum = "ALL    177.00 21.00 708.00 84.00 8.00 0.58 2.94 6.60\n";
    let plain = only(text);
    for row in [sum.to_owned(), format!(" {sum}"), format!(" {}", sum.replace("ALL", "mine"))] {
        let read = only(&format!("{text}{row}"));
        assert_eq!(read.intervals, plain.intervals, "{row}");
        let found = claims(&read, FindingCode::IntervalsLeftOut);
        assert!(found.contains("1 row with sums over other rows"), "{found}");
    }
    let header = text.lines().next().unwrap();
    let read = only(&format!("{header}\n {sum}"));
    assert_eq!(read.devices[0].name, "ALL");
    let found = claims(&read, FindingCode::FiguresMixed);
    assert!(found.contains("only sums over groups"), "{found}");
    // A table that is indented as a whole has no sums.
    let indented: String = text.lines().map(|line| format!(" {line}\n")).collect();
    assert_eq!(only(&indented).intervals, plain.intervals);
}

#[test]
fn a_kernel_release_above_a_table_is_no_time() {
    let table = "Device   r/s  rkB/s r_await   w/s  wkB/s w_await aqu-sz %util\n\
                 vda    44.00 176.00    0.10 31.00 124.00    0.20   0.01  1.00\n\n";
    let text = format!("{table}{}", table.replace("44.00", "13.00"));
    let read = only(&format!("5.18.0-0.deb11.4-cloud-arm64\n{text}"));
    assert_eq!(read.intervals, only(&text).intervals);
    assert_eq!(read.intervals.len(), 2);
}

#[test]
fn lines_that_are_cut_out_of_a_table_are_no_long_interval() {
    let text = "12:00:01 AM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await\n\
                12:10:01 AM    dev8-0     50.00   2000.00  50000.00   1040.00      2.50     12.50\n\
                ...\n\
                02:30:01 PM    dev8-0    500.00  10000.00 200000.00    420.00     25.00     50.00\n";
    let read = read(&[text.as_bytes()], None, &Options::default()).unwrap().remove(0);
    let lengths: Vec<u64> = read.intervals.iter().map(|it| it.duration_ns / SECOND_NS).collect();
    assert_eq!(lengths, [600, 600]);
    let apart = read.intervals[1].begin_ns - read.intervals[0].begin_ns;
    assert_eq!(apart / SECOND_NS, 14 * 3_600 + 20 * 60);
    let found = claims(&read, FindingCode::TimesAssumed);
    assert!(found.contains("lines are cut out of the text"), "{found}");
}

#[test]
fn amounts_and_rates_of_plain_tables_give_the_length_of_intervals() {
    let table =
        |row: &str| format!("Device   tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda {row}\n\n");
    let intervals = [
        table("20.40 102.00 0.00  510 0"),
        table("30.60 204.00 0.00 1020 0"),
        table("30.80 204.00 0.00 1020 0"),
    ];
    let lengths = |text: &str| -> Vec<u64> {
        let read = read(&[text.as_bytes()], None, &Options::default()).unwrap().remove(0);
        read.intervals.iter().map(|it| it.duration_ns / SECOND_NS).collect()
    };
    assert_eq!(lengths(&intervals.concat()), [5; 3]);
    // Two days since boot.
    let boot = table("1.20 100.00 0.00 17280000 0");
    assert_eq!(lengths(&format!("{boot}{}", intervals.concat())), [5; 3]);
}
