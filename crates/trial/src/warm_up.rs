//! Whether the start of a run differs from the rest, and how much of it is cut off.
//!
//! Where to cut is chosen by MSER-5 over the slices (`stats::warm_up_cut`), which finds the place
//! of a transient but answers with some place on steady data too. So the part before it is tested
//! against the part behind it, by the noise of the latter alone (batch means, which count the
//! correlation within): a start that decays has a variance of its own that would hide it. Student's
//! t at 1 %, shared among the places that the search can choose, and only where the difference is
//! worth cutting for. The cut goes to the next edge of a segment, since histograms
//! and counters are kept by segment, and is never more than half of the run: a start that is
//! longer is no start, and the verdict on steadiness says so.
//!
//! In a closed loop the requests per slice are looked at. In an open loop their rate is that of
//! the arrivals whatever the device does, so the sum of response times per slice is, which is the
//! number of requests in progress but for a constant.
//!
//! False cuts of steady runs (the tests print them): none of 1,000 with independent slices, none of
//! 200 of M/M/1 in a closed loop, 4 of 200 of M/M/1 in an open loop at half load, which starts
//! empty and is correlated. Rejected: MSER alone (cuts something off many steady runs), and the
//! verdict of the steadiness test as the condition (a short start that is far off does not show in
//! a test of eighths).

use crate::{SEGMENTS, SLICES_PER_SEGMENT, Slice};
use stats::batch_means;

/// Differences below this share of the rest are not worth cutting for.
const CHANGE_REL_MIN: f64 = 0.03;
/// Probability of a cut on steady data, before it is shared among the places.
const P_FALSE: f64 = 0.01;
/// Places that the search can tell apart: those within a segment are much alike.
const PLACES: f64 = SEGMENTS as f64;

/// Number of segments to leave out at the start of these whole slices.
pub(crate) fn segments_to_cut(slices: &[Slice], open: bool) -> usize {
    let value = |slice: &Slice| {
        let sum = if open { &slice.response_ns } else { &slice.ios };
        (sum[0] + sum[1]) as f64
    };
    let series: Vec<f64> = slices.iter().map(value).collect();
    let cut = stats::warm_up_cut(&series);
    let segments = cut.div_ceil(SLICES_PER_SEGMENT);
    if cut == 0 || 2 * segments * SLICES_PER_SEGMENT > series.len() || !differs(&series, cut) {
        return 0;
    }
    segments
}

/// Whether the mean of the first `cut` values differs from that of the others.
fn differs(series: &[f64], cut: usize) -> bool {
    let (start, rest) = series.split_at(cut);
    let Some(steady) = batch_means(rest) else { return false };
    let difference = (start.iter().sum::<f64>() / cut as f64 - steady.value).abs();
    // Were the start like the rest, its mean would scatter as that of as many values there.
    let error = steady.se * (1.0 + rest.len() as f64 / cut as f64).sqrt();
    let freedom = f64::from(steady.n.max(2)) - 1.0;
    let limit = stats::student_t_quantile(1.0 - P_FALSE / PLACES / 2.0, freedom);
    difference > CHANGE_REL_MIN * steady.value.abs() && difference > limit * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SLICES;
    use workload::Rng;

    fn slices(rate: impl Fn(usize) -> f64, rng: &mut Rng) -> Vec<Slice> {
        let noisy = |index| {
            // Normal enough: the sum of twelve uniforms.
            let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            (rate(index) * (1.0 + 0.05 * noise)).max(0.0) as u64
        };
        (0..SLICES).map(noisy).map(|ios| Slice { ios: [ios, 0], ..Slice::default() }).collect()
    }

    #[test]
    fn a_start_that_differs_is_cut_up_to_the_next_segment() {
        let mut rng = Rng::new(1);
        let slow = |index| if index < 150 { 700.0 } else { 1_000.0 };
        assert_eq!(segments_to_cut(&slices(slow, &mut rng), false), 3);
        let decay = |index: usize| 1_000.0 * (1.0 + 2.0 * (-(index as f64) / 30.0).exp());
        let cut = segments_to_cut(&slices(decay, &mut rng), false);
        assert!((1..=3).contains(&cut), "{cut}");
    }

    #[test]
    fn a_start_of_more_than_half_is_not_a_start() {
        let mut rng = Rng::new(2);
        let late = |index| if index < 700 { 700.0 } else { 1_000.0 };
        assert_eq!(segments_to_cut(&slices(late, &mut rng), false), 0);
    }

    #[test]
    fn steady_runs_are_hardly_ever_cut() {
        let mut rng = Rng::new(3);
        let runs = 1_000;
        let cut = (0..runs).filter(|_| segments_to_cut(&slices(|_| 100.0, &mut rng), false) > 0);
        let cut = cut.count();
        println!("false cuts of steady independent slices: {cut} of {runs}");
        assert!(cut <= 10, "{cut}");
    }

    #[test]
    fn a_difference_that_does_not_matter_is_kept() {
        let mut rng = Rng::new(4);
        let trifle = |index| if index < 128 { 9_850.0 } else { 10_000.0 };
        assert_eq!(segments_to_cut(&slices(trifle, &mut rng), false), 0);
    }
}
