//! What to buy for a need: disks, adapters, hosts and how they are bound, the cheapest first.
//!
//! [`parse`] reads a price list, [`Market::new`] gives its disks their rates, [`purchase`] answers.
//! Rates are those of the list or of profiles; loads of arrays come from `model::whatif`, prices per
//! access from [`crate::limits::cost`], so that a purchase, a what-if and a cost give one number (after
//! Chung, Gray, Worthington, Horst 2000, tables 2, 9 and 10). Rejected: prices of our own, which are
//! stale before they are printed.

mod market;
mod prices;
mod search;

pub use market::{Market, MarketDisk, Rates};
pub use prices::{ListedDisk, ListedPart, Power, PriceList, PricesError, RateSource, parse};

use crate::limits::cost;
use model::whatif::{DiskGroups, WhatIfError};
use record::{
    BreakEven, Bytes, CostAtNeed, Estimate, Finding, Locality, Mix, ModelName, Offered, OpKind,
    PURCHASE_SCHEMA, PricedDisk, Purchase, PurchaseBound, PurchaseConfiguration, PurchaseExcluded,
    PurchaseNeed, PurchasePart, format_bytes, format_nanos, format_share,
};
use search::{Failure, Kind, Layout, Loads};

/// Parts and multiples of the need whose cost is told.
const OTHER_NEEDS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// A depth that gives this share of the largest rate gives the largest.
const BEST: f64 = 0.999;
/// How much quicker the disk is whose worth is told.
const QUICKER: f64 = 2.0;

/// What to buy from a market for a need; `prices` is the name of the list.
///
/// # Errors
/// If a profile has no rates of what is asked.
pub fn purchase(
    market: &Market,
    need: &PurchaseNeed,
    prices: &str,
    version: &str,
) -> Result<Purchase, WhatIfError> {
    let mut excluded = Vec::new();
    let mut configurations = Vec::new();
    let mut disks = Vec::new();
    for disk in &market.disks {
        disks.push(priced(disk, need)?);
        configurations.extend(of_disk(market, disk, need, &mut excluded));
    }
    // Of the same cost the one that survives more.
    configurations.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(b.survives.cmp(&a.survives)));
    let findings = market.disks.iter().flat_map(|disk| findings(disk, need)).collect();
    Ok(Purchase {
        schema: PURCHASE_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        prices: prices.to_owned(),
        currency: market.currency.clone(),
        simulated: market.disks.iter().any(|disk| match &disk.rates {
            Rates::Profiled(profile, _) => profile.simulated,
            Rates::Stated(..) => false,
        }),
        need: need.clone(),
        disks,
        break_even: break_even(market, need, &configurations),
        at_other_needs: at_other_needs(market, need),
        configurations,
        excluded,
        assumes: assumes(market, need),
        findings,
    })
}

/// The least of a disk and each layout; what does not do, and why, goes to `excluded`.
fn of_disk(
    market: &Market,
    disk: &MarketDisk,
    need: &PurchaseNeed,
    excluded: &mut Vec<PurchaseExcluded>,
) -> Vec<PurchaseConfiguration> {
    let name = &disk.listed.name;
    if let Some(why) = unfit(market, disk, need) {
        excluded.push(PurchaseExcluded { what: name.clone(), why });
        return Vec::new();
    }
    let loads = Loads::new(need);
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for layout in Layout::ALL {
        if layout.survives() < need.survive {
            let why = format!("failed disks that an array survives: {}", layout.survives());
            left_out.push((layout.words().to_owned(), why));
            continue;
        }
        let kinds = kinds(market, disk, layout);
        let tried = kinds.iter().map(|kind| (kind, kind.least(need, &loads)));
        let (done, failed): (Vec<_>, Vec<_>) = tried.partition(|(_, tried)| tried.is_ok());
        let best = done.into_iter().filter_map(|(_, one)| one.ok());
        match best.min_by(|a, b| a.cost.total_cmp(&b.cost)) {
            Some(best) => found.push(best),
            None => left_out.extend(failed.into_iter().filter_map(|(kind, failure)| {
                let on = if kinds.len() > 1 { kind.hangs_on() } else { String::new() };
                Some((format!("{}{on}", layout.words()), why(&failure.err()?, need)))
            })),
        }
    }
    match left_out.first() {
        // One reason for all of them is told once.
        Some((_, why)) if found.is_empty() && left_out.iter().all(|it| it.1 == *why) => {
            excluded.push(PurchaseExcluded { what: name.clone(), why: why.clone() });
        }
        _ => excluded.extend(
            left_out
                .into_iter()
                .map(|(what, why)| PurchaseExcluded { what: format!("{name}, {what}"), why }),
        ),
    }
    found
}

