//! What each component between processor and medium carries, and what it was said to carry.
//!
//! The papers' first picture has two numbers beside every part: the peak that is advertised (PAP)
//! and what an application really gets (RAP); the goal is more than half. This crate finds both
//! for the machine at hand. [`memory`] times loads, stores and copies; [`pap`] reads what sysfs and
//! firmware advertise; [`plan`] says which trials are needed, which whoever runs trials carries
//! out; [`bus`] and [`path`] conclude from them. [`zones`] does the same for the surface of one
//! disk, [`cost`] for money.
//!
//! Everything but the memory tests and the readers of sysfs is a function of recorded trials, so
//! simulated disks go through the same code. What nothing showed is a reason and no number: a bus
//! is only said to be full where a cache served the data and the sum over disks stopped growing.
//! Rejected: figures of data sheets in tables of our own (never complete, and stale), and the
//! largest rate seen as the peak (a ratio of one then says nothing).
#![forbid(unsafe_code)]

pub mod bus;
pub mod components;
pub mod cost;
pub mod data_sheet;
pub mod memory;
pub mod pap;
pub mod path;
pub mod plan;
pub mod zones;

use record::{Estimate, MemoryTest, MemoryTests};

/// The rate of a memory test in a place, buffers not shifted.
#[must_use]
pub fn memory_rate(
    tests: &MemoryTests,
    test: MemoryTest,
    threads: u32,
    place: &str,
) -> Option<Estimate> {
    let same = |row: &&record::MemoryRow| {
        (row.test, row.threads) == (test, threads)
            && row.place == place
            && (row.source_shift_bytes, row.destination_shift_bytes) == (0, 0)
    };
    tests.rows.iter().find(same).map(|row| row.bytes_per_s)
}
