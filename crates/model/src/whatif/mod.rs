//! What a load would see if something about its device were different.
//!
//! A [`Setup`] is a load and what stands between the program and the disk: memory of the host, a
//! limit, a cache, an array, and the disk itself, faster by a factor. A change alters one of these,
//! and [`Setup::state`] asks through the layers down to the [`Predictor`]. What a layer assumes
//! widens the interval by what its formula was off in simulation. Rejected: a formula per change,
//! because two of those cannot be put together.

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
use record::{
    Change, EpisodeLoad, Estimate, LoadState, Locality, Mix, MixClass, Offered, OpKind, RaidLevel,
};

/// Shares below this are none.
const NONE: f64 = 1e-9;
/// A program without a limit keeps no more requests in flight than this, unless it is told to.
const UNCAPPED_DEPTH_MAX: f64 = 32.0;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// The model has none.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// A number of disks that the level cannot be made of.
    #[error("RAID {0} needs {1}")]
    Disks(u32, &'static str),
    /// Nothing was measured that could stand for it.
    #[error("{0}")]
    NotMeasured(String),
    /// The change does not apply to this load.
    #[error("{0}")]
    NoMatter(String),
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    /// Disks.
    pub disks: u32,
    /// How they are bound.
    pub raid: RaidLevel,
    /// Bytes that lie together on a disk.
    pub chunk_bytes: u64,
}

impl Array {
    /// An error unless the level can be made of so many disks.
    fn check(&self) -> Result<(), WhatIfError> {
        array::check(self.disks, self.raid)
    }
}

/// A load and what stands between it and the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// What the programs ask for.
    pub mix: Mix,
    /// How much of it.
    pub offered: Offered,
    /// Time of a request of the disk over the measured one.
    pub time_factor: f64,
    /// Disks in place of one.
    pub array: Option<Array>,
    /// Share of the random reads that a cache serves, and what such a one takes.
    pub cache: Option<(f64, f64)>,
    /// Share of the reads that never reach the device.
    pub host_share: f64,
    /// Requests per second at most, ahead of the device.
    pub cap: Option<f64>,
    /// What may be offered in its place: the interval of the figures includes it.
    pub alternatives: Vec<Offered>,
    /// Requests per second that were counted; `None` for a load that the user stated.
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
    /// A load on the disk as it was measured.
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

    /// The same with something different.
    ///
    /// # Errors
    /// If the change does not apply to the load, or nothing was measured that it could rest on.
    pub fn with(&self, change: Change, predictor: &Predictor) -> Result<Self, WhatIfError> {
        let mut next = self.clone();
        match change {
            Change::Faster(share) => next.time_factor *= 1.0 - share,
            Change::Array { disks, raid, chunk_bytes } => {
                let array = Array { disks, raid, chunk_bytes };
                array.check()?;
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
                // Of other programs that ask as well, one request may be in front.
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

    /// The same with all of these changes, in order.
    ///
    /// # Errors
    /// As [`Setup::with`].
    pub fn with_all(&self, changes: &[Change], predictor: &Predictor) -> Result<Self, WhatIfError> {
        changes.iter().try_fold(self.clone(), |setup, change| setup.with(*change, predictor))
    }

    /// Requests per second: counted, offered, or what the depth gives.
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

    /// The same without the host's memory, as the device sees it, and the share of the programs'
    /// requests that reach it.
    #[must_use]
    pub fn behind_host(&self) -> (Self, f64) {
        let (mix, left) = path::behind_host(&self.mix, self.host_share);
        let offered = path::thinned(self.offered, left);
        (Self { mix, offered, host_share: 0.0, ..self.clone() }, left)
    }

    /// What the load sees.
    ///
    /// # Errors
    /// If the profile has nothing of it, or it is more than can be done.
    pub fn state(&self, predictor: &Predictor) -> Result<LoadState, WhatIfError> {
        let of = |offered: Offered| path::state(&Self { offered, ..self.clone() }, predictor);
        let first = of(self.offered);
        // What cannot be is not what is offered.
        let mut others = self.alternatives.iter().filter_map(|&other| of(other).ok());
        let first = match first {
            Ok(state) => state,
            Err(error) => others.next().ok_or(error)?,
        };
        Ok(others.fold(first, |state, other| LoadState {
            latency_ns: including(&state.latency_ns, &other.latency_ns),
            iops: including(&state.iops, &other.iops),
            ..state
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

/// The mix with a share of its random requests (of one operation, or of both) somewhere else.
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

/// A mix in which a further share of all requests is sequential.
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

/// Classes of one kind as one, those of no share left out.
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