/// What the disks of a layout may hang on.
fn kinds<'a>(market: &'a Market, disk: &'a MarketDisk, layout: Layout) -> Vec<Kind<'a>> {
    let adapters: Vec<Option<&ListedPart>> = if market.adapters.is_empty() {
        vec![None]
    } else {
        market.adapters.iter().filter(|adapter| takes(adapter, disk)).map(Some).collect()
    };
    let hosts: Vec<Option<&ListedPart>> =
        if market.hosts.is_empty() { vec![None] } else { market.hosts.iter().map(Some).collect() };
    let on = |&adapter: &Option<&'a ListedPart>| {
        let kind = move |&host| Kind { market, disk, layout, adapter, host };
        hosts.iter().map(kind).collect::<Vec<_>>()
    };
    adapters.iter().flat_map(on).collect()
}

fn takes(adapter: &ListedPart, disk: &MarketDisk) -> bool {
    let (takes, has) = (&adapter.interface, &disk.listed.interface);
    takes.is_none() || has.is_none() || takes == has
}

/// Why a disk is bought in no layout.
fn unfit(market: &Market, disk: &MarketDisk, need: &PurchaseNeed) -> Option<String> {
    let writes = need.random_iops > 0.0 && need.read_share < 1.0;
    let streams = [need.stream_read_bytes_per_s, need.stream_write_bytes_per_s];
    match &disk.rates {
        Rates::Stated(_, false) if writes || streams[1] > 0.0 => {
            return Some("the list does not give random-write and sequential-write".to_owned());
        }
        Rates::Profiled(profile, predictor) => {
            let asked = [
                (need.random_iops > 0.0 && need.read_share > 0.0, OpKind::Read, Locality::Random),
                (writes, OpKind::Write, Locality::Random),
                (streams[0] > 0.0, OpKind::Read, Locality::Sequential),
                (streams[1] > 0.0, OpKind::Write, Locality::Sequential),
            ];
            let unknown = asked.iter().find(|it| it.0 && !predictor.knows(it.1, it.2));
            if let Some((_, op, locality)) = unknown {
                let (id, op) = (&profile.id, op.name());
                return Some(format!("profile {id} has no {} {op}s", locality.word()));
            }
        }
        Rates::Stated(..) => {}
    }
    let none_takes = !market.adapters.iter().any(|adapter| takes(adapter, disk));
    (none_takes && !market.adapters.is_empty()).then(|| {
        let interface = disk.listed.interface.as_deref().unwrap_or_default();
        format!("no adapter in the list has the disk's interface, {interface:?}")
    })
}

