//! Records changes on the machine, with the commands that undo them.
//!
//! A change is undone when its [`Undo`] is dropped, and after [`undo_on_signals`] also when a signal ends
//! the process. In case the process is killed, each change is noted in a file; [`undo_left_over`] runs the
//! commands in the files of dead processes. Only root can write to the folder of these files, because root
//! trusts them; without root nothing is noted. Rejected: finding left-over changes by name.

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

const NOTES: &str = "/run/halfpower-undo";
/// Signals that end a process by default.
const ENDING: [i32; 3] =
    [signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];

/// A change that has not been undone.
#[derive(Clone, Debug)]
struct Change {
    id: u64,
    what: String,
    command: Vec<String>,
    /// Whether it is noted because it outlives the process. A started process is not: its number may belong
    /// to another process later.
    noted: bool,
}

/// The changes of this process, the oldest first.
static CHANGES: Mutex<Vec<Change>> = Mutex::new(Vec::new());

fn changes() -> MutexGuard<'static, Vec<Change>> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Undoes a change when it is dropped.
#[derive(Debug)]
pub struct Undo {
    id: u64,
}

impl Undo {
    /// Records a change with the command that undoes it.
    #[must_use]
    pub fn by(what: impl Into<String>, command: &[&str]) -> Self {
        Self::new(what.into(), command, true)
    }

    /// A started process, which is killed unless it is forgotten.
    #[must_use]
    pub fn process(id: u32) -> Self {
        Self::new(format!("process {id}"), &["kill", "-KILL", &id.to_string()], false)
    }

    fn new(what: String, command: &[&str], noted: bool) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let mut changes = changes();
        changes.push(Change { id, what, command, noted });
        write_notes(&changes);
        Self { id }
    }

    /// Drops the record: nothing needs to be undone any more.
    pub fn forget(&self) {
        drop(self.take());
    }

    fn take(&self) -> Option<Change> {
        let mut changes = changes();
        let place = changes.iter().position(|change| change.id == self.id)?;
        let change = changes.remove(place);
        write_notes(&changes);
        Some(change)
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // `None` if a signal was faster.
        if let Some(change) = self.take() {
            undo(&change.what, &change.command);
        }
    }
}

/// Undoes one change; returns whether that worked.
fn undo(what: &str, command: &[String]) -> bool {
    let undone = patiently(|| run(Command::new(&command[0]).args(&command[1..])));
    // A drop cannot return an error, and must not panic in a test that already fails.
    if let Err(error) = &undone {
        eprintln!("{what} was left behind: {error}");
    }
    undone.is_ok()
}

/// Writes the notes for [`undo_left_over`], as far as possible.
fn write_notes(changes: &[Change]) {
    let noted: Vec<&Change> = changes.iter().filter(|change| change.noted).collect();
    let path = Path::new(NOTES).join(std::process::id().to_string());
    if noted.is_empty() {
        // The file may not exist.
        let _ = fs::remove_file(path);
        return;
    }
    let line = |change: &&Change| format!("{}\t{}\n", change.what, change.command.join("\t"));
    let text: String = noted.iter().map(line).collect();
    if fs::create_dir_all(NOTES).is_ok() {
        // Without write permission, a kill leaves changes behind; that is no reason to fail.
        let _ = fs::write(path, text);
    }
}

/// Undoes what killed processes left behind; returns what it undid.
pub fn undo_left_over() -> Vec<String> {
    let mut undone = Vec::new();
    for entry in fs::read_dir(NOTES).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if Path::new("/proc").join(&name).exists() {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for line in text.lines().rev() {
            let mut words = line.split('\t').map(str::to_owned);
            let what = words.next().unwrap_or_default();
            let command: Vec<String> = words.collect();
            if command.is_empty() {
                continue;
            }
            let good = undo(&what, &command);
            undone.extend(good.then_some(what));
        }
        // A failed undo was reported, and would fail next time too: usually the change is already gone.
        let _ = fs::remove_file(entry.path());
    }
    undone
}

/// From now on, a signal that ends this process first undoes its changes, the newest first.
///
/// # Errors
/// If the signals cannot be handled.
pub fn undo_on_signals() -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(ENDING)?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let mut all = std::mem::take(&mut *changes());
            while let Some(change) = all.pop() {
                undo(&change.what, &change.command);
                write_notes(&all);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A temporary folder that is also removed when a signal ends the process.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _undo: Undo,
}

impl Folder {
    /// Creates one in `parent` whose name begins with `prefix`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn within(parent: &Path, prefix: &str) -> Result<Self> {
        let path = tempfile::Builder::new().prefix(prefix).tempdir_in(parent).map(TempDir::keep)?;
        let text = path.to_string_lossy().into_owned();
        let undo = Undo::by(format!("folder {text}"), &["rm", "-rf", "--", &text]);
        Ok(Self { path, _undo: undo })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Runs a command; returns its standard output, or an error with its messages.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Error::other(format!("{command:?}: {}", words.trim())))
}

/// Retries for a second: resources of a process stay busy briefly after its end, for example because the
/// kernel releases the files of a ring later.
fn patiently<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        if let Ok(done) = attempt() {
            return Ok(done);
        }
        std::thread::sleep(PAUSE);
    }
    attempt()
}
