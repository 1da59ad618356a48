//! Times at which a device stands still, all of its servers with it.
//!
//! Stalls have a fixed length and exponential times between them, drawn from a generator of their
//! own, so that they come at the same times whatever the load; a request goes on after one where it
//! was. With one server that never rests, a service time S takes S (1 + length / mean time between)
//! on average.

use record::Nanos;
use std::collections::VecDeque;
use workload::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    length: Nanos,
    every: Nanos,
    rng: Rng,
    /// Begins of the stalls drawn so far, from the first that is not over.
    begins: VecDeque<Nanos>,
    drawn_until: Nanos,
}

impl Stalls {
    pub(crate) fn new(length: Nanos, every: Nanos, rng: Rng) -> Self {
        Self { length, every, rng, begins: VecDeque::new(), drawn_until: Nanos(0) }
    }

    /// The begin of the stall with this index from the front.
    fn begin(&mut self, index: usize) -> Nanos {
        while self.begins.len() <= index {
            let gap = -libm::log(self.rng.unit()) * self.every.0 as f64;
            let begin = self.drawn_until.plus(Nanos(gap as u64));
            self.begins.push_back(begin);
            self.drawn_until = begin.plus(self.length);
        }
        self.begins[index]
    }

    /// When work of this length ends that may begin at `start`; starts never go back.
    pub(crate) fn end_of(&mut self, start: Nanos, work: Nanos) -> Nanos {
        while self.begin(0).plus(self.length) <= start {
            self.begins.pop_front();
        }
        let mut at = start;
        let mut left = work.0;
        for index in 0.. {
            let begin = self.begin(index);
            let free = begin.since(at).0;
            if left <= free {
                break;
            }
            left -= free;
            at = at.max(begin.plus(self.length));
        }
        at.plus(Nanos(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_the_end_of_a_stall_and_goes_on_where_it_was() {
        let mut stalls = Stalls::new(Nanos(100), Nanos(1_000_000), Rng::new(3));
        let first = stalls.begin(0);
        assert_eq!(stalls.end_of(Nanos(0), first), first, "it ends as the stall begins");
        assert_eq!(stalls.end_of(Nanos(0), Nanos(first.0 + 7)), first.plus(Nanos(107)));
        let within = first.plus(Nanos(40));
        assert_eq!(stalls.end_of(within, Nanos(5)), first.plus(Nanos(105)));
        let after = first.plus(Nanos(100));
        assert_eq!(stalls.end_of(after, Nanos(5)), after.plus(Nanos(5)));
    }

    #[test]
    fn work_takes_longer_by_the_share_of_the_stalls() {
        let mut stalls = Stalls::new(Nanos(20_000), Nanos(100_000), Rng::new(5));
        let mut at = Nanos(0);
        for _ in 0..100_000 {
            at = stalls.end_of(at, Nanos(1_000));
        }
        // 1e8 ns of work, some 1,000 stalls: the standard error is 0.6 %.
        let stretch = at.0 as f64 / 1e8;
        assert!((stretch - 1.2).abs() < 0.02, "{stretch}");
        assert!(stalls.begins.len() < 4, "past stalls are forgotten");
    }
}
