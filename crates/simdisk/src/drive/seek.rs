//! Computes seek times: a curve through the times that a specification gives.
//!
//! seek(x) = a + b sqrt(x) + c x, where x is the distance as a share of the full stroke. The track-to-track
//! time, the mean over random pairs and the full stroke determine a, b and c; if the full stroke is not
//! given, c is zero. Over random pairs (density 2(1-x)) the mean of sqrt(x) is 8/15 and that of x is 1/3.

#[derive(Clone, Copy, Debug)]
pub struct SeekCurve {
    /// One cylinder as a share of the full stroke.
    step: f64,
    base_ns: f64,
    root_ns: f64,
    linear_ns: f64,
}

impl SeekCurve {
    /// A curve through the track-to-track and average times and, unless it is zero, the full-stroke time.
    pub fn new(track_ns: u64, average_ns: u64, full_ns: u64, cylinders: u64) -> Self {
        let (track, average, full) = (track_ns as f64, average_ns as f64, full_ns as f64);
        let cylinders = cylinders.max(2) as f64;
        // x and its root for one cylinder.
        let (step, step_root) = (1.0 / cylinders, (1.0 / cylinders).sqrt());
        // Subtracting the first equation from the others leaves two unknowns.
        let (root_average, linear_average) = (8.0 / 15.0 - step_root, 1.0 / 3.0 - step);
        let (root_ns, linear_ns) = if full_ns == 0 {
            ((average - track) / root_average, 0.0)
        } else {
            let (root_full, linear_full) = (1.0 - step_root, 1.0 - step);
            let determinant = root_average * linear_full - root_full * linear_average;
            let root =
                ((average - track) * linear_full - (full - track) * linear_average) / determinant;
            let linear =
                (root_average * (full - track) - root_full * (average - track)) / determinant;
            (root, linear)
        };
        let base_ns = track - root_ns * step_root - linear_ns * step;
        Self { step, base_ns, root_ns, linear_ns }
    }

    /// Time to move over `distance` cylinders, in nanoseconds; zero for none.
    pub fn time_ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        let share = distance as f64 * self.step;
        (self.base_ns + self.root_ns * share.sqrt() + self.linear_ns * share).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean over random pairs of cylinders.
    fn average(curve: &SeekCurve, cylinders: u64) -> f64 {
        let weight = |distance: u64| 2.0 * (cylinders - distance) as f64;
        let sum: f64 = (1..cylinders).map(|d| weight(d) * curve.time_ns(d) as f64).sum();
        sum / (cylinders * cylinders) as f64
    }

    #[test]
    fn the_curve_keeps_the_three_times_of_the_specification() {
        let curve = SeekCurve::new(1_000_000, 8_000_000, 17_000_000, 4_000);
        assert!(curve.time_ns(1).abs_diff(1_000_000) < 10);
        assert!(curve.time_ns(4_000).abs_diff(17_000_000) < 10);
        let mean = average(&curve, 4_000);
        assert!((mean / 8e6 - 1.0).abs() < 0.005, "{mean}");
    }

    #[test]
    fn without_a_full_stroke_the_average_still_holds() {
        let curve = SeekCurve::new(400_000, 5_000_000, 0, 10_000);
        let mean = average(&curve, 10_000);
        assert!((mean / 5e6 - 1.0).abs() < 0.005, "{mean}");
        assert!(curve.time_ns(10_000) > curve.time_ns(5_000));
    }

    #[test]
    fn a_longer_way_never_takes_less() {
        let curve = SeekCurve::new(1_000_000, 8_000_000, 17_000_000, 4_000);
        assert!((1..4_000).all(|d| curve.time_ns(d) <= curve.time_ns(d + 1)));
    }
}
