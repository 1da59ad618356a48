//! The bucket scheme.

use halfpower_record::{
    BUCKETS, HistogramSnapshot, MAX_RELATIVE_ERROR, bucket_high, bucket_index, bucket_low,
    bucket_mid,
};

#[test]
fn every_value_lies_in_its_bucket_and_within_the_stated_error() {
    let mut value = 0u64;
    while value < u64::MAX / 2 {
        let index = bucket_index(value);
        assert!(index < BUCKETS);
        assert!(bucket_low(index) <= value && value <= bucket_high(index), "{value}");
        let error = (bucket_mid(index) - value as f64).abs() / (value.max(1) as f64);
        assert!(error <= MAX_RELATIVE_ERROR, "{value}: {error}");
        value += value / 97 + 1;
    }
    assert_eq!(bucket_index(u64::MAX), BUCKETS - 1);
}

#[test]
fn buckets_join_without_gap_or_overlap() {
    for index in 0..BUCKETS - 1 {
        assert_eq!(bucket_high(index) + 1, bucket_low(index + 1), "{index}");
    }
}

#[test]
fn a_percentile_with_fewer_than_ten_values_beyond_it_is_absent() {
    let thousand = HistogramSnapshot { buckets: (1..=1000).map(|i| (i, 1)).collect() };
    assert!(thousand.percentile(0.99).is_some());
    assert!(thousand.percentile(0.999).is_none());
    assert!(HistogramSnapshot::default().percentile(0.5).is_none());
}
