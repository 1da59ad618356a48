//! Values from the command line.

use record::CacheMode;
use workload::values::{Rates, cache, percent, ppm, rate, rates, thousandths};

#[test]
fn every_letter_of_sqlio_names_its_cache_mode() {
    for mode in [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None] {
        assert_eq!(cache(&mode.letter().to_string()), Ok(mode));
        assert_eq!(cache(mode.name()), Ok(mode));
    }
    assert_eq!(cache("0"), Ok(CacheMode::All));
    assert!(cache("some").is_err());
}

#[test]
fn decimals_are_read_exactly_and_nothing_else_is() {
    assert_eq!(thousandths("1.2"), Ok(1_200));
    assert_eq!(thousandths("0.001"), Ok(1));
    assert_eq!(thousandths("3"), Ok(3_000));
    for wrong in ["", ".5", "1.2.3", "1.2345", "-1", "+1", "1e3", "a", "٣", "9999999999"] {
        assert!(thousandths(wrong).is_err(), "{wrong:?}");
    }
    assert_eq!((ppm("2%"), ppm("0.5")), (Ok(20_000), Ok(5_000)));
    assert_eq!((percent("80%"), percent("0"), percent("100")), (Ok(80), Ok(0), Ok(100)));
    assert!(percent("101").is_err() && percent("1.5").is_err());
}

#[test]
fn rates_are_one_or_two_numbers() {
    assert_eq!(rates("1000"), Ok(Rates { all: 1_000, writes: None }));
    assert_eq!(rates("700,300"), Ok(Rates { all: 1_000, writes: Some(300) }));
    assert_eq!(rates("3k"), Ok(Rates { all: 3_000, writes: None }));
    assert_eq!(rates("1.5k,300"), Ok(Rates { all: 1_800, writes: Some(300) }));
    assert_eq!((rate("2.5k"), rate("1M")), (Ok(2_500.0), Ok(1e6)));
    assert!(rate("inf").is_err() && rate("nan").is_err() && rate("-3").is_err());
    for wrong in ["", "700,", ",300", "1q", "-5", "1,2,3", "0.5", "k", "1e3k"] {
        assert!(rates(wrong).unwrap_err().contains("requests per second"), "{wrong:?}");
    }
}
