//! Single values: times, names of devices and kernels, encodings; formats and queries.

use import::{Options, RangeQuery, detect, parse_moment, parse_utc_offset, read};
use record::{FindingCode, Observation};

/// 2020-06-01 12:00:01 UTC.
const MOMENT: u64 = 1_591_012_801_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

fn only(bytes: &[u8], options: &Options) -> Observation {
    let mut observations = read(&[bytes], None, options).unwrap();
    assert_eq!(observations.len(), 1);
    observations.remove(0)
}

#[test]
fn all_forms_of_one_moment_are_the_same() {
    for text in [
        "06/01/20 12:00:01",
        "06/01/2020 12:00:01 PM",
        "2020-06-01T12:00:01Z",
        "2020-06-01T14:00:01+0200",
        "2020-06-01T14:00:01+02:00",
        "2020-06-01 05:00:01 -07",
        "2020-06-01 12:00:01 UTC",
        "2020-06-01T12:00:01.000",
        "2020年06月01日 12時00分01秒",
        "1591012801",
        "1591012801.000",
        "1591012801000",
    ] {
        assert_eq!(parse_moment(text), Some(MOMENT), "{text}");
    }
    assert_eq!(parse_moment("06/01/20 12:00:01 AM"), Some(MOMENT - 43_200_000_000_000));
    assert_eq!(parse_moment("06/01/2020 12:00:01.250"), Some(MOMENT + 250_000_000));
}

#[test]
fn what_is_no_time_is_none() {
    for text in [
        "",
        "12",
        "99999999999999999999",
        "2020-06-01",
        "2020-13-01 00:00:00",
        "2020-02-30 00:00:00",
        "06/01/20 24:00:00",
        "06/01/20 12:61:00",
        "0/0/0 0:0:0",
        "3020-06-01 12:00:01",
    ] {
        assert_eq!(parse_moment(text), None, "{text}");
    }
}

#[test]
fn relatives_that_hold_too_little_are_known_by_name() {
    for (text, word) in [
        ("Linux 6.1 (h)\n\navg-cpu:  %user\n", "iostat -o JSON"),
        ("# hostname;interval;timestamp;CPU;%user\n", "sadf -d FILE"),
        ("# HELP go_info x\ngo_info 1\n", "diskstats collector"),
        ("05:00:01 PM     CPU     %user   %iowait     %idle\n", "sar -d 1 60"),
        ("00:00:00    %usr    %sys    %wio   %idle   physc\n", "without disks"),
        ("h\t46\t2018-08-29 09:34:34 UTC\tall\t%user\t0.50\n", "sadf -j FILE"),
        ("<?xml?>\n<sysstat\nx=\"\">\n<statistics>\n", "sadf -j FILE"),
        ("", "empty"),
        ("{\"schema\": \"halfpower/trial/1\"}", "not an observation"),
        ("hello", "unknown file format"),
    ] {
        let error = detect(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(word), "{text:?}: {error}");
    }
}

#[test]
fn long_ranges_are_asked_for_in_parts_and_names_are_quoted() {
    let query = RangeQuery {
        begin_s: 1_000,
        end_s: 1_000 + 15 * 1_500,
        step_s: 15,
        instance: Some("a\"b:9100".into()),
    };
    let targets = query.targets();
    assert_eq!(targets.len(), 1 + 2 * 3);
    assert!(targets[1].contains("start=1000&end=15985&step=15"), "{}", targets[1]);
    assert!(targets[4].contains("start=16000&end=23500&step=15"), "{}", targets[4]);
    assert!(targets[2].contains("instance%3D%22a%5C%22b%3A9100%22%7D"), "{}", targets[2]);
}

#[test]
fn offsets_are_seconds_ahead_of_utc() {
    let read = ["+02:00", "-0330", "Z"].map(parse_utc_offset);
    assert_eq!(read, [Some(7_200), Some(-12_600), Some(0)]);
    for bad in ["", "2", "CEST", "+99:00", "+"] {
        assert_eq!(parse_utc_offset(bad), None, "{bad}");
    }
}

