//! Reads the health log of NVMe drives: thermal throttling, media errors, exhausted spare blocks.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When};
use host::kernel::device_calls::nvme_health;
use record::{LayerKind, format_count, format_nanos};

pub(super) const ROW: Check = Check {
    name: "nvme_health",
    causes: &[13, 20],
    layer: LayerKind::Device,
    reads: "NVMe log page 0x02 of each drive in use, by NVME_IOCTL_ADMIN_CMD (root, twice)",
    source: "https://nvmexpress.org/specification/nvm-express-base-specification/",
    basis: Basis::Facts { when: When::InUseTwice, read, judge },
};

const WARNING: &str = "critical warning";
const TEMPERATURE: &str = "temperature";
const SPARE: &str = "available spare";
const SPARE_LEAST: &str = "spare threshold";
const MEDIA_ERRORS: &str = "media errors";
const WARM_MINUTES: &str = "time above the warning temperature";
const THROTTLED: &str = "times throttled by heat";
const THROTTLED_S: &str = "time throttled by heat";
/// Bits of the critical warning: spare below its threshold, temperature out of range, reliability
/// degraded, read-only.
const TOO_HOT: u32 = 1 << 1;
const DEGRADED: u32 = 1 << 0 | 1 << 2 | 1 << 3;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for drive in host.disks().filter(|disk| disk.is_nvme()) {
        if reader.may_ask(drive)
            && let Some(log) = reader.known(Some(drive), nvme_health(host.roots, &drive.name))
        {
            reader.add(fact(drive, &log));
        }
    }
}

/// Fields of the log, by their offsets (NVM Express base specification 2.0, figure 207).
fn fact(drive: &HostDevice, log: &[u8]) -> Fact {
    let byte = |at: usize| log.get(at).map(|byte| f64::from(*byte));
    // Counters have 16 bytes. The lower eight hold more than any drive counts.
    let count = |at: usize, bytes: usize| {
        let field = log.get(at..at + bytes)?;
        let value = field.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        Some(value as f64)
    };
    let both = |at: usize, bytes: usize| Some(count(at, bytes)? + count(at + bytes, bytes)?);
    Fact::of(drive)
        .number(WARNING, byte(0), "")
        // The composite temperature is in kelvin.
        .number(TEMPERATURE, count(1, 2).filter(|kelvin| *kelvin > 0.0).map(|it| it - 273.0), "°C")
        .number(SPARE, byte(3), "%")
        .number(SPARE_LEAST, byte(4), "%")
        .number("used", byte(5), "%")
        .number(MEDIA_ERRORS, count(160, 8), "")
        .number(WARM_MINUTES, count(192, 4), "min")
        .number(THROTTLED, both(216, 4), "")
        .number(THROTTLED_S, both(224, 4), "s")
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let warning = fact.number(WARNING).unwrap_or(0.0) as u32;
    let slowed = fact.rise(THROTTLED).unwrap_or(0.0).max(fact.rise(THROTTLED_S).unwrap_or(0.0));
    let slow = [Effect::SteppedDown, Effect::SlowWrites, Effect::SlowReads, Effect::CappedRate];
    let cool = "Improve the airflow, add a heat sink, or move the drive away from the graphics \
                card. `nvme smart-log` shows the count.";
    let temperature = fact.number(TEMPERATURE);
    let at = temperature.map(|celsius| format!(" ({celsius:.0} °C now)")).unwrap_or_default();
    if slowed > 0.0 {
        let says =
            format!("The drive throttled itself because of heat during the observation{at}.");
        return Some(Claim::counted(says, &slow, cool).with(THROTTLED, slowed, ""));
    }
    if warning & TOO_HOT != 0 {
        let says = format!("The drive reports a temperature warning{at}.");
        return Some(Claim::unusual(says, &slow, cool));
    }
    let errors = fact.number(MEDIA_ERRORS).filter(|count| *count > 0.0);
    let wrong = [Effect::StandsStill, Effect::SlowReads, Effect::SlowWrites];
    let replace = "Back the data up and replace the drive.";
    let new_errors = fact.rise(MEDIA_ERRORS).filter(|rise| *rise > 0.0);
    if let Some(rise) = new_errors {
        let says =
            format!("The drive had {} media errors during the observation.", format_count(rise));
        return Some(Claim::counted(says, &wrong, replace).with(MEDIA_ERRORS, rise, ""));
    }
    if warning & DEGRADED != 0 {
        let says = "The drive warns that its spare blocks are used up or its medium is degraded."
            .to_owned();
        return Some(Claim { weight: 3.0, ..Claim::unusual(says, &wrong, replace) });
    }
    if let Some(count) = errors {
        let says =
            format!("The drive reports {} media errors over its lifetime.", format_count(count));
        return Some(Claim::unusual(says, &wrong, replace).with(MEDIA_ERRORS, count, "").by(count));
    }
    let throttled_s = fact.number(THROTTLED_S).filter(|seconds| *seconds > 0.0)?;
    let says = format!(
        "The drive has throttled itself because of heat for {} over its lifetime{at}.",
        format_nanos(throttled_s * 1e9)
    );
    Some(Claim::usual(says, &slow, cool).by(throttled_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use record::SystemFact;

    fn log(set: &[(usize, &[u8])]) -> Vec<u8> {
        let mut log = vec![0; 512];
        log[1..3].copy_from_slice(&(273_u16 + 41).to_le_bytes());
        (log[3], log[4], log[5]) = (100, 10, 2);
        for (at, bytes) in set {
            log[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        log
    }

    /// The log at both ends of an observation.
    fn facts(begin: &[u8], end: &[u8]) -> Vec<SystemFact> {
        let drive = HostDevice {
            name: "nvme0n1".to_owned(),
            directory: "/".into(),
            above: Vec::new(),
            disks: vec!["nvme0n1".to_owned()],
            facts: disk("nvme0n1", |_| {}),
            in_use: true,
        };
        let of = |log: &[u8]| {
            let mut found = record::FactsRead::default();
            Reader::new("nvme_health", &mut found).add(fact(&drive, log));
            found
        };
        let mut now = of(end);
        now.since_begin(of(begin));
        now.facts
    }

    #[test]
    fn throttling_of_the_observation_and_media_errors_are_causes_of_slowness_alone() {
        let drive = disk("nvme0n1", |_| {});
        let machine = |facts| Machine { facts, disk: Some(&drive), ..Machine::default() };
        let hot = facts(&log(&[(216, &[3])]), &log(&[(216, &[5]), (224, &[90])]));
        let says = cause_only_with_effect(
            "nvme_health",
            machine(&hot),
            Effect::SteppedDown,
            Load::default(),
        );
        assert_eq!(
            says,
            "The drive throttled itself because of heat during the observation (41 °C \
                          now)."
        );
        let errors = facts(&log(&[]), &log(&[(160, &[4])]));
        cause_only_with_effect(
            "nvme_health",
            machine(&errors),
            Effect::StandsStill,
            Load::default(),
        );
        // Throttled long ago, or never.
        let fine = facts(&log(&[]), &log(&[]));
        nothing("nvme_health", machine(&fine), Load::default());
        assert_eq!(fine[0].number(TEMPERATURE), Some(41.0));
        assert_eq!(fine[0].number(SPARE), Some(100.0));
    }
}
