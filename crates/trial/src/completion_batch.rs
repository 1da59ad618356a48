//! How many completions a job waits for at once.
//!
//! Where the program and the kernel set the pace, as on memory, waiting for several completions saves
//! wake-ups and holds back those that came first. Before the window opens a job spends a few short
//! turns with each of several numbers, and keeps the smallest that is as fast as any: one, where the
//! device sets the pace. Rejected: a fixed share of the depth (a device with a long tail would be held
//! to its slowest requests), and a search in the window (the result would be that of several loads).

use record::Nanos;

/// Depth of a job from which on it is tried.
const DEPTH_MIN: u32 = 32;
/// Length of a turn.
const TURN: Nanos = Nanos(4_000_000);
/// Turns of each number.
const ROUNDS: usize = 3;
/// A rate within this share of the best is as good.
const AS_GOOD: f64 = 0.97;
/// Gain over waiting for one without which that is kept.
const GAIN_MIN: f64 = 1.05;

/// What a job is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionBatch {
    /// Wait for so many completions at once, at least 1.
    Fixed(u32),
    /// Find out before the window begins.
    Search,
}

/// The numbers that are worth a try at this depth; only 1 where it is too small.
fn candidates(depth: u32) -> Vec<u32> {
    let shares = [depth, 16, 8, 4, 2].map(|part| depth / part);
    let mut numbers = if depth < DEPTH_MIN { vec![1] } else { shares.to_vec() };
    numbers.dedup();
    numbers
}

/// How long a search takes at this depth; nothing where there is nothing to try.
pub(crate) fn search_time(depth: u32) -> Nanos {
    match candidates(depth).len() {
        1 => Nanos(0),
        count => Nanos(TURN.0 * (count * ROUNDS) as u64),
    }
}

#[derive(Debug)]
pub(crate) struct Search {
    numbers: Vec<u32>,
    /// Per number: requests per nanosecond in its turns.
    rates: Vec<Vec<f64>>,
    turn: usize,
    begin: Option<Nanos>,
    count: u64,
}

impl Search {
    /// For a job of this depth; `None` where there is nothing to try.
    pub(crate) fn new(depth: u32) -> Option<Self> {
        let numbers = candidates(depth);
        let rates = vec![Vec::with_capacity(ROUNDS); numbers.len()];
        (numbers.len() > 1).then_some(Self { numbers, rates, turn: 0, begin: None, count: 0 })
    }

    /// The number whose turn it is.
    pub(crate) fn current(&self) -> u32 {
        self.numbers[self.turn % self.numbers.len()]
    }

    /// Takes note of `count` completions seen at `now`; whether a turn is over.
    pub(crate) fn observe(&mut self, now: Nanos, count: usize) -> bool {
        // The first completions belong to the turn before.
        let begin = *self.begin.get_or_insert(now);
        if now > begin {
            self.count += count as u64;
        }
        let spent = now.since(begin);
        if spent < TURN {
            return false;
        }
        let number = self.turn % self.numbers.len();
        self.rates[number].push(self.count as f64 / spent.0 as f64);
        self.turn += 1;
        self.begin = None;
        self.count = 0;
        true
    }

    /// Whether every number had its turns.
    pub(crate) fn over(&self) -> bool {
        self.turn >= self.numbers.len() * ROUNDS
    }

    /// The smallest number that is as good as any; 1 where a number had no turn at all.
    pub(crate) fn choice(&self) -> u32 {
        if self.rates.iter().any(Vec::is_empty) {
            return 1;
        }
        let medians: Vec<f64> = self.rates.iter().cloned().map(stats::median).collect();
        let best = medians.iter().copied().fold(0.0, f64::max);
        if best < medians[0] * GAIN_MIN {
            return 1;
        }
        let first = medians.iter().position(|&rate| rate >= best * AS_GOOD);
        first.map_or(1, |index| self.numbers[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search comes to where the rate depends on the number alone, in requests per ms.
    fn found(depth: u32, rate: impl Fn(u32) -> u64) -> u32 {
        let mut search = Search::new(depth).unwrap();
        let mut now = Nanos(1);
        while !search.over() {
            let per_ms = rate(search.current());
            search.observe(now, per_ms as usize);
            now = now.plus(Nanos(1_000_000));
        }
        search.choice()
    }

    #[test]
    fn a_device_that_sets_the_pace_is_waited_for_one_by_one() {
        assert_eq!(found(128, |_| 100), 1);
        // A gain that noise could be is none.
        assert_eq!(found(128, |number| if number == 16 { 104 } else { 100 }), 1);
    }

    #[test]
    fn the_smallest_number_that_is_as_fast_as_any_is_chosen() {
        assert_eq!(found(128, |number| 100 + u64::from(number.min(16)) * 3), 16);
        assert_eq!(found(32, |number| if number >= 2 { 150 } else { 100 }), 2);
        assert_eq!(found(64, |number| u64::from(number) * 100), 32);
    }

    #[test]
    fn a_shallow_job_has_nothing_to_try_and_a_search_cut_short_chooses_one() {
        assert!(Search::new(31).is_none() && search_time(31) == Nanos(0));
        assert_eq!(search_time(128), Nanos(60_000_000));
        let mut search = Search::new(128).unwrap();
        for ms in 0..8 {
            search.observe(Nanos(1 + ms * 1_000_000), 10);
        }
        assert!(!search.over());
        assert_eq!(search.choice(), 1);
    }
}
