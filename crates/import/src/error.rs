//! Defines why a file could not be imported, and what to do instead.
//!
//! Only a file without a single usable interval is an error. Damage next to usable intervals becomes a
//! finding of the observation, because the user still wants the rest.

/// Why a file as a whole is unusable.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// The content matches no known format.
    #[error(
        "unknown file format ({0}); supported formats: iostat as text and JSON, sar -d, sadf -j, -d, \
         -p and -x, /proc/diskstats, node_exporter's text, responses of Prometheus, CSV of telegraf \
         and collectd, Windows CSV of PhysicalDisk and LogicalDisk, and halfpower's observations. To \
         diagnose the disk that holds a file, name its directory"
    )]
    UnknownForm(&'static str),
    /// A known format, but of a related tool or without disks.
    #[error("it is {what}; {instead}")]
    WrongForm {
        /// Its format.
        what: &'static str,
        /// What to record instead.
        instead: &'static str,
    },
    /// The format is known, but the file has no usable interval.
    #[error("it contains no usable disk interval: {why}; {remedy}")]
    Nothing {
        /// The reason.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// Several machines; the user must choose one.
    #[error("it contains {count} machines: {names}; name one with --instance")]
    SeveralMachines {
        /// Number of machines.
        count: usize,
        /// Names of the first few.
        names: String,
    },
    /// No machine has the chosen name.
    #[error(
        "it contains {names}, but no machine {name}; use --instance with a name that it contains"
    )]
    NoSuchMachine {
        /// The chosen name.
        name: String,
        /// Names of the machines in the file.
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
    /// Files of several machines or tools, although one was expected.
    #[error(
        "{names} contain {count} recordings ({found}); name only files that the same tool wrote \
         on the same machine"
    )]
    SeveralRecordings {
        /// Their names.
        names: String,
        /// Number of recordings.
        count: usize,
        /// Their tools and machines.
        found: String,
    },
    /// The server returned an error.
    #[error("the server returned an error: {0}")]
    Server(String),
    /// A halfpower document that this version cannot read.
    #[error("it is a halfpower document, but cannot be read: {0}")]
    OwnDocument(String),
}

impl ImportError {
    /// No usable interval, with the reason.
    pub(crate) fn nothing(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Nothing { why: why.into(), remedy: remedy.into() }
    }
}
