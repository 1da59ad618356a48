//! Holds the conclusions from an observation about a device without a profile. [`super::own`]
//! computes the probabilities.

use super::classes::Class;
use record::{LoneReads, Rung};

/// Conclusions without a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posterior {
    /// Probabilities that the device is slower than it should be; that requests wait far longer than their
    /// service takes, or the rate is near the maximum; and that the device has much spare capacity.
    pub(crate) slow: f64,
    pub(crate) overloaded: f64,
    pub(crate) spare: f64,
    /// Requests served in parallel.
    pub(crate) side: f64,
    /// Mean number in flight while the device is busy.
    pub(crate) depth: f64,
    pub(crate) class: Class,
    /// Source of the class.
    pub(crate) rung: Rung,
    /// Number of intervals with requests at queue depth 1.
    pub(crate) lone_intervals: usize,
    /// halfpower's own test reads, if they resemble the requests.
    pub(crate) own_reads: Option<LoneReads>,
}

impl Posterior {
    /// What requests of a slow device are slower than: `than usual for a rotating disk`.
    pub(crate) fn than_usual(&self) -> String {
        match self.rung {
            Rung::Past => "than at another time".to_owned(),
            Rung::Peers => "than on other disks of its kind".to_owned(),
            _ => format!("than usual for {}", self.class.name),
        }
    }
}
