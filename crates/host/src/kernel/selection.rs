//! The user's selection among the devices.

/// Which devices are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names given by the user: a kernel name, a device node, or a path on a file system. Each includes all
    /// devices below it. Empty: all devices.
    pub named: Vec<String>,
    /// If none is named: whether to include partitions.
    pub partitions: bool,
    /// If none is named: whether to include devices without any completed request since boot.
    pub unused: bool,
}
