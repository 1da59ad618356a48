//! One load from several machines: which clients took part, how well their clocks agree, and what each one
//! did.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether clients share a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetSharing {
    /// All clients load one target. Jobs are numbered across all clients.
    Shared,
    /// Each client loads its own target. Each client numbers its jobs from zero.
    Own,
}

crate::words! { TargetSharing: Shared = "shared", Own = "own" }

/// The client machines of a load, and how well they ran together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clients {
    /// Whether clients share a target.
    pub sharing: TargetSharing,
    /// Why: a flag, the path, or what the clients found.
    pub sharing_reason: String,
    /// The command template that started the clients.
    pub launched_by: String,
    /// Time between the first and the last start, by the coordinator's clock; null if unknown.
    pub start_spread_ns: Option<Nanos>,
    /// Maximum error of that time, from the errors of both clocks.
    pub start_spread_error_ns: Option<Nanos>,
    /// Minimum time that the windows of all clients have in common; null if unknown.
    pub common_window_ns: Option<Nanos>,
    /// Jain's index of the rates per job: 1 if all are equal, 1/n if one of n gets everything. If jobs of
    /// different clients have different queue depths, the index of the rates per request in flight. Null with
    /// fewer than two clients.
    pub jain_index: Option<f64>,
    /// The clients, in the order in which the user named them.
    pub each: Vec<Client>,
}

impl Clients {
    /// The clients with a result, each with its IOPS per job.
    #[must_use]
    pub fn per_job(&self) -> Vec<(&Client, f64)> {
        self.each.iter().filter_map(|client| Some((client, client.iops_per_job?))).collect()
    }

    /// The clients with a result, each with its IOPS per unit of queue depth.
    #[must_use]
    pub fn per_slot(&self) -> Vec<(&Client, f64)> {
        let rate = |client: &Client| {
            let depth = f64::from(client.depth.unwrap_or(client.jobs).max(1));
            Some(client.iops_per_job? * f64::from(client.jobs) / depth)
        };
        self.each.iter().filter_map(|client| Some((client, rate(client)?))).collect()
    }

    /// Whether the jobs of all clients with a result have the same queue depth. They differ if the total
    /// depth is not a multiple of the number of clients.
    #[must_use]
    pub fn equally_deep(&self) -> bool {
        let rated = self.per_job();
        // Compare queue depths per job as fractions, without a division.
        let product =
            |one: &Client, other: &Client| Some(u64::from(one.depth?) * u64::from(other.jobs));
        rated.windows(2).all(|pair| {
            let (one, other) = (pair[0].0, pair[1].0);
            product(one, other) == product(other, one)
        })
    }
}

/// One client machine of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Number of the client, from 0.
    pub rank: u32,
    /// Name of the client, as the user gave it.
    pub host: String,
    /// Host name that the machine reports.
    pub hostname: String,
    /// Number of its first job among those of all clients.
    pub first_job: u32,
    /// Number of its jobs; 0 if it had nothing to do.
    pub jobs: u32,
    /// Queue depth of all its jobs together: its share of the requested depth. Absent in old documents, which
    /// counted jobs instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Its clock compared with the coordinator's.
    pub clock: ClientClock,
    /// Start of its window minus the agreed time, in ns; negative if early, null if it did not start.
    pub begin_skew_ns: Option<i64>,
    /// Its share of the completed requests of all clients, 0 to 1; null without a result.
    pub share: Option<f64>,
    /// IOPS per job; null without a result.
    pub iops_per_job: Option<f64>,
    /// Id of its own document among the parts of the trial, which holds the conditions, counters and findings
    /// of its machine; null without a document.
    pub trial_id: Option<String>,
    /// Why it has no document; null if it has one, or had nothing to do.
    pub lost: Option<LostClient>,
}

impl Client {
    /// Whether the result includes the numbers of this client.
    #[must_use]
    pub fn counted(&self) -> bool {
        self.trial_id.is_some()
    }
}

/// A client's clock compared with the coordinator's. The exchange with the shortest round trip counts, as in
/// NTP (RFC 5905, section 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientClock {
    /// Its time minus the coordinator's, before the run. Each is measured from the start of its own machine.
    pub offset_ns: i64,
    /// Maximum error of the offset: half of the shortest round trip.
    pub error_ns: Nanos,
    /// The shortest round trip.
    pub round_trip_ns: Nanos,
    /// Number of exchanges.
    pub exchanges: u32,
    /// Change of the offset after the run; null if it was not measured again.
    pub drift_ns: Option<i64>,
}

/// A client without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostClient {
    /// How the client was lost.
    pub kind: LostKind,
    /// What happened, in words.
    pub reason: String,
    /// How far into its window it last reported progress; null if it never did.
    pub until_ns: Option<Nanos>,
    /// Requests that it had reported by then.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How a client was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostKind {
    /// Its connection ended, because the program or the transport ended.
    Ended,
    /// It sent nothing for longer than allowed.
    Silent,
    /// It reported why it could not continue.
    Failed,
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984, DEC-TR-301): the squared sum of the rates, divided by their
/// number times the sum of their squares. `None` with fewer than two rates, or if all are zero.
#[must_use]
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}
