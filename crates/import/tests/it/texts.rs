//! Logs that users paste: tables, pairs, XML and dumps give the same as the JSON of the same minutes.

use crate::forms::sample;
use import::{Format, Options, detect, read};
use record::{Finding, FindingCode, Interval, Observation};
use std::fmt::Write;

pub(crate) fn of(bytes: &[u8], format: Format, options: &Options) -> Observation {
    assert_eq!(detect(bytes), Ok(format));
    let mut all = read(&[bytes], None, options).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

pub(crate) fn plain(name: &str, format: Format) -> Observation {
    of(&sample(name), format, &Options::default())
}

fn disk<'a>(observation: &'a Observation, device: &str) -> Vec<&'a Interval> {
    observation.intervals.iter().filter(|it| it.device == device).collect()
}

fn found(observation: &Observation, code: FindingCode) -> Option<&Finding> {
    observation.findings.iter().find(|finding| finding.code == code)
}

/// The JSON that iostat prints for these tables: the same columns, without per cent signs.
fn as_json(text: &str) -> String {
    let mut json = "{\"sysstat\": {\"hosts\": [{\"nodename\": \"host\", \"date\": \"11/27/26\", \
                    \"statistics\": [\n"
        .to_owned();
    let (mut header, mut stamp): (Vec<&str>, String) = (Vec::new(), String::new());
    let mut between = "";
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("11/27/26 ") || line.starts_with("2026-") {
            stamp = line.to_owned();
        } else if words.first() == Some(&"Device") {
            header = words;
            let end = if between.is_empty() { "" } else { "]}," };
            let _ = write!(json, "{end}{{\"timestamp\": \"{stamp}\", \"disk\": [");
            between = "";
        } else if words.len() == header.len() && !header.is_empty() {
            let figures = header.iter().zip(&words).skip(1);
            let figures: Vec<String> = figures
                .map(|(key, value)| format!("\"{}\": {value}", key.trim_matches('%')))
                .collect();
            let _ = write!(
                json,
                "{between}{{\"disk_device\": \"{}\", {}}}",
                words[0],
                figures.join(", ")
            );
            between = ",";
        }
    }
    json + "]}]}]}}\n"
}

#[test]
fn the_tables_of_iostat_say_what_its_json_says_to_the_last_digit() {
    for name in
        ["iostat-x-12.txt", "iostat-xt-p-12.txt", "iostat-dxkt-iso-12.txt", "iostat-d-12.txt"]
    {
        let text = String::from_utf8(sample(name)).unwrap();
        let tables = plain(name, Format::IostatText);
        let json = of(as_json(&text).as_bytes(), Format::Iostat, &Options::default());
        assert!(tables.intervals.len() >= 14, "{name}: {}", tables.intervals.len());
        assert_eq!(tables.intervals, json.intervals, "{name}");
        assert_eq!(tables.host, json.host);
    }
}

#[test]
fn human_readable_tables_are_put_together_by_disk() {
    let human = plain("iostat-hx-12.txt", Format::IostatText);
    let exact = plain("iostat-x-12.txt", Format::IostatText);
    assert_eq!((human.intervals.len(), disk(&human, "vda").len()), (14, 2));
    let last = |of: &Observation| disk(of, "vda").last().copied().cloned().unwrap();
    let (human, exact) = (last(&human), last(&exact));
    // The same minutes, recorded in parallel: rates differ by a few requests.
    let near = |one: Option<record::Figure>, other: Option<record::Figure>| {
        let (one, other) = (one.unwrap().value, other.unwrap().value);
        assert!((one - other).abs() <= 0.2 * other.max(1.0), "{one} {other}");
    };
    near(human.read.per_s, exact.read.per_s);
    near(human.read.bytes_per_s, exact.read.bytes_per_s);
    near(human.write.request_bytes, exact.write.request_bytes);
    near(human.busy_share, exact.busy_share);
    assert!(human.concurrency.is_some() && human.flushes_per_s.is_some());
}

