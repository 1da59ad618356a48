//! Predicts a load after a change of its device or its path.
//!
//! A [`Setup`] is a load and the layers between the program and the disk: memory of the host, a limit, a
//! cache, an array, and the disk itself, faster by a factor. A change modifies one layer. [`Setup::state`]
//! computes the load through the layers down to the [`Predictor`]. Each layer widens the interval by the
//! error that its formula had in simulation. Rejected: a formula per change, because two of those cannot be
//! combined.

mod answer;
mod array;
mod balance;
mod disk;
mod document;
mod path;
mod words;

pub use balance::{BalanceSide, balance};
pub use document::document;
pub use words::{Words, words};

use crate::predict::{PredictError, Predictor};
use path::Computed;
use record::{
    Change, EpisodeLoad, Estimate, LoadState, Locality, Mix, MixClass, Offered, OpKind, RaidLevel,
};

/// Shares below this count as zero.
const NONE: f64 = 1e-9;
/// Maximum queue depth of a program without a limit, unless the user sets another.
const UNCAPPED_DEPTH_MAX: f64 = 32.0;

/// Why no prediction is possible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// The model failed.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The number of disks is not possible for the RAID level.
    #[error("RAID {0} needs {1}")]
    Disks(u32, &'static str),
    /// The profile has no measurement for it, nor a substitute.
    #[error("{0}")]
    NotMeasured(String),
    /// The change does not apply to this load.
    #[error("{0}")]
    NoMatter(String),
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    /// Number of disks.
    pub disks: u32,
    /// RAID level.
    pub raid: RaidLevel,
    /// Chunk size: contiguous bytes on one disk.
    pub chunk_bytes: u64,
}

/// A load and the layers between it and the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The programs' requests.
    pub mix: Mix,
    /// Offered rate or queue depth.
    pub offered: Offered,
    /// Time of a request on the disk, divided by the measured one.
    pub time_factor: f64,
    /// Array in place of one disk, if any.
    pub array: Option<Array>,
    /// Share of the random reads served by a cache, and the latency of such a read in nanoseconds.
    pub cache: Option<(f64, f64)>,
    /// Share of the reads that the host's memory serves.
    pub host_share: f64,
    /// Rate limit in front of the device, requests per second.
    pub cap: Option<f64>,
    /// Other loads that may be offered instead. The interval of the results includes them.
    pub alternatives: Vec<Offered>,
    /// Counted requests per second; `None` for a load that the user stated.
    pub counted_iops: Option<f64>,
}

impl From<&EpisodeLoad> for Setup {
    fn from(load: &EpisodeLoad) -> Self {
        Self {
            time_factor: load.slowdown,
            alternatives: load.alternatives.clone(),
            counted_iops: Some(load.iops),
            ..Self::new(load.mix.clone(), load.offered)
        }
    }
}

impl Setup {
    /// A load on the disk as measured.
    #[must_use]
    pub fn new(mix: Mix, offered: Offered) -> Self {
        Self {
            mix,
            offered,
            time_factor: 1.0,
            array: None,
            cache: None,
            host_share: 0.0,
            cap: None,
            alternatives: Vec::new(),
            counted_iops: None,
        }
    }

    /// The setup after a change.
    ///
    /// # Errors
    /// If the change does not apply to the load, or a required measurement is missing.
    pub fn with(&self, change: Change, predictor: &Predictor) -> Result<Self, WhatIfError> {
        let mut next = self.clone();
        match change {
            Change::Faster(share) => next.time_factor *= 1.0 - share,
            Change::Array { disks, raid, chunk_bytes } => {
                let array = Array { disks, raid, chunk_bytes };
                array::check(&array)?;
                next.array = Some(array);
            }
            Change::CacheHit { .. } if !self.mix.classes.iter().any(is_random_read) => {
                return Err(WhatIfError::NoMatter(
                    "the load has no random reads that a cache could serve".to_owned(),
                ));
            }
            Change::CacheHit { share, hit_ns: Some(hit_ns) } => next.cache = Some((share, hit_ns)),
            Change::CacheHit { share, hit_ns: None } => {
                if !predictor.knows(OpKind::Read, Locality::Hit) {
                    return Err(WhatIfError::NotMeasured(
                        "the profile has no re-reads, so the latency of a cached read is unknown; \
                         state it (--hit-time 100us), or measure it with `check --for-diagnosis`"
                            .to_owned(),
                    ));
                }
                next.mix = moved(&self.mix, Locality::Hit, share, Some(OpKind::Read));
            }
            Change::HostCache(share) | Change::Memory { share, .. } => {
                if self.mix.reads() < NONE {
                    return Err(WhatIfError::NoMatter(
                        "the load has no reads that memory could serve".to_owned(),
                    ));
                }
                next.host_share = 1.0 - (1.0 - next.host_share) * (1.0 - share);
            }
            Change::Sequential(share) => next.mix = more_sequential(&self.mix, share, predictor)?,
            Change::Depth(depth) => {
                next.offered = Offered::Depth(depth);
                // If other programs also send requests, one of them may be ahead in the queue.
                let others = !self.alternatives.is_empty();
                next.alternatives = Vec::from_iter(others.then_some(Offered::Depth(depth + 1.0)));
            }
            Change::RequestBytes(bytes) => next = self.resized(bytes),
            Change::Cap(cap) => next.cap = Some(next.cap.map_or(cap, |was| was.min(cap))),
            Change::AsProfiled => next.time_factor = 1.0,
            Change::Uncapped => {
                next.cap = None;
                let rates = predictor.rates_of(&self.mix).unwrap_or_default();
                let (Some(first), Some(last)) = (rates.first(), rates.last()) else {
                    return Ok(next);
                };
                let deepest = Offered::Depth(rates.len() as f64);
                next.alternatives = vec![Offered::PoissonPerS(self.iops(predictor)?), deepest];
                next.offered = Offered::Depth((last / first).clamp(1.0, UNCAPPED_DEPTH_MAX));
            }
            Change::Without { share, .. } => {
                let left = self.iops(predictor)? * (1.0 - share);
                (next.offered, next.alternatives) = (Offered::PoissonPerS(left), Vec::new());
            }
            Change::Independent => {
                let offered = Offered::PoissonPerS(self.iops(predictor)?);
                (next.offered, next.alternatives) = (offered, Vec::new());
            }
        }
        Ok(next)
    }

