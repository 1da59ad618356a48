//! Every simulated device can be run and checked, and devices with components name the bottleneck.

use crate::program::{found, halfpower, profile, trial};
use record::{ComponentUse, CpuSplit, FindingCode, Measured, Trial};

fn share(trial: &Trial, name: &str) -> f64 {
    let all = &trial.result.components;
    let one = all.iter().find(|component| component.name == name);
    one.unwrap_or_else(|| panic!("no {name} in {all:?}")).busy_share
}

#[test]
fn every_simulated_device_can_be_checked_and_says_that_it_is_simulated() {
    for kind in simdisk::FAMILIES.iter().flat_map(|family| family.kinds) {
        let exit = i32::from(kind.name == "faulty");
        let checked = profile(exit, &format!("sim:{} --budget 5s", kind.name));
        assert!(checked.simulated && checked.cells.len() >= 20, "{}", kind.name);
        assert!(checked.limits.read_iops.is_some() && checked.limits.write_iops.is_some());
        assert_eq!(found(&checked.findings, FindingCode::IoErrors), exit == 1, "{}", kind.name);
    }
}

#[test]
fn shares_of_time_are_shares_and_those_of_phases_add_up() {
    for target in ["sim:st34371w,disks=4,raid=0", "sim:atlas10k", "sim:fireball,disks=3,raid=5"] {
        let trial = trial(0, &format!("{target} --rw randrw --bs 8k --iodepth 8 --runtime 20s"));
        assert!(trial.result.components.len() >= 4, "{target}");
        for ComponentUse { name, units, busy_share, phases } in &trial.result.components {
            assert!((0.0..=1.0).contains(busy_share) && *units >= 1, "{target} {name}");
            let sum: f64 = phases.iter().map(|phase| phase.share).sum();
            let whole = phases.is_empty() || *busy_share == 0.0 || (sum - 1.0).abs() < 0.01;
            assert!(whole, "{target} {name}: {phases:?}");
        }
    }
}

#[test]
fn one_drive_is_bound_by_its_mechanism_and_many_on_a_bus_by_the_bus() {
    let random = trial(0, "sim:st34371w --bs 8k --iodepth 4 --runtime 60s");
    assert!(share(&random, "drive 0 mechanism") > 0.95);
    assert!(share(&random, "bus 0") < 0.2);
    let words = "sim:st15150w,disks=6,raid=0 --rw read --bs 64k --iodepth 24 --runtime 60s";
    let streams = trial(0, words);
    assert!(share(&streams, "bus 0") > 0.9, "{:?}", streams.result.components);
    assert!(share(&streams, "drive 0 mechanism") < 0.8);
    let page = halfpower(&format!("run {words} --no-save")).expect(0).stdout;
    assert!(page.contains("  components  bus 0 is the bottleneck."), "{page}");
}

#[test]
fn the_processor_time_of_a_machine_is_modelled_and_called_so() {
    let words = "sim:st34371w --rw read --bs 8k --iodepth 3 --runtime 20s";
    let trial = trial(0, words);
    let Measured::Value(cpu) = &trial.cpu else { panic!("{:?}", trial.cpu) };
    assert_eq!((cpu.split, cpu.user_ms, cpu.steal_ms), (CpuSplit::Modelled, 0.0, None));
    // The same time in two places: as CPU cost and as a busy component.
    let busy_ms = share(&trial, "host CPU") * 20e3;
    let warm_up_ms =
        trial.result.warm_up.as_ref().map_or(0.0, |cut| cut.duration_ns.0 as f64 / 1e6);
    let busy_ms = busy_ms * (20e3 - warm_up_ms) / 20e3;
    assert!((cpu.system_ms / busy_ms - 1.0).abs() < 0.01, "{} of {busy_ms}", cpu.system_ms);
    assert!(cpu.ms_per_mib.is_some_and(|cost| cost > 0.0) && cpu.saturation_iops.is_some());
    let page = halfpower(&format!("run {words} --no-save --verbose")).expect(0).stdout;
    assert!(page.contains(" modelled;") && page.contains("(modelled)"), "{page}");
    assert!(!page.contains("at least,") && !page.contains("kernel workers"), "{page}");
}
