//! Reads a drive's health data with smartctl, if that is installed.
//!
//! smartctl runs once for each drive that has just served requests, at the end of an observation,
//! with `-n standby` so that it does not wake a sleeping drive. It is stopped after ten seconds.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When};
use engine::input;
use record::{LayerKind, format_count};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const ROW: Check = Check {
    name: "smart",
    causes: &[7, 13],
    layer: LayerKind::Device,
    reads: "smartctl --json -n standby -i -H -A for each drive in use (root, once)",
    source: "https://www.smartmontools.org/wiki/Smartmontools_JSON_output",
    basis: Basis::Facts { when: When::InUse, read, judge },
};

const WAIT: Duration = Duration::from_secs(10);
/// Time limit for all drives together: each drive that hangs takes up to `WAIT`.
const WAIT_ALL: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// Largest output that is read, in bytes.
const OUTPUT_BYTES: u64 = 1 << 20;

/// Attributes of ATA drives whose raw value counts something (T13/e05148r0).
const ATTRIBUTES: [(u64, &str); 5] = [
    (5, "reallocated sectors"),
    (187, "uncorrectable errors"),
    (197, "pending sectors"),
    (198, "offline uncorrectable sectors"),
    (199, "errors on the cable"),
];
const TEMPERATURE: &str = "temperature";
const PASSED: &str = "self-assessment";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let until = Instant::now() + WAIT_ALL;
    for drive in host.disks().filter(|disk| has_health(disk)) {
        if !reader.may_ask(drive) {
            continue;
        }
        let told = host.smartctl.clone().and_then(|program| {
            if Instant::now() > until {
                return Err("smartctl took too long for other drives".to_owned());
            }
            asked(&program, &host.roots.dev.join(&drive.name))
        });
        if let Some(told) = reader.known(Some(drive), told) {
            reader.add(fact(drive, &told));
        }
    }
}

/// Whether a disk is a drive that may support SMART.
fn has_health(disk: &HostDevice) -> bool {
    !disk.facts.virtual_disk && (disk.name.starts_with("sd") || disk.name.starts_with("nvme"))
}

/// The program's output for a drive.
fn asked(program: &Path, drive: &Path) -> Result<Value, String> {
    let mut child = Command::new(program)
        .args(["--json", "-n", "standby", "-i", "-H", "-A"])
        .arg(drive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("smartctl cannot be run: {error}"))?;
    let output = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.map(|output| input::at_most(output, OUTPUT_BYTES, &mut bytes));
        bytes
    });
    let begun = Instant::now();
    while begun.elapsed() < WAIT && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        std::thread::sleep(PAUSE);
    }
    if child.try_wait().is_ok_and(|ended| ended.is_none()) {
        // The program may be blocked in the kernel by the drive, so it is not waited for.
        let _ = child.kill();
        return Err("smartctl did not finish within 10 s".to_owned());
    }
    let bytes = reading.join().unwrap_or_default();
    serde_json::from_slice(&bytes).map_err(|_| "smartctl printed no JSON".to_owned())
}

fn fact(drive: &HostDevice, told: &Value) -> Fact {
    let passed = told["smart_status"]["passed"].as_bool();
    let passed = passed.map(|passed| if passed { "passed" } else { "FAILED" });
    let rows = told["ata_smart_attributes"]["table"].as_array();
    let raw = |id: u64| {
        let row = rows?.iter().find(|row| row["id"].as_u64() == Some(id))?;
        row["raw"]["value"].as_f64()
    };
    let mut fact = Fact::of(drive).text(PASSED, passed);
    for (id, name) in ATTRIBUTES {
        fact = fact.number(name, raw(id), "");
    }
    fact.number(TEMPERATURE, told["temperature"]["current"].as_f64(), "°C")
}

