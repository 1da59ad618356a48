//! Provides what tests need of a machine: checks for capabilities, locks, and temporary devices.
//!
//! A test that needs root, a loop device or fio begins with [`requires!`]. If the machine lacks one of
//! them, the test ends there. It reports the skip past the test harness's capture, and in the file that
//! `HALFPOWER_SKIP_LOG` names. `cargo xtask ci` counts the skips, and fails if a machine should have had
//! what was missing. Rejected: `#[ignore]` (no reason, decided at build time). Tests that create devices or
//! mounts hold one lock across all processes.
#![forbid(unsafe_code)]

mod child;
mod device;
mod draws;
mod emulator;
mod fake;
mod group;
mod mounted;
mod probe;
mod program;
mod served;
mod service;
mod skip;
mod state;
mod undo;

pub use child::{in_child, is_child, passes_in_child};
pub use device::{LoopDevice, Zram};
pub use draws::draws;
pub use emulator::{EMULATOR, emulator};
pub use fake::Fake;
pub use group::{MemoryGroup, Throttle, ThrottledGroup};
pub use mounted::{Mounted, disk_folder};
pub use probe::{Capability, SADC};
pub use program::install_program;
pub use served::{ServedDisk, Service as DiskService};
pub use service::Service;
pub use skip::{SKIP_LOG, TestLock, enter, skip};
pub use state::{dirty_bytes, frozen, partition, read_only, scheduler, setting, swap_on};
pub use undo::{Folder, Undo, undo_left_over, undo_on_signals};

/// Ends the calling test with a counted skip, unless the machine has everything named: `requires!(Root,
/// Loop)` with the names of [`Capability`].
///
/// If one of them is a device or a mount, the rest of the block holds the lock of all tests that use
/// devices. So use it once per test, at the beginning.
#[macro_export]
macro_rules! requires {
    ($($capability:ident),+ $(,)?) => {
        fn here() {}
        let Some(_lock) = $crate::enter(
            ::std::any::type_name_of_val(&here),
            &[$($crate::Capability::$capability),+],
        ) else {
            return;
        };
    };
}
