//! Parsing and printing of numbers.

use halfpower_record::{
    Bytes, NO_NUMBER, Nanos, UnitError, counted, format_bytes, format_change, format_count,
    format_digits, format_ends, format_interval, format_iops, format_moment, format_nanos,
    format_rate, format_share, shell_word, with_half_width,
};

#[test]
fn bare_letters_are_binary_and_full_units_say_their_base() {
    let bytes = |text: &str| text.parse::<Bytes>().map(|b| b.0);
    assert_eq!(bytes("4k"), Ok(4096));
    assert_eq!(bytes("4kB"), Ok(4000));
    assert_eq!(bytes("4KiB"), Ok(4096));
    assert_eq!(bytes("1.5g"), Ok(3 << 29));
    assert_eq!(bytes("512"), Ok(512));
    assert!(matches!(bytes("k"), Err(UnitError::NoNumber(..))));
    assert!(matches!(bytes("4q"), Err(UnitError::Suffix { .. })));
    assert!(matches!(bytes("0.3"), Err(UnitError::Range(..))));
    assert!(matches!(bytes("99999999999t"), Err(UnitError::Range(..))));
    assert!(matches!(bytes("-4k"), Err(UnitError::NoNumber(..))));
}

#[test]
fn a_bare_duration_is_in_seconds() {
    assert_eq!("10".parse(), Ok(Nanos(10_000_000_000)));
    assert_eq!("500ms".parse(), Ok(Nanos(500_000_000)));
    assert_eq!("1.5s".parse(), Ok(Nanos(1_500_000_000)));
    assert!("5 parsecs".parse::<Nanos>().is_err());
}

#[test]
fn printing_keeps_three_digits_and_never_says_1000_of_a_unit() {
    assert_eq!(format_nanos(33_240.0), "33.2 µs");
    assert_eq!(format_nanos(999_600.0), "1.00 ms");
    assert_eq!(format_bytes(65_536), "64 KiB");
    assert_eq!(format_bytes(1_000), "1000 B");
    assert_eq!(format_rate(1_234_000_000.0), "1.23 GB/s");
    assert_eq!(format_count(31_100.0), "31.1k");
    assert_eq!(format_count(0.0), "0");
    assert_eq!([1e-4, 4.9e-4, 3e-5].map(format_digits), ["0.0001", "0.0005", "0.00003"]);
    assert_eq!(format_ends(1e9, 1.001e9, format_nanos), "about 1.00 s");
    assert_eq!(format_ends(1e9, 2e9, format_nanos), "1.00 s to 2.00 s");
    assert_eq!([198e3, 30.0].map(format_iops), ["198k IOPS", "30 IOPS"]);
    assert_eq!([0.0, 1.0, 2.0].map(|count| counted(count, "row")), ["0 rows", "1 row", "2 rows"]);
    let shares = [0.98, 0.123, 0.0123, 0.1, 0.0, -0.0001, 1.0].map(format_share);
    assert_eq!(shares, ["98 %", "12 %", "1.2 %", "10 %", "0 %", "0 %", "100 %"]);
    let changes = [0.9, 1.004, 0.99999, 1.12, 2.999, 4.2].map(format_change);
    assert_eq!(changes, ["-10 %", "+0.4 %", "0 %", "+12 %", "+200 %", "x 4.20"]);
}

#[test]
fn a_value_without_meaning_takes_few_columns() {
    for value in [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, f64::MIN, 9e14, 1e-300] {
        for format in [format_nanos, format_rate, format_iops, format_digits] {
            assert!(format(value).chars().count() <= 12, "{value}: {}", format(value));
        }
        assert!(format_share(value).chars().count() <= 8, "{value}: {}", format_share(value));
        assert!(format_interval(value).chars().count() <= 7);
    }
    assert_eq!(format_nanos(f64::NAN), NO_NUMBER);
}

#[test]
fn a_small_interval_is_not_shown_as_none_and_an_unknown_one_not_as_small() {
    assert_eq!(format_interval(0.0011), "±0.2 %");
    assert_eq!(format_interval(0.021), "±2 %");
    assert_eq!(format_interval(f64::INFINITY), "±?");
    // From a third of the value to three times it: (3 - 1/3) / 2.
    assert_eq!([1.0, 1.3334, 9.9, 2e3].map(format_interval), ["±100 %", "×/÷3.0", "×/÷20", "±?"]);
    assert_eq!(with_half_width("1".to_owned(), Some(0.12)), "1 ±12 %");
    assert_eq!(with_half_width("1".to_owned(), Some(f64::NAN)), "1");
    assert_eq!(with_half_width("1".to_owned(), None), "1");
}

#[test]
fn a_document_time_is_shown_to_the_minute_and_foreign_text_as_it_is() {
    assert_eq!(format_moment("2026-03-01T14:05:59.1Z"), "2026-03-01 14:05 UTC");
    assert_eq!(format_moment("yesterday"), "yesterday");
    assert_eq!(format_moment("ééééééééééé"), "ééééééééééé");
}

#[test]
fn a_name_with_spaces_is_told_as_a_shell_takes_it() {
    assert_eq!(shell_word("naa.5000c500a1b2"), "naa.5000c500a1b2");
    assert_eq!(shell_word("t10.ATA  ACME 1"), "'t10.ATA  ACME 1'");
    assert_eq!(shell_word("a'b"), r"'a'\''b'");
}
