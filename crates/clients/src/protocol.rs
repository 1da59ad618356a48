//! The requests of a coordinator and the replies of an agent: one JSON object per frame.
//!
//! The steps are those of `plan::session::RealTargets` and `plan::session::Session`, so that an agent
//! decides exactly as the same program would on its own. In addition there are clock requests, which are
//! answered at any time, and a sign of life each second.

use host::target::Access;
use record::{
    Bytes, CacheMode, EngineName, Finding, IntervalResult, Nanos, Target, Trial, Workload,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trial::{IntervalTotals, PartTotals};

/// The version of these messages. They contain documents, so programs of different versions do not
/// communicate at all.
pub const PROTOCOL: u32 = 4;

/// Parses a message.
///
/// It uses the program's one parser of documents, and expects the kind of a message around it instead of
/// among its fields. Other ways would generate more code for every part of a document.
///
/// # Errors
/// If it is not a valid message.
pub(crate) fn parse<Message: DeserializeOwned>(text: &[u8]) -> Result<Message, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A request of the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Asks for the agent's identity; the first request of all.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the program.
        version: String,
    },
    /// A sign of life from the coordinator; has no reply.
    Alive,
    /// Asks for the time.
    Clock {
        /// Returned unchanged.
        sent: Nanos,
    },
    /// Opens targets as a set, without writing anything.
    Open {
        /// Number of the set.
        set: u32,
        /// Paths of the targets.
        targets: Vec<String>,
        /// Permitted access to them.
        access: Permission,
        /// As in `RealTargets::open`.
        size: Option<Bytes>,
        /// As in `RealTargets::open`, in bytes.
        min_request: Bytes,
    },
    /// Checks the area of a workload, and whether the machine has the features that it needs.
    LookAtArea {
        /// Number of the set.
        set: u32,
        /// The workload.
        workload: Box<Workload>,
    },
    /// Opens a set in another mode.
    OpenMode {
        /// Number of the set.
        set: u32,
        /// Cache mode.
        cache: CacheMode,
        /// Whether to open for writing.
        write: bool,
    },
    /// Writes test files and prepares a set.
    Prepare {
        /// Number of the set.
        set: u32,
        /// The engine to use, or to replace if unavailable.
        engine: EngineName,
        /// Seed of all random choices.
        seed: u64,
    },
    /// Flushes the data of a set from the page cache.
    Flush {
        /// Number of the set.
        set: u32,
    },
    /// Prepares a part of a workload.
    Trial {
        /// Number of the set.
        set: u32,
        /// The workload of all clients.
        workload: Box<Workload>,
        /// Its seed.
        seed: u64,
        /// The first of its jobs that run here.
        first_job: u32,
        /// Number of those jobs.
        jobs: u32,
        /// Whether the agent sends its counts at each precision check, and receives the end.
        judged: bool,
    },
    /// Sets when the window begins.
    Begin {
        /// The time by the clock of the agent.
        at: Nanos,
    },
    /// Ends the window of the current trial earlier than planned.
    End {
        /// The end, relative to the begin of the window.
        after: Nanos,
    },
    /// Stops the current trial; its results are returned.
    Stop,
}

/// Permitted access to targets: `host::target::Access` in the form that is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Permission {
    write: bool,
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
            // The command's files are on the coordinator; here a database is recognized by its contents.
            Self::ReadWrite { overwrite, destroy, keep: Vec::new() }
        } else {
            Self::ReadOnly
        }
    }
}

/// An agent's report on an open set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// Facts of its targets.
    pub facts: Vec<Target>,
    /// The numbers by which the kernel identifies each target; null if it has none.
    pub identities: Vec<Option<(u64, u64, u64)>>,
    /// Alignment of offsets in bytes.
    pub alignment: u64,
    /// Whether the set may be written.
    pub writable: bool,
}

/// A reply of the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The agent's identity.
    Hello {
        /// Its [`PROTOCOL`].
        protocol: u32,
        /// Version of its program.
        version: String,
        /// Host name of the machine.
        hostname: String,
        /// Identity of its running kernel; null if unavailable.
        boot: Option<String>,
        /// Whether the default engine can be used.
        default_engine: bool,
    },
    /// The time.
    Clock {
        /// From the request.
        sent: Nanos,
        /// When the request arrived, by the monotonic clock.
        received: Nanos,
        /// When the reply was sent.
        replied: Nanos,
    },
    /// A sign of life.
    Alive,
    /// A set is open.
    Opened(Opened),
    /// The request was executed.
    Done,
    /// Progress of a step before a trial, such as writing test files.
    Step {
        /// Completed share of the step.
        share: f64,
    },
    /// A set is prepared.
    Prepared {
        /// The engine that will be used.
        engine: EngineName,
        /// What was found.
        findings: Vec<Finding>,
    },
    /// The set was flushed.
    Flushed {
        /// Duration in milliseconds.
        ms: f64,
    },
    /// The engines are open.
    Ready {
        /// Minimum time from now to the begin of the window.
        ahead: Nanos,
    },
    /// Progress of the trial.
    Progress {
        /// Completed share of the run.
        share: f64,
        /// Requests counted so far.
        ios: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// Counts of the completed slices of the window.
    Slices {
        /// The requests of each, from the first.
        ios: Vec<u64>,
        /// The time, relative to the begin of the window.
        at: Nanos,
    },
    /// Intervals of a finished trial, in order, before the trial: together they may exceed a message.
    Intervals {
        /// Results for the document.
        results: Vec<IntervalResult>,
        /// Counts of the jobs.
        totals: Vec<IntervalTotals>,
    },
    /// The trial is finished; its intervals were already sent.
    Trial {
        /// Its document.
        trial: Box<Trial>,
        /// Counts of its jobs.
        totals: Box<PartTotals>,
    },
    /// The request failed.
    Failed {
        /// The reason, and what to do.
        message: String,
        /// The exit code that the program would end with.
        exit_code: u8,
    },
}
