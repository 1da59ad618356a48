//! What an observation says of a device without a profile. The probabilities are computed in [`super::own`].

use super::classes::Class;
use record::{LoneReads, Rung};

/// What is concluded without a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posterior {
    /// Probabilities that the device is slower than it should be; that requests wait far longer than they are
    /// served, or the rate is nearly all that it can do; and that it has much to spare.
    pub(crate) slow: f64,
    pub(crate) overloaded: f64,
    pub(crate) spare: f64,
    /// Served side by side.
    pub(crate) side: f64,
    /// Requests in progress while it is busy.
    pub(crate) depth: f64,
    pub(crate) class: Class,
    /// Where the class is from.
    pub(crate) rung: Rung,
    /// Intervals that lone requests were seen in.
    pub(crate) lone_intervals: usize,
    /// Our own lone reads, where they are like the requests.
    pub(crate) own_reads: Option<LoneReads>,
}

impl Posterior {
    /// Than what requests of a slow device take longer: `than usual for a rotating disk`.
    pub(crate) fn than_usual(&self) -> String {
        match self.rung {
            Rung::Past => "than at another time".to_owned(),
            Rung::Peers => "than on other disks of its kind".to_owned(),
            _ => format!("than usual for {}", self.class.name),
        }
    }
}