fn why(failure: &Failure, need: &PurchaseNeed) -> String {
    let bound = match failure {
        Failure::Unknown(error) => return error.to_string(),
        Failure::Bound(bound) => bound,
    };
    let within = format_share(1.0 - need.headroom);
    match bound {
        PurchaseBound::FewestDisks => "no number of disks makes such an array possible".to_owned(),
        PurchaseBound::Part(PurchasePart::Size) => {
            "even 1,000 disks have too little capacity".to_owned()
        }
        PurchaseBound::Part(PurchasePart::DisksRandom | PurchasePart::DisksStream) => {
            format!("even 1,000 disks would be more than {within} busy")
        }
        PurchaseBound::Part(PurchasePart::AdapterBandwidth | PurchasePart::AdapterRequests) => {
            format!("an adapter would be more than {within} busy even with one disk")
        }
        PurchaseBound::Part(PurchasePart::BusBandwidth | PurchasePart::BusRequests) => {
            format!("even the buses of 32 hosts would be more than {within} busy")
        }
        PurchaseBound::Latency => {
            let most = need.latency_mean_ns.map(format_nanos).unwrap_or_default();
            format!("the mean latency stays above {most} with any number of disks")
        }
        PurchaseBound::AfterLoss => {
            "with one disk failed, the other disks could not meet the requirements, or data would \
             be lost"
                .to_owned()
        }
        PurchaseBound::Slots => "even 32 hosts have too few slots for adapters".to_owned(),
        PurchaseBound::Bays => "even 32 hosts have too few slots for disks".to_owned(),
    }
}

/// Rates and prices of a disk by itself.
fn priced(disk: &MarketDisk, need: &PurchaseNeed) -> Result<PricedDisk, WhatIfError> {
    let one = DiskGroups { disk: disk.group_disk(), array: None, groups: 1 };
    let rate = |op, locality, bytes: Bytes| {
        let busy = one.load(&Mix::one(op, locality, bytes.0), 1.0)?.busy;
        Ok::<_, WhatIfError>(Estimate::spanning(
            1.0 / busy.value,
            1.0 / busy.high,
            1.0 / busy.low,
            busy.n,
        ))
    };
    let read_iops = rate(OpKind::Read, Locality::Random, need.random_bytes)?;
    let streamed = rate(OpKind::Read, Locality::Sequential, need.stream_bytes)?;
    let streamed = streamed.scaled(need.stream_bytes.0 as f64);
    let (writes, profile_id) = match &disk.rates {
        Rates::Stated(_, writes) => (*writes, None),
        Rates::Profiled(profile, predictor) => {
            (predictor.knows(OpKind::Write, Locality::Random), Some(profile.id.clone()))
        }
    };
    let depth = match &disk.rates {
        Rates::Stated(..) => 1,
        Rates::Profiled(_, predictor) => {
            let reads = Mix::one(OpKind::Read, Locality::Random, need.random_bytes.0);
            let rates = predictor.rates_of(&reads).unwrap_or_default();
            let most = rates.iter().position(|rate| *rate >= BEST * read_iops.value);
            most.map_or(1, |at| at as u32 + 1)
        }
    };
    let write_iops = writes.then(|| rate(OpKind::Write, Locality::Random, need.random_bytes));
    let listed = &disk.listed;
    let price = (listed.price > 0.0).then_some(listed.price);
    Ok(PricedDisk {
        name: listed.name.clone(),
        size_bytes: listed.size_bytes,
        profile_id,
        read_iops,
        write_iops: write_iops.transpose()?,
        stream_read_bytes_per_s: streamed,
        price: listed.price,
        accesses: cost::row(depth, read_iops, streamed.value, price),
        bytes_per_price: price.map(|price| listed.size_bytes.0 as f64 / price),
    })
}

/// The least cost with a disk, of all layouts that do.
fn least(market: &Market, disk: &MarketDisk, need: &PurchaseNeed) -> Vec<PurchaseConfiguration> {
    of_disk(market, disk, need, &mut Vec::new())
}

