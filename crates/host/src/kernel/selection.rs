//! What a user chooses of the devices that there are.

/// Which devices are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// As a user names them: kernel name, device node, or a path on a file system. Each comes with
    /// all devices below it. None: all.
    pub named: Vec<String>,
    /// Where none is named: partitions, too.
    pub partitions: bool,
    /// Where none is named: devices that never completed a request since the machine started, too.
    pub unused: bool,
}
