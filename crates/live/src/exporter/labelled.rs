//! Writes the samples of the metrics that have labels of their own: operation, verdict, limit, finding.

use crate::exporter::samples::Samples;
use crate::exporter::snapshot::Reading;
use record::{Figure, LimitedIo, OpInterval, Verdict, word};
use report::{WatchRow, WatchVerdict};
use std::collections::BTreeMap;
use std::fmt;

/// Seconds per nanosecond.
pub(super) const SECONDS: f64 = 1e-9;

const VERDICTS: [Verdict; 7] = [
    Verdict::Capped,
    Verdict::SlowAndOverloaded,
    Verdict::Slow,
    Verdict::Overloaded,
    Verdict::NotTheDisk,
    Verdict::Healthy,
    Verdict::NotEnoughEvidence,
];

impl Reading {
    /// Writes a sample for the reads and one for the writes of each device.
    pub(super) fn ops(
        &self,
        out: &mut Samples<'_, '_>,
        of: impl Fn(&OpInterval) -> Option<Figure>,
    ) -> fmt::Result {
        for row in self.rows() {
            let device = row.device.name.as_str();
            out.known(&[device, "read"], row.figure(|it| of(&it.read)))?;
            out.known(&[device, "write"], row.figure(|it| of(&it.write)))?;
        }
        Ok(())
    }

    /// Writes a part of each device's latency, labelled with the method of the split.
    pub(super) fn split(
        &self,
        out: &mut Samples<'_, '_>,
        part: impl Fn((f64, f64)) -> f64,
    ) -> fmt::Result {
        for row in self.rows() {
            let by = if row.calibrated.is_some() { "profile" } else { "utilization_law" };
            let part_s = row.split().map(|split| part(split) * SECONDS);
            out.known(&[&row.device.name, by], part_s)?;
        }
        Ok(())
    }
}

pub(super) fn device_info(reading: &Reading, out: &mut Samples<'_, '_>) -> fmt::Result {
    let Some(snapshot) = reading.snapshot() else { return Ok(()) };
    for (row, profile_id) in snapshot.rows.iter().zip(&snapshot.profile_ids) {
        let facts = row.device.facts.as_ref();
        let [model, vendor, serial, firmware, driver] = facts
            .map_or([None; 5], |it| {
                [&it.model, &it.vendor, &it.serial, &it.firmware, &it.driver].map(Option::as_deref)
            })
            .map(Option::unwrap_or_default);
        let profile = profile_id.as_deref().unwrap_or_default();
        out.add(&[&row.device.name, model, vendor, serial, firmware, driver, profile], 1.0)?;
    }
    Ok(())
}

/// Writes a sample of each verdict for each device with a profile.
pub(super) fn verdicts(
    reading: &Reading,
    out: &mut Samples<'_, '_>,
    of: impl Fn(&WatchVerdict, Verdict) -> f64,
) -> fmt::Result {
    let names = VERDICTS.map(|verdict| (verdict, verdict.name()));
    for row in reading.rows() {
        let Some(found) = row.verdict.as_ref().filter(|_| row.profile.is_some()) else { continue };
        for (verdict, name) in &names {
            out.add(&[&row.device.name, name], of(found, *verdict))?;
        }
    }
    Ok(())
}

pub(super) fn limits(
    reading: &Reading,
    out: &mut Samples<'_, '_>,
    is_wanted: impl Fn(LimitedIo) -> bool,
) -> fmt::Result {
    let Some(snapshot) = reading.snapshot() else { return Ok(()) };
    let limits = snapshot.context.cgroup_limits.iter().filter(|it| is_wanted(it.limited));
    // A group may set the same limit in both cgroup versions; the lower limit applies.
    let mut lowest: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for limit in limits {
        let limited = |row: &&WatchRow| {
            let facts = row.device.facts.as_ref();
            facts.is_some_and(|facts| facts.major_minor == limit.major_minor)
        };
        let Some(row) = snapshot.rows.iter().find(limited) else { continue };
        let op = limit.limited.op().name();
        let known = lowest.entry((&row.device.name, &limit.group, op)).or_insert(u64::MAX);
        *known = limit.limit_per_s.min(*known);
    }
    lowest
        .into_iter()
        .try_for_each(|((device, group, op), limit)| out.add(&[device, group, op], limit as f64))
}

pub(super) fn over_limit(reading: &Reading, out: &mut Samples<'_, '_>) -> fmt::Result {
    for row in reading.rows() {
        let Some(over) = row.interval.as_ref().and_then(|it| it.over_limit) else { continue };
        for (limit, share) in [
            ("volume_iops", over.volume_iops),
            ("volume_bytes", over.volume_bytes),
            ("machine_iops", over.machine_iops),
            ("machine_bytes", over.machine_bytes),
        ] {
            out.add(&[&row.device.name, limit], share)?;
        }
    }
    Ok(())
}

pub(super) fn findings(reading: &Reading, out: &mut Samples<'_, '_>) -> fmt::Result {
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    for finding in reading.snapshot().into_iter().flat_map(|it| &it.findings) {
        *counts.entry((finding.code.name(), word(finding.severity))).or_default() += 1;
    }
    counts
        .into_iter()
        .try_for_each(|((code, severity), count)| out.add(&[&code, &severity], f64::from(count)))
}
