//! A queue of future events, in the order of their times.
//!
//! A binary heap over (time, push number), so that ties have the same order in every run. Rejected: a
//! calendar queue or a wheel of buckets. They are faster with many thousand events on one time scale, but a
//! simulated array has few events in flight per drive, over six orders of magnitude of time.

use record::Nanos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One event. The comparison is reversed, because the heap returns the largest.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Nanos,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time and number in one integer: comparing keys needs no branch, which would be unpredictable.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.sequence)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The comparison that the heap uses.
    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.key() >= other.key()
    }
}

impl<E> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Future events, each with its time. Keep `E` small and `Copy`: the heap moves it.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Nanos, event: E) {
        self.sequence += 1;
        self.heap.push(Entry { at, sequence: self.sequence, event });
    }

    /// The time of the next event.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the next event if it is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Nanos) -> Option<(Nanos, E)> {
        if self.heap.peek()?.at > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}
