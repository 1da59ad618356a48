//! Recorded requests that a workload replays.

use crate::{Bytes, Instead, Nanos, OpKind, hex_digest_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Time of its arrival, relative to the first request.
    pub at: Nanos,
    /// Byte offset on the recorded device.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// Read or write.
    pub op: OpKind,
    /// Index of the recorded device or file, from 0.
    pub device: u16,
}

/// Maximum length of one piece of a discard, so that a length fits a signed 32-bit number everywhere.
const DISCARD_MAX: u64 = 1 << 30;

impl RecordedRequest {
    /// A discard as requests. A long discard is split into pieces.
    pub fn discards(device: u16, at: Nanos, offset: u64, bytes: u64) -> impl Iterator<Item = Self> {
        let op = OpKind::Write;
        (0..bytes.div_ceil(DISCARD_MAX)).map(move |piece| {
            let begin = piece * DISCARD_MAX;
            let bytes = (bytes - begin).min(DISCARD_MAX) as u32;
            Self { at, offset: offset + begin, bytes, op, device }
        })
    }
}

/// The requests themselves. Documents do not contain them, only their digest.
#[derive(Clone, Default)]
pub struct Recorded(pub Arc<Vec<RecordedRequest>>);

impl fmt::Debug for Recorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} requests", self.0.len())
    }
}

/// Always equal, because the digest is compared instead.
impl PartialEq for Recorded {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Recorded {}

/// When recorded requests are issued again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPace {
    /// At their recorded times, at a speed in thousandths.
    AtTimes {
        /// 1,000 is the recorded speed, 2,000 twice that.
        speed_milli: u32,
    },
    /// Each request as soon as an earlier one has completed.
    AsFast,
}

/// Recorded requests that a workload replays instead of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The file with the requests, as the user named it.
    pub source: String,
    /// Hash of the requests: times, offsets, sizes, kinds.
    pub digest: String,
    /// Their number.
    pub requests: u64,
    /// Bytes that they transfer.
    pub bytes: Bytes,
    /// From the first to the last, as recorded.
    pub span_ns: Nanos,
    /// When they are issued again.
    pub pace: ReplayPace,
    /// Whether offsets beyond the area wrap around to its start. Otherwise they are an error.
    pub wrap: bool,
    /// Number of recorded devices or files.
    pub devices: u32,
    /// Recorded flushes that this job does not issue.
    pub flushes_left_out: u64,
    /// Recorded discards that this job does not issue.
    pub discards_left_out: u64,
    /// The requests; empty in a document that was read.
    #[serde(skip)]
    #[schemars(skip)]
    pub recorded: Recorded,
    /// Flushes recorded with them, without offset and length.
    #[serde(skip)]
    #[schemars(skip)]
    pub flushes: Recorded,
    /// Discards recorded with them.
    #[serde(skip)]
    #[schemars(skip)]
    pub discards: Recorded,
}

impl Replay {
    /// A replay of requests at their recorded times, which must not decrease.
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

    /// Adds the flushes and discards that were recorded with the requests, at times that must not decrease.
    /// `(flushes, discards)` more cannot be issued, because they are for other devices.
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

    /// The flushes and discards that other jobs can issue next to the requests. They no longer count as left
    /// out.
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

    /// Duration of the replay at its pace, if nothing delays it.
    #[must_use]
    pub fn length(&self) -> Nanos {
        match self.pace {
            ReplayPace::AsFast => self.span_ns,
            ReplayPace::AtTimes { speed_milli } => scaled(self.span_ns, speed_milli),
        }
    }
}

/// A recorded time, scaled to a speed in thousandths.
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
