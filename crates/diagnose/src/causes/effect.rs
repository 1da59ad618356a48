//! What programs or the device suffer, as the numbers show it: without one of these there is no cause.

use record::Evidence;

/// A kind of harm that a fact may explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads take longer than expected of the device.
    SlowReads,
    /// Writes do.
    SlowWrites,
    /// Flushes take many times as long as writes, and are many.
    SlowFlushes,
    /// Requests that come alone take longer than expected.
    SlowLone,
    /// The rate is constant below what is asked for.
    CappedRate,
    /// Programs wait for more than the device does.
    WaitsAbove,
    /// Requests wait before they are started, as the tracer sees them.
    WaitsBefore,
    /// The rate fell while the load stayed.
    SteppedDown,
    /// A volume above the device takes most of the latency.
    VolumeHolds,
    /// Some requests take far longer than the profile's slowest.
    StandsStill,
    /// Requests queue at the device.
    Overloaded,
    /// Requests are as large as the kernel lets them be: it cuts those of programs.
    CutRequests,
}

impl Effect {
    /// Effects of a link that carries all that it can.
    pub(crate) const FULL_LINK: [Self; 4] =
        [Self::CappedRate, Self::SlowReads, Self::SlowWrites, Self::Overloaded];
    /// Effects of a drive or bridge that gets requests one by one.
    pub(crate) const ONE_AT_A_TIME: [Self; 5] =
        [Self::SlowReads, Self::SlowWrites, Self::CappedRate, Self::WaitsBefore, Self::Overloaded];
}

/// An effect that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which.
    pub effect: Effect,
    /// The effect in a sentence, with its numbers.
    pub says: String,
    /// Whether it is one against a profile of this device: what was the same then does not explain it.
    pub by_profile: bool,
}

/// A rate that fell while the load stayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    /// Bytes per second before it, and after it.
    pub before: f64,
    /// See `before`.
    pub after: f64,
    /// Bytes that were written before it.
    pub written: f64,
    /// Share of writes among the requests, 0 to 1.
    pub writes: f64,
}

/// What was asked of the device. `None` is "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Length, seconds.
    pub seconds: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean latency of a write, nanoseconds.
    pub write_ns: Option<f64>,
    /// Mean time of a flush, nanoseconds.
    pub flush_ns: Option<f64>,
    /// Flushes per second.
    pub flushes_per_s: Option<f64>,
    /// Discards per second.
    pub discards_per_s: Option<f64>,
    /// Mean requests in flight while the device is busy.
    pub depth: Option<f64>,
    /// Share of the time with a request at the device, discards and flushes among them.
    pub busy: Option<f64>,
    /// Dirty pages as a share of the limit at which the kernel stops programs that write.
    pub dirty: Option<f64>,
    /// A rate that fell.
    pub step: Option<RateStep>,
}

/// The load of a device, and what it suffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// What was asked of it.
    pub load: Load,
    /// What was seen.
    pub seen: Vec<Seen>,
    /// The volume that holds requests, by its kernel name, where one does.
    pub holder: Option<String>,
}

impl Effects {
    /// The first of these that was seen, in their order.
    #[must_use]
    pub fn first(&self, of: &[Effect]) -> Option<&Seen> {
        of.iter().find_map(|effect| self.seen.iter().find(|seen| seen.effect == *effect))
    }
}

/// What is unusual about a system, and what that would explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The fact in a sentence.
    pub says: String,
    /// Effects that it would explain, the most typical first.
    pub explains: Vec<Effect>,
    /// What to do, in a sentence or two.
    pub action: String,
    /// The numbers of the fact.
    pub evidence: Vec<Evidence>,
    /// How far from usual it is, on a scale of the check's own: compared with that of the profile's time.
    pub degree: f64,
    /// How much it tells by itself: 1 for a fact that many healthy machines have, 2 for one that is rarely
    /// without harm, 3 for harm that the system counted.
    pub weight: f64,
    /// Whether it is worth a note where it does no harm.
    pub notable: bool,
    /// Since when, RFC 3339, where the source tells.
    pub since: Option<String>,
}

impl Claim {
    /// A claim of a fact that healthy machines have too, and that is not worth a note.
    #[must_use]
    pub fn usual(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self {
            says,
            explains: explains.to_vec(),
            action: action.into(),
            evidence: Vec::new(),
            degree: 1.0,
            weight: 1.0,
            notable: false,
            since: None,
        }
    }

    /// A claim of a fact that is rarely without harm.
    #[must_use]
    pub fn unusual(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self { weight: 2.0, notable: true, ..Self::usual(says, explains, action) }
    }

    /// A claim of harm that the system itself counted meanwhile.
    #[must_use]
    pub fn counted(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self { weight: 3.0, notable: true, ..Self::usual(says, explains, action) }
    }

    /// The same with a number behind it.
    #[must_use]
    pub fn with(mut self, what: &str, value: f64, unit: &str) -> Self {
        let (what, unit) = (what.to_owned(), unit.to_owned());
        self.evidence.push(Evidence { what, value, unit });
        self
    }

    /// The same, so far from usual.
    #[must_use]
    pub fn by(self, degree: f64) -> Self {
        Self { degree, ..self }
    }
}
