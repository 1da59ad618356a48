//! Computes what accesses cost in money: Gray's KAPS and MAPS, and how many disks fill a limit.
//!
//! KAPS are random accesses per second of the smallest request, MAPS of a megabyte, one at a time: MAPS =
//! 1/(1/KAPS + 1 MB/rate) (Chung, Gray, Worthington, Horst 2000, tables 9 and 10). If requests overlap,
//! positioning is hidden behind the transfer, and only the rate bounds MAPS. Rejected: prices from lists of
//! our own, which are stale before they are printed.

use crate::limits::path::sizing;
use record::{
    Bytes, Estimate, Fill, Finding, FindingCode, OpKind, Pattern, PriceDocument, PriceRow, Profile,
    Severity, format_bytes,
};

/// Bytes of the megabyte in MAPS.
pub const MEGABYTE: f64 = 1e6;

/// Minimum area as a share of the capacity. On a smaller area seeks are much shorter than over the whole
/// disk: over half of the cylinders they are half as far on average.
const WHOLE_SHARE: f64 = 0.5;

/// A limit to be filled: its name and its rate in bytes per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name of the limit.
    pub name: String,
    /// Rate of the limit.
    pub bytes_per_s: f64,
}

/// Price of a disk, stated by the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The amount.
    pub amount: f64,
    /// Currency of the amount.
    pub currency: String,
    /// Capacity that the price is for; `None` for that of the device, or else of the target.
    pub capacity: Option<Bytes>,
}

/// Megabyte accesses per second, one at a time, at `kaps` random accesses per second and a transfer
/// of `bytes_per_s`.
#[must_use]
pub fn maps(kaps: f64, bytes_per_s: f64) -> f64 {
    1.0 / (1.0 / kaps + MEGABYTE / bytes_per_s)
}

/// Price and performance of one depth.
#[must_use]
pub fn row(depth: u32, kaps: Estimate, bytes_per_s: f64, price: Option<f64>) -> PriceRow {
    let maps = if depth == 1 { maps(kaps.value, bytes_per_s) } else { bytes_per_s / MEGABYTE };
    PriceRow {
        depth,
        kaps,
        maps,
        kaps_per_price: price.map(|price| kaps.value / price),
        maps_per_price: price.map(|price| maps / price),
        price_per_kaps: price.map(|price| price / kaps.value),
        price_per_maps: price.map(|price| price / maps),
    }
}

/// A finding if the random rate was measured on only a part of the priced capacity, with short seeks.
fn short_seeks(profile: &Profile, capacity: Bytes) -> Option<Finding> {
    let area = profile.cells.iter().map(|cell| cell.workload.size_bytes.0).max()?;
    let share = area as f64 / capacity.0.max(1) as f64;
    (share < WHOLE_SHARE).then(|| {
        let claim = format!(
            "The random rate (KAPS) was measured on {}, {:.1} % of the capacity. Seeks are short \
             there, and a cache may hold much of that area, so the whole disk is slower.",
            format_bytes(area),
            share * 100.0
        );
        let remedy = "Profile the whole device (halfpower check /dev/NAME), or use a larger \
                      --size.";
        Finding::new(FindingCode::SmallArea, Severity::Warning, claim, remedy)
            .with("measured area", area as f64, "bytes")
            .with("capacity", capacity.0 as f64, "bytes")
    })
}

/// Price figures of a profile; the error names what it lacks.
///
/// # Errors
/// A clause, if the profile has no random or no sequential reads.
pub fn price(
    profile: &Profile,
    price: Option<&Price>,
    limits: &[Named],
    version: &str,
) -> Result<PriceDocument, &'static str> {
    let curve = profile.depth_curves.iter().find(|curve| curve.op == OpKind::Read);
    let curve = curve.ok_or("the profile has no random reads at several queue depths")?;
    let alone = curve.points.iter().find(|point| point.depth == 1);
    let alone = alone.ok_or("the profile has no random reads at QD 1")?;
    let sequential = sequential(profile).ok_or("the profile has no sequential reads")?;
    let amount = price.map(|price| price.amount);
    let mut rows = vec![row(1, alone.iops, sequential.value, amount)];
    if curve.max_depth > 1 && curve.max_iops.low > alone.iops.high {
        rows.push(row(curve.max_depth, curve.max_iops, sequential.value, amount));
    }
    let random = alone.iops.value * curve.bs_bytes as f64;
    let fills = limits.iter().filter_map(|limit| {
        Some(Fill {
            name: limit.name.clone(),
            bytes_per_s: limit.bytes_per_s,
            sequential: sizing(limit.bytes_per_s, sequential.value, false)?,
            random: sizing(limit.bytes_per_s, random, false)?,
        })
    });
    let device = profile.target.device.as_ref().map(|device| device.size_bytes);
    let stated = price.and_then(|price| price.capacity);
    let capacity_bytes = stated.or(device).unwrap_or(profile.target.size_bytes);
    Ok(PriceDocument {
        schema: record::PRICE_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        profile_id: profile.id.clone(),
        simulated: profile.simulated,
        target: profile.target.path.clone(),
        price: amount,
        currency: price.map_or(String::new(), |price| price.currency.clone()),
        capacity_bytes,
        sequential_bytes_per_s: sequential,
        access_bytes: Bytes(curve.bs_bytes),
        rows,
        bytes_per_price: amount.map(|amount| capacity_bytes.0 as f64 / amount),
        fills: fills.collect(),
        findings: short_seeks(profile, capacity_bytes).into_iter().collect(),
    })
}

fn sequential(profile: &Profile) -> Option<Estimate> {
    let reads = profile.cells.iter().filter(|cell| {
        cell.workload.only_op() == Some(OpKind::Read)
            && cell.workload.pattern == Pattern::Sequential
            && cell.workload.cache.direct()
    });
    reads.map(|cell| cell.bytes_per_s).max_by(|a, b| a.value.total_cmp(&b.value))
}