    /// Requests per second: counted, offered, or the result of the queue depth.
    fn iops(&self, predictor: &Predictor) -> Result<f64, WhatIfError> {
        match (self.counted_iops, self.offered) {
            (Some(counted), _) => Ok(counted),
            (None, Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate)) => Ok(rate),
            (None, Offered::Depth(_)) => Ok(self.state(predictor)?.iops.value),
        }
    }

    /// The same bytes per second in requests of another size.
    fn resized(&self, bytes: u64) -> Self {
        let mut next = self.clone();
        let mean = self.mix.mean_bytes();
        for class in &mut next.mix.classes {
            class.bytes = bytes;
        }
        next.mix = joined(&next.mix);
        let factor = mean / bytes.max(1) as f64;
        next.offered = path::thinned(self.offered, factor);
        for other in &mut next.alternatives {
            *other = path::thinned(*other, factor);
        }
        next
    }

    /// Predicts the load.
    ///
    /// # Errors
    /// If the profile lacks the load, or the load exceeds the maximum.
    pub fn state(&self, predictor: &Predictor) -> Result<LoadState, WhatIfError> {
        Ok(self.computed(predictor)?.state)
    }

    /// [`Setup::state`], with what a ratio of two latencies needs.
    fn computed(&self, predictor: &Predictor) -> Result<Computed, WhatIfError> {
        let of = |offered: Offered| path::computed(&Self { offered, ..self.clone() }, predictor);
        let first = of(self.offered);
        // An impossible alternative is not what was offered.
        let mut others = self.alternatives.iter().filter_map(|&other| of(other).ok());
        let first = match first {
            Ok(found) => found,
            Err(error) => others.next().ok_or(error)?,
        };
        Ok(others.fold(first, |mut found, other| {
            let (state, other) = (&mut found.state, &other.state);
            state.latency_ns = including(&state.latency_ns, &other.latency_ns);
            state.iops = including(&state.iops, &other.iops);
            found
        }))
    }
}

/// An estimate whose interval includes that of another one.
fn including(one: &Estimate, other: &Estimate) -> Estimate {
    Estimate::spanning(one.value, one.low.min(other.low), one.high.max(other.high), one.n)
}

fn is_random_read(class: &MixClass) -> bool {
    (class.op, class.locality) == (OpKind::Read, Locality::Random)
}

/// The mix with a share of its random requests (of one operation, or of both) moved to another locality.
fn moved(mix: &Mix, to: Locality, share: f64, op: Option<OpKind>) -> Mix {
    let mut classes = Vec::new();
    for class in &mix.classes {
        let takes_part = class.locality == Locality::Random && op.is_none_or(|op| op == class.op);
        let part = if takes_part { share } else { 0.0 };
        let (mut stays, mut goes) = (*class, *class);
        stays.share *= 1.0 - part;
        (goes.locality, goes.share) = (to, class.share * part);
        classes.extend([stays, goes]);
    }
    joined(&Mix { classes })
}

/// The mix with an additional share of all requests made sequential.
fn more_sequential(mix: &Mix, share: f64, predictor: &Predictor) -> Result<Mix, WhatIfError> {
    let random = mix.share(|class| class.locality == Locality::Random);
    if random + NONE < share {
        return Err(WhatIfError::NoMatter(format!(
            "only {:.0} % of the requests are random and could become sequential",
            random * 100.0
        )));
    }
    for class in mix.classes.iter().filter(|class| class.locality == Locality::Random) {
        if !predictor.knows(class.op, Locality::Sequential) {
            return Err(WhatIfError::NotMeasured(format!(
                "the profile has no sequential {}s; `check --for-diagnosis` measures them",
                class.op.name()
            )));
        }
    }
    Ok(moved(mix, Locality::Sequential, (share / random).min(1.0), None))
}

/// Merges classes of one kind and drops those without a share.
fn joined(mix: &Mix) -> Mix {
    let mut classes: Vec<MixClass> = Vec::new();
    for class in mix.classes.iter().filter(|class| class.share > NONE) {
        let same = classes.iter_mut().find(|known| {
            (known.op, known.locality, known.bytes) == (class.op, class.locality, class.bytes)
        });
        match same {
            Some(known) => known.share += class.share,
            None => classes.push(*class),
        }
    }
    let sum: f64 = classes.iter().map(|class| class.share).sum();
    if sum > 0.0 {
        classes.iter_mut().for_each(|class| class.share /= sum);
    }
    Mix { classes }
}
