//! What a coordinator asks of an agent, and what that answers: one JSON object in a frame each.
//!
//! The steps are those of `plan::session::RealTargets` and `plan::session::Session`, so that an agent decides nothing
//! that the same program on the same machine would decide otherwise. Beside them go the clock, which is
//! answered at any time, and a sign of life each second.

use host::target::Access;
use record::{
    Bytes, CacheMode, EngineName, Finding, IntervalResult, Nanos, Target, Trial, Workload,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trial::{IntervalTotals, PartTotals};

/// The version of these messages. Documents travel in them, so that programs of two versions do not
/// talk to each other at all.
pub const PROTOCOL: u32 = 3;

/// Reads a message.
///
/// By the one way in which this program reads documents, and with the kind of a message around it instead of
/// among its fields: all others would bring code of their own for every part of a document.
///
/// # Errors
/// If it is none.
pub(crate) fn parse<Message: DeserializeOwned>(text: &[u8]) -> Result<Message, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Who is there; the first of all.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the program.
        version: String,
    },
    /// The coordinator is alive; has no answer.
    Alive,
    /// What time it is.
    Clock {
        /// Handed back as it is.
        sent: Nanos,
    },
    /// Opens targets as a set, without writing anything.
    Open {
        /// Number of the set.
        set: u32,
        /// Their paths.
        targets: Vec<String>,
        /// What may be done to them.
        access: Permission,
        /// As of `RealTargets::open`.
        size: Option<Bytes>,
        /// Likewise, in bytes.
        min_request: Bytes,
    },
    /// Looks at the area of a workload, and whether the machine has what it asks for.
    LookAtArea {
        /// Number of the set.
        set: u32,
        /// Whose.
        workload: Box<Workload>,
    },
    /// Opens a set once more.
    OpenMode {
        /// Number of the set.
        set: u32,
        /// With these flags.
        cache: CacheMode,
        /// Whether to write.
        write: bool,
    },
    /// Writes test files and makes a set ready.
    Prepare {
        /// Number of the set.
        set: u32,
        /// To be used, or what can be used in its place.
        engine: EngineName,
        /// Seed of everything.
        seed: u64,
    },
    /// Flushes what the page cache took of a set.
    Flush {
        /// Number of the set.
        set: u32,
    },
    /// Makes a part of a workload ready.
    Trial {
        /// Number of the set.
        set: u32,
        /// The workload of all clients.
        workload: Box<Workload>,
        /// Its seed.
        seed: u64,
        /// The first of its jobs that run here.
        first_job: u32,
        /// How many.
        jobs: u32,
        /// Whether it tells what it counted at each look at the precision, and is told its end.
        judged: bool,
    },
    /// When its window begins, by the clock of the agent.
    Begin {
        /// The moment.
        at: Nanos,
    },
    /// The window begins once all ranks have come to their barrier.
    Meet {
        /// So long after that: what the one with the most jobs needs, the same for all.
        ahead: Nanos,
        /// Whether this one has no jobs in the trial, and only comes.
        idle: bool,
    },
    /// When the window of the trial in progress ends, sooner than planned.
    End {
        /// The moment, after the begin of the window.
        after: Nanos,
    },
    /// Ends the trial in progress; what it measured is handed back.
    Stop,
}

/// What may be done to targets: `host::target::Access` as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Permission {
    /// Whether the targets may be written.
    write: bool,
    /// Whether existing files may be overwritten.
    overwrite: bool,
    /// Block devices whose data may be destroyed.
    destroy: Vec<String>,
}

impl From<&Access> for Permission {
    fn from(access: &Access) -> Self {
        match access {
            Access::ReadOnly => Self { write: false, overwrite: false, destroy: Vec::new() },
            Access::ReadWrite { overwrite, destroy, .. } => {
                Self { write: true, overwrite: *overwrite, destroy: destroy.clone() }
            }
        }
    }
}

impl From<Permission> for Access {
    fn from(permission: Permission) -> Self {
        let Permission { write, overwrite, destroy } = permission;
        if write {
            // The files of the command are on the machine that asks; here a database is known by its content.
            Self::ReadWrite { overwrite, destroy, keep: Vec::new() }
        } else {
            Self::ReadOnly
        }
    }
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Who is here.
    Hello {
        /// [`PROTOCOL`] there.
        protocol: u32,
        /// Version of the program there.
        version: String,
        /// What the machine calls itself.
        hostname: String,
        /// Identity of its running kernel; null where it has none.
        boot: Option<String>,
        /// Whether the default engine can be used.
        default_engine: bool,
    },
    /// The time.
    Clock {
        /// As it was asked.
        sent: Nanos,
        /// When the question came, by the monotonic clock.
        received: Nanos,
        /// When the answer went.
        replied: Nanos,
    },
    /// It is alive.
    Alive,
    /// A set is open.
    Opened {
        /// Facts of its targets.
        facts: Vec<Target>,
        /// Of each the numbers by which its kernel knows it; null where it has none.
        identities: Vec<Option<(u64, u64, u64)>>,
        /// What offsets must be multiples of, in bytes.
        alignment: u64,
        /// Whether it may be written.
        writable: bool,
    },
    /// It was done.
    Done,
    /// How far a step before a trial is, as the writing of test files.
    Step {
        /// Share of it that is done.
        share: f64,
    },
    /// A set is ready.
    Prepared {
        /// The engine that will be used.
        engine: EngineName,
        /// What was found.
        findings: Vec<Finding>,
    },
    /// It was flushed.
    Flushed {
        /// In so many milliseconds.
        ms: f64,
    },
    /// Engines are open.
    Ready {
        /// The least time from now to the begin of the window.
        ahead: Nanos,
    },
    /// It has come to the barrier, in which it had nothing to begin.
    Met,
    /// How far the trial is.
    Progress {
        /// Share of the run that is over.
        share: f64,
        /// Requests counted so far.
        ios: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// What the slices of the window that are over have counted.
    Slices {
        /// The requests of each, from the first.
        ios: Vec<u64>,
        /// When that was, after the begin of the window.
        at: Nanos,
    },
    /// Intervals of a trial that is over, in order, before it itself: of a long run they are longer than a
    /// message may be.
    Intervals {
        /// For its document.
        results: Vec<IntervalResult>,
        /// What its jobs counted.
        totals: Vec<IntervalTotals>,
    },
    /// The trial is over; its intervals have been told.
    Trial {
        /// Its document.
        trial: Box<Trial>,
        /// What its jobs counted.
        totals: Box<PartTotals>,
    },
    /// What was asked cannot be done.
    Failed {
        /// Why, and what to do.
        message: String,
        /// The exit code that the program would end with.
        exit_code: u8,
    },
}
