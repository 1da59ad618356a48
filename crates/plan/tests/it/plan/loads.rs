//! Loads as users state them.

use plan::{Amount, LoadSpec};
use record::{Arrival, Bytes, EngineName, Locality, OpKind, Pattern};
use workload::Rng;

#[test]
fn a_load_and_its_workload_are_the_same_mix() {
    let mut rng = Rng::new(5);
    for _ in 0..200 {
        let load = LoadSpec::draw(&mut rng, true);
        let built = load.workload(Amount::Depth(4), Bytes(1 << 30), EngineName::Sim, 4096);
        let Some(found) = model::mix_of(&built.unwrap()) else { panic!("{load:?}") };
        let sum: f64 = found.classes.iter().map(|class| class.share).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert_eq!(found.classes.len(), load.mix().classes.len(), "{load:?}");
        for (left, right) in found.classes.iter().zip(&load.mix().classes) {
            assert_eq!(
                (left.op, left.locality, left.bytes),
                (right.op, right.locality, right.bytes)
            );
            assert!((left.share - right.share).abs() < 1e-9);
        }
    }
}

#[test]
fn requests_of_one_kind_are_the_pattern_of_that_name() {
    for (locality, pattern) in [
        (Locality::Sequential, Pattern::Sequential),
        (Locality::Random, Pattern::Random),
        (Locality::Hit, Pattern::Hit),
    ] {
        let load = LoadSpec::pure(OpKind::Write, locality, 8192);
        let built = load.workload(Amount::Poisson(10), Bytes(1 << 30), EngineName::Sim, 1);
        let built = built.unwrap();
        assert_eq!((built.pattern, built.blend), (pattern, None));
        assert_eq!((built.rate_iops, built.arrival), (Some(10), Arrival::Poisson));
    }
}
