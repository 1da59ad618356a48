//! The clock of jobs compared with the kernel's.

use engine::{Clock, JobClock, MonotonicClock};

#[test]
fn both_clocks_tell_the_same_time() {
    let clock = JobClock::calibrated();
    for _ in 0..1_000 {
        let before = MonotonicClock.now();
        let own = clock.now();
        let after = MonotonicClock.now();
        // Maximum error since the calibration: the bound of the line plus that of a pair.
        assert!(own.0 + 5_000 >= before.0 && own.0 <= after.0 + 5_000, "{clock:?}");
    }
}

#[test]
fn time_never_goes_back() {
    let clock = JobClock::calibrated();
    let mut last = clock.now();
    for _ in 0..100_000 {
        let now = clock.now();
        assert!(now >= last);
        last = now;
    }
}
