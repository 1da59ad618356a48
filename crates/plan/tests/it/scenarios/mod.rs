//! What a scenario shows, and how an array of its devices serves a load.
#![forbid(unsafe_code)]

mod counters;

use plan::scenarios::{Array, Scenario, ScenarioLoad, observe};
use record::{Bytes, Change, EngineName, Nanos, RaidLevel, Workload};
use simdisk::SimSpec;
use std::sync::atomic::AtomicBool;
use workload::Spec;

#[test]
fn an_array_serves_reads_on_all_of_its_devices_and_writes_on_one_copy_each() {
    let device = SimSpec::parse("md1,service=1ms").unwrap();
    let rate = |raid: RaidLevel, read_percent: u8| {
        let asked =
            Workload { engine: EngineName::Sim, iodepth: 64, read_percent, ..Workload::default() };
        let spec = Spec::of(asked);
        let load = ScenarioLoad {
            name: "program".to_owned(),
            workload: spec.build(Bytes(1 << 30)).unwrap(),
            begin: Nanos(0),
            end: Nanos(10_000_000_000),
            limits: Vec::new(),
            write_back: false,
            uncounted: false,
        };
        let change = Change::Array { disks: 4, raid, chunk_bytes: 64 << 10 };
        let scenario = Scenario {
            device: &device,
            array: Array::of(change),
            loads: vec![load],
            duration: Nanos(10_000_000_000),
            interval: Nanos(10_000_000_000),
            seed: 1,
            traced: false,
            steal_share: 0.0,
        };
        assert!(scenario.array.is_some());
        let seen = observe(&scenario, "0", &AtomicBool::new(false)).unwrap();
        seen.intervals[0].all.per_s.unwrap().value
    };
    // 64 requests keep four devices of 1,000 per second busy nearly all the time.
    for (raid, reads, writes) in [
        (RaidLevel::Raid0, 4_000.0, 4_000.0),
        (RaidLevel::Raid10, 4_000.0, 2_000.0),
        (RaidLevel::Raid1, 4_000.0, 1_000.0),
        (RaidLevel::Raid5, 4_000.0, 1_000.0),
    ] {
        for (read_percent, most) in [(100, reads), (0, writes)] {
            let found = rate(raid, read_percent);
            assert!(
                found > 0.85 * most && found <= 1.001 * most,
                "{raid:?} {read_percent}: {found}"
            );
        }
    }
    assert_eq!(Array::of(Change::Faster(0.5)), None);
}
