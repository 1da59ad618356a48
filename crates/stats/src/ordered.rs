//! Numbers as keys to sort by. One type for all of them, because each comparison in a closure makes
//! a sort of its own: some 4 kB of the program.

use std::cmp::Ordering;

/// A number as a key to sort by, in the order of [`f64::total_cmp`]: for `sort_by_cached_key`, which
/// shares one sort among all that have the same type of key.
#[derive(Clone, Copy, Debug)]
pub struct Ordered(pub f64);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}
