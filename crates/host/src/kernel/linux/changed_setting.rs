//! Changes settings of block devices during a run, and restores them even after a kill.
//!
//! Before a change, a small file in the user's state folder records the setting, the process, and the old
//! and new values. At the next start, [`undo_left`] restores what a dead process left changed, unless the
//! machine was restarted or another program has changed the setting since. Rejected: a child process that
//! outlives a kill (one more process to kill), and a signal handler (none sees SIGKILL).

use crate::kernel::error::KernelError;
use crate::kernel::read::{Roots, names, text};
use engine::input;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why no setting can be changed here, as text.
pub const NONE_HERE: Option<&str> = None;

/// The folder of the records: `halfpower/changed-settings` under `XDG_STATE_HOME`, or under
/// `~/.local/state`; `None` if neither variable is an absolute path.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    state.map(|state| state.join("halfpower/changed-settings"))
}

/// A changed setting, restored when dropped.
#[derive(Debug)]
pub struct ChangedSetting {
    path: PathBuf,
    before: String,
    entry: Option<PathBuf>,
}

impl ChangedSetting {
    /// Changes `queue/NAME` of a block device to a value; `folder` holds the record meanwhile.
    ///
    /// # Errors
    /// If the record cannot be written, or the setting cannot be read or written.
    pub fn change(
        roots: &Roots,
        folder: &Path,
        device: &str,
        name: &str,
        value: &str,
    ) -> Result<Self, KernelError> {
        let path = queue_setting(roots, device, name);
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| KernelError::io(action, &path, &error)
        };
        let before = input::kernel_text(&path).map_err(failed("read the setting", &path))?;
        let before = before.trim().to_owned();
        let process = std::process::id();
        let entry = folder.join(format!("{process}-{device}-{name}"));
        let new = folder.join(format!(".{process}"));
        let lines = [boot(roots), started(roots, process), before.clone(), value.to_owned()];
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            // Written under another name first, so that no process reads a partial record.
            .and_then(|()| fs::write(&new, lines.join("\n")))
            .and_then(|()| fs::rename(&new, &entry))
            .map_err(failed("record a changed setting in", folder))?;
        let changed = Self { path, before, entry: Some(entry) };
        fs::write(&changed.path, value).map_err(failed("change the setting", &changed.path))?;
        Ok(changed)
    }

    /// Restores the setting.
    ///
    /// # Errors
    /// If it cannot be written; the record then stays for the next start.
    pub fn put_back(mut self) -> Result<(), KernelError> {
        self.restore().map_err(|error| KernelError::io("restore the setting", &self.path, &error))
    }

    fn restore(&mut self) -> std::io::Result<()> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        fs::write(&self.path, &self.before)?;
        fs::remove_file(entry)
    }
}

impl Drop for ChangedSetting {
    fn drop(&mut self) {
        // If the setting cannot be restored, its record stays for the next start.
        let _ = self.restore();
    }
}

/// Restores settings that dead processes left changed; returns each setting and its value now.
pub fn undo_left(roots: &Roots, folder: &Path) -> Vec<(PathBuf, String)> {
    names(folder).iter().filter_map(|name| undo(roots, &folder.join(name), name)).collect()
}

fn undo(roots: &Roots, entry: &Path, name: &str) -> Option<(PathBuf, String)> {
    // Another user's file must not decide what this process writes.
    let owner = fs::symlink_metadata(entry).ok()?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return None;
    }
    let [process, device, setting] = name.splitn(3, '-').collect::<Vec<_>>().try_into().ok()?;
    let lines = text(entry)?;
    let [boot_id, start, before, changed] = lines.lines().collect::<Vec<_>>().try_into().ok()?;
    if started(roots, process.parse().ok()?) == start {
        return None;
    }
    let path = queue_setting(roots, device, setting);
    let ours = boot(roots) == boot_id && text(&path).as_deref() == Some(changed);
    let undone = ours && fs::write(&path, before).is_ok();
    if undone || !ours {
        let _ = fs::remove_file(entry);
    }
    undone.then(|| (path, before.to_owned()))
}

fn queue_setting(roots: &Roots, device: &str, name: &str) -> PathBuf {
    roots.sys.join("block").join(device).join("queue").join(name)
}

fn boot(roots: &Roots) -> String {
    text(&roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_else(|| "unknown".to_owned())
}

/// When a process started, in clock ticks since boot (proc(5)); "gone" if it does not exist.
fn started(roots: &Roots, process: u32) -> String {
    let stat = text(&roots.proc.join(process.to_string()).join("stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_ascii_whitespace().nth(19).unwrap_or("gone").to_owned()
}
