//! The interval of a median.

use crate::source::Source;
use halfpower_stats::median_interval;

#[test]
fn the_interval_holds_the_median_of_a_skewed_population_as_often_as_it_says() {
    // An exponential distribution has the median ln 2.
    let mut source = Source::new(1);
    for (count, exact) in [(6, 0.96875), (12, 0.96143), (25, 0.95671)] {
        let runs = 20_000;
        let inside = (0..runs)
            .filter(|_| {
                let values = (0..count).map(|_| source.exponential()).collect();
                let found = median_interval(values).unwrap();
                (found.low..=found.high).contains(&std::f64::consts::LN_2)
            })
            .count();
        let share = inside as f64 / f64::from(runs);
        // Five standard errors of a share of 20,000.
        assert!((share - exact).abs() < 0.008, "{count}: {share}");
    }
}

#[test]
fn of_few_values_there_is_no_interval() {
    assert!(median_interval(vec![1.0, 2.0, 3.0, 4.0, 5.0]).is_none());
    let six = median_interval(vec![6.0, 1.0, 2.0, 3.0, 5.0, 4.0]).unwrap();
    assert_eq!((six.low, six.value, six.high), (1.0, 3.5, 6.0));
    assert!(median_interval(vec![f64::NAN; 12]).is_none());
}
