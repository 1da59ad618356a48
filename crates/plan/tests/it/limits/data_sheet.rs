//! Data sheets of drives.

use plan::limits::data_sheet::parse;
use record::{Locality, Mix, MixClass, OpKind};

#[test]
fn friedmans_table_1_gives_8_0_to_8_1_ms_for_a_random_read_of_4_kib() {
    let read = MixClass { op: OpKind::Read, locality: Locality::Random, bytes: 4096, share: 1.0 };
    let mix = Mix { classes: vec![read] };
    for (transfer, expected_ms) in [("43MB/s", 8.095), ("78MB/s", 8.053)] {
        let text =
            format!("name = 'server disk'\nseek = '5ms'\nrpm = 10000\ntransfer = '{transfer}'");
        let (_, sheet) = parse(&text).unwrap();
        let answer = sheet.at_rate(&mix, 0.0).unwrap();
        let found = answer.service_ns / 1e6;
        assert!((found - expected_ms).abs() < 0.001, "{transfer}: {found}");
    }
}

#[test]
fn a_sheet_with_a_slip_says_which_key() {
    let of = |line: &str| parse(&format!("name = 'x'\ntransfer = '40MB/s'\n{line}")).unwrap_err();
    assert!(of("seek = '5 parsecs'").starts_with("seek:"));
    assert!(of("rpm = -1").starts_with("rpm:"));
    assert!(of("sek = '5ms'").contains("sek"));
}
