//! The flags that allow writing to data that exists.

use clap::Args;
use host::target::{Access, InUse};

#[derive(Debug, Args)]
pub(crate) struct SafetyArgs {
    /// Allow writing to existing files; their content is lost.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Allow writing to the block device with this stable name, such as one from /dev/disk/by-id;
    /// all data on the device is lost. Can be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy_data_on: Vec<String>,
}

impl SafetyArgs {
    /// Access to targets that are written; `keep` lists the command's own files.
    pub(crate) fn access(&self, keep: Vec<InUse>) -> Access {
        Access::ReadWrite { overwrite: self.overwrite, destroy: self.destroy_data_on.clone(), keep }
    }
}
