//! Times at which a device stalls, with all of its servers.
//!
//! Stalls have a fixed length and exponential times between them. They are drawn from a generator of their
//! own, so that they occur at the same times under any load; a request continues after a stall where it
//! stopped. With one server that is always busy, a service time S takes S (1 + length / mean time between)
//! on average.

use record::Nanos;
use std::collections::VecDeque;
use workload::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    length: Nanos,
    every: Nanos,
    rng: Rng,
    /// Begins of the stalls drawn so far, from the first that has not ended.
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

    /// The end of work of this length that may begin at `start`; starts must not decrease.
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
