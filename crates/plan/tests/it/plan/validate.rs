//! The loads that a validation draws, with the profile of a simulated device.

use model::Predictor;
use plan::session::{Session, simulated};
use plan::{Amount, LoadSpec, ValidatePlan, ValidationSettings};
use record::{Bytes, Cell, EngineName, Locality, Nanos, OpKind, ValidationTrial, Workload};
use std::sync::Arc;

const AREA: Bytes = Bytes(1 << 30);

/// Cells of every operation and locality, at queue depth 1 and deep.
fn profile() -> Vec<Cell> {
    let spec = simulated("sim:mmc,service=1ms").unwrap().unwrap();
    let mut session = Session::simulated(&spec, Some(AREA), 1, &Arc::default());
    let mut trials = Vec::new();
    for op in OpKind::ALL {
        for locality in [Locality::Random, Locality::Sequential, Locality::Hit] {
            for (kib, depth) in [(4, 1), (4, 64), (32, 1), (32, 64), (128, 1), (128, 64)] {
                let load = LoadSpec::pure(op, locality, kib << 10);
                let workload = load.workload(Amount::Depth(depth), AREA, EngineName::Sim, 1);
                let workload = Workload { runtime_ns: Nanos(1_000_000_000), ..workload.unwrap() };
                trials.push(session.trial(&workload, 3, &mut |_| ()).unwrap());
            }
        }
    }
    model::aggregate(&trials, 0.1)
}

#[test]
fn a_seed_gives_the_same_loads_and_two_thirds_of_them_are_light() {
    let cells = profile();
    let predictor = Predictor::of_cells(&cells);
    let drawn = |seed, write| {
        let settings = ValidationSettings {
            area: AREA,
            engine: EngineName::Sim,
            alignment: 1,
            loads: 12,
            write,
            runtime: None,
            simulated: true,
            seed,
        };
        ValidatePlan::new(&settings, &cells, &predictor, None).unwrap().predicted()
    };
    let loads = drawn(3, true);
    assert_eq!(loads, drawn(3, true));
    assert_ne!(loads, drawn(4, true));
    // Rates are whole numbers, shares whole percentages.
    let light = |load: &&ValidationTrial| load.rate_per_s < 0.695 * load.max_iops.value;
    assert_eq!((loads.len(), loads.iter().filter(light).count()), (12, 8));
    let reads = drawn(3, false);
    assert!(reads.iter().flat_map(|load| &load.mix.classes).all(|it| it.op == OpKind::Read));
}
