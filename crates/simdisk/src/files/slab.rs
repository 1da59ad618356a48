//! Values by small numbers that are used again: requests, blocks and waiters in flight.
//!
//! A freed number is the next one given out, so the numbers stay as small as the most that were in
//! use at once, and nothing is allocated after that many.

/// Values by number.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    /// Keeps a value; its number.
    pub(super) fn put(&mut self, value: T) -> u32 {
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

    /// Gives a number up; its value.
    pub(super) fn take(&mut self, number: u32) -> T {
        debug_assert!(!self.free.contains(&number) || self.free.len() > 64, "given up twice");
        self.free.push(number);
        self.values[number as usize]
    }

    pub(super) fn at(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }

    /// How many are in use.
    pub(super) fn in_use(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Every value, those given up included.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.free.clear();
    }
}
