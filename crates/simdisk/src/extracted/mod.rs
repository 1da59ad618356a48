//! A drive whose parameters were extracted from a real one, in the language of DiskSim.
//!
//! `text` reads the language, `spec` what a drive is, `layout` places blocks, `mechanism` moves arm and platter,
//! `device` has the buffer and the electronics. Requests are served in order of arrival, one at a time. No
//! number of it comes from a trace.

mod device;
mod layout;
mod mechanism;
mod spec;
mod text;
mod trace;

pub use device::ExtractedDrive;
pub use spec::ExtractedSpec;
pub use trace::{Serviced, read_services, serve_again};

/// Bytes of a block of these files.
pub(crate) const SECTOR_BYTES: u64 = 512;
