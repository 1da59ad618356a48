//! What a path is, who uses it, and who may write it.
//!
//! [`open_target`] decides what a path means and refuses what could lose data; [`reopen`] gives the
//! descriptors of a run. The names below are the interface; another system stands beside `linux`.

mod error;
mod line_file;
mod linux;
mod output_file;
mod signature;

pub use error::TargetError;
pub use line_file::LineFile;
pub use linux::capabilities::capabilities;
pub use linux::claim::destruction;
pub use linux::descriptor::{direct_alignment, drop_clean_pages, reopen};
pub use linux::drop_cache::{Area, drop_cache, resident_bytes, unwritten_bytes};
pub use linux::extents::{extents, pieces};
pub use linux::handle::{Access, TargetHandle};
pub use linux::layout::layout;
pub use linux::open::open_target;
pub use linux::rounding::{file_sizes, rounding_loss};
pub use linux::testfile::{default_test_size, write_test_file};
pub use output_file::{InUse, OutputFile, OutputKind, WrittenFile, first_line};
