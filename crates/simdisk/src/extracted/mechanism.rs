//! Arm, heads and platter: how long a movement takes, and when each block comes by.

use super::layout::{Layout, Track};
use super::spec::{ExtractedSpec, SeekSpec};

/// Angles that are no nearer to each other than this, in revolutions, are two: where one block follows
/// another, rounding must not cost a revolution.
const SLACK: f64 = 1e-7;

/// Where the head is, and when it got there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) cylinder: u64,
    pub(crate) surface: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Mechanism {
    pub(crate) layout: Layout,
    pub(crate) head: Head,
    seek: SeekSpec,
    head_switch_ns: f64,
    write_settle_ns: f64,
    pub(crate) revolution_ns: f64,
}

/// What a pass over blocks came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// When the last of them had passed.
    pub(crate) end_ns: f64,
    /// Blocks before the first that passed on the way to it.
    pub(crate) free: u64,
    /// The number of the last track.
    pub(crate) track: u64,
}

impl Mechanism {
    pub(crate) fn new(spec: &ExtractedSpec) -> Self {
        Self {
            layout: Layout::new(spec),
            head: Head::default(),
            seek: spec.seek.clone(),
            head_switch_ns: spec.head_switch_ns,
            write_settle_ns: spec.write_settle_ns,
            revolution_ns: spec.revolution_ns,
        }
    }

    /// Time to move over so many cylinders.
    pub(crate) fn seek_ns(&self, distance: u64) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        match &self.seek {
            SeekSpec::Lee { one, root, line } => {
                let beyond = (distance - 1) as f64;
                one + root * beyond.sqrt() + line * beyond
            }
            SeekSpec::Parts { first, limit, root, line } => {
                let cylinders = distance as f64;
                match first.get(distance as usize - 1) {
                    Some(time) => *time,
                    None if cylinders < *limit => root[0] + root[1] * cylinders.sqrt(),
                    None => line[0] + line[1] * cylinders,
                }
            }
            SeekSpec::Curve(points) => {
                let at = points.partition_point(|(known, _)| *known < distance);
                let at = at.clamp(1, points.len() - 1);
                let ((d0, t0), (d1, t1)) = (points[at - 1], points[at]);
                let share = (distance as f64 - d0 as f64) / (d1 as f64 - d0 as f64);
                // Before the first and beyond the last measured distance there is no line to go on.
                t0 + share.clamp(0.0, 1.0) * (t1 - t0)
            }
        }
    }

    /// Moves to a track from a time on; when the head is there.
    fn go(&mut self, from_ns: f64, track: &Track, (write, fresh): (bool, bool)) -> f64 {
        let least = u64::from(fresh);
        let distance = self.head.cylinder.abs_diff(track.cylinder).max(least);
        let switched = self.head.surface != track.surface;
        if distance == 0 && !switched {
            return from_ns;
        }
        self.head = Head { cylinder: track.cylinder, surface: track.surface };
        let switch = if switched { self.head_switch_ns } else { 0.0 };
        let settle = if write { self.write_settle_ns } else { 0.0 };
        from_ns + self.seek_ns(distance).max(switch) + settle
    }

    /// Angle under the head, 0 to 1.
    fn angle(&self, at_ns: f64) -> f64 {
        (at_ns / self.revolution_ns).fract()
    }

    /// Passes over blocks from `from_ns` on, each at the time that `each` is told with its place in the
    /// request; with `on_arrival` a track's blocks in the order in which they come by. The arm moves at once,
    /// and no block counts before the second time.
    pub(crate) fn pass(
        &mut self,
        (from_ns, not_before_ns): (f64, f64),
        (first, blocks): (u64, u64),
        (write, on_arrival, fresh): (bool, bool, bool),
        mut each: impl FnMut(u64, f64),
    ) -> Passed {
        let (mut done, mut now, mut free, mut number) = (0, from_ns, 0, 0);
        while done < blocks {
            let track = self.layout.track(first + done);
            let count = track.blocks.min(blocks - done);
            now = self.go(now, &track, (write, fresh && done == 0)).max(not_before_ns);
            number = track.number;
            let block_ns = track.step * self.revolution_ns;
            // How far the head is behind the begin of the first block, in revolutions.
            let behind = (self.angle(now) - track.angle + 1.0 + SLACK).fract() - SLACK;
            let behind = if behind < SLACK { 0.0 } else { behind };
            let whole = count as f64 * track.step;
            if on_arrival && behind < whole && behind > 0.0 {
                // In the midst of them: the rest first, then, after a revolution, what was missed. A block
                // that has begun is missed.
                let missed = ((behind / track.step).ceil() as u64).min(count);
                let begin = now - behind * self.revolution_ns;
                for block in 0..count {
                    let turn = if block < missed { self.revolution_ns } else { 0.0 };
                    each(done + block, begin + turn + (block + 1) as f64 * block_ns);
                }
                now = begin + self.revolution_ns + missed as f64 * block_ns;
            } else {
                let wait = (1.0 - behind).fract() * self.revolution_ns;
                if done == 0 {
                    free = track.before.min((wait / block_ns) as u64);
                }
                let begin = now + wait;
                for block in 0..count {
                    each(done + block, begin + (block + 1) as f64 * block_ns);
                }
                now = begin + count as f64 * block_ns;
            }
            done += count;
        }
        Passed { end_ns: now, free, track: number }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::TrackOrder;
    use super::*;

    fn seeks(seek: SeekSpec) -> impl Fn(u64) -> f64 {
        let mechanism = Mechanism {
            layout: Layout::none(TrackOrder::Conventional),
            head: Head::default(),
            seek,
            head_switch_ns: 0.0,
            write_settle_ns: 0.0,
            revolution_ns: 1.0,
        };
        move |distance| mechanism.seek_ns(distance)
    }

    #[test]
    fn a_measured_curve_is_a_line_between_its_points_and_level_beyond_them() {
        let seek = seeks(SeekSpec::Curve(vec![(1, 100.0), (11, 300.0), (21, 350.0)]));
        let found: Vec<f64> = [0, 1, 6, 11, 16, 21, 500].map(seek).to_vec();
        assert_eq!(found, [0.0, 100.0, 200.0, 300.0, 325.0, 350.0, 350.0]);
    }

    #[test]
    fn a_curve_of_three_times_begins_with_the_first_and_of_parts_is_the_root_before_the_line() {
        let lee = seeks(SeekSpec::Lee { one: 100.0, root: 10.0, line: 1.0 });
        assert_eq!([1, 2, 101].map(lee), [100.0, 111.0, 300.0]);
        let (root, line) = ([300.0, 30.0], [700.0, 0.5]);
        let parts = seeks(SeekSpec::Parts { first: vec![50.0, 60.0], limit: 400.0, root, line });
        assert_eq!(
            [1, 2, 4, 100, 400, 1_000].map(parts),
            [50.0, 60.0, 360.0, 600.0, 900.0, 1_200.0]
        );
    }
}
