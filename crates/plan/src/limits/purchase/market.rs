//! A price list whose disks have their rates: stated ones, or those of saved profiles.

use super::prices::{ListedDisk, ListedPart, Power, PriceList, RateSource};
use model::Predictor;
use model::whatif::{GroupDisk, StatedDisk};
use record::Profile;

/// Where a disk's rates are.
#[derive(Clone, Debug)]
pub enum Rates {
    /// As the list states them; the second says whether it states those of writes.
    Stated(StatedDisk, bool),
    /// In a profile.
    Profiled(Box<Profile>, Box<Predictor>),
}

/// A disk that can be bought.
#[derive(Clone, Debug)]
pub struct MarketDisk {
    /// As it is listed.
    pub listed: ListedDisk,
    /// Its rates.
    pub rates: Rates,
    /// So many times as quick at random requests as that.
    pub quicker: f64,
}

impl MarketDisk {
    /// The disk of a group.
    pub(super) fn group_disk(&self) -> GroupDisk<'_> {
        match &self.rates {
            Rates::Stated(disk, _) => GroupDisk::Stated(disk.quicker(self.quicker)),
            Rates::Profiled(_, predictor) => {
                GroupDisk::Profiled { predictor, time_factor: 1.0 / self.quicker }
            }
        }
    }
}

/// All that can be bought.
#[derive(Clone, Debug)]
pub struct Market {
    /// Currency of all amounts.
    pub currency: String,
    /// What power costs, where that counts.
    pub power: Option<Power>,
    /// The disks.
    pub disks: Vec<MarketDisk>,
    /// The adapters.
    pub adapters: Vec<ListedPart>,
    /// The hosts.
    pub hosts: Vec<ListedPart>,
}

impl Market {
    /// A list with the profiles that `find` has for the ids in it.
    ///
    /// # Errors
    /// That of `find`.
    pub fn new<E>(
        list: PriceList,
        mut find: impl FnMut(&str) -> Result<Profile, E>,
    ) -> Result<Self, E> {
        let disks = list.disks.into_iter().map(|listed| {
            let rates = match &listed.rates {
                RateSource::Stated { disk, writes } => Rates::Stated(*disk, *writes),
                RateSource::Profile(id) => {
                    let profile = find(id)?;
                    let predictor = Predictor::new(&profile);
                    Rates::Profiled(Box::new(profile), Box::new(predictor))
                }
            };
            Ok(MarketDisk { listed, rates, quicker: 1.0 })
        });
        Ok(Self {
            currency: list.currency,
            power: list.power,
            disks: disks.collect::<Result<_, _>>()?,
            adapters: list.adapters,
            hosts: list.hosts,
        })
    }
}
