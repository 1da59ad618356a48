//! How many values at the start of a series belong to the warm-up.
//!
//! MSER-5 (White 1997; White, Cobb, Spratt 2000): average the series in fives, then cut where the
//! standard error of what remains would be smallest. A transient makes the rest noisy and is cut; a
//! cut into steady data loses values for nothing and is not made. It needs no parameter and no
//! model of the transient, and is what the comparison of Hoad, Robinson and Davies (2010) settled
//! on. A minimum in the second half says that the series is too short to tell, so the search ends
//! in the middle. Rejected: a fixed ramp time alone (the reader must guess it), Welch's plots (an
//! eye must read them), and tests against the end of the series (they cut by the noise of the end).

use crate::all_finite;

/// Values that are averaged before the search.
const GROUP: usize = 5;
/// Groups below which nothing is cut: the search would follow noise.
const GROUPS_MIN: usize = 6;

/// Number of leading values to drop, a multiple of five and never more than half of the series; 0
/// for series that are too short (below 30) or not finite.
#[must_use]
pub fn warm_up_cut(series: &[f64]) -> usize {
    let groups: Vec<f64> = series.chunks_exact(GROUP).map(crate::mean).collect();
    if groups.len() < GROUPS_MIN || !all_finite(series) {
        return 0;
    }
    // Running mean and sum of squares from the end (Welford 1962): no cancellation.
    let mut centre = 0.0;
    let mut total = 0.0;
    let mut best = (f64::INFINITY, 0);
    for (cut, &value) in groups.iter().enumerate().rev() {
        let kept = (groups.len() - cut) as f64;
        let distance = value - centre;
        centre += distance / kept;
        total += distance * (value - centre);
        // Equal values in favour of the smaller cut, which comes later.
        let error = total / (kept * kept);
        if 2 * cut <= groups.len() && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1 * GROUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_series_is_kept_whole() {
        assert_eq!(warm_up_cut(&[3.0; 200]), 0);
    }

    #[test]
    fn a_step_at_the_start_is_cut_where_it_ends() {
        let series: Vec<f64> = (0..200).map(|i| if i < 40 { 9.0 } else { 3.0 }).collect();
        assert_eq!(warm_up_cut(&series), 40);
    }

    #[test]
    fn never_more_than_half_is_cut() {
        let step: Vec<f64> = (0..203).map(|i| if i < 180 { 9.0 } else { 3.0 }).collect();
        assert!(warm_up_cut(&step) <= 101);
        let slope: Vec<f64> = (0..203).map(f64::from).collect();
        assert!(warm_up_cut(&slope) <= 101);
    }

    #[test]
    fn series_that_cannot_tell_are_kept_whole() {
        assert_eq!(warm_up_cut(&[]), 0);
        assert_eq!(warm_up_cut(&[9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0);
        let mut broken = [1.0; 100];
        broken[0] = f64::INFINITY;
        assert_eq!(warm_up_cut(&broken), 0);
    }
}
