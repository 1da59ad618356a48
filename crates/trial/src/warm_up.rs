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
//! number of requests in progress but for a constant. That is skewed: most of it comes in rare busy
//! periods, and the search cuts behind the last large one, so that what is left looks quieter than it
//! is. There the noise is the larger of that of the rest and that of both parts, each around its own
//! level, and the difference must be half as large again. It costs power: a start at three times the
//! level that decays over a thirtieth of the run is found in 86 of 100 open loops at half load.
//!
//! False cuts of steady runs (the tests print them): none in a thousand with independent slices,
//! at most 7 in a thousand of M/M/1 in a closed loop, 0 to 16 in a thousand of M/M/1 in an open loop
//! at loads of 0.1 to 0.9 with 0.3 to 50 requests in a slice. With the rule of closed loops those
//! were up to 106. A rest that is shorter than 25 correlation times tells nothing, and nothing is cut.
//! Rejected: MSER alone (cuts something off many steady runs), the verdict of the steadiness test as
//! the condition (a short start that is far off does not show in a test of eighths), the noise of
//! both parts in closed loops too (a decaying start on a quiet device hides itself), and that the
//! start lies beyond all stretches of the rest of the same length (changes nothing: false cuts are
//! long ones).
//!
//! A rest that wanders slowly tells nothing of its noise, yet a start may lie so far off that no
//! noise is needed to see it: a flash drive ran at twelve times its later rate for a twentieth of
//! the run, and the rest, which rose and fell by half, hid that. So in a closed loop a start is also
//! cut where it lies further from all later segments than three times what these lie apart. Of a rest that
//! is shorter than 25 correlation times that is asked, and of no other; a random walk has yet to do
//! it (none of 3,000 wandering runs of any memory in the tests). Not asked of open loops: one long
//! busy period at the start does it there.

use crate::{SEGMENTS, SLICES_PER_SEGMENT, Slice};
use record::Estimate;
use stats::{batch_means, long_enough, student_t_quantile};

/// Differences below this share of the rest are not worth cutting for.
const CHANGE_REL_MIN: f64 = 0.03;
/// Probability below the upper end of a two-sided 95 % interval.
const UPPER_95: f64 = 0.975;
/// Probability of a cut on steady data, before it is shared among the places.
const P_FALSE: f64 = 0.01;
/// Places that the search can tell apart: those within a segment are much alike.
const PLACES: f64 = SEGMENTS as f64;

/// How many times as far as the rest's segments lie apart a start lies off that needs no test.
const APART: f64 = 3.0;
/// Segments that such a start may have: a quarter of the run. A longer one is a change of level.
const FAR_OFF_SEGMENTS_MAX: usize = SEGMENTS / 4;

/// How much larger than its limit a difference must be in an open loop.
const OPEN_MARGIN: f64 = 1.5;

/// Number of segments to leave out at the start of these whole slices.
pub(crate) fn segments_to_cut(slices: &[Slice], open: bool) -> usize {
    let value = |slice: &Slice| {
        let sum = if open { &slice.latency_ns } else { &slice.ios };
        (sum[0] + sum[1]) as f64
    };
    let series: Vec<f64> = slices.iter().map(value).collect();
    let cut = stats::warm_up_cut(&series);
    let segments = cut.div_ceil(SLICES_PER_SEGMENT);
    if cut == 0 || 2 * segments * SLICES_PER_SEGMENT > series.len() || !differs(&series, cut, open)
    {
        return if open { 0 } else { far_off(&series) };
    }
    segments
}

/// Number of segments at the start that lie further from all others than [`APART`] times the
/// distance of these from each other, where the others wander too slowly to tell their noise. Of
/// several numbers the first that is half as clear as the clearest: what is left of the start in
/// the next segment is then no more than the wandering.
fn far_off(series: &[f64]) -> usize {
    let levels: Vec<f64> =
        series.chunks_exact(SLICES_PER_SEGMENT).map(|part| part.iter().sum()).collect();
    let longest = FAR_OFF_SEGMENTS_MAX.min(levels.len() / 4);
    let apart: Vec<f64> = (1..=longest)
        .map(|cut| {
            let (start, rest) = levels.split_at(cut);
            let level = start.iter().sum::<f64>() / cut as f64;
            let low = rest.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (level - high).max(low - level) / (high - low).max(f64::MIN_POSITIVE)
        })
        .collect();
    let clearest = apart.iter().copied().fold(0.0, f64::max);
    let first = apart.iter().position(|&it| it > APART && it >= clearest / 2.0);
    first
        .map(|index| (index + 1) * SLICES_PER_SEGMENT)
        .filter(|&cut| !long_enough(&series[cut..]) && matters(&series[..cut], &series[cut..]))
        .map_or(0, |cut| cut / SLICES_PER_SEGMENT)
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len() as f64
}