/// The times of sadf lines with these stamps, and the assumptions about them.
fn times(stamps: &[&str], utc_offset_s: Option<i64>) -> (Vec<u64>, String) {
    let mut text = "# hostname;interval;timestamp;DEV;tps\n".to_owned();
    for (index, stamp) in stamps.iter().enumerate() {
        text.push_str(&format!("h;1;{stamp};dev-{index};1.00\n"));
    }
    let options = Options { utc_offset_s, ..Options::default() };
    let read = only(text.as_bytes(), &options);
    let assumed = read.findings.iter().find(|it| it.code == FindingCode::TimesAssumed);
    let ends = read.intervals.iter().map(|it| it.begin_ns + it.duration_ns).collect();
    (ends, assumed.map_or(String::new(), |it| it.claim.clone()))
}

#[test]
fn the_order_of_day_and_month_is_that_in_which_the_times_fit_together() {
    let (ends, assumed) = times(&["01/06/20 12:00:01", "13/06/20 12:00:01"], None);
    assert_eq!(ends[0], MOMENT);
    assert!(assumed.contains("zone") && !assumed.contains("month"), "{assumed}");
    // Day first over midnight: the other order would jump by a month.
    let (ends, _) = times(&["01/06/20 23:59:59", "02/06/20 00:00:01"], Some(0));
    assert_eq!(ends[1] - ends[0], 2 * SECOND_NS);
    assert_eq!(ends[0] / SECOND_NS, 1_591_055_999);
    let (ends, assumed) = times(&["06/01/20 12:00:01", "06/01/20 12:00:02"], Some(0));
    assert_eq!(ends[0], MOMENT);
    assert!(
        assumed.contains("month is assumed to come first") && !assumed.contains("zone"),
        "{assumed}"
    );
    let (_, assumed) = times(&["06/06/20 12:00:01"], Some(0));
    assert_eq!(assumed, "");
}

#[test]
fn a_given_offset_is_for_times_without_one() {
    let (ends, assumed) = times(&["06/01/20 14:00:01", "2020-06-01T12:00:01Z"], Some(7_200));
    assert_eq!(ends, [MOMENT; 2]);
    assert!(!assumed.contains("zone"), "{assumed}");
}

/// Two scrapes of devices of a machine with this kernel.
fn scraped(devices: &[&str], release: &str) -> Observation {
    let mut text = String::new();
    for second in 0..2 {
        text.push_str(&format!("# {}\n", MOMENT / SECOND_NS + second));
        text.push_str(&format!("node_uname_info{{release=\"{release}\"}} 1\n"));
        for device in devices {
            text.push_str(&format!(
                "node_disk_reads_completed_total{{device=\"{device}\"}} {second}\n"
            ));
        }
    }
    only(text.as_bytes(), &Options::default())
}

#[test]
fn partitions_are_known_by_their_names() {
    let whole_of = |name: &str| match name {
        "sda1" => Some("sda"),
        "nvme0n1p2" => Some("nvme0n1"),
        _ => None,
    };
    let names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "md0", "dm-0", "0 C:", "sdb1", "7"];
    let read = scraped(&names, "");
    assert_eq!(read.devices.len(), names.len());
    for device in &read.devices {
        assert_eq!(device.partition_of.as_deref(), whole_of(&device.name), "{}", device.name);
    }
    assert_eq!(scraped(&[""], "").devices[0].partition_of, None);
}

#[test]
fn the_busy_share_is_doubted_by_kernel() {
    for (release, doubted) in [
        ("6.1.0-13-amd64", true),
        ("5.15.0-91-generic", true),
        ("4.18.0-305.el8", true),
        ("4.15.0", false),
        ("6.12.3", false),
        ("10.0.19045", false),
        ("", false),
        ("abc", false),
    ] {
        let read = scraped(&["sda"], release);
        assert_eq!(read.devices[0].busy_doubt.is_some(), doubted, "{release}");
    }
}

