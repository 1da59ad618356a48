//! The kinds of input, each with a size limit that no real input reaches.
//!
//! A limit is not a budget: an accepted file may need as much memory as its length. People write the small
//! kinds by hand. Tools write the large kinds over hours, and their parsers check the first bytes before they
//! read the rest ([`crate::input::bytes_if_known`]).

/// Path that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name with an article, for messages.
    pub(crate) name: &'static str,
    /// Maximum size in bytes.
    pub(crate) bytes_max: u64,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const fn kind(name: &'static str, bytes_max: u64) -> Kind {
    Kind { name, bytes_max }
}

impl Kind {
    /// Maximum size in bytes.
    #[must_use]
    pub const fn bytes_max(self) -> u64 {
        self.bytes_max
    }
}

/// A fio job file. The limit also applies to one file and all files that it includes together.
pub const JOB_FILE: Kind = kind("a job file", MIB);
/// A design of a sweep.
pub const DESIGN: Kind = kind("a design", MIB);
/// A description of a simulated device.
pub const MACHINE: Kind = kind("a description of a device", MIB);
/// A manufacturer's data sheet.
pub const DATA_SHEET: Kind = kind("a data sheet", MIB);
/// A list of hosts.
pub const HOST_LIST: Kind = kind("a list of hosts", MIB);
/// The accounts of this machine.
pub const ACCOUNTS: Kind = kind("a list of accounts", 64 * MIB);
/// A token that a server requires from clients.
pub const TOKEN: Kind = kind("a token", 64 * KIB);
/// Counters that a tool recorded.
pub const RECORDING: Kind = kind("a recording", GIB);
/// Requests that a tool recorded.
pub const REQUESTS: Kind = kind("a recording of requests", GIB);
/// Rows of trials, about a hundred bytes each.
pub const TRIAL_LINES: Kind = kind("a file of trial lines", 64 * MIB);
/// Documents of halfpower, and results of fio.
pub const DOCUMENT: Kind = kind("a file of results", GIB);