/// Whether two levels differ by so much that a cut is worth it.
fn matters(start: &[f64], rest: &[f64]) -> bool {
    (mean(start) - mean(rest)).abs() > CHANGE_REL_MIN * mean(rest).abs()
}

/// Whether the mean of the first `cut` values differs from that of the others.
fn differs(series: &[f64], cut: usize, open: bool) -> bool {
    let (start, rest) = series.split_at(cut);
    let (before, level) = (mean(start), mean(rest));
    let Some(mut noise) = batch_means(rest).map(|steady| Noise::of(&steady, rest.len())) else {
        return false;
    };
    if open {
        let around = |part: &'_ [f64], level: f64| -> Vec<f64> {
            part.iter().map(|value| value - level).collect()
        };
        let both = [around(start, before), around(rest, level)].concat();
        let Some(spread) = batch_means(&both) else { return false };
        let spread = Noise::of(&spread, both.len());
        if spread.variance > noise.variance {
            noise = spread;
        }
    } else if !long_enough(rest) {
        return false;
    }
    // Were the start like the rest, its mean would scatter as that of as many values there.
    let error = (noise.variance * (1.0 / cut as f64 + 1.0 / rest.len() as f64)).sqrt();
    let limit = student_t_quantile(1.0 - P_FALSE / PLACES / 2.0, noise.freedom);
    let margin = if open { OPEN_MARGIN } else { 1.0 };
    matters(start, rest) && (before - level).abs() > margin * limit * error
}

/// What the mean of a series scatters by.
struct Noise {
    /// Variance of the mean, times the number of values.
    variance: f64,
    /// Degrees of freedom that it is known with.
    freedom: f64,
}

impl Noise {
    /// Of the mean of so many values.
    fn of(mean: &Estimate, values: usize) -> Self {
        let freedom = f64::from(mean.n.max(2)) - 1.0;
        let error = (mean.high - mean.low) / 2.0 / student_t_quantile(UPPER_95, freedom);
        Self { variance: error * error * values as f64, freedom }
    }
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

    fn exponential(rng: &mut Rng) -> f64 {
        -(1.0 - rng.unit()).ln()
    }

    /// A run of a single server in an open loop at this load, with so many arrivals per slice on
    /// average: response times summed in the slice of their completion. It starts empty, or in its
    /// steady state.
    fn open_run(load: f64, per_slice: f64, empty: bool, rng: &mut Rng) -> Vec<Slice> {
        let mut slices = vec![Slice::default(); SLICES];
        let mean_gap = 1.0 / per_slice;
        let service = load * mean_gap;
        // Lindley's recursion; the wait of an arrival at a busy server is exponential.
        let busy = !empty && rng.unit() < load;
        let mut wait = if busy { exponential(rng) * service / (1.0 - load) } else { 0.0 };
        let mut arrival = exponential(rng) * mean_gap;
        loop {
            let latency = wait + exponential(rng) * service;
            let gap = exponential(rng) * mean_gap;
            if let Some(slice) = slices.get_mut((arrival + latency) as usize) {
                slice.ios[0] += 1;
                slice.latency_ns[0] += (latency * 1e6) as u64;
            }
            if arrival > SLICES as f64 {
                return slices;
            }
            wait = (latency - gap).max(0.0);
            arrival += gap;
        }
    }

    /// Share of steady runs of which something is cut off.
    fn false_cuts(name: &str, runs: u32, open: bool, run: impl Fn(&mut Rng) -> Vec<Slice>) -> f64 {
        let mut rng = Rng::new(6);
        let cut = (0..runs).filter(|_| segments_to_cut(&run(&mut rng), open) > 0).count();
        println!("{name}: {cut} of {runs} steady runs were cut");
        cut as f64 / f64::from(runs)
    }

