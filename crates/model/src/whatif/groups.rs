//! A load that equal groups of disks share: how busy the disks are, also after one is lost, what
//! goes over the wires, and the latency.
//!
//! A group is one disk or an array, and gets an even part of the load. An array answers by the
//! formulae of [`super::array`], so that a purchase and a what-if give one number. The largest rate
//! of a disk is 100 % busy. Rejected: the even spread taken for exact (the interval holds what
//! simulated arrays show).

use super::answer::Answer;
use super::array;
use super::disk::Disk;
use super::station::{StatedDisk, Station};
use super::{Array, WhatIfError};
use crate::predict::Predictor;
use record::{Estimate, Mix, Offered, OpKind};

/// The disk of a group.
#[derive(Clone, Copy, Debug)]
pub enum GroupDisk<'a> {
    /// One that was measured, its requests taking so many times as long.
    Profiled {
        /// Its predictor.
        predictor: &'a Predictor,
        /// Time of a request over the measured one.
        time_factor: f64,
    },
    /// One whose figures are stated.
    Stated(StatedDisk),
}

/// Equal groups of disks.
#[derive(Clone, Copy, Debug)]
pub struct DiskGroups<'a> {
    /// The disk.
    pub disk: GroupDisk<'a>,
    /// How the disks of a group are bound; `None` for one disk.
    pub array: Option<Array>,
    /// Groups, at least one.
    pub groups: u32,
}

/// What a load is for the disks of all groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLoad {
    /// Share of a disk's largest rate; above 1 it is too much.
    pub busy: Estimate,
    /// The same of the busiest disk after the loss of another of its group; `None` where the data
    /// is lost with it.
    pub busy_after_loss: Option<f64>,
    /// Requests per second of all disks together.
    pub disk_iops: f64,
    /// Bytes per second that they are read.
    pub read_bytes_per_s: f64,
    /// Bytes per second that they are written.
    pub write_bytes_per_s: f64,
}

impl DiskGroups<'_> {
    fn of<T>(&self, ask: impl FnOnce(&dyn Station) -> T) -> T {
        match self.disk {
            GroupDisk::Profiled { predictor, time_factor: factor } => {
                ask(&Disk { predictor, factor, counted: false })
            }
            GroupDisk::Stated(disk) => ask(&disk),
        }
    }

    /// What `rate` requests per second of a mix are for the disks.
    ///
    /// # Errors
    /// If a profile has nothing of a class of the mix.
    pub fn load(&self, mix: &Mix, rate: f64) -> Result<GroupLoad, WhatIfError> {
        let each = rate / f64::from(self.groups);
        let (pieces, of_disk) = match &self.array {
            None => (1.0, mix.clone()),
            Some(array) => {
                let parts = array::parts(array, mix);
                (parts.per_disk * f64::from(array.disks), parts.mix)
            }
        };
        let (max, rel) = self.of(|disk| match &self.array {
            None => disk.max(mix),
            Some(array) => array::max(disk, array, mix),
        })?;
        let lost = self.array.and_then(|array| array::after_a_loss(&array, mix));
        let busy_after_loss = lost
            .map(|(mix, per_disk)| {
                self.of(|disk| disk.max(&mix)).map(|(max, _)| each * per_disk / max)
            })
            .transpose()?;
        let disk_iops = rate * pieces;
        let bytes = |op: OpKind| {
            let of_op = of_disk.classes.iter().filter(|class| class.op == op);
            let each: f64 = of_op.map(|class| class.share * class.bytes as f64).sum();
            disk_iops * each
        };
        Ok(GroupLoad {
            busy: Estimate::within_ratio(each / max, rel),
            busy_after_loss,
            disk_iops,
            read_bytes_per_s: bytes(OpKind::Read),
            write_bytes_per_s: bytes(OpKind::Write),
        })
    }

    /// Mean latency, in nanoseconds, of the requests of `of` that are a part of a Poisson load of
    /// `mix`: their time alone, and the wait that all have in common.
    ///
    /// # Errors
    /// If a profile has nothing of a class, or the load is more than the disks can do.
    pub fn latency_ns(&self, mix: &Mix, rate: f64, of: &Mix) -> Result<Estimate, WhatIfError> {
        let each = rate / f64::from(self.groups);
        let ask = |mix: &Mix, offered: Offered| -> Result<Answer, WhatIfError> {
            self.of(|disk| match &self.array {
                None => disk.ask(mix, offered),
                Some(array) => array::ask(disk, array, mix, offered),
            })
        };
        let loaded = ask(mix, Offered::PoissonPerS(each))?;
        let mut mean = loaded.mean;
        if of != mix {
            let alone = ask(of, Offered::Depth(1.0))?.mean;
            let wait = (mean - ask(mix, Offered::Depth(1.0))?.mean).max(0.0);
            mean = alone + wait;
        }
        let factor = libm::exp(loaded.rel);
        let (low, high) = (loaded.ends.0 / factor, loaded.ends.1 * factor);
        Ok(Estimate::spanning(mean, mean * low, mean * high, 0))
    }
}
