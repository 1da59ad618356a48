//! Values under small numbers that are used again, so that nothing is allocated per request.

/// Values by number.
#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slots<T> {
    /// A number that is free; its value is what was left there.
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.values.push(T::default());
            (self.values.len() - 1) as u32
        })
    }

    /// Gives a number up.
    pub(super) fn give(&mut self, number: u32) {
        self.free.push(number);
    }

    #[inline]
    pub(super) fn at(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }
}
