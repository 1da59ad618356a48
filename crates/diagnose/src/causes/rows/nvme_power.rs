//! Reads the power states of NVMe drives and of the PCIe link: the first request after idle time
//! has to wake them up.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When, is_numbered};
use host::kernel::device_calls::nvme_saves_power;
use host::kernel::read::{number, text};
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "nvme_power",
    causes: &[17],
    layer: LayerKind::Device,
    reads: "feature 0x0c by NVME_IOCTL_ADMIN_CMD (root), default_ps_max_latency_us of nvme_core, \
            power/pm_qos_latency_tolerance_us, the policy of pcie_aspm",
    source: "https://nvmexpress.org/specification/nvm-express-base-specification/",
    basis: Basis::Facts { when: When::InUse, read, judge },
};

const SAVES: &str = "autonomous power states";
const LATENCY: &str = "allowed wake-up latency";
const POLICY: &str = "PCIe power policy";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let module = |file: &str| host.roots.sys.join("module").join(file);
    let most = number(&module("nvme_core/parameters/default_ps_max_latency_us"));
    // `[default] performance powersave powersupersave`
    let policy = text(&module("pcie_aspm/parameters/policy"));
    let policy = policy.as_deref().and_then(|list| list.split_once('[')?.1.split_once(']'));
    for drive in host.disks().filter(|disk| disk.is_nvme()) {
        let asked = reader.may_ask(drive).then(|| nvme_saves_power(host.roots, &drive.name));
        let saves = asked.and_then(|saves| reader.known(Some(drive), saves));
        // The controller's setting: `any`, or microseconds.
        let controller = drive.above.iter().find(|directory| is_numbered(directory, "nvme"));
        let file = "power/pm_qos_latency_tolerance_us";
        let own = controller.and_then(|controller| number(&controller.join(file)));
        let fact = Fact::of(drive)
            .text(SAVES, saves.map(|saves| if saves { "yes" } else { "no" }))
            .number(LATENCY, own.or(most).map(|us| us as f64), "us")
            .text(POLICY, policy.map(|(chosen, _)| chosen));
        reader.add(fact);
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let link = fact.text(POLICY).is_some_and(|policy| policy.starts_with("power"));
    let may = fact.number(LATENCY).is_some_and(|us| us > 0.0);
    let saves = match fact.text(SAVES) {
        Some("no") => false,
        // Without the feature, the kernel's limit is the best information.
        Some(_) => true,
        None => may,
    };
    if !saves && !link {
        return None;
    }
    let what = match (saves, link) {
        (true, false) if fact.text(SAVES).is_none() => "The drive may save power while it is idle",
        (true, true) => "The drive and its PCIe link save power while they are idle",
        (true, false) => "The drive saves power while it is idle",
        _ => "The PCIe link saves power while it is idle",
    };
    let says = format!(
        "{what}: a request after an idle period waits for the wake-up; requests in quick \
         succession do not."
    );
    let action = "If latency at QD 1 matters more than power, limit power saving on the kernel \
                  command line (nvme_core.default_ps_max_latency_us=0, \
                  pcie_aspm.policy=performance).";
    let claim = Claim::usual(says, &[Effect::SlowLone], action);
    Some(claim.by(fact.number(LATENCY).unwrap_or(0.0) + if link { 1.0 } else { 0.0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine(latency_us: u32, policy: &str) -> Fake {
        let fake = Fake::new();
        fake.block("pci0000:00/nvme/nvme0/nvme0n1", "259:0", 1 << 20);
        let file = "module/nvme_core/parameters/default_ps_max_latency_us";
        fake.sys(file, &format!("{latency_us}\n"));
        fake.sys("module/pcie_aspm/parameters/policy", &format!("default [{policy}] powersave\n"));
        fake
    }

    #[test]
    fn power_states_explain_slow_lone_requests_and_nothing_where_they_are_off() {
        let drive = disk("nvme0n1", |_| {});
        let on = facts("nvme_power", &machine(100_000, "performance"), &drive);
        let now = Machine { facts: &on, disk: Some(&drive), ..Machine::default() };
        cause_only_with_effect("nvme_power", now, Effect::SlowLone, Load::default());
        let off = facts("nvme_power", &machine(0, "performance"), &drive);
        nothing("nvme_power", Machine { facts: &off, ..now }, Load::default());
        let link = facts("nvme_power", &machine(0, "powersupersave"), &drive);
        let now = Machine { facts: &link, ..now };
        let says = cause_only_with_effect("nvme_power", now, Effect::SlowLone, Load::default());
        assert!(says.starts_with("The PCIe link"), "{says}");
    }
}
