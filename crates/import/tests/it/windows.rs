//! Counter logs of Windows that lack counters, that a spreadsheet saved again, or that hold several machines.

use import::{ImportError, Options, read};
use record::{Finding, FindingCode, Interval, Observation};

const LATENCIES: [&str; 2] = ["Avg. Disk sec/Read", "Avg. Disk sec/Write"];
const RATES: [&str; 2] = ["Disk Reads/sec", "Disk Writes/sec"];
const BYTES: [&str; 2] = ["Disk Read Bytes/sec", "Disk Write Bytes/sec"];
const QUEUE: &str = "Avg. Disk Queue Length";
/// A moment after all recordings: 2026-11-29.
const NOW_NS: u64 = 1_795_910_400_000_000_000;

fn value(counter: &str) -> &'static str {
    match counter {
        "Disk Reads/sec" | "Lesevorgänge/s" => "300.000000",
        "Disk Writes/sec" | "Schreibvorgänge/s" => "100.000000",
        "Disk Read Bytes/sec" => "1228800.000000",
        "Disk Write Bytes/sec" => "409600.000000",
        "Avg. Disk sec/Read" | "Mittlere Sek./Lesevorgänge" => "0.004000",
        "Avg. Disk sec/Write" | "Mittlere Sek./Schreibvorgänge" => "0.008000",
        "Avg. Disk Queue Length" => "2.000000",
        other => panic!("{other}"),
    }
}

/// A log as typeperf writes it, of an object on a machine, with a row for each time.
fn log_of(path: &str, counters: &[&str], times: &[&str]) -> String {
    let quoted = |fields: Vec<String>| format!("\"{}\"\r\n", fields.join("\",\""));
    let row = |first: &str, field: &dyn Fn(&str) -> String| {
        let fields = counters.iter().map(|counter| field(counter));
        quoted(std::iter::once(first.to_owned()).chain(fields).collect())
    };
    let rows = times.iter().map(|time| row(time, &|counter| value(counter).to_owned()));
    row("(PDH-CSV 4.0)", &|counter| format!("\\\\{path}\\{counter}")) + &rows.collect::<String>()
}

const TIMES: [&str; 3] =
    ["10/25/2026 22:00:00.123", "10/25/2026 22:00:01.130", "10/25/2026 22:00:02.125"];

fn log(counters: &[&str]) -> String {
    log_of("SQL01\\PhysicalDisk(1 D:)", counters, &TIMES)
}

fn imported(text: &str) -> Observation {
    let options = Options { now_ns: Some(NOW_NS), ..Options::default() };
    read(&[text.as_bytes()], None, &options).unwrap().remove(0)
}

fn refused(text: &str) -> String {
    read(&[text.as_bytes()], None, &Options::default()).unwrap_err().to_string()
}

fn claims(observation: &Observation, code: FindingCode) -> String {
    let of_code = observation.findings.iter().filter(|finding| finding.code == code);
    of_code.map(|Finding { claim, remedy, .. }| format!("{claim} ({remedy})\n")).collect()
}

#[test]
fn a_log_without_byte_counters_names_the_counters_to_add() {
    let found = claims(&imported(&log(&[LATENCIES, RATES].concat())), FindingCode::FiguresMissing);
    assert!(found.contains("`Disk Read Bytes/sec` and `Disk Write Bytes/sec`"), "{found}");
    assert!(found.contains("verdicts slow and overloaded"), "{found}");
    assert!(found.contains("add these counters and record again"), "{found}");
    let complete = imported(&log(&[&LATENCIES[..], &RATES, &BYTES].concat()));
    assert!(!claims(&complete, FindingCode::FiguresMissing).contains("Bytes"));
    let german = ["Mittlere Sek./Lesevorgänge", "Mittlere Sek./Schreibvorgänge"];
    let german = [german, ["Lesevorgänge/s", "Schreibvorgänge/s"]].concat();
    let german = log_of("SQL01\\Physikalischer Datenträger(1 D:)", &german, &TIMES);
    let found = claims(&imported(&german), FindingCode::FiguresMissing);
    assert!(found.contains("`Bytes gelesen/s` and `Bytes geschrieben/s`"), "{found}");
}

