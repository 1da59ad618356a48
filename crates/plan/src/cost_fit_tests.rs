//! Where two lines cross, on lines of a known shape.

use super::*;

fn line(fixed: f64, per_kib: f64, se: f64) -> Line {
    let points: Vec<(Bytes, Estimate)> = (0..9)
        .map(|power| {
            let bytes = Bytes(4096 << power);
            (bytes, Estimate::from_se(fixed + per_kib * kib(bytes), se, 3))
        })
        .collect();
    fit(&points).1.unwrap()
}

#[test]
fn the_break_even_is_where_the_lines_cross_with_the_sizes_that_cannot_be_told_apart() {
    // The 2000 paper's SCSI pairs (its Table 11): 12 + 6 per KiB buffered, 50 + 0.5 direct.
    let found = break_even(&line(12.0, 6.0, 0.5), &line(50.0, 0.5, 0.5), 4.0, 1024.0);
    let size = found.value().unwrap();
    assert!((size.value / 1024.0 - 6.9).abs() < 0.02, "{size:?}");
    assert!(size.low < size.value && size.value < size.high, "{size:?}");
    // And its IDE pairs.
    let found = break_even(&line(12.0, 6.0, 0.01), &line(57.0, 0.53, 0.01), 4.0, 1024.0);
    assert!((found.value().unwrap().value / 1024.0 - 8.23).abs() < 0.02);
    let wide = break_even(&line(12.0, 6.0, 5.0), &line(50.0, 0.5, 5.0), 4.0, 1024.0);
    let wide = wide.value().unwrap();
    assert!(wide.high - wide.low > 3.0 * (size.high - size.low), "{wide:?}");
}

#[test]
fn lines_that_do_not_cross_in_the_range_say_which_is_dearer() {
    let none = break_even(&line(12.0, 6.0, 0.5), &line(9.0, 0.5, 0.5), 4.0, 1024.0);
    assert!(none.reason().unwrap().contains("buffered cost more at every size"));
    let none = break_even(&line(1.0, 0.1, 0.1), &line(50.0, 0.5, 0.1), 4.0, 1024.0);
    assert!(none.reason().unwrap().contains("past the page cache cost more"));
}

#[test]
fn lines_that_lie_within_their_errors_have_no_break_even_and_no_dearer_side() {
    let crossing = break_even(&line(4.36, 0.213, 60.0), &line(4.26, 0.214, 60.0), 4.0, 1024.0);
    assert!(crossing.reason().unwrap().contains("no more than their errors"), "{crossing:?}");
    let parallel = break_even(&line(4.0, 0.2, 60.0), &line(4.5, 0.2, 60.0), 4.0, 1024.0);
    assert!(parallel.reason().unwrap().contains("no more than their errors"), "{parallel:?}");
}
