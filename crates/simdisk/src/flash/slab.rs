//! Things in flight, by number: places are used again, so that a run allocates until its peak and
//! then no more.

/// Items by number.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    /// Keeps an item; its number.
    pub(super) fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.items[number as usize] = item;
                number
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    /// Gives an item up.
    pub(super) fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.items[number as usize]
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }
}