#[test]
fn decimal_commas_and_old_columns_are_the_same_figures() {
    let points = plain("iostat-x-10.txt", Format::IostatText);
    let commas = plain("iostat-x-10-comma.txt", Format::IostatText);
    assert_eq!(points.intervals, commas.intervals);
    assert_eq!(points.kernel.as_deref(), Some("3.10.0-1160.el7.x86_64"));
    let busy = disk(&points, "sdb");
    assert_eq!(busy.len(), 2);
    assert_eq!(busy[0].read.per_s.unwrap().value, 310.0);
    assert_eq!(busy[0].read.latency_ns.unwrap().value, 96.1e6);
    assert_eq!(busy[0].concurrency.unwrap().value, 38.2);
    assert_eq!(busy[0].busy_share.unwrap().value, 1.0);
    assert_eq!(busy[0].write.bytes_per_s.unwrap().value, 2.38 * 1_048_576.0);
    let kilobytes = plain("iostat-x-11.txt", Format::IostatText);
    assert_eq!(disk(&kilobytes, "sdb")[0].read.bytes_per_s.unwrap().value, 4_956.16 * 1_024.0);
    assert_eq!(disk(&kilobytes, "sdb")[1].all.latency_ns, disk(&points, "sdb")[1].all.latency_ns);
}

#[test]
fn one_latency_for_both_directions_is_kept_where_versions_before_10_have_no_other() {
    let text = "Device:         rrqm/s   wrqm/s   r/s   w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n\
                sda               0.00     1.00  2.00  6.00    32.00    56.00    11.00     0.08   10.25   1.00   0.80\n";
    let read = of(text.as_bytes(), Format::IostatText, &Options::default());
    let interval = &read.intervals[0];
    assert_eq!(interval.all.latency_ns.unwrap().value, 10.25e6);
    assert_eq!((interval.read.latency_ns, interval.write.latency_ns), (None, None));
    assert_eq!(interval.write.bytes_per_s.unwrap().value, 56.0 * 512.0);
}

#[test]
fn tables_without_times_of_day_do_not_begin_at_midnight() {
    let read = plain("iostat-x-12.txt", Format::IostatText);
    assert!(read.intervals[0].begin_ns < 60_000_000_000, "{:?}", read.intervals[0]);
    let claim = &found(&read, FindingCode::TimesAssumed).unwrap().claim;
    assert!(claim.contains("counted from the start of the recording"), "{claim}");
    assert!(!claim.contains("UTC"), "{claim}");
}

#[test]
fn the_length_of_intervals_comes_from_the_user_the_command_or_the_rates() {
    let table = |rows: &[&str]| {
        let header = "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util";
        let row = |rates: &&str| {
            format!(
                "{header}\nsda  {rates} 40.00 40.00 0.00 0.00 0.00 0.00 1.00 1.00 0.05 4.00 4.00 0.10 1.00\n\n"
            )
        };
        rows.iter().map(row).collect::<String>()
    };
    let lengths = |text: &str, interval_ns: Option<u64>| {
        let options = Options { interval_ns, ..Options::default() };
        let read = of(text.as_bytes(), Format::IostatText, &options);
        let finding = found(&read, FindingCode::TimesAssumed).map_or("", |it| &it.claim).to_owned();
        (read.intervals.last().unwrap().duration_ns / 1_000_000_000, finding)
    };
    let fives = table(&["13.37 7.71", "10.20 4.60", "3.80 5.40", "2.20 9.40"]);
    let (length, why) = lengths(&fives, None);
    assert_eq!(length, 5);
    assert!(why.contains("whole numbers of requests"), "{why}");
    assert_eq!(lengths(&fives, Some(10_000_000_000)).0, 10);
    let (length, why) = lengths(&format!("$ iostat -x sda 30 4\n{fives}"), None);
    assert_eq!(length, 30);
    assert!(why.contains("command in the text"), "{why}");
    let (length, why) = lengths(&table(&["13.37 7.71", "0.00 0.00", "0.00 0.00"]), None);
    assert_eq!(length, 1);
    assert!(why.contains("unknown and assumed to be 1 s"), "{why}");
}

#[test]
fn a_single_report_since_boot_is_read_as_the_averages_that_it_holds() {
    let text = String::from_utf8(sample("iostat-x-12.txt")).unwrap();
    let second = text.match_indices("avg-cpu").nth(1).unwrap().0;
    let read = of(&text.as_bytes()[..second], Format::IostatText, &Options::default());
    assert_eq!(disk(&read, "vda").len(), 1);
    assert!(found(&read, FindingCode::SinceBoot).is_some(), "{:?}", read.findings);
    // Without the host line, it may be a later report.
    let table = &text[text.find("avg-cpu").unwrap()..second];
    let read = of(table.as_bytes(), Format::IostatText, &Options::default());
    let left_out = found(&read, FindingCode::IntervalsLeftOut).unwrap();
    assert!(left_out.claim.contains("may be an average since boot"), "{left_out:?}");
}

