//! Recorded requests that a workload repeats.

use crate::{Bytes, Instead, Nanos, OpKind, hex_digest_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A request as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// When it came, from the first one on.
    pub at: Nanos,
    /// Byte offset on its device.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Read or write.
    pub op: OpKind,
    /// Which of the recorded devices or files it went to, from 0.
    pub device: u16,
}

/// The longest piece of a discard: a request's length fits a signed number of 32 bits everywhere.
const DISCARD_MAX: u64 = 1 << 30;

impl RecordedRequest {
    /// A discard as requests: a long one comes in pieces.
    pub fn discards(device: u16, at: Nanos, offset: u64, bytes: u64) -> impl Iterator<Item = Self> {
        let op = OpKind::Write;
        (0..bytes.div_ceil(DISCARD_MAX)).map(move |piece| {
            let begin = piece * DISCARD_MAX;
            let bytes = (bytes - begin).min(DISCARD_MAX) as u32;
            Self { at, offset: offset + begin, bytes, op, device }
        })
    }
}

/// The requests themselves, which no document holds: their digest stands for them.
#[derive(Clone, Default)]
pub struct Recorded(pub Arc<Vec<RecordedRequest>>);

impl fmt::Debug for Recorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} requests", self.0.len())
    }
}

/// Equal by what stands for them.
impl PartialEq for Recorded {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Recorded {}

/// When recorded requests are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPace {
    /// At their times, this many thousandths as fast.
    AtTimes {
        /// 1,000 is the recorded speed, 2,000 twice that.
        speed_milli: u32,
    },
    /// Each as soon as one before it has completed.
    AsFast,
}

/// Recorded requests that a workload repeats, in place of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The file that they were read from, as it was named.
    pub source: String,
    /// Hash of the requests: times, places, sizes, kinds.
    pub digest: String,
    /// Their number.
    pub requests: u64,
    /// Bytes that they transfer.
    pub bytes: Bytes,
    /// From the first to the last, as recorded.
    pub span_ns: Nanos,
    /// When they are made again.
    pub pace: ReplayPace,
    /// Whether places beyond the area begin again at its start; else they are an error.
    pub wrap: bool,
    /// Recorded devices or files.
    pub devices: u32,
    /// Flushes that were recorded, and are not made by this job.
    pub flushes_left_out: u64,
    /// Discards that were recorded, and are not made by this job.
    pub discards_left_out: u64,
    /// The requests; none in a document that was read.
    #[serde(skip)]
    #[schemars(skip)]
    pub recorded: Recorded,
    /// Flushes beside them, without offset and length.
    #[serde(skip)]
    #[schemars(skip)]
    pub flushes: Recorded,
    /// Discards beside them.
    #[serde(skip)]
    #[schemars(skip)]
    pub discards: Recorded,
}

impl Replay {
    /// A replay of requests at their recorded times, which do not fall.
    #[must_use]
    pub fn of(requests: Vec<RecordedRequest>) -> Self {
        let lines = requests.iter().map(|it| {
            let RecordedRequest { at, offset, bytes, op, device } = it;
            format!("{} {offset} {bytes} {} {device}\n", at.0, op.name())
        });
        let digest = hex_digest_of(lines);
        let bytes = requests.iter().map(|request| u64::from(request.bytes)).sum();
        let devices = requests.iter().map(|request| u32::from(request.device) + 1).max();
        Self {
            source: String::new(),
            digest,
            requests: requests.len() as u64,
            bytes: Bytes(bytes),
            span_ns: requests.last().map_or(Nanos(0), |last| last.at),
            pace: ReplayPace::AtTimes { speed_milli: 1_000 },
            wrap: false,
            devices: devices.unwrap_or(0),
            flushes_left_out: 0,
            discards_left_out: 0,
            recorded: Recorded(Arc::new(requests)),
            flushes: Recorded::default(),
            discards: Recorded::default(),
        }
    }

    /// The same with the flushes and discards that were recorded beside the requests, at times that do
    /// not fall; `(flushes, discards)` more cannot be made, because they are of other devices.
    #[must_use]
    pub fn with(
        mut self,
        flushes: Vec<RecordedRequest>,
        discards: Vec<RecordedRequest>,
        more: (u64, u64),
    ) -> Self {
        let ends = [flushes.last(), discards.last()];
        let last = ends.into_iter().flatten().map(|last| last.at).max();
        self.span_ns = self.span_ns.max(last.unwrap_or_default());
        self.flushes_left_out = flushes.len() as u64 + more.0;
        self.discards_left_out = discards.len() as u64 + more.1;
        self.flushes = Recorded(Arc::new(flushes));
        self.discards = Recorded(Arc::new(discards));
        self
    }

    /// What other jobs make beside the requests at their times, as far as they are able to, which takes it out
    /// of what is left out.
    pub fn take_others(&mut self, able: impl Fn(Instead) -> bool) -> Vec<(Instead, Self)> {
        let all = [
            (Instead::Flush, std::mem::take(&mut self.flushes), &mut self.flushes_left_out),
            (Instead::Trim, std::mem::take(&mut self.discards), &mut self.discards_left_out),
        ];
        let some = all
            .into_iter()
            .filter(|(instead, recorded, _)| !recorded.0.is_empty() && able(*instead));
        let taken: Vec<(Instead, Recorded)> = some
            .map(|(instead, recorded, left_out)| {
                *left_out -= recorded.0.len() as u64;
                (instead, recorded)
            })
            .collect();
        let own = |(instead, recorded): (Instead, Recorded)| {
            let own = Self::of(recorded.0.to_vec());
            let (source, wrap) = (self.source.clone(), self.wrap);
            let (pace, span_ns, devices) = (self.pace, self.span_ns, self.devices);
            (instead, Self { source, wrap, pace, span_ns, devices, ..own })
        };
        taken.into_iter().map(own).collect()
    }

    /// The end of the furthest request.
    #[must_use]
    pub fn end(&self) -> u64 {
        furthest(&self.recorded)
    }

    /// The end of the furthest request or discard.
    #[must_use]
    pub fn reach(&self) -> u64 {
        self.end().max(furthest(&self.discards))
    }

    /// How long it takes at its pace, if nothing holds it up.
    #[must_use]
    pub fn length(&self) -> Nanos {
        match self.pace {
            ReplayPace::AsFast => self.span_ns,
            ReplayPace::AtTimes { speed_milli } => scaled(self.span_ns, speed_milli),
        }
    }
}

/// A recorded time at so many thousandths of the speed.
#[inline]
#[must_use]
pub fn scaled(time: Nanos, speed_milli: u32) -> Nanos {
    let scaled = u128::from(time.0) * 1_000 / u128::from(speed_milli.max(1));
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

fn furthest(recorded: &Recorded) -> u64 {
    let ends = recorded.0.iter().map(|it| it.offset.saturating_add(u64::from(it.bytes)));
    ends.max().unwrap_or(0)
}
