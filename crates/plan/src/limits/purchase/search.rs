//! The least configuration of one disk, one layout, one adapter and one host that meets a need.
//!
//! Disks are added until nothing stands in the way; what stood in the way of one less is what binds.
//! For a number of disks there is one way to group them and a least number of adapters, so the first
//! that fits is the cheapest of its kind. Equal hosts share the need evenly. Rejected: different
//! disks in one configuration, whose share of the load nobody can foresee; a solver for whole
//! numbers, because the kinds are few and a reason is wanted for each that is left out.

use super::market::{Market, MarketDisk};
use super::prices::ListedPart;
use crate::limits::cost::MEGABYTE;
use model::PredictError;
use model::whatif::{Array, DiskGroups, WhatIfError};
use record::{
    Bought, Bytes, Estimate, Locality, Mix, MixClass, OpKind, PartLoad, PurchaseBound,
    PurchaseConfiguration, PurchaseNeed, PurchasePart, RaidLevel,
};

/// Disks of a host, and hosts, beyond which nothing is looked for.
const DISKS_MAX: u32 = 1_000;
const HOSTS_MAX: u32 = 32;
/// Rounding error of a share.
const ROUNDING: f64 = 1e-9;
/// Bytes of a terabyte in prices.
const TERABYTE: f64 = 1e12;
const HOURS_OF_A_YEAR: f64 = 8_766.0;

/// How disks are bound, whatever their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One disk, or a stripe.
    Striped,
    /// A pair, or a stripe of pairs.
    Mirrored,
    /// Three copies of everything.
    ThreeCopies,
    /// Arrays with one parity.
    OneParity,
    /// Arrays with two.
    TwoParities,
}

impl Layout {
    pub(super) const ALL: [Self; 5] =
        [Self::Striped, Self::Mirrored, Self::ThreeCopies, Self::OneParity, Self::TwoParities];

    pub(super) fn survives(self) -> u32 {
        match self {
            Self::Striped => 0,
            Self::Mirrored | Self::OneParity => 1,
            Self::ThreeCopies | Self::TwoParities => 2,
        }
    }

    fn has_parity(self) -> bool {
        matches!(self, Self::OneParity | Self::TwoParities)
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Striped => "RAID 0 or one disk",
            Self::Mirrored => "RAID 1 or 10",
            Self::ThreeCopies => "RAID 1 of three copies",
            Self::OneParity => "RAID 5",
            Self::TwoParities => "RAID 6",
        }
    }

    /// So many disks in groups: how each is bound, and how many groups; `None` where they make none.
    fn groups(self, disks: u32, need: &PurchaseNeed) -> Option<(Option<Array>, u32)> {
        let bound = |raid, disks| Array { disks, raid, chunk_bytes: need.chunk_bytes.0 };
        let (array, groups) = match (self, disks) {
            (Self::Striped, 1) => return Some((None, 1)),
            (Self::Striped, _) => (bound(RaidLevel::Raid0, disks), 1),
            (Self::Mirrored, 2) => (bound(RaidLevel::Raid1, 2), 1),
            (Self::Mirrored, _) => (bound(RaidLevel::Raid10, disks), 1),
            (Self::ThreeCopies, _) => (bound(RaidLevel::Raid1, 3), disks / 3),
            (Self::OneParity | Self::TwoParities, _) => {
                let groups = disks.div_ceil(need.parity_disks_max);
                let one = self == Self::OneParity;
                let raid = if one { RaidLevel::Raid5 } else { RaidLevel::Raid6 };
                (bound(raid, disks / groups), groups)
            }
        };
        (array.disks * groups == disks && array.check().is_ok()).then_some((Some(array), groups))
    }
}

/// Requests of one kind and how many of them come per second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) mix: Mix,
    pub(super) per_s: f64,
}

