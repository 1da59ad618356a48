//! One request of a job.

use record::OpKind;

/// One read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Byte offset in the target.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Read or write.
    pub op: OpKind,
}
