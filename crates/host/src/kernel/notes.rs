//! Collects events during an observation as a few findings, however long it runs.
//!
//! An observation overnight may see a device come and go a thousand times, and a broken driver spoils a
//! line at each reading. So each kind of event is counted, with the first names, and becomes one finding.
//! Properties of a device (no counters, unreliable busy time) are not events; they are read from the
//! devices when the findings are requested.

use record::{Finding, FindingCode, ObservedDevice};
use std::sync::Arc;

/// Maximum number of names in a finding.
const NAMED: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct Events {
    count: u64,
    examples: Vec<String>,
}

impl Events {
    /// Adds one event; keeps the first examples.
    pub(crate) fn add(&mut self, example: impl Into<String>) {
        self.count += 1;
        let example = example.into();
        if self.examples.len() < NAMED && !self.examples.contains(&example) {
            self.examples.push(example);
        }
    }

    /// The names; `None` if there were no events.
    fn list(&self) -> Option<String> {
        let complete = self.examples.len() as u64 == self.count;
        (self.count > 0).then(|| listed(&self.examples, complete))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Lines that could not be parsed, by error.
    pub(crate) unreadable: Events,
    /// Devices whose counters were reset, each with the counter that shows it.
    pub(crate) resets: Events,
    pub(crate) came: Events,
    pub(crate) went: Events,
}

impl Notes {
    /// One finding for each kind of event, and for each limitation of the devices.
    pub(crate) fn findings(&self, devices: &[Arc<ObservedDevice>]) -> Vec<Finding> {
        let all = [
            self.unreadable_finding(),
            self.reset_finding(),
            self.changed_finding(),
            off_finding(devices),
            doubt_finding(devices),
        ];
        all.into_iter().flatten().collect()
    }

    fn unreadable_finding(&self) -> Option<Finding> {
        let Events { count, examples } = &self.unreadable;
        let claim = format!(
            "{count} lines of the kernel's counter file could not be read, so each affected \
             device has no values for one interval. The first: {}.",
            examples.first()?
        );
        let remedy = "The other devices are not affected. If the same device is always affected, \
                      the fault is in its driver.";
        let finding = Finding::warning(FindingCode::CountersUnreadable, claim, remedy);
        Some(finding.with("unreadable lines", *count as f64, ""))
    }

    fn reset_finding(&self) -> Option<Finding> {
        let claim = format!(
            "Counters restarted or jumped: {}. Either the device was replaced, or its driver was \
             reloaded. The interval of the change is omitted.",
            self.resets.list()?
        );
        let remedy = "Compare the serial numbers before and after, and check the system log \
                      (dmesg, or the event log).";
        let finding = Finding::warning(FindingCode::CountersReset, claim, remedy);
        Some(finding.with("resets", self.resets.count as f64, ""))
    }

    fn changed_finding(&self) -> Option<Finding> {
        let told = |events: &Events, verb| Some(format!("{} {verb}", events.list()?));
        let parts = [told(&self.came, "appeared"), told(&self.went, "disappeared")];
        let told: Vec<String> = parts.into_iter().flatten().collect();
        let claim = format!(
            "The set of devices changed: {}. A device has values from the second reading after \
             it appears.",
            told.join("; ")
        );
        let finding = Finding::note(FindingCode::DevicesChanged, claim, "")
            .with("appeared", self.came.count as f64, "")
            .with("went away", self.went.count as f64, "");
        (!told.is_empty()).then_some(finding)
    }
}

/// Devices for which the kernel keeps no counters.
fn off_finding(devices: &[Arc<ObservedDevice>]) -> Option<Finding> {
    let off = |device: &&Arc<ObservedDevice>| {
        device.facts.as_ref().is_some_and(|facts| facts.iostats == Some(false))
    };
    let names: Vec<String> = devices.iter().filter(off).map(|device| device.name.clone()).collect();
    let first = names.first()?;
    let claim = format!(
        "The kernel keeps no counters for {}: the state is unknown, not idle.",
        listed(&names, true)
    );
    let remedy = format!("Write 1 to /sys/block/{first}/queue/iostats.");
    let finding = Finding::warning(FindingCode::CountersOff, claim, remedy);
    Some(finding.with("devices", names.len() as f64, ""))
}

/// Devices with unreliable busy time, by reason.
fn doubt_finding(devices: &[Arc<ObservedDevice>]) -> Option<Finding> {
    let doubted = devices
        .iter()
        .filter_map(|device| Some((device.name.clone(), device.busy_doubt.as_deref()?)));
    let (names, reasons): (Vec<String>, Vec<&str>) = doubted.unzip();
    let why = reasons.first()?;
    let alike = reasons.iter().all(|reason| reason == why);
    let more = if alike { "" } else { ", or a similar reason" };
    let claim = format!("The busy share of {} is unreliable: {why}{more}.", listed(&names, true));
    let remedy = "Use latency and concurrency instead: the utilization law depends on the busy \
                  share.";
    let finding = Finding::note(FindingCode::BusyDoubtful, claim, remedy);
    Some(finding.with("devices", names.len() as f64, ""))
}

/// `a, b and others`.
fn listed(names: &[String], complete: bool) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = if complete && names.len() <= NAMED { "" } else { " and others" };
    format!("{}{more}", shown.join(", "))
}
