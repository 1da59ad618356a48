//! Builds the document of `limits` from the rate of memory and the trials.

use crate::limits::bus::{Answer, bus_test, hit_test};
use crate::limits::components::{Found, Peaks, components};
use crate::limits::pap::Stated;
use crate::limits::path::binding;
use crate::limits::plan::Settings;
use record::{
    Environment, Finding, FindingCode, HalfPower, LIMITS_SCHEMA, LimitsRun, Measured,
    PathComponent, Profile, Severity, Target, format_rate,
};
use std::collections::BTreeSet;
use trial::memory::MemoryRate;

/// The results of a `limits` run.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// Settings of the planned trials.
    pub settings: &'a Settings,
    /// The targets as the user named them.
    pub targets: Vec<Target>,
    /// System and settings; `None` for a simulated machine.
    pub environment: Option<Environment>,
    /// The rate of memory.
    pub memory: Measured<MemoryRate>,
    /// Finished trials with their purposes.
    pub answers: &'a [Answer],
    /// A profile of the same disk, used for the device's limits.
    pub profile: Option<&'a Profile>,
    /// Peaks that the user stated with `--pap`.
    pub stated: Vec<Stated>,
    /// Findings from before the trials.
    pub findings: Vec<Finding>,
}

/// The document from the evidence; `identity` is its id and time.
#[must_use]
pub fn document(
    evidence: Evidence<'_>,
    identity: (String, Option<String>),
    version: &str,
) -> LimitsRun {
    let Evidence { settings, targets, environment, memory, answers, profile, .. } = evidence;
    let (simulated, (id, time)) = (settings.simulated(), identity);
    let bus = bus_test(answers, profile.and_then(|profile| profile.limits.read_bytes_per_s));
    let throttles = environment.as_ref().map(|all| all.cgroup_limits.as_slice());
    let components = components(&Found {
        target: &targets[0],
        targets: settings.targets.max(1),
        memory: &memory,
        bus: &bus,
        answers,
        profile,
        throttles: throttles.unwrap_or_default(),
        peaks: &Peaks::of(&targets[0], simulated, evidence.stated),
    });
    let mut findings = evidence.findings;
    findings.extend(components.iter().filter_map(half_power_finding));
    LimitsRun {
        schema: LIMITS_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        id,
        time,
        seed: settings.seed,
        simulated,
        targets,
        environment,
        binding: binding(&components),
        components,
        bus,
        hits: hit_test(answers, settings.delay),
        profile_id: profile.map(|profile| profile.id.clone()),
        trial_ids: answers.iter().map(|(_, trial)| trial.id.clone()).collect(),
        findings,
    }
}

/// A finding if several targets share disks; `so` states the consequence.
pub fn shared_disk_finding<'a>(
    targets: impl Iterator<Item = &'a Target>,
    so: &str,
) -> Option<Finding> {
    let disk = |target: &Target| target.device.as_ref().map(|device| device.disk.clone());
    let all: Vec<_> = targets.map(disk).collect();
    let disks = all.iter().collect::<BTreeSet<_>>().len();
    let targets = all.len();
    if disks == targets {
        return None;
    }
    let ending = if disks == 1 { "" } else { "s" };
    let finding = Finding::new(
        FindingCode::TargetsShareDisk,
        Severity::Warning,
        format!("{targets} targets are on {disks} disk{ending}: {so}."),
        "Name targets on different disks.",
    );
    Some(finding.with("targets", targets as f64, "").with("disks", disks as f64, ""))
}

/// A finding for a component that reaches less than half of its advertised peak.
fn half_power_finding(component: &PathComponent) -> Option<Finding> {
    let pap = component.pap.value()?;
    let rap = component.rap_bytes_per_s.value()?;
    if component.half_power != HalfPower::Missed {
        return None;
    }
    Some(
        Finding::new(
            FindingCode::HalfPowerMissed,
            Severity::Warning,
            format!(
                "The {} reaches {}, less than half of the advertised {}.",
                component.name,
                format_rate(rap.value),
                format_rate(pap.bytes_per_s)
            ),
            "Try larger requests and a higher queue depth (halfpower check), and look for a link \
             that runs below its rated speed.",
        )
        .with("measured", rap.value, "bytes/s")
        .with("advertised", pap.bytes_per_s, "bytes/s")
        .with("ratio", rap.value / pap.bytes_per_s, "share"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Advertised, ComponentKind, Estimate};

    #[test]
    fn a_component_above_half_is_no_finding() {
        let component = |half_power| PathComponent {
            kind: ComponentKind::Link,
            name: "link".to_owned(),
            pap: Measured::Value(Advertised { bytes_per_s: 6e8, source: "a test".to_owned() }),
            rap_bytes_per_s: Measured::Value(Estimate::symmetric(2e8, 1e6, 3)),
            rap_is_lower_bound: false,
            rap_method: String::new(),
            others: Vec::new(),
            ratio: Some(1.0 / 3.0),
            half_power,
            disks: None,
        };
        assert!(half_power_finding(&component(HalfPower::Reached)).is_none());
        assert!(half_power_finding(&component(HalfPower::CannotTell)).is_none());
        let found = half_power_finding(&component(HalfPower::Missed)).unwrap();
        assert!(
            found.claim.contains("200 MB/s, less than half of the advertised 600 MB/s"),
            "{}",
            found.claim
        );
    }
}
