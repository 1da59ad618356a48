//! Events to come, in the order in which they happen.
//!
//! A binary heap over (time, number of the push): ties are the same in every run. Rejected: a
//! calendar queue or a wheel of buckets (faster with many thousand events of one time scale, but a
//! simulated array has few events in flight per drive, over six orders of magnitude of time).

use record::Nanos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One event. Compared the wrong way round, because the heap gives the largest.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Nanos,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time and number as one: which of two comes first is no branch then, and a heap's branches
    /// are not foreseeable.
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

    // What the heap asks for.
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

/// Events to come, each at its time. Keep `E` small and `Copy`: the heap moves it.
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

    /// When the next event is.
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
