//! One load from several machines: who took part, how well their clocks agree, and what each did.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the targets of clients lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetSharing {
    /// All clients load one target; jobs are numbered through over the clients.
    Shared,
    /// Each client loads a target of its own, with jobs numbered from zero.
    Own,
}

impl TargetSharing {
    /// The name as in JSON and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Own => "own",
        }
    }
}

/// By what clients begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BegunBy {
    /// A moment that is named to all, by clocks that were compared.
    AgreedTime,
    /// A barrier of MPI, from which each goes on when the last has come.
    MpiBarrier,
}

/// The machines of a load, and how they went together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clients {
    /// How their targets lie to each other.
    pub sharing: TargetSharing,
    /// Why that is so: a flag, the path, or what the clients found.
    pub sharing_reason: String,
    /// What started them: the words of the template, or how they came.
    pub launched_by: String,
    /// How many processes a launcher started with one command, which found each other; absent where
    /// agents were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// By what they began together; absent in documents of old versions, in which it was an agreed time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<BegunBy>,
    /// Time from the first begin to the last, by the clock of the coordinator; null where it is not known.
    pub start_spread_ns: Option<Nanos>,
    /// The largest error of that, from the errors of the clocks of both.
    pub start_spread_error_ns: Option<Nanos>,
    /// Time that the windows of all clients have in common, at least; null where it is not known.
    pub common_window_ns: Option<Nanos>,
    /// Jain's index of the rates per job, or, where jobs of different clients have different queue depths,
    /// per request in flight: 1 where all are equal, 1/n where one of n gets all; null with fewer than two
    /// clients.
    pub jain_index: Option<f64>,
    /// Each of them, in the order in which they were named.
    pub each: Vec<Client>,
}

impl Clients {
    /// Those with a result, each with its requests per second and job.
    #[must_use]
    pub fn per_job(&self) -> Vec<(&Client, f64)> {
        self.each.iter().filter_map(|client| Some((client, client.iops_per_job?))).collect()
    }

    /// Those with a result, each with its requests per second and request that it may have in flight.
    #[must_use]
    pub fn per_slot(&self) -> Vec<(&Client, f64)> {
        let rate = |client: &Client| {
            let depth = f64::from(client.depth.unwrap_or(client.jobs).max(1));
            Some(client.iops_per_job? * f64::from(client.jobs) / depth)
        };
        self.each.iter().filter_map(|client| Some((client, rate(client)?))).collect()
    }

    /// Whether the jobs of all clients with a result have the same queue depth. They have not where a depth
    /// was dealt out that is no multiple of the number of clients.
    #[must_use]
    pub fn equally_deep(&self) -> bool {
        let rated = self.per_job();
        // Depths of jobs as fractions, compared without a division.
        let product =
            |one: &Client, other: &Client| Some(u64::from(one.depth?) * u64::from(other.jobs));
        rated.windows(2).all(|pair| {
            let (one, other) = (pair[0].0, pair[1].0);
            product(one, other) == product(other, one)
        })
    }
}

/// One machine of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Its number, from 0.
    pub rank: u32,
    /// Its name, as it was given.
    pub host: String,
    /// What it calls itself.
    pub hostname: String,
    /// Number of its first job among those of all clients.
    pub first_job: u32,
    /// Its jobs; 0 where it had nothing to do.
    pub jobs: u32,
    /// Requests that it may have in flight, of all its jobs: its share of the depth that was asked for;
    /// absent in documents of before, in which jobs count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// How its clock lies to that of the coordinator.
    pub clock: ClientClock,
    /// When its window began after the agreed moment, in ns, negative before it; null where it did not
    /// begin.
    pub begin_skew_ns: Option<i64>,
    /// Share of the requests of all clients that completed, 0 to 1; null where it has no result.
    pub share: Option<f64>,
    /// Requests per second and job; null where it has no result.
    pub iops_per_job: Option<f64>,
    /// The id of its own document among the parts of the trial, which has the conditions, counters and
    /// findings of its machine; null where it has none.
    pub trial_id: Option<String>,
    /// Why it has none; null where it has one, or nothing to do.
    pub lost: Option<LostClient>,
}

impl Client {
    /// Whether it took part and its numbers are in the result.
    #[must_use]
    pub fn counted(&self) -> bool {
        self.trial_id.is_some()
    }
}

/// The clock of a client beside that of the coordinator: of several exchanges the one with the shortest
/// round trip decides, as NTP does (RFC 5905, section 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientClock {
    /// Its time less that of the coordinator, before the run; both since their own machine began.
    pub offset_ns: i64,
    /// Largest error of that: half of the shortest round trip.
    pub error_ns: Nanos,
    /// The shortest round trip.
    pub round_trip_ns: Nanos,
    /// Exchanges that were made.
    pub exchanges: u32,
    /// How much the offset had changed after the run; null where it was not measured again.
    pub drift_ns: Option<i64>,
}

/// A client without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostClient {
    /// What kind of end it was.
    pub kind: LostKind,
    /// What happened, in words.
    pub reason: String,
    /// Time in its window up to which it had told of its progress; null where it had not.
    pub until_ns: Option<Nanos>,
    /// Requests that it had told of by then.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Kinds of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostKind {
    /// Its connection ended, because the program there or what carried it ended.
    Ended,
    /// It said nothing for longer than it may.
    Silent,
    /// It said why it could not go on.
    Failed,
}

/// Jain's fairness index of some rates (Jain, Chiu, Hawe 1984, DEC-TR-301): the square of their sum over
/// their number times the sum of their squares. `None` with fewer than two, or all of them zero.
#[must_use]
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}
