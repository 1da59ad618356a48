//! Decides how a job hands requests over, and how many completions it waits for at once.
//!
//! If the device sets the pace, a job hands over each request by a call of its own, as applications and fio
//! do. A batch would reach the device later, and the block layer would merge adjacent requests in it. If
//! the program and the kernel set the pace, as on memory, batches save system calls. Waiting for several
//! completions then saves wake-ups, but delays the first ones. Before the window opens, a job tries each
//! way in a few short turns and uses the first one that is as fast as the fastest. A stream of adjacent
//! requests is not searched: a batch would turn it into a different stream. Rejected: a fixed share of the
//! depth (a device with a long tail would run at the pace of its slowest requests), and a search within the
//! window (the result would mix several loads).

use record::{EngineName, Nanos, Pattern, Workload};

/// Minimum queue depth at which waiting for several completions is tried.
const WAIT_DEPTH_MIN: u32 = 32;
const TURN: Nanos = Nanos(4_000_000);
const ROUNDS: usize = 3;
/// A rate of at least this share of the best counts as equally fast.
const AS_GOOD: f64 = 0.97;
/// Minimum gain over the first way to switch from it: more than the noise of a few turns.
const GAIN_MIN: f64 = 1.15;

/// How a job handles its requests. With `one_by_one` it takes a completion, accounts for it and hands over
/// the next request before it takes another, so that its full depth is always in flight or completed but
/// not yet seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whether each request is handed over by a call of its own; otherwise one call for all that are ready.
    pub one_by_one: bool,
    /// Completions to wait for at once, at least 1.
    pub wait_for: u32,
}

impl Batch {
    /// One call hands over all requests that are ready, and any completion ends the wait.
    pub const TOGETHER: Self = Self { one_by_one: false, wait_for: 1 };
    /// Each request by a call of its own.
    pub const SINGLE: Self = Self { one_by_one: true, wait_for: 1 };
}

/// How a job finds its way to handle requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchChoice {
    /// Use this way.
    Fixed(Batch),
    /// Search for the best way before the window begins.
    Search(Ways),
}

/// The ways to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ways {
    /// Requests that a job keeps in flight.
    depth: u32,
    /// Whether handing over takes a call of the engine.
    calls: bool,
    /// Whether requests are adjacent on the device, so that a batch of them would be merged.
    adjacent: bool,
}

impl Ways {
    /// The ways for a workload whose jobs keep `depth` requests in flight.
    #[must_use]
    pub fn of(workload: &Workload, depth: u32) -> Self {
        let calls =
            !matches!(workload.engine, EngineName::Null | EngineName::Sync | EngineName::Mmap);
        let cursor = matches!(workload.pattern, Pattern::Sequential | Pattern::Strided);
        let blended = workload.blend.is_some_and(|blend| blend.sequential_percent > 0);
        Self { depth, calls, adjacent: cursor || blended }
    }

    /// All ways; the first is what applications do.
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

    /// The way to use without a search.
    #[must_use]
    pub fn first(self) -> Batch {
        if self.calls { Batch::SINGLE } else { Batch::TOGETHER }
    }

    /// Length of the search; zero if there is only one way.
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
    /// For each way, its requests per nanosecond in each turn.
    rates: Vec<Vec<f64>>,
    turn: usize,
    begin: Option<Nanos>,
    count: u64,
}

impl Search {
    /// `None` if there is only one way.
    pub(crate) fn new(ways: Ways) -> Option<Self> {
        let ways = ways.list();
        let rates = vec![Vec::with_capacity(ROUNDS); ways.len()];
        (ways.len() > 1).then_some(Self { ways, rates, turn: 0, begin: None, count: 0 })
    }

    /// The way to use in this turn.
    pub(crate) fn current(&self) -> Batch {
        self.ways[self.turn % self.ways.len()]
    }

    /// Counts `count` completions seen at `now`; returns whether a turn has ended.
    pub(crate) fn observe(&mut self, now: Nanos, count: usize) -> bool {
        // The first completions belong to the previous turn.
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

    /// Whether every way had all of its turns.
    pub(crate) fn over(&self) -> bool {
        self.turn >= self.ways.len() * ROUNDS
    }

    /// The first way that is as fast as the fastest; the first of all if any way had no turn.
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

    /// The result of a search in which the rate depends on the way alone, in requests per ms.
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
        // A gain that may be noise does not count.
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
        // Without a call to hand requests over, no requests are merged.
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