#[test]
fn latencies_come_from_the_queue_length_if_the_log_has_no_others() {
    let read = imported(&log(&[&RATES[..], &BYTES, &[QUEUE]].concat()));
    let found = claims(&read, FindingCode::FiguresMissing);
    assert!(found.contains("divided by the rate of requests (Little's law)"), "{found}");
    assert!(found.contains("not available: whether reads or writes are slow"), "{found}");
    assert!(!found.contains("verdicts slow and overloaded"), "{found}");
    assert_eq!(read.intervals[0].concurrency.unwrap().value, 2.0);
    let read = imported(&log(&[RATES, BYTES].concat()));
    let found = claims(&read, FindingCode::FiguresMissing);
    assert!(found.contains("`Avg. Disk sec/Read` and `Avg. Disk sec/Write`"), "{found}");
    assert!(found.contains("verdicts slow and overloaded"), "{found}");
}

/// The first begin in seconds since 2026-01-01, and the finding on times.
fn first_day(times: &[&str]) -> (u64, String) {
    let read = imported(&log_of("H\\PhysicalDisk(0 C:)", &[LATENCIES, RATES].concat(), times));
    let days = (read.intervals[0].begin_ns / 1_000_000_000 - 1_767_225_600) / 86_400;
    (days, claims(&read, FindingCode::TimesAssumed))
}

#[test]
fn the_order_of_day_and_month_comes_from_evidence_or_is_named() {
    const MAY_12: u64 = 131;
    const MAY_6: u64 = 125;
    // As Windows writes it in every language.
    let (days, found) = first_day(&["05/12/2026 22:00:00.123", "05/12/2026 22:00:01.123"]);
    assert_eq!(days, MAY_12);
    assert!(!found.contains("day and month"), "{found}");
    // Dates with dots begin with the day.
    let (days, found) = first_day(&["12.05.2026 22:00:00", "12.05.2026 22:00:01"]);
    assert_eq!(days, MAY_12);
    assert!(!found.contains("day and month"), "{found}");
    // A later row has a day above 12.
    let (days, found) = first_day(&["12/05/2026 23:59:59", "13/05/2026 00:00:00"]);
    assert_eq!(days, MAY_12);
    assert!(!found.contains("day and month"), "{found}");
    // The other order is in the future.
    let (days, found) = first_day(&["12/05/2026 22:00:00", "12/05/2026 22:00:01"]);
    assert_eq!(days, MAY_12);
    assert!(found.contains("the day is assumed to come first, because"), "{found}");
    // No evidence.
    let (days, found) = first_day(&["05/06/2026 22:00:00", "05/06/2026 22:00:01"]);
    assert_eq!(days, MAY_6);
    assert!(found.contains("the month is assumed to come first"), "{found}");
}

#[test]
fn the_time_of_an_import_does_not_change_the_id_of_a_recording() {
    let text = log(&[LATENCIES, RATES].concat());
    let later = read(&[text.as_bytes()], None, &Options::default()).unwrap().remove(0);
    assert_eq!(imported(&text).id, later.id);
}

#[test]
fn an_instance_selects_one_machine_of_a_log_or_is_refused() {
    let [one, other] = ["SQL01", "SQL02"]
        .map(|host| log_of(&format!("{host}\\PhysicalDisk(0 C:)"), &RATES, &TIMES));
    let joined = one.lines().zip(other.lines());
    let both: String = joined
        .map(|(one, other)| format!("{one},{}\r\n", other.split_once(',').unwrap().1))
        .collect();
    let of = |instance: Option<&str>| {
        let options = Options { instance: instance.map(str::to_owned), ..Options::default() };
        let read = read(&[both.as_bytes()], None, &options)?;
        Ok(read.into_iter().map(|one| one.host.unwrap()).collect::<Vec<_>>())
    };
    assert_eq!(of(None), Ok(vec!["SQL01".to_owned(), "SQL02".to_owned()]));
    assert_eq!(of(Some("sql02")), Ok(vec!["SQL02".to_owned()]));
    let error: ImportError = of(Some("SQL03")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it contains SQL01, SQL02, but no machine SQL03; use --instance with a name that it contains"
    );
}

