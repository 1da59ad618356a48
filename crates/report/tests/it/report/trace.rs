//! Tests SQLIO traces and the CSV of intervals, read back by the rules of their formats.

use crate::report::common::{
    clean_trial, open_loop_trial, trial_with_intervals, trial_without_device,
};
use record::{Bytes, CacheMode, EngineName, Nanos, OpKind, SizeShare, Trial};
use report::{
    TRACE_HEADER, check_trace_comment, check_trace_line, intervals_csv, intervals_header,
    read_trace, trace_line,
};

/// The fields of Table 8: name, meaning, format.
const TABLE: &str = include_str!("../../data/chung_table8_trace_format.csv");

fn table() -> Vec<(&'static str, &'static str)> {
    let row = |line: &'static str| {
        let name = line.split(',').next().unwrap();
        (name, line.rsplit(',').next().unwrap())
    };
    TABLE.lines().skip(1).map(row).collect()
}

fn fields(trial: &Trial, comment: &str) -> Vec<String> {
    let line = trace_line(trial, comment).unwrap();
    assert!(line.ends_with('\n') && !line.trim_end_matches('\n').contains('\n'));
    line.trim_end_matches('\n').split(',').map(str::to_owned).collect()
}

fn field(trial: &Trial, name: &str) -> String {
    let place = table().iter().position(|(field, _)| *field == name).unwrap();
    fields(trial, "")[place].clone()
}

#[test]
fn the_head_line_is_the_table_of_the_paper() {
    let names: Vec<&str> = table().iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), 14);
    assert_eq!(TRACE_HEADER, names.join(","));
}

#[test]
fn every_field_has_the_format_that_the_table_gives_it() {
    let trial = clean_trial();
    let fields = fields(&trial, "a disk; empty");
    assert_eq!(fields.len(), 14);
    for ((name, format), field) in table().iter().zip(&fields) {
        match *format {
            "read|write" => assert!(["read", "write"].contains(&field.as_str()), "{name}"),
            "0|Y|S|H|N" => assert!("0YSHN".contains(field), "{name}"),
            "int" => assert!(field.parse::<u64>().is_ok(), "{name}: {field}"),
            "text" | "no commas" => assert!(!field.is_empty(), "{name}"),
            _ => assert!(field.parse::<f64>().is_ok(), "{name}: {field}"),
        }
    }
}

#[test]
fn the_rates_agree_with_each_other_in_the_units_of_the_paper() {
    let trial = clean_trial();
    let number = |name| field(&trial, name).parse::<f64>().unwrap();
    let expected = number("IO/s") * number("BlockSize") / 1024.0;
    assert!((number("MB/s") / expected - 1.0).abs() < 1e-5);
    assert_eq!(number("BlockSize"), 4.0);
    assert_eq!(number("Time"), 0.4);
    assert_eq!(number("Clock(s)"), 10.0);
    assert_eq!(number("User(ms)"), 1_210.0);
    assert_eq!(number("FileSize"), trial.targets[0].size_bytes.0 as f64 / 1024.0);
}

#[test]
fn each_cache_mode_has_its_letter_and_synchronous_requests_no_depth() {
    let mut trial = clean_trial();
    for (cache, letter) in [
        (CacheMode::All, "Y"),
        (CacheMode::Fs, "S"),
        (CacheMode::Device, "H"),
        (CacheMode::None, "N"),
    ] {
        trial.workload.cache = cache;
        assert_eq!(field(&trial, "Buffering"), letter);
    }
    assert_eq!(field(&trial, "OutstandingIOs"), "32");
    trial.workload.engine = EngineName::Sync;
    assert_eq!(field(&trial, "OutstandingIOs"), "0");
}

#[test]
fn what_was_not_measured_is_an_empty_field() {
    let trial = trial_without_device();
    assert_eq!(field(&trial, "User(ms)"), "");
    assert_eq!(fields(&trial, "").len(), 14);
}

#[test]
fn a_comment_that_would_break_the_line_is_refused() {
    for comment in ["a,b", "a\nb", "a\rb", "say \"x\"", "\u{7}"] {
        assert!(check_trace_comment(comment).is_err(), "{comment:?}");
        assert!(trace_line(&clean_trial(), comment).is_err(), "{comment:?}");
    }
    assert_eq!(check_trace_comment("disk 3; élan 'x'"), Ok(()));
}

#[test]
fn a_mix_has_no_line() {
    let mut trial = clean_trial();
    trial.workload.read_percent = 70;
    let why = |trial: &Trial| trace_line(trial, "").unwrap_err().to_string();
    assert!(why(&trial).contains("mixes several; run reads and writes separately"));
    let mut trial = clean_trial();
    let half = |bytes| SizeShare { bytes: Bytes(bytes), percent: 50 };
    trial.workload.bs = vec![half(4096), half(8192)];
    assert!(why(&trial).contains("mixes several; use a single --bs"));
}