impl Load {
    fn of(classes: [(OpKind, Locality, Bytes, f64); 4]) -> Option<Self> {
        let per_s: f64 = classes.iter().map(|class| class.3).sum();
        let classes = classes.into_iter().filter(|class| class.3 > 0.0);
        let classes = classes.map(|(op, locality, bytes, rate)| MixClass {
            op,
            locality,
            bytes: bytes.0,
            share: rate / per_s,
        });
        let mix = Mix { classes: classes.collect() };
        (per_s > 0.0).then_some(Self { mix, per_s })
    }

    fn shared(&self, hosts: u32) -> Self {
        Self { mix: self.mix.clone(), per_s: self.per_s / f64::from(hosts) }
    }
}

/// A need as loads.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    /// Random requests alone.
    pub(super) random: Option<Load>,
    /// Streams alone.
    pub(super) stream: Option<Load>,
    /// Both at the same time; `None` where they come apart, or one of them is all there is.
    pub(super) together: Option<Load>,
}

impl Loads {
    pub(super) fn new(need: &PurchaseNeed) -> Self {
        use OpKind::{Read, Write};
        let (small, large) = (need.random_bytes, need.stream_bytes);
        let reads = need.random_iops * need.read_share;
        let writes = need.random_iops - reads;
        let [streamed, written] = [need.stream_read_bytes_per_s, need.stream_write_bytes_per_s]
            .map(|rate| rate / large.0.max(1) as f64);
        let load = |random: f64, stream: f64, locality: Locality| {
            Load::of([
                (Read, Locality::Random, small, random * reads),
                (Write, Locality::Random, small, random * writes),
                (Read, locality, large, stream * streamed),
                (Write, locality, large, stream * written),
            ])
        };
        let random = load(1.0, 0.0, Locality::Random);
        let stream = load(0.0, 1.0, Locality::Sequential);
        let both = random.is_some() && stream.is_some() && !need.apart;
        // What is asked for in between moves the heads: a stream has to find its place again.
        let together = both.then(|| load(1.0, 1.0, Locality::Random)).flatten();
        Self { random, stream, together }
    }

    /// What comes at one time, each.
    pub(super) fn moments(&self) -> impl Iterator<Item = &Load> {
        let apart = [&self.random, &self.stream].into_iter().flatten();
        let none = if self.together.is_some() { 2 } else { 0 };
        self.together.iter().chain(apart.skip(none))
    }

    fn shared(&self, hosts: u32) -> Self {
        let of = |load: &Option<Load>| load.as_ref().map(|load| load.shared(hosts));
        Self { random: of(&self.random), stream: of(&self.stream), together: of(&self.together) }
    }
}

/// One kind of configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind<'a> {
    pub(super) market: &'a Market,
    pub(super) disk: &'a MarketDisk,
    pub(super) layout: Layout,
    pub(super) adapter: Option<&'a ListedPart>,
    pub(super) host: Option<&'a ListedPart>,
}

/// Why there is none of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// What stood in the way of the last one that was looked at.
    Bound(PurchaseBound),
    /// The disk's rates do not tell.
    Unknown(WhatIfError),
}

impl From<PurchaseBound> for Failure {
    fn from(bound: PurchaseBound) -> Self {
        Self::Bound(bound)
    }
}

impl From<WhatIfError> for Failure {
    fn from(error: WhatIfError) -> Self {
        Self::Unknown(error)
    }
}

/// What one host has.
struct OneHost<'a> {
    groups: DiskGroups<'a>,
    disks: u32,
    spares: u32,
    adapters: u32,
}

/// Shares of the parts that one load uses, and of the disks together.
struct Used {
    disks: Estimate,
    after_loss: Option<f64>,
    parts: Vec<(PurchasePart, f64)>,
}

impl Used {
    fn most(&self) -> f64 {
        self.parts.iter().map(|part| part.1).fold(self.disks.value, f64::max)
    }
}

