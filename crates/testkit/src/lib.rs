//! What tests need of a machine: whether it has something, who uses it now, and devices that go
//! away again.
//!
//! A test that needs root, a loop device or fio begins with [`requires!`]. Where the machine lacks
//! it, the test ends there and says so past the test harness's capture and in the file that
//! `HALFPOWER_SKIP_LOG` names, so that `cargo xtask ci` counts the skips, and fails where a machine
//! should have had what was missing. Rejected: `#[ignore]` (no reason, decided at build time).
//! Tests that make devices or mounts hold one lock across all processes.
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
pub use draws::{PROVE, draws};
pub use emulator::{EMULATOR, emulator};
pub use fake::Fake;
pub use group::{MemoryGroup, Throttle, ThrottledGroup, slow_writes};
pub use mounted::{Mounted, disk_folder};
pub use probe::{Capability, SADC};
pub use program::install_program;
pub use served::{ServedDisk, Service as DiskService};
pub use service::Service;
pub use skip::{SKIP_LOG, TestLock, enter, skip};
pub use state::{dirty_bytes, frozen, partition, read_only, scheduler, setting, swap_on};
pub use undo::{Folder, Undo, undo_left_over, undo_on_signals};

/// Ends the test that it stands in, with a counted skip, unless the machine has everything named;
/// `requires!(Root, Loop)` with the names of [`Capability`].
///
/// Where one of them is a device or a mount, the rest of the block holds the lock of all tests
/// that use devices: use it once per test, and at its beginning.
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
