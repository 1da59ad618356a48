//! A machine made of files, for the tests of this crate.
//!
//! It is built as the kernel builds sysfs: real directories under `devices`, symbolic links from
//! `dev/block`, `class/block` and `slaves`, so that the code under test follows the same kind of
//! path as on a real machine.

use crate::roots::Roots;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// Held by tests that start soakers, which are threads of the whole process.
pub(crate) static SOAKERS: Mutex<()> = Mutex::new(());

/// The fake machine; gone when dropped.
pub(crate) struct Fake {
    directory: TempDir,
    /// Its trees.
    pub(crate) roots: Roots,
}

impl Fake {
    /// A machine without anything.
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        for part in ["dev/block", "class/block", "block"] {
            fs::create_dir_all(roots.sys.join(part)).unwrap();
        }
        fs::create_dir_all(&roots.proc).unwrap();
        fs::create_dir_all(&roots.dev).unwrap();
        Self { directory, roots }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file under the fake /proc.
    pub(crate) fn proc(&self, path: &str, text: &str) {
        Self::write(&self.roots.proc.join(path), text);
    }

    /// Writes a file under the fake /sys.
    pub(crate) fn sys(&self, path: &str, text: &str) {
        Self::write(&self.roots.sys.join(path), text);
    }

    /// Makes a symbolic link under the fake /sys to another path there.
    pub(crate) fn sys_link(&self, from: &str, to: &str) {
        let from = self.roots.sys.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        let to = self.roots.sys.join(to);
        fs::create_dir_all(&to).unwrap();
        symlink(to, from).unwrap();
    }

    /// Makes a block device at a path under `devices`, with its links and a size in sectors.
    pub(crate) fn block(&self, path: &str, numbers: &str, sectors: u64) {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let path = format!("devices/{path}");
        self.sys(&format!("{path}/dev"), numbers);
        self.sys(&format!("{path}/size"), &sectors.to_string());
        self.sys_link(&format!("dev/block/{numbers}"), &path);
        self.sys_link(&format!("class/block/{name}"), &path);
    }

    /// A scratch path outside of the three trees.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
