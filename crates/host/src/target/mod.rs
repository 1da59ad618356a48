//! Opens paths as targets: what a path is, which processes use it, and whether it may be written.
//!
//! [`open_target`] decides what a path means and refuses anything that could lose data; [`reopen`] creates
//! the descriptors of a run. The names below are the interface, which both `linux` and `windows` implement.

mod area;
mod default_size;
mod destruction;
mod error;
mod findings;
mod handle;
mod in_use;
mod line_file;
#[cfg(target_os = "linux")]
mod linux;
mod opening;
mod output_file;
mod rounding;
mod signature;
mod testfile;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use default_size::default_test_size;
pub use destruction::destruction;
pub use error::TargetError;
pub use handle::{Access, Area, TargetHandle};
pub use in_use::InUse;
pub use line_file::LineFile;
pub use opening::is_database;
pub use output_file::{OutputFile, OutputKind, WrittenFile, refuse_own_file};
pub use platform::capabilities::capabilities;
pub use platform::descriptor::{direct_alignment, drop_clean_pages, reopen};
pub use platform::drop_cache::{drop_cache, resident_bytes, unwritten_bytes};
pub use platform::extents::extents;
pub use platform::files::{
    allow_valid_data, duplicate, identity, is_pipe, preallocate, reserve, set_valid_data,
};
pub use platform::layout::layout;
pub use platform::open::open_target;
pub use rounding::{file_sizes, rounding_loss};
pub use testfile::{check_room, write_test_file};
