//! Stores values under small, reusable numbers: requests in flight, and requests that wait.
//!
//! The number released last is the next one assigned. So numbers stay below the maximum in use at once, and
//! nothing is allocated beyond that. For numbers that come from outside and are widely spread, use a
//! [`NumberMap`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::{Index, IndexMut};

/// A map from numbers (of a stripe, a frame) to values. The hash has no random seed, so that a lookup costs
/// the same in every run. No code iterates over such a map, so its order affects no result.
pub(crate) type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<DefaultHasher>>;

#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores a value; returns its number.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value;
                number
            }
            None => {
                self.values.push(value);
                (self.values.len() - 1) as u32
            }
        }
    }

    /// A number whose old value is still there, so that its memory is used again.
    #[inline]
    pub(crate) fn reuse(&mut self) -> u32
    where
        T: Default,
    {
        self.free.pop().unwrap_or_else(|| {
            self.values.push(T::default());
            (self.values.len() - 1) as u32
        })
    }

    /// Releases a number; its value stays until the number is used again.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) {
        debug_assert!(self.free.len() > 64 || !self.free.contains(&number), "given up twice");
        self.free.push(number);
    }

    #[inline]
    pub(crate) fn take(&mut self, number: u32) -> T
    where
        T: Copy,
    {
        self.release(number);
        self.values[number as usize]
    }

    #[inline]
    pub(crate) fn in_use(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Every value, including released ones.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }
}
