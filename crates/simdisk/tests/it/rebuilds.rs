//! Tests rebuilds in virtual time: the work adds up, takes the time that its rate implies, and slows the
//! load; afterwards the disk is in use again.

use crate::closed::Loop;
use record::{CacheMode, Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Conditions, Device, Rebuilding, SimSpec};
use workload::Rng;

/// Later than any of these rebuilds ends.
const LATE: Nanos = Nanos(1_000_000_000_000_000);

fn begun(target: &str) -> AnyDevice {
    let mut device = SimSpec::parse(target).expect("a device that there is").build(1);
    let working_bytes = device.size();
    device.begin(&Conditions { cache: CacheMode::Device, offset_bytes: 0, working_bytes });
    device
}

fn told(device: &AnyDevice) -> Rebuilding {
    device.rebuild().expect("a rebuild was asked for")
}

fn mechanism_ns(device: &AnyDevice, drive: u32) -> u64 {
    let name = format!("drive {drive} mechanism");
    let uses = device.uses();
    uses.iter().find(|component| component.name == name).expect("a drive").busy_ns
}

#[test]
fn every_byte_of_the_disk_is_made_from_the_others_once_beside_any_load() {
    let mut rng = Rng::new(9);
    for (raid, disks, failed, more) in [
        (1, 2, 0, ""),
        (1, 3, 1, ",mirror=plain,wce=off"),
        (5, 3, 2, ""),
        (5, 4, 0, ",raidat=adapter"),
        (5, 5, 3, ",raidat=array,wce=off"),
    ] {
        let target = format!(
            "st15150n,disks={disks},raid={raid},failed={failed},chunk=1m,rebuild=max{more}"
        );
        let mut device = begun(&target);
        let (mut ended, mut now, mut arrived) = (Vec::new(), Nanos(0), 0);
        for token in 0..400 {
            let op = OpKind::ALL[rng.below(2) as usize];
            let bytes = 512 * (1 + rng.below(400) as u32);
            let offset = rng.below((device.size() - u64::from(bytes)) / 512) * 512;
            device.arrive(now, &Arrival { token, op, offset, bytes });
            arrived += 1;
            now = now.plus(Nanos(rng.below(40_000_000)));
            device.advance(now, &mut ended);
        }
        device.advance(LATE, &mut ended);
        assert_eq!(ended.len(), arrived, "{target}: no request waits for ever");
        let rebuild = told(&device);
        let (bytes, state) = (rebuild.disk_bytes, &rebuild.state);
        assert!(rebuild.end.is_some() && rebuild.disk == failed, "{target}: {rebuild:?}");
        assert_eq!((state.rebuilt, state.written), (bytes, bytes), "{target}");
        assert_eq!(state.read[failed as usize], 0, "{target}");
        if raid == 5 {
            let others = (0..disks).filter(|&disk| disk != failed);
            others.for_each(|disk| assert_eq!(state.read[disk as usize], bytes, "{target}"));
        } else {
            assert_eq!(state.read.iter().sum::<u64>(), bytes, "{target}");
        }
        assert_eq!(device.next_event(), None, "{target}: it rests");
    }
}

#[test]
fn a_rate_makes_the_time_of_the_rebuild() {
    for rate in [1_000_000_u64, 2_000_000] {
        let target = format!("st15150n,disks=3,raid=5,failed=1,chunk=1m,rebuild={rate}");
        let mut device = begun(&target);
        device.advance(LATE, &mut Vec::new());
        let rebuild = told(&device);
        let length = rebuild.end.expect("it ends").since(rebuild.begin).as_secs_f64();
        let expected = rebuild.disk_bytes as f64 / rate as f64;
        assert!((length / expected - 1.0).abs() < 0.01, "{length} s for {expected}");
    }
}

#[test]
fn a_disk_serves_again_once_it_is_rebuilt_and_not_before() {
    let mut ended = Vec::new();
    let read = |device: &mut AnyDevice, from: Nanos, ended: &mut Vec<simdisk::Ended>| {
        let before = mechanism_ns(device, 1);
        for token in 0..40 {
            let (offset, bytes) = (u64::from(token) * (7 << 20), 8_192);
            device.arrive(from, &Arrival { token, op: OpKind::Read, offset, bytes });
        }
        device.advance(from.plus(Nanos(10_000_000_000)), ended);
        mechanism_ns(device, 1) - before
    };
    let base = "st15150n,disks=4,raid=5,chunk=1m,failed=1";
    let mut failed = begun(base);
    assert_eq!(read(&mut failed, Nanos(0), &mut ended), 0);
    let mut device = begun(&format!("{base},rebuild=max"));
    device.advance(LATE, &mut ended);
    assert!(read(&mut device, LATE, &mut ended) > 0);
}

#[test]
fn a_rebuild_costs_the_load_and_a_slow_one_less() {
    let rate = |rebuild: &str| {
        let target = format!("st34371w,disks=4,raid=5,failed=1,rebuild={rebuild}");
        Loop::random(OpKind::Read, 8, 4).run(&target).per_s()
    };
    let (none, slow, max) = (rate("none"), rate("256k"), rate("max"));
    assert!(max < 0.8 * none && max < slow && slow < none, "{none} {slow} {max}");
}
