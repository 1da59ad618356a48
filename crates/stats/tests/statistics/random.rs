//! Compares SplitMix64 with its authors' code.

use halfpower_stats::SplitMix64;

/// The first outputs of the authors' C code for the seed 1234567.
#[test]
fn the_sequence_is_that_of_the_authors() {
    let mut random = SplitMix64::new(1_234_567);
    let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
    assert_eq!(
        first,
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
    );
}
