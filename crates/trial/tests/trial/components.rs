//! Tests the components of a simulated device in the document: busy shares over the steady part, phases,
//! and the modelled CPU time.

use crate::common::{document, sim_workload, simulated};
use engine::{ComponentSample, CpuSample, PhaseSample};
use record::{CpuSplit, Measured, Nanos};
use simdisk::{SimBackend, SimSpec};
use std::sync::atomic::AtomicBool;
use trial::{Measurement, TrialBackend};

/// Two seconds at depth 1, with these busy times of the components at begin and end.
fn measured(busy: impl Fn(u64) -> Vec<ComponentSample>) -> Measurement {
    let workload = sim_workload(|spec| spec.asked.runtime_ns = Nanos(2_000_000_000));
    let mut backend = SimBackend::new(&SimSpec::parse("md1,service=1ms").unwrap(), 1);
    let mut measured = backend.measure(&workload, 1, &AtomicBool::new(false), &mut |_| ()).unwrap();
    for (sample, at) in measured.before.iter_mut().zip(0..) {
        sample.components = busy(at);
    }
    measured.after.components = busy(10);
    measured
}

fn bus(busy_ns: u64, data_ns: u64) -> ComponentSample {
    let phase = |name, busy_ns| PhaseSample { name, busy_ns };
    ComponentSample {
        name: "bus 0".to_owned(),
        units: 1,
        busy_ns,
        phases: vec![phase("data", data_ns), phase("selection", busy_ns - data_ns)],
    }
}

#[test]
fn busy_shares_are_those_of_the_window_and_phases_those_of_the_busy_time() {
    let measured = measured(|at| {
        let pair = ComponentSample {
            name: "drives".to_owned(),
            units: 4,
            busy_ns: at * 400_000_000,
            phases: Vec::new(),
        };
        vec![bus(5_000_000_000 + at * 150_000_000, 1_000_000 + at * 120_000_000), pair]
    });
    let workload = sim_workload(|spec| spec.asked.runtime_ns = Nanos(2_000_000_000));
    let components = document(measured, &workload).result.components;
    // 1.5 of 2 seconds, of which 1.2 with data; 4 seconds out of four times 2.
    assert_eq!((components[0].name.as_str(), components[0].busy_share), ("bus 0", 0.75));
    assert!((components[0].phases[0].share - 0.8).abs() < 1e-12, "{components:?}");
    assert!((components[0].phases[1].share - 0.2).abs() < 1e-12, "{components:?}");
    assert_eq!((components[1].units, components[1].busy_share), (4, 0.5));
    assert!(components[1].phases.is_empty());
}

#[test]
fn a_phase_that_begins_after_the_first_reading_has_its_share() {
    // Only the first reading lacks the phase, which comes before the other one.
    let measured = measured(|at| {
        let mut bus = bus(at * 150_000_000, at * 120_000_000);
        bus.phases.reverse();
        if at == 0 {
            bus.phases.remove(0);
        }
        vec![bus]
    });
    let workload = sim_workload(|spec| spec.asked.runtime_ns = Nanos(2_000_000_000));
    let components = document(measured, &workload).result.components;
    let shares: Vec<(&str, f64)> =
        components[0].phases.iter().map(|phase| (phase.name.as_str(), phase.share)).collect();
    assert_eq!(shares.iter().map(|share| share.0).collect::<Vec<_>>(), ["selection", "data"]);
    assert!((shares[0].1 - 0.2).abs() < 1e-12 && (shares[1].1 - 0.8).abs() < 1e-12, "{shares:?}");
}

#[test]
fn the_time_of_the_hosts_processors_is_the_modelled_processor_time() {
    let mut measured = measured(|_| Vec::new());
    let used = |system_ns| Some(CpuSample { system_ns, ..CpuSample::default() });
    measured.before[0].cpu = used(1_000_000_000);
    measured.after.cpu = used(1_200_000_000);
    measured.probe.processors.usable = 2.0;
    let workload = sim_workload(|spec| spec.asked.runtime_ns = Nanos(2_000_000_000));
    let trial = document(measured, &workload);
    let Measured::Value(cpu) = &trial.cpu else { panic!("{:?}", trial.cpu) };
    // 200 ms for 2,000 requests of 4 KiB.
    assert_eq!((cpu.system_ms, cpu.split), (200.0, CpuSplit::Modelled));
    assert!((cpu.lower_us_per_io.unwrap() / 100.0 - 1.0).abs() < 1e-3, "{cpu:?}");
    assert!((cpu.ms_per_mib.unwrap() / 25.6 - 1.0).abs() < 1e-3, "{cpu:?}");
    assert!((cpu.saturation_iops.unwrap() / 20_000.0 - 1.0).abs() < 1e-3, "{cpu:?}");
}

#[test]
fn a_device_without_components_has_none_and_its_processor_time_is_not_measured() {
    let trial = simulated("mm1,service=1ms", |_| ());
    assert!(trial.result.components.is_empty() && trial.cpu.value().is_none());
}

#[test]
fn of_very_many_components_of_a_kind_the_busiest_are_told_and_the_others_as_one() {
    let named = |name: String, busy_ns| ComponentSample { name, ..bus(busy_ns, busy_ns / 2) };
    let many = measured(|at| {
        let drives = (0..200).map(|drive| named(format!("drive {drive}"), at * drive * 1_000_000));
        std::iter::once(named("bus 0".to_owned(), at * 1_000_000)).chain(drives).collect()
    });
    let workload = sim_workload(|spec| spec.asked.runtime_ns = Nanos(2_000_000_000));
    let components = document(many, &workload).result.components;
    assert_eq!(components.len(), 1 + 16 + 1, "{components:?}");
    let names: Vec<&str> = components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!((names[0], names[1], names[16]), ("bus 0", "drive 184", "drive 199"));
    let others = &components[17];
    assert_eq!((names[17], others.units), ("other drive", 184));
    // Drives 0 to 183, each busy for its number times 10 ms out of 2 s.
    assert!((others.busy_share - 91.5 * 0.01 / 2.0).abs() < 1e-12, "{others:?}");
    assert!((others.phases[0].share - 0.5).abs() < 1e-9, "{others:?}");
}