/// At which price each other disk would be the cheapest, and the disk of the cheapest twice as quick.
fn break_even(
    market: &Market,
    need: &PurchaseNeed,
    configurations: &[PurchaseConfiguration],
) -> Vec<BreakEven> {
    let Some(best) = configurations.first() else { return Vec::new() };
    let pays = |disk: &MarketDisk, found: &[PurchaseConfiguration]| {
        let at = |one: &PurchaseConfiguration| {
            let count = f64::from(one.disks.count);
            let others = one.cost - count * disk.listed.price;
            ((best.cost - others) / count, one.disks.count)
        };
        let (pays_at, disks) = found.iter().map(at).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (name, price) = (disk.listed.name.clone(), disk.listed.price);
        Some(BreakEven { name, quicker: disk.quicker, price, pays_at, disks })
    };
    let mut all = Vec::new();
    for disk in &market.disks {
        if disk.listed.name != best.disks.name {
            let of_it: Vec<_> = configurations
                .iter()
                .filter(|it| it.disks.name == disk.listed.name)
                .cloned()
                .collect();
            all.extend(pays(disk, &of_it));
        } else if need.random_iops > 0.0 {
            // A profile has one factor for all requests, streams among them.
            if matches!(disk.rates, Rates::Profiled(..)) {
                continue;
            }
            let quicker = MarketDisk { quicker: QUICKER, ..disk.clone() };
            all.extend(pays(&quicker, &least(market, &quicker, need)));
        }
    }
    all
}

fn at_other_needs(market: &Market, need: &PurchaseNeed) -> Vec<CostAtNeed> {
    let mut all = Vec::new();
    for disk in &market.disks {
        for factor in OTHER_NEEDS {
            let other = PurchaseNeed {
                random_iops: need.random_iops * factor,
                stream_read_bytes_per_s: need.stream_read_bytes_per_s * factor,
                stream_write_bytes_per_s: need.stream_write_bytes_per_s * factor,
                ..need.clone()
            };
            let costs = least(market, disk, &other).into_iter().map(|one| one.cost);
            let name = disk.listed.name.clone();
            all.push(CostAtNeed { name, factor, cost: costs.min_by(f64::total_cmp) });
        }
    }
    all
}

fn findings(disk: &MarketDisk, need: &PurchaseNeed) -> Option<Finding> {
    let Rates::Profiled(profile, _) = &disk.rates else { return None };
    (need.random_iops > 0.0).then(|| cost::short_seeks(profile, disk.listed.size_bytes)).flatten()
}

fn assumes(market: &Market, need: &PurchaseNeed) -> Vec<String> {
    let stated = market.disks.iter().any(|disk| matches!(disk.rates, Rates::Stated(..)));
    let both = need.random_iops > 0.0
        && need.stream_read_bytes_per_s + need.stream_write_bytes_per_s > 0.0;
    let mut all = vec![
        "the load is spread evenly over the disks; the headroom covers uneven load".to_owned(),
        format!(
            "the host implements the array (in chunks of {}): copies, parity and reads for parity \
             also use adapters and buses",
            format_bytes(need.chunk_bytes.0)
        ),
    ];
    if both {
        let bytes = format_bytes(need.stream_bytes.0);
        all.push(if need.apart {
            "random requests and streams come at different times".to_owned()
        } else {
            format!(
                "random requests and streams come at the same time (--apart: at different times), \
                 and each {bytes} of a stream needs a new seek"
            )
        });
    }
    if stated && need.random_iops > 0.0 {
        all.push(
            "a disk without a profile is modelled as an M/M/c queue, with c from its latencies, \
             or else 1; its values have no intervals"
                .to_owned(),
        );
    }
    let loads = Loads::new(need);
    for disk in &market.disks {
        let Rates::Profiled(_, predictor) = &disk.rates else { continue };
        for load in loads.moments() {
            let asked =
                predictor.predict_by(ModelName::MixCapacity, &load.mix, Offered::Depth(1.0));
            // What the profile does not hold at all is told where the disk is left out.
            let clauses = asked.map(|found| found.extrapolated).unwrap_or_default();
            all.extend(clauses.iter().map(|clause| format!("{}: {clause}", disk.listed.name)));
        }
    }
    if let Some(power) = market.power {
        all.push(format!(
            "power costs {} {} per kWh for {} years of continuous operation",
            power.per_kwh, market.currency, power.years
        ));
    }
    all
}
