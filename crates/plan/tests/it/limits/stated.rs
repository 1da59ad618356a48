//! Peaks that the user states.

use plan::limits::pap::{Stated, or_stated};
use record::{ComponentKind, Measured};

#[test]
fn a_stated_peak_is_read_and_wins_and_the_last_one_counts() {
    let stated: Vec<Stated> = ["link=600MB/s", "memory=25.6GB/s", "link=1.2GB"]
        .iter()
        .map(|text| Stated::parse(text).unwrap())
        .collect();
    let found = || Measured::not("nobody says");
    let link = or_stated(ComponentKind::Link, &stated, found());
    assert_eq!(link.value().unwrap().bytes_per_s, 1.2e9);
    assert!(or_stated(ComponentKind::Device, &stated, found()).value().is_none());
}

#[test]
fn a_peak_that_cannot_be_read_says_what_to_write() {
    for (text, words) in [
        ("link", "NAME=RATE"),
        ("cable=1GB/s", "file-cache"),
        ("link=fast", "number"),
        ("link=0", "above 0"),
    ] {
        assert!(Stated::parse(text).unwrap_err().contains(words), "{text}");
    }
}
