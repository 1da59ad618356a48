//! What the public functions beside `read` tell: times, forms, queries.

use import::{RangeQuery, detect, parse_moment, parse_utc_offset};

/// 2020-06-01 12:00:01 UTC.
const MOMENT: u64 = 1_591_012_801_000_000_000;

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
        ("", "empty"),
        ("{\"schema\": \"halfpower/trial/1\"}", "no observation"),
        ("hello", "known form"),
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
