//! Tries out whether the machine has what a test needs.
//!
//! A loop device may be listed and still be refused by a container. So each probe does the smallest real
//! operation: it requests a free loop number, or mounts and unmounts an empty file system.

use crate::undo::run;
use crate::{Mounted, ServedDisk, ThrottledGroup, disk_folder};
use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

/// Space for the test files of all tests that run at the same time.
const ROOM_BYTES: u64 = 4 << 30;

/// The collector of sar, which is not on the path (its location on Debian and others).
pub const SADC: &str = "/usr/lib/sysstat/sadc";

/// A feature that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// The effective user is root.
    Root,
    /// Loop devices can be created.
    Loop,
    /// Compressed RAM block devices can be created.
    Zram,
    /// File systems can be mounted.
    Mount,
    /// This process can serve a disk (FUSE).
    Served,
    /// The program fio.
    Fio,
    /// The folder of the tests supports `O_DIRECT` and has space for test files.
    Disk,
    /// ext4 file systems can be created (mkfs.ext4).
    Ext4,
    /// btrfs file systems can be created (mkfs.btrfs).
    Btrfs,
    /// XFS file systems can be created (mkfs.xfs).
    Xfs,
    /// Swap can be created and used (mkswap, swapon).
    Swap,
    /// File systems can be frozen (fsfreeze).
    Freeze,
    /// Partitions can be added to a device (addpart).
    Partitions,
    /// A command can be run in a mount namespace of its own (unshare).
    Namespace,
    /// A control group of version 1 that throttles I/O can be created.
    BlkioGroup,
    /// Another program's system calls can be traced and made to fail (strace).
    Strace,
    /// A program can be run as another user (setpriv, as root).
    Setpriv,
    /// A program can be run on a terminal of its own (script).
    Terminal,
    /// A headless browser (chromium).
    Chromium,
    /// Python 3.9 or later, with an SQLite that supports the tables of the store (3.37).
    Python,
    /// Python with pandas.
    Pandas,
    /// Python with pandas and matplotlib.
    Matplotlib,
    /// The programs of sysstat: iostat, sadf and sadc.
    Sysstat,
    /// A Prometheus server, an exporter of the machine's counters, and openssl for its certificate.
    Prometheus,
}

impl Capability {
    /// `needs NAME: why`, with the name as in [`requires!`](crate::requires); `None` if the machine has it.
    #[must_use]
    pub fn lack(self) -> Option<String> {
        self.missing().map(|why| format!("needs {self:?}: {why}"))
    }

    /// Why the machine does not have it; `None` if it does.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        let words = |error: std::io::Error| error.to_string();
        // Commands that succeed if the feature is present.
        let commands: &[&str] = match self {
            Self::Root => return (!is_root()).then(|| "the tests do not run as root".to_owned()),
            Self::Zram if !is_root() => return Some("zram devices need root".to_owned()),
            Self::Zram if Path::new("/sys/class/zram-control/hot_add").exists() => &[],
            Self::Zram => return Some("the kernel has no zram (try modprobe zram)".to_owned()),
            Self::Mount => return Mounted::tmpfs(1 << 20).err().map(words),
            Self::Disk => return disk_missing(),
            Self::BlkioGroup => return ThrottledGroup::new().err().map(words),
            Self::Served => return ServedDisk::new(1 << 20, 1).err().map(words),
            Self::Loop => &["losetup --find"],
            Self::Fio => &["fio --version"],
            Self::Ext4 => &["mkfs.ext4 -V"],
            Self::Btrfs => &["mkfs.btrfs --version"],
            Self::Xfs => &["mkfs.xfs -V"],
            Self::Swap => &["mkswap --version", "swapon --show"],
            Self::Freeze => &["fsfreeze --version"],
            Self::Partitions => &["addpart --version"],
            Self::Namespace => &["unshare --mount true"],
            Self::Strace => &["strace -o /dev/null true"],
            Self::Setpriv => &["setpriv --reuid=65534 --regid=65534 --clear-groups true"],
            Self::Terminal => &["script -qec true /dev/null"],
            Self::Chromium => &["chromium --version"],
            Self::Python => &[
                "python3 -c assert(__import__('sys').version_info>=(3,9))",
                "python3 -c assert(__import__('sqlite3').sqlite_version_info>=(3,37))",
            ],
            Self::Pandas => &["python3 -c __import__('pandas')"],
            Self::Matplotlib => {
                &["python3 -c __import__('pandas')", "python3 -c __import__('matplotlib')"]
            }
            Self::Sysstat => &["iostat -V", "sadf -V", "/usr/lib/sysstat/sadc -V"],
            Self::Prometheus => &[
                "prometheus --version",
                "promtool --version",
                "prometheus-node-exporter --version",
                "openssl version",
            ],
        };
        commands.iter().find_map(|words| failure(words))
    }
}

/// Whether the effective user, who owns /proc/self (proc(5)), is root.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Why a command failed; `None` if it succeeded.
fn failure(words: &str) -> Option<String> {
    let mut words = words.split(' ');
    let program = words.next().unwrap_or_default();
    match Command::new(program).args(words).output() {
        Err(error) => Some(format!("{program} cannot be run: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Some(format!("{program} failed: {}", words.trim()))
        }
    }
}

/// Test files need `O_DIRECT`, and space beyond what halfpower leaves free (5 %, at least 1 GiB).
fn disk_missing() -> Option<String> {
    let outcome = disk_folder().and_then(|folder| {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_DIRECT)
            .open(folder.path().join("probe"))?;
        let mut df = Command::new("df");
        run(df.args(["--block-size=1", "--output=size,avail"]).arg(folder.path()))
    });
    let text = match outcome {
        Ok(text) => text,
        Err(error) => return Some(format!("the folder of the tests cannot be used: {error}")),
    };
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let (size, free) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let needed = ROOM_BYTES + (size / 20).max(1 << 30);
    (free < needed).then(|| format!("{free} bytes are free for the tests, {needed} are needed"))
}
