//! Simulates a machine by files: the trees `proc`, `sys` and `dev` in one folder.
//!
//! It has the structure of the kernel's sysfs: real directories under `devices`, symbolic links from
//! `dev/block`, `class/block` and `slaves`. So the code under test follows the same paths as on a real
//! machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const WRITABLE: &str = "a temporary folder can be written";

/// The fake machine; removed when dropped.
#[derive(Debug)]
pub struct Fake {
    directory: TempDir,
}

impl Fake {
    /// An empty machine.
    #[must_use]
    // It creates a folder, which a `Default` would hide.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let directory = TempDir::new().expect(WRITABLE);
        for part in ["sys/dev/block", "sys/class/block", "sys/block", "proc", "dev"] {
            fs::create_dir_all(directory.path().join(part)).expect(WRITABLE);
        }
        Self { directory }
    }

    /// The folder that contains the three trees.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    fn write(path: &Path, content: &[u8]) {
        fs::create_dir_all(path.parent().expect(WRITABLE)).expect(WRITABLE);
        fs::write(path, content).expect(WRITABLE);
    }

    /// Writes a file under the fake /proc.
    pub fn proc(&self, path: &str, text: &str) {
        Self::write(&self.path("proc").join(path), text.as_bytes());
    }

    /// Writes a file under the fake /sys.
    pub fn sys(&self, path: &str, text: &str) {
        self.sys_bytes(path, text.as_bytes());
    }

    /// Writes a binary file under the fake /sys.
    pub fn sys_bytes(&self, path: &str, content: &[u8]) {
        Self::write(&self.path("sys").join(path), content);
    }

    /// Makes a symbolic link under the fake /sys to another path there.
    pub fn sys_link(&self, from: &str, to: &str) {
        let from = self.path("sys").join(from);
        fs::create_dir_all(from.parent().expect(WRITABLE)).expect(WRITABLE);
        let to = self.path("sys").join(to);
        fs::create_dir_all(&to).expect(WRITABLE);
        symlink(to, from).expect(WRITABLE);
    }

    /// Creates a block device at a path under `devices`, with its links and a size in sectors.
    pub fn block(&self, path: &str, numbers: &str, sectors: u64) {
        let name = Path::new(path).file_name().expect(WRITABLE).to_str().expect(WRITABLE);
        let path = format!("devices/{path}");
        self.sys(&format!("{path}/dev"), numbers);
        self.sys(&format!("{path}/size"), &sectors.to_string());
        self.sys_link(&format!("dev/block/{numbers}"), &path);
        self.sys_link(&format!("class/block/{name}"), &path);
    }

    /// A path in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