/// A failed self-assessment, or failed sectors and transfers. The counts cover the drive's whole
/// life, so they explain only a device that is slow now.
fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let failed = fact.text(PASSED).is_some_and(|text| text == "FAILED");
    let found: Vec<(&str, f64)> = ATTRIBUTES
        .iter()
        .filter_map(|&(_, name)| Some((name, fact.number(name).filter(|count| *count > 0.0)?)))
        .collect();
    let sum: f64 = found.iter().map(|(_, count)| count).sum();
    if !failed && found.is_empty() {
        return None;
    }
    let explains = [Effect::StandsStill, Effect::SlowReads, Effect::SlowWrites];
    let says = if failed {
        format!("SMART: the drive reports that it is failing{}.", listed(", ", &found))
    } else {
        format!("SMART counts{}.", listed(" ", &found))
    };
    let replace = "Back the data up and replace the drive.";
    let cable = !failed && found.iter().all(|(name, _)| *name == "errors on the cable");
    // A count of cable errors stays after the cable was replaced.
    let claim = if cable {
        let action = "Replace the cable or use another slot. The count never falls, so watch \
                      whether it still rises.";
        Claim::usual(says, &explains, action)
    } else {
        Claim::unusual(says, &explains, replace)
    };
    let claim = claim.by(sum.max(1.0));
    Some(if failed { Claim { weight: 3.0, ..claim } } else { claim })
}

fn listed(before: &str, found: &[(&str, f64)]) -> String {
    let each = found.iter().map(|(name, count)| format!("{} {name}", format_count(*count)));
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!("{before}{}", each.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use host::kernel::Roots;
    use record::SystemFact;
    use std::os::unix::fs::PermissionsExt;
    use testkit::Fake;

    /// Output of smartctl 7.4, shortened.
    fn printed(passed: bool, pending: u32) -> String {
        format!(
            r#"{{"json_format_version":[1,0],"smartctl":{{"version":[7,4],"exit_status":0}},
            "device":{{"name":"/dev/sda","type":"sat","protocol":"ATA"}},
            "smart_status":{{"passed":{passed}}},
            "ata_smart_attributes":{{"revision":16,"table":[
            {{"id":5,"name":"Reallocated_Sector_Ct","value":100,"worst":100,"thresh":10,"raw":{{"value":0,"string":"0"}}}},
            {{"id":194,"name":"Temperature_Celsius","value":64,"raw":{{"value":36,"string":"36"}}}},
            {{"id":197,"name":"Current_Pending_Sector","value":100,"raw":{{"value":{pending},"string":"{pending}"}}}}]}},
            "temperature":{{"current":36}}}}"#
        )
    }

    fn told(text: &str) -> Vec<SystemFact> {
        let fake = Fake::new();
        fake.block("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", 1 << 20);
        let program = fake.path("smartctl");
        std::fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit 0\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let roots = Roots::below(fake.root());
        let mut host = Host::new(&roots, &[disk("sda", |_| {})], &|_| true);
        host.smartctl = Ok(program);
        let found = crate::causes::reading::read(&host, crate::causes::reading::Round::End);
        found.facts.into_iter().filter(|fact| fact.check == "smart").collect()
    }

    #[test]
    fn pending_sectors_explain_a_slow_drive_and_harm_no_fast_one() {
        let sda = disk("sda", |_| {});
        let bad = told(&printed(true, 8));
        let now = Machine { facts: &bad, disk: Some(&sda), ..Machine::default() };
        let says = cause_only_with_effect("smart", now, Effect::SlowReads, Load::default());
        assert_eq!(says, "SMART counts 8 pending sectors.");
        let fine = told(&printed(true, 0));
        assert_eq!(fine[0].number(TEMPERATURE), Some(36.0));
        nothing("smart", Machine { facts: &fine, ..now }, Load::default());
        let failing = told(&printed(false, 0));
        let now = Machine { facts: &failing, ..now };
        let says = cause_only_with_effect("smart", now, Effect::SlowWrites, Load::default());
        assert!(says.contains("failing"), "{says}");
    }

    #[test]
    fn a_drive_that_sleeps_is_not_asked_and_a_missing_program_is_named() {
        let fake = Fake::new();
        fake.block("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", 1 << 20);
        let roots = Roots::below(fake.root());
        for (in_use, reason) in [(false, "served no requests"), (true, "drives of this machine")] {
            let host = Host::new(&roots, &[disk("sda", |_| {})], &|_| in_use);
            let found = crate::causes::reading::read(&host, crate::causes::reading::Round::End);
            let not_read = found.not_read.iter().find(|one| one.check == "smart").unwrap();
            assert!(not_read.reason.contains(reason), "{not_read:?}");
        }
    }
}
