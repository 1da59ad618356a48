//! Whether the machine has what a test needs, found out by trying it.
//!
//! A loop device may be listed and still be refused by a container, so each probe does the
//! smallest real thing: asks for a free loop number, mounts and unmounts an empty file system.

use crate::Tmpfs;
use std::path::Path;
use std::process::Command;

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// The effective user is root.
    Root,
    /// Loop devices can be made.
    Loop,
    /// Compressed RAM block devices can be made.
    Zram,
    /// File systems can be mounted.
    Mount,
    /// The program fio.
    Fio,
}

impl Capability {
    /// The name as [`requires!`](crate::requires) takes it.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// Whether tests that use it must not run at the same time.
    pub(crate) fn shared(self) -> bool {
        matches!(self, Self::Loop | Self::Zram | Self::Mount)
    }

    /// Why the machine does not have it; `None` where it has.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Root => (!is_root()).then(|| "the tests do not run as root".to_owned()),
            Self::Loop => failure(Command::new("losetup").arg("--find")),
            Self::Zram => zram_missing(),
            Self::Mount => Tmpfs::new(1 << 20).err().map(|error| error.to_string()),
            Self::Fio => failure(Command::new("fio").arg("--version")),
        }
    }
}

/// Whether the effective user id is 0 (proc(5), `/proc/pid/status`, second number of `Uid`).
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .and_then(|ids| ids.split_whitespace().nth(1))
        == Some("0")
}

/// Why a command does not succeed; `None` where it does.
fn failure(command: &mut Command) -> Option<String> {
    let program = command.get_program().display().to_string();
    match command.output() {
        Err(error) => Some(format!("{program} cannot be run: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Some(format!("{program} failed: {}", words.trim()))
        }
    }
}

/// New zram devices come from a control file of the module.
fn zram_missing() -> Option<String> {
    if !is_root() {
        return Some("zram devices need root".to_owned());
    }
    (!Path::new("/sys/class/zram-control/hot_add").exists())
        .then(|| "the kernel has no zram (try modprobe zram)".to_owned())
}
