//! Why nothing could be imported, and what to do instead.
//!
//! Only a file without a single usable interval is an error. Damage beside usable intervals is a
//! finding of the observation, because the reader still wants what is there.

/// What is wrong with a file as a whole.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// Nothing in the content tells what it is.
    #[error(
        "unknown file format ({0}); supported are iostat as text and JSON, sar -d, sadf -j, -d, -p \
         and -x, /proc/diskstats, node_exporter's text, responses of Prometheus, telegraf's CSV, \
         Windows CSV of PhysicalDisk and LogicalDisk, and halfpower's observations"
    )]
    UnknownForm(&'static str),
    /// A known relative of a form that is read.
    #[error("it is {what}; {instead}")]
    WrongForm {
        /// What it is.
        what: &'static str,
        /// What to record instead.
        instead: &'static str,
    },
    /// The form fits, but no interval came out of it.
    #[error("it contains no usable disk interval: {why}; {remedy}")]
    Nothing {
        /// What is there, or not.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// Several machines, of which one must be chosen.
    #[error("it contains {count} machines: {names}; name one with --instance")]
    SeveralMachines {
        /// How many.
        count: usize,
        /// The first few.
        names: String,
    },
    /// Files that cannot be read as recordings.
    #[error("cannot read {names}: {cause}")]
    Files {
        /// Their names.
        names: String,
        /// Why.
        cause: Box<Self>,
    },
    /// Files of several machines or tools where those of one were wanted.
    #[error(
        "{names} contain {count} recordings ({found}); name only files that the same tool wrote \
         on the same machine"
    )]
    SeveralRecordings {
        /// Their names.
        names: String,
        /// How many.
        count: usize,
        /// Tools and machines.
        found: String,
    },
    /// The server refused.
    #[error("the server returned an error: {0}")]
    Server(String),
    /// A document of ours that this version cannot read.
    #[error("it is a halfpower document, but cannot be read: {0}")]
    OwnDocument(String),
}

impl ImportError {
    /// Nothing usable, and why.
    pub(crate) fn nothing(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Nothing { why: why.into(), remedy: remedy.into() }
    }
}