impl<'a> Kind<'a> {
    /// What its disks hang on, in words.
    pub(super) fn hangs_on(&self) -> String {
        let parts = [self.adapter, self.host].into_iter().flatten();
        let names: Vec<&str> = parts.map(|part| part.name.as_str()).collect();
        if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) }
    }

    /// The least of this kind that meets the need.
    pub(super) fn least(
        &self,
        need: &PurchaseNeed,
        loads: &Loads,
    ) -> Result<PurchaseConfiguration, Failure> {
        let mut last = Failure::Bound(PurchaseBound::FewestDisks);
        let hosts_max = if self.host.is_some() { HOSTS_MAX } else { 1 };
        for hosts in 1..=hosts_max {
            match self.of_hosts(need, &loads.shared(hosts), hosts) {
                Ok(mut found) => {
                    if let (Failure::Bound(bound), true) = (last, hosts > 1) {
                        found.bound = bound;
                    }
                    return Ok(found);
                }
                Err(unknown @ Failure::Unknown(_)) => return Err(unknown),
                Err(bound) => last = bound,
            }
        }
        Err(last)
    }

    /// The least of so many hosts; loads are those of one.
    fn of_hosts(
        &self,
        need: &PurchaseNeed,
        loads: &Loads,
        hosts: u32,
    ) -> Result<PurchaseConfiguration, Failure> {
        let size = need.size_bytes.0.div_ceil(u64::from(hosts));
        let spares = need.spares.div_ceil(hosts);
        let mut bound = PurchaseBound::FewestDisks;
        for disks in 1..=DISKS_MAX {
            let Some((array, groups)) = self.layout.groups(disks, need) else { continue };
            let places = self.host.map_or(u32::MAX, |host| host.disks);
            if disks + spares > places {
                return Err(PurchaseBound::Bays.into());
            }
            let data = array.map_or(1, |array| array.data_disks()) * groups;
            if self.disk.listed.size_bytes.0.saturating_mul(u64::from(data)) < size {
                bound = PurchaseBound::Part(PurchasePart::Size);
                continue;
            }
            let groups = DiskGroups { disk: self.disk.group_disk(), array, groups };
            let mut one = OneHost { groups, disks, spares, adapters: 0 };
            match self.fits(need, loads, &mut one) {
                Ok(()) => return Ok(self.configuration(need, loads, &one, hosts, bound)?),
                // More disks put less on a bus only where wider arrays write less parity.
                Err(Failure::Bound(
                    on_the_bus @ (PurchaseBound::Part(PurchasePart::BusBandwidth)
                    | PurchaseBound::Part(PurchasePart::BusRequests)),
                )) if !self.layout.has_parity() => return Err(on_the_bus.into()),
                Err(Failure::Bound(one)) => bound = one,
                Err(unknown) => return Err(unknown),
            }
        }
        Err(bound.into())
    }

    /// Whether the disks carry the need, and how many adapters that takes.
    fn fits(
        &self,
        need: &PurchaseNeed,
        loads: &Loads,
        one: &mut OneHost<'a>,
    ) -> Result<(), Failure> {
        let most = 1.0 - need.headroom + ROUNDING;
        let places = self.adapter.map_or(u32::MAX, |adapter| adapter.disks);
        one.adapters =
            if self.adapter.is_some() { (one.disks + one.spares).div_ceil(places) } else { 0 };
        for load in loads.moments() {
            let used = self.used(one, load)?;
            if used.disks.value > most {
                return Err(PurchaseBound::Part(self.of_disks(one, loads)?).into());
            }
            if need.carry_after_loss && used.after_loss.is_none_or(|used| used > 1.0 + ROUNDING) {
                return Err(PurchaseBound::AfterLoss.into());
            }
            let over =
                |part| matches!(part, PurchasePart::BusBandwidth | PurchasePart::BusRequests);
            if let Some(&(part, _)) = used.parts.iter().find(|it| over(it.0) && it.1 > most) {
                return Err(PurchaseBound::Part(part).into());
            }
        }
        if let (Some(wanted), Some(random)) = (need.latency_mean_ns, &loads.random) {
            let load = loads.together.as_ref().unwrap_or(random);
            match one.groups.latency_ns(&load.mix, load.per_s, &random.mix) {
                Ok(latency) if latency.value <= wanted => {}
                // Without headroom there may be no mean.
                Ok(_) | Err(WhatIfError::Predict(PredictError::Saturated { .. })) => {
                    return Err(PurchaseBound::Latency.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let slots = self.host.map_or(u32::MAX, |host| host.adapters);
        while self.adapter.is_some() {
            if one.adapters > slots {
                return Err(PurchaseBound::Slots.into());
            }
            let mut over = None;
            for load in loads.moments() {
                let used = self.used(one, load)?;
                over = over.or(used.parts.into_iter().find(|part| part.1 > most));
            }
            match over {
                None => break,
                // Each disk has an adapter of its own.
                Some((part, _)) if one.adapters >= one.disks => {
                    return Err(PurchaseBound::Part(part).into());
                }
                Some(_) => one.adapters += 1,
            }
        }
        Ok(())
    }

    /// Which load takes more of the disks.
    fn of_disks(&self, one: &OneHost<'_>, loads: &Loads) -> Result<PurchasePart, WhatIfError> {
        let (random, stream) = self.disks_by_load(one, loads)?;
        Ok(if random >= stream { PurchasePart::DisksRandom } else { PurchasePart::DisksStream })
    }

    /// Shares of the disks' rate that random requests and streams use.
    fn disks_by_load(&self, one: &OneHost<'_>, loads: &Loads) -> Result<(f64, f64), WhatIfError> {
        let of = |load: &Option<Load>| {
            let used = load.as_ref().map(|load| one.groups.load(&load.mix, load.per_s));
            Ok::<f64, WhatIfError>(used.transpose()?.map_or(0.0, |used| used.busy.value))
        };
        let random = of(&loads.random)?;
        let stream = match &loads.together {
            Some(_) => (of(&loads.together)? - random).max(0.0),
            None => of(&loads.stream)?,
        };
        Ok((random, stream))
    }

    /// What a load uses of disks, of the adapter with the most disks, and of the bus.
    fn used(&self, one: &OneHost<'_>, load: &Load) -> Result<Used, WhatIfError> {
        let found = one.groups.load(&load.mix, load.per_s)?;
        let mut parts = Vec::new();
        let mut part = |listed: &ListedPart, share: f64, [bytes, requests]: [PurchasePart; 2]| {
            let time = found.read_bytes_per_s / listed.read_bytes_per_s
                + found.write_bytes_per_s / listed.write_bytes_per_s;
            let known = [
                (
                    listed.read_bytes_per_s.is_finite() || listed.write_bytes_per_s.is_finite(),
                    bytes,
                    time,
                ),
                (listed.iops.is_finite(), requests, found.disk_iops / listed.iops),
            ];
            let known = known.into_iter().filter(|it| it.0);
            parts.extend(known.map(|(_, part, used)| (part, share * used)));
        };
        if let Some(adapter) = self.adapter {
            let fullest = one.disks.div_ceil(one.adapters.max(1));
            let kinds = [PurchasePart::AdapterBandwidth, PurchasePart::AdapterRequests];
            part(adapter, f64::from(fullest) / f64::from(one.disks), kinds);
        }
        if let Some(host) = self.host {
            part(host, 1.0, [PurchasePart::BusBandwidth, PurchasePart::BusRequests]);
        }
        Ok(Used { disks: found.busy, after_loss: found.busy_after_loss, parts })
    }

    fn configuration(
        &self,
        need: &PurchaseNeed,
        loads: &Loads,
        one: &OneHost<'a>,
        hosts: u32,
        bound: PurchaseBound,
    ) -> Result<PurchaseConfiguration, WhatIfError> {
        let (random, stream) = self.disks_by_load(one, loads)?;
        let mut parts = Vec::new();
        let asked = [
            (PurchasePart::DisksRandom, random, loads.random.is_some()),
            (PurchasePart::DisksStream, stream, loads.stream.is_some()),
        ];
        parts
            .extend(asked.iter().filter(|it| it.2).map(|&(part, used, _)| PartLoad { part, used }));
        let (mut disks_busy, mut after_loss) = (Estimate::spanning(0.0, 0.0, 0.0, 0), None);
        for load in loads.moments() {
            let used = self.used(one, load)?;
            if used.disks.value >= disks_busy.value {
                (disks_busy, after_loss) = (used.disks, used.after_loss);
            }
            for (part, used) in used.parts {
                match parts.iter_mut().find(|known| known.part == part) {
                    Some(known) => known.used = known.used.max(used),
                    None => parts.push(PartLoad { part, used }),
                }
            }
        }
        let array = one.groups.array;
        let groups = one.groups.groups;
        let data = array.map_or(1, |array| array.data_disks()) * groups * hosts;
        let usable = self.disk.listed.size_bytes.0.saturating_mul(u64::from(data));
        if need.size_bytes.0 > 0 {
            let used = need.size_bytes.0 as f64 / usable as f64;
            parts.push(PartLoad { part: PurchasePart::Size, used });
        }
        let latency_ns = loads.random.as_ref().map(|random| {
            let load = loads.together.as_ref().unwrap_or(random);
            one.groups.latency_ns(&load.mix, load.per_s, &random.mix)
        });
        let at_most = |load: &Option<Load>, rate: f64| {
            let used = load.as_ref().map(|load| self.used(one, load)).transpose()?;
            Ok::<_, WhatIfError>(used.map(|used| rate / used.most()))
        };
        let streamed = need.stream_read_bytes_per_s + need.stream_write_bytes_per_s;
        let random_iops_max = at_most(&loads.random, need.random_iops)?;
        let stream_bytes_per_s_max = at_most(&loads.stream, streamed)?;
        let bought = |name: &str, count: u32| Bought { name: name.to_owned(), count };
        let disks = bought(&self.disk.listed.name, one.disks * hosts + need.spares);
        let adapters = self.adapter.map(|part| bought(&part.name, one.adapters * hosts));
        let hosts_bought = self.host.map(|part| bought(&part.name, hosts));
        let watts = self.sum(one, hosts, need, self.disk.listed.watts, |part| part.watts);
        let power_cost = self
            .market
            .power
            .map_or(0.0, |power| watts / 1e3 * HOURS_OF_A_YEAR * power.years * power.per_kwh);
        let price = self.sum(one, hosts, need, self.disk.listed.price, |part| part.price);
        let cost = price + power_cost;
        Ok(PurchaseConfiguration {
            disks,
            adapters,
            hosts: hosts_bought,
            raid: array.map(|array| array.raid),
            group_disks: array.map_or(1, |array| array.disks),
            groups: groups * hosts,
            survives: array.map_or(0, |array| array.survives()),
            cost,
            power_cost,
            usable_bytes: Bytes(usable),
            parts,
            disks_busy,
            busy_after_loss: after_loss,
            latency_ns: latency_ns.and_then(Result::ok),
            random_iops_max,
            stream_bytes_per_s_max,
            cost_per_iops: random_iops_max.map(|rate| cost / rate),
            cost_per_mb_per_s: stream_bytes_per_s_max.map(|rate| cost / (rate / MEGABYTE)),
            cost_per_tb: cost / (usable as f64 / TERABYTE),
            bound,
        })
    }

    /// Something that adds up over all that is bought.
    fn sum(
        &self,
        one: &OneHost<'_>,
        hosts: u32,
        need: &PurchaseNeed,
        of_disk: f64,
        of: fn(&ListedPart) -> f64,
    ) -> f64 {
        let disks = f64::from(one.disks * hosts + need.spares) * of_disk;
        let adapters = self.adapter.map_or(0.0, |part| f64::from(one.adapters) * of(part));
        let host = self.host.map_or(0.0, of);
        disks + f64::from(hosts) * (adapters + host)
    }
}