#[test]
fn the_same_text_comes_out_of_every_encoding() {
    let original = "\"(PDH-CSV 4.0)\",\"\\\\H\\PhysicalDisk(Datenträger)\\Disk Reads/sec\"\n\
                    \"06/01/2020 12:00:01\",\" \"\n\"06/01/2020 12:00:02\",\"5.00\"\n";
    let units = || original.encode_utf16();
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    let latin: Vec<u8> = original.chars().map(|letter| letter as u8).collect();
    let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
    // The id is a hash of the bytes.
    let content = |bytes: &[u8]| {
        let read = only(bytes, &Options::default());
        Observation { id: String::new(), ..read }
    };
    let expected = content(original.as_bytes());
    assert_eq!(expected.devices[0].name, "Datenträger");
    for bytes in [
        marked(b"\xef\xbb\xbf", original.as_bytes()),
        marked(b"\xff\xfe", &little),
        marked(b"\xfe\xff", &big),
        little,
        big,
        latin,
    ] {
        assert_eq!(content(&bytes), expected, "{bytes:?}");
    }
    // Characters of the Windows code page where Latin-1 has control characters.
    let euro = original.replace("träger", "träger€");
    let euro: Vec<u8> = euro.chars().map(|it| if it == '€' { 0x80 } else { it as u8 }).collect();
    assert_eq!(content(&euro).devices[0].name, "Datenträger€");
    // A truncated character at the end of a file is dropped.
    let cut = [original.as_bytes(), &"ä".as_bytes()[..1]].concat();
    assert_eq!(content(&cut), expected);
    assert!(detect(b"").unwrap_err().to_string().contains("empty"));
}

#[test]
fn a_clock_that_goes_back_is_told() {
    let damaged = |seconds: &[u32]| {
        let mut text = "# hostname;interval;timestamp;DEV;tps\n".to_owned();
        for second in seconds {
            text.push_str(&format!("h;10;2020-06-01 12:00:{second:02} UTC;sda;1.00\n"));
        }
        let found = only(text.as_bytes(), &Options::default()).findings;
        found.into_iter().find(|finding| finding.code == FindingCode::SourceDamaged)
    };
    assert_eq!(damaged(&[10, 20, 30, 40]), None);
    let told = damaged(&[10, 40, 20, 30]).unwrap();
    assert_eq!(
        (told.evidence[0].what.as_str(), told.evidence[0].value),
        ("timestamps out of order", 1.0,)
    );
}

/// An iostat document with these latencies as they are printed.
fn iostat_json(latencies: &[&str]) -> Observation {
    let report = |(at, latency): (usize, &&str)| {
        format!(
            "{{\"timestamp\": \"2020-06-01T12:00:{at:02}Z\", \"disk\": [{{\"disk_device\": \"sda\", \
             \"r/s\": 900.25, \"w/s\": 0.00, \"rkB/s\": 3600.00, \"wkB/s\": 0.00, \"r_await\": {latency}, \
             \"w_await\": 0.00, \"util\": 45.00}}]}}"
        )
    };
    let reports: Vec<String> = latencies.iter().enumerate().map(report).collect();
    let text = format!(
        "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"db\", \"statistics\": [{}]}}]}}}}",
        reports.join(", ")
    );
    let interval_ns = Some(SECOND_NS);
    only(text.as_bytes(), &Options { interval_ns, ..Options::default() })
}

#[test]
fn zeros_that_a_copy_of_json_dropped_do_not_make_a_figure_coarse() {
    let steps = |latencies: &[&str]| -> Vec<f64> {
        let intervals = iostat_json(latencies).intervals;
        intervals.iter().filter_map(|one| Some(one.read.latency_ns?.resolution)).collect()
    };
    let dropped = steps(&["0.5", "0.52", "1", "0.6"]);
    assert!(dropped.len() >= 3 && dropped.iter().all(|step| *step == 1e4), "{dropped:?}");
    // A tool that prints one decimal everywhere is as coarse as that.
    let coarse = steps(&["0.5", "0.6", "1.0", "0.6"]);
    assert!(coarse.iter().all(|step| *step == 1e5), "{coarse:?}");
}