#[test]
fn quoted_coloured_and_filtered_tables_are_read() {
    let text = String::from_utf8(sample("iostat-x-12.txt")).unwrap();
    let whole = of(text.as_bytes(), Format::IostatText, &Options::default());
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    let coloured = text.replace("vda", "\u{1b}[32;22mvda\u{1b}[0m");
    for changed in [quoted, coloured] {
        let read = of(changed.as_bytes(), Format::IostatText, &Options::default());
        assert_eq!(read.intervals, whole.intervals);
    }
    let mut header = false;
    let lines = text.lines().filter(|line| {
        let first = line.starts_with("Device") && !std::mem::replace(&mut header, true);
        first || line.starts_with("vda")
    });
    let filtered: String = lines.map(|line| format!("{line}\n")).collect();
    let read = of(filtered.as_bytes(), Format::IostatText, &Options::default());
    let figures = |of: &Observation| -> Vec<_> {
        disk(of, "vda").into_iter().map(|it| (it.read, it.write, it.concurrency)).collect()
    };
    assert_eq!(figures(&read), figures(&whole));
}

#[test]
fn sar_and_the_other_forms_of_sadf_say_what_they_hold() {
    let xml = plain("sadf.xml", Format::SadfXml);
    let pairs = plain("sadf-p.txt", Format::SadfPairs);
    let table = plain("sar-d-12.txt", Format::Sar);
    assert_eq!(xml.intervals.len(), 28);
    assert_eq!(xml.intervals, pairs.intervals);
    assert_eq!(table.intervals.len(), 28);
    assert_eq!(
        (xml.host.as_deref(), xml.kernel.as_deref()),
        (Some("host"), Some("6.18.44-fc-v669"))
    );
    assert_eq!(disk(&table, "vda")[0].all.per_s.unwrap().value, 17_645.0);
    assert_eq!(found(&xml, FindingCode::TimesAssumed), None);
    assert!(found(&table, FindingCode::TimesAssumed).unwrap().claim.contains("UTC"));
}

#[test]
fn sar_goes_on_past_midnight_and_knows_the_first_length_from_the_header() {
    let text = "Linux 6.1.0 (oak) \t2026-11-27 \t_x86_64_\t(2 CPU)\n\n\
        11:59:50 PM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n\
        12:00:00 AM       sda     10.00     40.00      0.00      4.00      0.10     10.00      1.00\n\
        12:00:10 AM       sda     20.00     80.00      0.00      4.00      0.20     10.00      2.00\n\
        Average:          sda     15.00     60.00      0.00      4.00      0.15     10.00      1.50\n";
    let read = of(text.as_bytes(), Format::Sar, &Options::default());
    let begins: Vec<u64> = read.intervals.iter().map(|it| it.begin_ns / 1_000_000_000).collect();
    assert_eq!(begins, [1_795_823_990, 1_795_824_000]);
    let one = text.replace("12:00:10 AM", "Average:").replace("11:59:50", "11:59:15");
    let read = of(one.as_bytes(), Format::Sar, &Options::default());
    assert_eq!(read.intervals[0].duration_ns, 45_000_000_000);
}

#[test]
fn dumps_of_diskstats_are_read_exactly() {
    let read = plain("diskstats-snapshots.txt", Format::Diskstats);
    let intervals = disk(&read, "vda");
    let first = intervals[0];
    assert_eq!(first.begin_ns, 1_795_798_589_966_763_982);
    assert_eq!(first.duration_ns, 1_006_139_914);
    let seconds = 1.006_139_914;
    let reads = (22_937_795 - 22_928_873) as f64;
    let close = |figure: Option<record::Figure>, value: f64| {
        let figure = figure.unwrap();
        assert!((figure.value - value).abs() <= 1e-9 * value, "{figure:?} {value}");
    };
    close(first.read.per_s, reads / seconds);
    close(first.read.bytes_per_s, (746_658_026 - 746_515_106) as f64 * 512.0 / seconds);
    close(first.read.latency_ns, (16_396_303 - 16_394_319) as f64 * 1e6 / reads);
    close(first.busy_share, 0.896 / seconds);
    assert_eq!(first.in_flight.unwrap().value, 4.0);
    assert_eq!(first.flushes_per_s.unwrap().value, 0.0);
}