#[test]
fn a_file_that_a_spreadsheet_saved_is_read_where_that_is_safe() {
    let original = log(&[&LATENCIES[..], &RATES, &BYTES].concat());
    let whole = imported(&original);
    let figures = |of: &Observation| -> Vec<_> {
        let figures = |it: &Interval| (it.begin_ns, it.read, it.write);
        of.intervals.iter().map(figures).collect()
    };
    let commas = |line: &str| line.replace("\",\"", ";").replace('"', "").replace('.', ",");
    let requoted =
        |line: &str| format!("\"{}\"", line[1..].replacen('"', "", 1).replace('"', "\"\""));
    let saved: [(&str, String); 3] = [
        ("without quotes", original.replace('"', "")),
        (
            "with semicolons and decimal commas",
            original.lines().map(|it| commas(it) + "\r\n").collect(),
        ),
        ("as one column", original.lines().map(|it| requoted(it) + "\r\n").collect()),
    ];
    for (what, text) in saved {
        let read = imported(&text);
        assert_eq!(figures(&read), figures(&whole), "{what}");
        assert_eq!(claims(&read, FindingCode::SourceDamaged), "", "{what}");
    }
}

#[test]
fn what_a_spreadsheet_destroyed_is_named_with_the_remedy() {
    let original = log(&[LATENCIES, RATES].concat());
    let (header, rows) = original.split_once("\r\n").unwrap();
    // Decimal commas between commas.
    let shifted = format!("{header}\r\n{}", rows.replace('"', "").replace('.', ","));
    let text = refused(&shifted);
    assert!(text.contains("decimal commas") && text.contains("spreadsheet"), "{text}");
    // The same with quotes only where a date contains a comma.
    let row = |row: &str| match row.replace('"', "").replace('.', ",").split_once(",") {
        Some((date, rest)) => format!("\"{date},{}\"{}\r\n", &rest[..3], &rest[3..]),
        None => String::new(),
    };
    let shifted: String = rows.lines().map(row).collect();
    let text = refused(&format!("{header}\r\n{shifted}"));
    assert!(text.contains("decimal commas"), "{text}");
    // Minutes and seconds only.
    let minutes = rows.replace("10/25/2026 22:", "").replace('"', "");
    let text = refused(&format!("{header}\r\n{minutes}"));
    assert!(
        text.contains("a date and a time with seconds") && text.contains("spreadsheet"),
        "{text}"
    );
}

#[test]
fn other_languages_and_other_tools_are_refused_with_the_right_command() {
    let text = refused(&log_of("H\\Физический диск(0 C:)", &RATES, &TIMES));
    for command in [
        "typeperf \"\\PhysicalDisk(*)\\*\" \"\\LogicalDisk(*)\\*\"",
        "typeperf \"\\Physikalischer Datenträger(*)\\*\" \"\\Logischer Datenträger(*)\\*\"",
        "typeperf \"\\Disque physique(*)\\*\" \"\\Disque logique(*)\\*\"",
    ] {
        assert!(text.contains(command), "{text}");
    }
    for objects in [
        "\"Timestamp\",\"Readings\",\"CounterSamples\"\r\n\"5/12/2026 10:00:00 PM\",\"\",\
         \"Microsoft.PowerShell.Commands.PerformanceCounterSample[]\"\r\n",
        "\"Path\",\"InstanceName\",\"CookedValue\",\"Timestamp\"\r\n\"\\\\h\\physicaldisk(0 c:)\\x\"\r\n",
    ] {
        let text = refused(objects);
        assert!(text.contains("Export-Counter -Path FILE.csv -FileFormat CSV"), "{text}");
    }
    assert!(refused("hello").contains("collectd"));
}
