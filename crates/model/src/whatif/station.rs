//! What an array can be made of: a disk that was measured, or one whose figures somebody states.
//!
//! A stated disk is a load-dependent station: with n requests present it completes the smaller of n
//! over the time of a lone one and its largest rate, which is M/M/1 where a lone request takes all
//! of the disk, and about M/M/c where c are served side by side. A random request takes positioning
//! and transfer, one that continues a stream the transfer alone, as in KAPS and MAPS (Chung, Gray,
//! Worthington, Horst 2000). Rejected: cells made up of stated rates, which would look measured.

use super::WhatIfError;
use super::answer::Answer;
use crate::predict::PredictError;
use crate::queueing::birth_death_latency;
use record::{Locality, Mix, MixClass, Offered, OpKind};

/// Requests side by side beyond which a stated disk is taken to serve no more.
const MOST_SERVERS: f64 = 4_096.0;

/// Something that carries out the requests of a mix.
pub(super) trait Station {
    /// Mean times of a load.
    fn ask(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError>;
    /// The largest rate, requests per second, and the half-width of its interval as a logarithm.
    fn max(&self, mix: &Mix) -> Result<(f64, f64), WhatIfError>;
    /// Rates with 1, 2, … requests present, at least one.
    fn rates(&self, mix: &Mix) -> Result<Vec<f64>, WhatIfError>;
    /// Squared coefficient of variation of a lone request's time.
    fn scv(&self, mix: &Mix) -> f64;
}

/// A disk by the figures of a price list or a data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedDisk {
    /// Bytes of the random requests that the rates are of.
    pub random_bytes: u64,
    /// Random reads per second.
    pub reads_per_s: f64,
    /// Random writes per second.
    pub writes_per_s: f64,
    /// Bytes per second of a stream of reads.
    pub read_bytes_per_s: f64,
    /// The same of writes.
    pub write_bytes_per_s: f64,
    /// Nanoseconds of a random read alone; `None` where requests are served one after the other.
    pub lone_read_ns: Option<f64>,
    /// The same of a write; not known where there is only that of a read.
    pub lone_write_ns: Option<f64>,
}

impl StatedDisk {
    /// The same with random requests so many times as quick, of the same throughput.
    #[must_use]
    pub fn quicker(&self, factor: f64) -> Self {
        Self {
            reads_per_s: self.reads_per_s * factor,
            writes_per_s: self.writes_per_s * factor,
            lone_read_ns: self.lone_read_ns.map(|time| time / factor),
            lone_write_ns: self.lone_write_ns.map(|time| time / factor),
            ..*self
        }
    }

    fn transfer_s(&self, op: OpKind, bytes: u64) -> f64 {
        let write = op == OpKind::Write;
        bytes as f64 / if write { self.write_bytes_per_s } else { self.read_bytes_per_s }
    }

    /// Seconds between completions of random requests that are not transfer.
    fn positioning_s(&self, op: OpKind) -> f64 {
        let per_s = if op == OpKind::Write { self.writes_per_s } else { self.reads_per_s };
        (1.0 / per_s - self.transfer_s(op, self.random_bytes)).max(0.0)
    }

    /// Seconds of a random request alone that are not transfer.
    fn lone_positioning_s(&self, op: OpKind) -> Result<f64, WhatIfError> {
        let between = self.positioning_s(op);
        let stated = match (op, self.lone_read_ns) {
            (OpKind::Write, None) => self.lone_write_ns,
            (OpKind::Write, Some(_)) => {
                let unknown = || {
                    let text = "the latency of a single write is not stated (write-latency)";
                    WhatIfError::NotMeasured(text.to_owned())
                };
                Some(self.lone_write_ns.ok_or_else(unknown)?)
            }
            (_, lone) => lone,
        };
        let transfer = self.transfer_s(op, self.random_bytes);
        Ok(stated.map_or(between, |ns| (ns / 1e9 - transfer).max(between)))
    }

    /// Seconds of the mean request between completions.
    fn spacing_s(&self, mix: &Mix) -> f64 {
        let one =
            |class: &MixClass| class.share * self.class_s(class, self.positioning_s(class.op));
        mix.classes.iter().map(one).sum()
    }

    /// Seconds of the mean request alone.
    fn lone_s(&self, mix: &Mix) -> Result<f64, WhatIfError> {
        let one = |class: &MixClass| {
            Ok(class.share * self.class_s(class, self.lone_positioning_s(class.op)?))
        };
        mix.classes.iter().map(one).sum()
    }

    fn class_s(&self, class: &MixClass, positioning_s: f64) -> f64 {
        let transfer = self.transfer_s(class.op, class.bytes);
        match class.locality {
            Locality::Random => positioning_s + transfer,
            Locality::Sequential | Locality::Hit => transfer,
        }
    }
}

impl Station for StatedDisk {
    fn ask(&self, mix: &Mix, offered: Offered) -> Result<Answer, WhatIfError> {
        let rates = self.rates(mix)?;
        let (rate, mean_s) = match offered {
            Offered::Depth(depth) => {
                let at = |n: f64| rates[(n.max(1.0) as usize).min(rates.len()) - 1];
                let (low, high) = (at(depth.floor()), at(depth.floor() + 1.0));
                let rate = low + depth.fract() * (high - low);
                (rate, depth / rate)
            }
            Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => {
                let max_per_s = rates[rates.len() - 1];
                let found = birth_death_latency(&rates, rate);
                (rate, found.ok_or(PredictError::Saturated { rate_per_s: rate, max_per_s })?)
            }
        };
        let wait = (mean_s - 1.0 / rates[0]).max(0.0) * 1e9;
        let of = |op: OpKind| -> Result<f64, WhatIfError> {
            let classes: Vec<MixClass> =
                mix.classes.iter().filter(|class| class.op == op).copied().collect();
            let of_op: f64 = classes.iter().map(|class| class.share).sum();
            let alone = self.lone_s(&Mix { classes })? * 1e9;
            Ok(if of_op > 0.0 { alone / of_op + wait } else { mean_s * 1e9 })
        };
        let (read, write) = (of(OpKind::Read)?, of(OpKind::Write)?);
        Ok(Answer { read, write, scv: 1.0, ..Answer::exact(mean_s * 1e9, rate) })
    }

    fn max(&self, mix: &Mix) -> Result<(f64, f64), WhatIfError> {
        Ok((1.0 / self.spacing_s(mix), 0.0))
    }

    fn rates(&self, mix: &Mix) -> Result<Vec<f64>, WhatIfError> {
        let (max, _) = self.max(mix)?;
        let lone = self.lone_s(mix)?;
        let count = (max * lone).ceil().clamp(1.0, MOST_SERVERS) as usize;
        Ok((1..=count).map(|n| (n as f64 / lone).min(max)).collect())
    }

    fn scv(&self, _: &Mix) -> f64 {
        1.0
    }
}
