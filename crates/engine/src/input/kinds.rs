//! The kinds of input, and the size of each that no real one reaches.
//!
//! A limit is not a budget: a file that is accepted may need as much memory as it is long. Small kinds are
//! written by people. Large kinds are written by tools over hours, and their readers look at the first
//! bytes before they read the rest ([`crate::input::bytes_if_known`]).

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name with an article, as in "more than a job file may have".
    pub(crate) name: &'static str,
    /// The largest size, bytes.
    pub(crate) bytes_max: u64,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const fn kind(name: &'static str, bytes_max: u64) -> Kind {
    Kind { name, bytes_max }
}

impl Kind {
    /// The largest size, bytes.
    #[must_use]
    pub const fn bytes_max(self) -> u64 {
        self.bytes_max
    }
}

/// A job file of fio; also the most that one and all that it includes may have together.
pub const JOB_FILE: Kind = kind("a job file", MIB);
/// A design of a sweep.
pub const DESIGN: Kind = kind("a design", MIB);
/// A description of a simulated device.
pub const MACHINE: Kind = kind("a description of a device", MIB);
/// Figures of a manufacturer.
pub const DATA_SHEET: Kind = kind("a data sheet", MIB);
/// A list of hosts.
pub const HOST_LIST: Kind = kind("a list of hosts", MIB);
/// The configuration of the exporter's server.
pub const WEB_CONFIG: Kind = kind("a web configuration", MIB);
/// A certificate or a key in PEM.
pub const CERTIFICATE: Kind = kind("a certificate or key", MIB);
/// What a server wants to know of who asks.
pub const TOKEN: Kind = kind("a token", 64 * KIB);
/// Counters that a tool kept.
pub const RECORDING: Kind = kind("a recording", GIB);
/// Requests that a tool recorded.
pub const REQUESTS: Kind = kind("a recording of requests", GIB);
/// Lines of trials, of a hundred bytes each.
pub const TRIAL_LINES: Kind = kind("a file of trial lines", 64 * MIB);
/// Documents of this program, results of fio.
pub const DOCUMENT: Kind = kind("a file of results", GIB);
