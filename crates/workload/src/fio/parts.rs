//! What the readers of a job share: what is known of its files, and the words of the run that it becomes.
//!
//! It stands apart from `job`, which calls those readers, so that none of them needs it.

use crate::fio::values::time_word;

/// What a file name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing is there.
    Missing,
    /// A folder.
    Folder,
    /// A device of another machine, of which only the words are printed: shares of it are shares of this length.
    Elsewhere {
        /// Assumed.
        bytes: u64,
    },
    /// A file or device.
    File {
        /// Its length, where that is known.
        bytes: Option<u64>,
    },
}

/// What the caller knows of files.
pub trait FileNames {
    /// What a file name stands for.
    fn kind(&self, name: &str) -> FileKind;

    /// Whether a folder of this name is there.
    fn is_folder(&self, name: &str) -> bool;

    /// The processors of NUMA nodes, both as lists such as `0-3,8`.
    ///
    /// # Errors
    /// Why they are not known.
    fn processors_of_nodes(&self, nodes: &str) -> Result<String, String>;
}

/// Files by their kinds alone: what is there may be a folder.
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

/// A run without an end by time: the longest that there is.
pub(crate) const NO_END: &str = "8760h";
/// Intervals of a run at most, which are the lines of its logs.
const LINES_MAX: u64 = 100_000;

/// Words and notes as they come together.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) targets: Vec<String>,
    pub(crate) stands_for: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// When the job ends, where that is by time alone.
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

    /// One request in flight, whatever was asked for.
    pub(crate) fn one_in_flight(&mut self) {
        if let Some(at) = self.words.iter().position(|word| word == "--iodepth") {
            self.words[at + 1] = "1".to_owned();
        }
    }

    /// Lines of this length are limited in number: a run without an end by time ends when that is reached.
    pub(crate) fn end_for_lines_of(&mut self, every_ms: u64) {
        let longest = time_word(every_ms.saturating_mul(LINES_MAX * 1_000_000));
        let open = self.words.windows(2).position(|pair| pair == ["--runtime", NO_END]);
        if let Some(at) = open {
            self.words[at + 1] = longest;
        }
    }

    pub(crate) fn note_some(&mut self, note: Option<String>) {
        self.notes.extend(note);
    }
}