    #[test]
    fn open_loops_are_hardly_ever_cut_at_any_load() {
        for (runs, per_slice) in [(1_000, 0.3), (1_000, 1.0), (600, 10.0), (200, 50.0)] {
            for load in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9] {
                for empty in [false, true] {
                    let name = format!("load {load}, {per_slice} a slice, empty at first: {empty}");
                    let run = |rng: &mut Rng| open_run(load, per_slice, empty, rng);
                    // Of 1,000 runs with a rate of 1 %, 25 or more are cut once in ten thousand.
                    assert!(false_cuts(&name, runs, true, run) < 0.025, "{name}");
                }
            }
        }
    }

    #[test]
    fn closed_loops_are_hardly_ever_cut_however_few_requests_a_slice_has() {
        for (runs, per_slice) in [(2_000, 0.3), (2_000, 1.0), (1_000, 10.0), (300, 100.0)] {
            // A server that is always busy: completions are a Poisson process.
            let run = |rng: &mut Rng| {
                let mut slices = vec![Slice::default(); SLICES];
                let mut time = exponential(rng) / per_slice;
                while let Some(slice) = slices.get_mut(time as usize) {
                    slice.ios[0] += 1;
                    time += exponential(rng) / per_slice;
                }
                slices
            };
            assert!(false_cuts(&format!("closed, {per_slice} a slice"), runs, false, run) < 0.012);
        }
    }

    #[test]
    fn a_level_that_wanders_slowly_is_not_cut() {
        for memory in [0.9_f64, 0.99, 0.9999] {
            let run = |rng: &mut Rng| {
                let mut deviation = 0.0;
                let mut next = |_| {
                    let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                    deviation = memory * deviation + (1.0 - memory * memory).sqrt() * noise;
                    let ios = (10_000.0 * (1.0 + 0.1 * deviation)) as u64;
                    Slice { ios: [ios, 0], ..Slice::default() }
                };
                (0..SLICES).map(&mut next).collect()
            };
            assert!(false_cuts(&format!("memory {memory}"), 1_000, false, run) < 0.02);
        }
    }

    #[test]
    fn a_start_that_is_far_off_is_cut_however_the_rest_wanders() {
        let mut rng = Rng::new(8);
        let wander = |index: usize| {
            let along = index as f64 / SLICES as f64;
            200.0 * (1.0 + 0.5 * (4.0 * along).sin())
        };
        let fall = |end: usize| move |index| if index < end { 2_000.0 } else { wander(index) };
        for (end, segments) in [(56, 1), (64, 1), (150, 3), (192, 3)] {
            assert_eq!(segments_to_cut(&slices(fall(end), &mut rng), false), segments, "{end}");
            let rise = |index| if index < end { 2.0 } else { wander(index) };
            assert_eq!(segments_to_cut(&slices(rise, &mut rng), false), 0, "within the wander");
        }
        // As far off as the rest wanders is its own restlessness.
        let near = |index| if index < 64 { 350.0 } else { wander(index) };
        assert_eq!(segments_to_cut(&slices(near, &mut rng), false), 0);
    }

    #[test]
    fn a_start_that_decays_is_found_in_an_open_loop_too() {
        let mut rng = Rng::new(7);
        let found = (0..100).filter(|_| {
            let mut slices = open_run(0.5, 50.0, false, &mut rng);
            for (index, slice) in slices.iter_mut().enumerate() {
                let factor = 1.0 + 2.0 * (-(index as f64) / 30.0).exp();
                slice.latency_ns[0] = (slice.latency_ns[0] as f64 * factor) as u64;
            }
            segments_to_cut(&slices, true) > 0
        });
        assert!(found.count() >= 75);
    }

    #[test]
    fn a_difference_that_does_not_matter_is_kept() {
        let mut rng = Rng::new(4);
        let trifle = |index| if index < 128 { 9_850.0 } else { 10_000.0 };
        assert_eq!(segments_to_cut(&slices(trifle, &mut rng), false), 0);
    }
}