#[test]
fn a_trace_is_told_from_other_files_by_its_first_line() {
    assert_eq!(check_trace_line(TRACE_HEADER), Ok(()));
    assert_eq!(check_trace_line(&trace_line(&clean_trial(), "x").unwrap()), Ok(()));
    // As written by SQLIO, with its other name for Y.
    let sqlio = "9.32,149.1,read,64,0,0,1,30,102400,30.01,120,900,10/2/1999 14:02,old-old\r\n";
    assert_eq!(check_trace_line(sqlio), Ok(()));
    for other in ["", "name,size", "{", &sqlio.replace("read", "copy"), &sqlio.replace("9.32", "x")]
    {
        let why = check_trace_line(other).unwrap_err().to_string();
        assert!(why.starts_with("it is not a SQLIO trace: in its first line"), "{why}");
    }
}

#[test]
fn the_csv_of_intervals_has_a_row_each_and_as_many_fields_as_names() {
    let trial = trial_with_intervals();
    let intervals = trial.result.intervals.clone().unwrap();
    let csv = intervals_csv(&trial);
    let mut lines = csv.lines();
    let head = lines.next().unwrap();
    assert_eq!(head, intervals_header());
    let names: Vec<&str> = head.split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), intervals.len());
    let column = |name: &str| names.iter().position(|other| *other == name).unwrap();
    for (row, interval) in rows.iter().zip(&intervals) {
        assert_eq!(row.len(), names.len());
        assert_eq!(row[column("trial_id")], trial.id);
        assert_eq!(row[column("begin_ns")].parse(), Ok(interval.begin_ns.0));
        assert_eq!(row[column("concurrency")].parse(), Ok(interval.concurrency));
        let read = interval.read.as_ref().unwrap();
        assert_eq!(row[column("read_ios")].parse(), Ok(read.ios));
        assert_eq!(row[column("read_bytes_per_s")].parse(), Ok(read.bytes_per_s));
        let p99 = read.latency_ns.as_ref().and_then(|times| times.p99);
        assert_eq!(row[column("read_latency_p99_ns")].parse().ok(), p99);
        let wrote = interval.write.as_ref().map(|write| write.ios);
        assert_eq!(row[column("write_ios")].parse().ok(), wrote);
    }
}

#[test]
fn a_path_with_a_comma_is_one_quoted_field() {
    let mut trial = trial_with_intervals();
    trial.targets[0].path = "/data/a,\"b\"".to_owned();
    let csv = intervals_csv(&trial);
    assert!(csv.lines().nth(1).unwrap().contains(",\"/data/a,\"\"b\"\"\","), "{csv}");
}

#[test]
fn a_run_without_intervals_has_only_the_names() {
    let mut trial = open_loop_trial();
    trial.result.intervals = None;
    trial.result.duration_ns = Nanos(1);
    assert_eq!(intervals_csv(&trial), intervals_header() + "\n");
}

const LINE: &str = "10.5,2688.00,read,4,8,H,1,60,2097152,60.000000,1000.0,2000.0,Nov 3,first";

#[test]
fn a_line_is_read_with_and_without_a_head_line_and_as_spreadsheets_save_it() {
    let bare = read_trace(LINE).unwrap();
    assert_eq!(bare.len(), 1);
    let line = &bare[0];
    assert_eq!((line.op, line.block_kib, line.outstanding), (OpKind::Read, 4.0, 8));
    assert_eq!((line.buffering, line.threads, line.clock_s), ('H', 1, 60.0));
    assert_eq!((line.time.as_str(), line.comment.as_str()), ("Nov 3", "first"));
    // 3 s for 161,280 requests.
    assert!((line.cpu_us_per_io().unwrap() - 18.601).abs() < 0.001);
    assert_eq!(read_trace(&format!("{TRACE_HEADER}\n{LINE}\n")).unwrap(), bare);
    let spaced = LINE.replace(',', " , ");
    assert_eq!(read_trace(&format!("\u{feff}{TRACE_HEADER}\r\n{spaced}\r\n\r\n")).unwrap(), bare);
    let papers = "MB/s, IO/s, Operation, BlockSize, OutstandingIOs, Buffering, NumThreads, Time, \
                  FileSize, Clock(s), User(ms), Kernel(ms), Time Stamp, Comment";
    assert_eq!(read_trace(&format!("{papers}\n{LINE}")).unwrap(), bare);
}

#[test]
fn the_papers_zero_is_the_letter_y_and_empty_fields_are_not_measured() {
    let line = LINE.replace(",H,", ",0,").replace("1000.0,2000.0", ",").replace("2097152", "");
    let line = &read_trace(&line).unwrap()[0];
    assert_eq!((line.buffering, line.cpu_us_per_io(), line.file_kib), ('Y', None, None));
}

#[test]
fn what_is_none_of_a_trace_is_named_with_its_line_and_field() {
    let error = |text: &str| read_trace(text).unwrap_err().to_string();
    assert!(error("a,b").contains("line 1") && error("a,b").contains("2 fields, not 14"));
    let second = format!("{LINE}\n{}", LINE.replace("read", "wipe"));
    assert!(error(&second).contains("line 2") && error(&second).contains("\"wipe\""));
    assert!(error(&LINE.replace("2688.00", "-1")).contains("field 2"));
    assert!(error(&LINE.replace(",H,", ",Q,")).contains("Buffering"));
    // A header line is valid only at the beginning.
    assert!(error(&format!("{LINE}\n{TRACE_HEADER}")).contains("line 2"));
}
