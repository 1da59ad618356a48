//! How a job hands its requests over, and how many completions it waits for at once.
//!
//! Where the device sets the pace, a job hands each request over by a call of its own, as programs do and
//! as fio does: a batch reaches the device later, and the block layer merges what lies adjacent in it.
//! Where the program and the kernel set the pace, as on memory, batches save calls, and waiting for
//! several completions saves wake-ups, though it holds back those that came first. Before the window
//! opens a job spends a few short turns with each of several ways, and keeps the first that is as fast as
//! any. A stream of adjacent requests has nothing to find out: in a batch it would become another one.
//! Rejected: a fixed share of the depth (a device with a long tail would be held to its slowest
//! requests), and a search in the window (the result would be that of several loads).

use record::{EngineName, Nanos, Pattern, Workload};

/// Depth of a job from which on waiting for several completions is tried.
const WAIT_DEPTH_MIN: u32 = 32;
/// Length of a turn.
const TURN: Nanos = Nanos(4_000_000);
/// Turns of each way.
const ROUNDS: usize = 3;
/// A rate within this share of the best is as good.
const AS_GOOD: f64 = 0.97;
/// Gain over the first way without which that is kept: more than noise makes of a few turns.
const GAIN_MIN: f64 = 1.15;

/// How a job handles its requests. One by one, it takes a completion, accounts for it and hands the next
/// request over before it looks at another, so that its depth is always in flight or waiting to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whether each request is handed over by a call of its own; else all that are ready, together.
    pub one_by_one: bool,
    /// Completions that are waited for at once, at least 1.
    pub wait_for: u32,
}

impl Batch {
    /// All requests that are ready are handed over together, and any completion ends the wait.
    pub const TOGETHER: Self = Self { one_by_one: false, wait_for: 1 };
    /// Each request by a call of its own.
    pub const SINGLE: Self = Self { one_by_one: true, wait_for: 1 };
}

/// What a job is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchChoice {
    /// Do it this way.
    Fixed(Batch),
    /// Find out before the window begins.
    Search(Ways),
}

/// The ways that are worth a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ways {
    /// Requests that a job has in flight.
    depth: u32,
    /// Whether the engine has a call to hand requests over.
    calls: bool,
    /// Whether requests follow each other on the device, so that a batch of them would be merged.
    adjacent: bool,
}

impl Ways {
    /// Those of a workload whose jobs have so many requests in flight.
    #[must_use]
    pub fn of(workload: &Workload, depth: u32) -> Self {
        let calls =
            !matches!(workload.engine, EngineName::Null | EngineName::Sync | EngineName::Mmap);
        let cursor = matches!(workload.pattern, Pattern::Sequential | Pattern::Strided);
        let blended = workload.blend.is_some_and(|blend| blend.sequential_percent > 0);
        Self { depth, calls, adjacent: cursor || blended }
    }

    /// All of them; the first is what programs do.
    fn list(self) -> Vec<Batch> {
        let first = self.first();
        if self.depth < 2 || self.calls && self.adjacent {
            return vec![first];
        }
        let mut ways = vec![first, Batch::TOGETHER];
        if self.depth >= WAIT_DEPTH_MIN {
            let waits = [16, 8, 4, 2].map(|part| self.depth / part);
            ways.extend(waits.map(|wait_for| Batch { wait_for, ..Batch::TOGETHER }));
        }
        ways.dedup();
        ways
    }

    /// The way where nothing is known.
    #[must_use]
    pub fn first(self) -> Batch {
        if self.calls { Batch::SINGLE } else { Batch::TOGETHER }
    }