#[test]
fn dumps_take_their_time_from_date_or_from_the_names_of_their_files() {
    let text = String::from_utf8(sample("diskstats-snapshots.txt")).unwrap();
    let dumps: Vec<&str> =
        text.split("TS ").skip(1).map(|it| it.split_once('\n').unwrap().1).collect();
    let dated = format!(
        "Fri Nov 27 16:56:29 UTC 2026\n{}Fri Nov 27 16:56:31 UTC 2026\n{}",
        dumps[0], dumps[1]
    );
    let read = of(dated.as_bytes(), Format::Diskstats, &Options::default());
    assert_eq!(disk(&read, "vda")[0].duration_ns, 2_000_000_000);
    let named = |name: &str, dump: &str| (name.to_owned(), dump.as_bytes().to_vec());
    let files = [
        named("2026_11_27_16_56_29-diskstats", dumps[0]),
        named("2026_11_27_16_56_31-diskstats", dumps[1]),
    ];
    let named = import::read_files(&files, None, &Options::default()).unwrap();
    assert_eq!(named[0].intervals, read.intervals);
    let error = import::read(&[dumps[0].as_bytes()], None, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("no dump has a time"), "{error}");
}

#[test]
fn counters_that_wrap_at_32_bits_go_on_and_a_restart_is_left_out() {
    let dump = |second: u64, reads: u64, ms: u64, weighted: u64| {
        format!(
            "TS {}\n   8       0 sda {reads} 0 {} {ms} 50 0 400 20 0 900 {weighted}\n",
            1_795_798_589 + second,
            8 * reads
        )
    };
    let text = dump(0, 1_000, 4_294_967_000, 4_294_960_000)
        + &dump(1, 1_100, 204, 500)
        + &dump(2, 3, 9, 9)
        + &dump(3, 13, 59, 59);
    let read = of(text.as_bytes(), Format::Diskstats, &Options::default());
    assert_eq!(read.intervals.len(), 2);
    let first = &read.intervals[0];
    assert_eq!(first.read.per_s.unwrap().value, 100.0);
    assert!((first.read.latency_ns.unwrap().value - 5e6).abs() < 1.0, "{first:?}");
    assert!((first.concurrency.unwrap().value - 7.796).abs() < 1e-6, "{first:?}");
    assert!(found(&read, FindingCode::CountersReset).is_some());
}

#[test]
fn the_form_is_recognised_behind_any_length_of_other_text() {
    let text = String::from_utf8(sample("node-exporter.prom")).unwrap();
    let processors: String = (0..3_000).map(|it| format!("go_cpu{{cpu=\"{it}\"}} 1\n")).collect();
    assert!(processors.len() > 40_000);
    let far = processors.repeat(2) + &text;
    assert_eq!(detect(far.as_bytes()), Ok(Format::NodeExporter));
    let log = "notes of the night\n".repeat(5_000)
        + &String::from_utf8(sample("iostat-x-12.txt")).unwrap();
    assert_eq!(detect(log.as_bytes()), Ok(Format::IostatText));
}

#[test]
fn a_count_in_flight_that_is_stuck_is_left_out_and_one_that_may_hang_stays() {
    let dumps = |reads_per_s: u64| -> String {
        let dump = |second: u64| {
            let (reads, ms) = (1_000 + reads_per_s * second, 500 + reads_per_s * second);
            format!(
                "TS {}\n   8       0 sda {reads} 0 {} {ms} 50 0 400 20 98 {ms} {ms}\n",
                1_795_798_589 + second,
                8 * reads
            )
        };
        (0..5).map(dump).collect()
    };
    let stuck = of(dumps(10).as_bytes(), Format::Diskstats, &Options::default());
    assert!(stuck.intervals.iter().all(|it| it.in_flight.is_none()));
    let finding = found(&stuck, FindingCode::ImpossibleFigures).unwrap();
    assert!(finding.claim.contains("sda is stuck") && finding.claim.contains("98"), "{finding:?}");
    let hanging = of(dumps(0).as_bytes(), Format::Diskstats, &Options::default());
    assert!(hanging.intervals.iter().all(|it| it.in_flight.unwrap().value == 98.0));
}

#[test]
fn sums_over_all_disks_of_windows_are_read_where_they_are_all_there_is() {
    let text = String::from_utf8(sample("typeperf.csv")).unwrap().replace("(0 C:)", "(_Total)");
    let read = of(text.as_bytes(), Format::Perfmon, &Options::default());
    assert_eq!(disk(&read, "_Total").len(), 3);
    let finding = found(&read, FindingCode::FiguresMixed).unwrap();
    assert!(finding.claim.contains("only _Total"), "{finding:?}");
}
