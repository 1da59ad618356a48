//! Shared parts of the job converters: facts about files, and the flags of the resulting run.
//!
//! It is separate from `job`, which calls the converters, so that they do not depend on `job`.

use record::{NO_TIME_LIMIT, time_word};

/// What a file name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing exists there.
    Missing,
    /// A directory.
    Folder,
    /// A device of another machine, for which halfpower only prints the command. Percentages refer to this
    /// length.
    Elsewhere {
        /// Assumed length.
        bytes: u64,
    },
    /// A file or device.
    File {
        /// Its length, if known.
        bytes: Option<u64>,
    },
}

/// Facts about files, which the caller provides.
pub trait FileNames {
    /// What a file name refers to.
    fn kind(&self, name: &str) -> FileKind;

    /// Whether a directory of this name exists.
    fn is_folder(&self, name: &str) -> bool;

    /// Whether the name is that of a device, a link, or another thing that is not a regular file.
    fn is_special(&self, _name: &str) -> bool {
        false
    }

    /// The processors of NUMA nodes. Both are lists such as `0-3,8`.
    ///
    /// # Errors
    /// Why they are unknown.
    fn processors_of_nodes(&self, nodes: &str) -> Result<String, String>;
}

/// Files by their kind only: whatever exists may be a directory.
impl<F: Fn(&str) -> FileKind> FileNames for F {
    fn kind(&self, name: &str) -> FileKind {
        self(name)
    }

    fn is_folder(&self, name: &str) -> bool {
        self(name) != FileKind::Missing
    }

    fn processors_of_nodes(&self, _: &str) -> Result<String, String> {
        Err("the NUMA nodes of this machine are unknown".to_owned())
    }
}

/// Run time of a run that time does not end.
pub(crate) const NO_END: &str = "none";
/// Maximum number of intervals of a run, which are the lines of its logs.
const INTERVALS_MAX: u64 = 100_000;

/// Limits the number of intervals. A run without a time limit ends when the maximum is reached.
pub(crate) fn end_for_intervals(words: &mut [String], every_ns: u64) {
    let longest = every_ns.saturating_mul(INTERVALS_MAX).min(NO_TIME_LIMIT.0);
    let open = words.windows(2).position(|pair| pair == ["--runtime", NO_END]);
    if let Some(at) = open {
        words[at + 1] = time_word(longest);
    }
}

#[derive(Default)]
pub(crate) struct Words {
    pub(crate) targets: Vec<String>,
    pub(crate) stands_for: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// When the job ends, if only time ends it.
    pub(crate) ends_after_ns: Option<u64>,
}

impl Words {
    pub(crate) fn flag(&mut self, flag: &str, value: &impl ToString) {
        self.words.extend([format!("--{flag}"), value.to_string()]);
    }

    pub(crate) fn switch(&mut self, flag: &str) {
        self.words.push(format!("--{flag}"));
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Sets the queue depth to one.
    pub(crate) fn one_in_flight(&mut self) {
        if let Some(at) = self.words.iter().position(|word| word == "--iodepth") {
            self.words[at + 1] = "1".to_owned();
        }
    }

    pub(crate) fn note_some(&mut self, note: Option<String>) {
        self.notes.extend(note);
    }
}