    /// How long a search takes; nothing where there is nothing to try.
    pub(crate) fn search_time(self) -> Nanos {
        match self.list().len() {
            1 => Nanos(0),
            count => Nanos(TURN.0 * (count * ROUNDS) as u64),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Search {
    ways: Vec<Batch>,
    /// Per way: requests per nanosecond in its turns.
    rates: Vec<Vec<f64>>,
    turn: usize,
    begin: Option<Nanos>,
    count: u64,
}

impl Search {
    /// `None` where there is nothing to try.
    pub(crate) fn new(ways: Ways) -> Option<Self> {
        let ways = ways.list();
        let rates = vec![Vec::with_capacity(ROUNDS); ways.len()];
        (ways.len() > 1).then_some(Self { ways, rates, turn: 0, begin: None, count: 0 })
    }

    /// The way whose turn it is.
    pub(crate) fn current(&self) -> Batch {
        self.ways[self.turn % self.ways.len()]
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
        let way = self.turn % self.ways.len();
        self.rates[way].push(self.count as f64 / spent.0 as f64);
        self.turn += 1;
        self.begin = None;
        self.count = 0;
        true
    }

    /// Whether every way had its turns.
    pub(crate) fn over(&self) -> bool {
        self.turn >= self.ways.len() * ROUNDS
    }

    /// The first way that is as good as any; the first of all where one had no turn.
    pub(crate) fn choice(&self) -> Batch {
        if self.rates.iter().any(Vec::is_empty) {
            return self.ways[0];
        }
        let medians: Vec<f64> = self.rates.iter().cloned().map(stats::median).collect();
        let best = medians.iter().copied().fold(0.0, f64::max);
        let enough = if best < medians[0] * GAIN_MIN { 0.0 } else { best * AS_GOOD };
        let first = medians.iter().position(|&rate| rate >= enough);
        self.ways[first.unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: Ways = Ways { depth: 128, calls: true, adjacent: false };

    /// What a search comes to where the rate depends on the way alone, in requests per ms.
    fn found(ways: Ways, rate: impl Fn(Batch) -> u64) -> Batch {
        let mut search = Search::new(ways).unwrap();
        let mut now = Nanos(1);
        while !search.over() {
            let per_ms = rate(search.current());
            search.observe(now, per_ms as usize);
            now = now.plus(Nanos(1_000_000));
        }
        search.choice()
    }

    #[test]
    fn a_device_that_sets_the_pace_gets_and_returns_requests_one_by_one() {
        assert_eq!(found(RANDOM, |_| 100), Batch::SINGLE);
        assert_eq!(found(RANDOM, |way| if way.one_by_one { 120 } else { 100 }), Batch::SINGLE);
        // A gain that noise could be is none.
        let noise = |way: Batch| if way.wait_for == 16 { 110 } else { 100 };
        assert_eq!(found(RANDOM, noise), Batch::SINGLE);
    }

    #[test]
    fn the_first_way_that_is_as_fast_as_any_is_chosen() {
        let rate = |way: Batch| 100 + u64::from(way.wait_for.min(16)) * 3;
        assert_eq!(found(RANDOM, rate), Batch { wait_for: 16, ..Batch::TOGETHER });
        let together = |way: Batch| if way.one_by_one { 100 } else { 150 };
        assert_eq!(found(Ways { depth: 2, ..RANDOM }, together), Batch::TOGETHER);
        let null = Ways { calls: false, ..RANDOM };
        let rate = |way: Batch| u64::from(way.wait_for) * 100;
        assert_eq!(found(null, rate), Batch { wait_for: 64, ..Batch::TOGETHER });
    }

    #[test]
    fn adjacent_requests_and_a_single_one_leave_nothing_to_try() {
        for ways in [Ways { adjacent: true, ..RANDOM }, Ways { depth: 1, ..RANDOM }] {
            assert!(Search::new(ways).is_none() && ways.search_time() == Nanos(0));
            assert_eq!(ways.first(), Batch::SINGLE);
        }
        // Nothing merges where no call hands requests over.
        assert!(Search::new(Ways { adjacent: true, calls: false, ..RANDOM }).is_some());
    }

    #[test]
    fn a_search_cut_short_keeps_the_first_way() {
        assert_eq!(RANDOM.search_time(), Nanos(72_000_000));
        let mut search = Search::new(RANDOM).unwrap();
        for ms in 0..8 {
            search.observe(Nanos(1 + ms * 1_000_000), 10);
        }
        assert!(!search.over());
        assert_eq!(search.choice(), Batch::SINGLE);
    }
}
