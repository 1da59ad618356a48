//! Floats as sort keys. All sorts share one key type, because each comparison closure would compile a
//! separate sort of about 4 kB.

use std::cmp::Ordering;

/// A number as a sort key, in the order of [`f64::total_cmp`]. Use it with `sort_by_cached_key`, which
/// compiles one sort for all callers with the same key type.
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
