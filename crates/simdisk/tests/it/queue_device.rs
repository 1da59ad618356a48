//! Tests the queue device: a seed gives the same times on every machine.

use record::{Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Device, EventQueue, SimSpec};
use workload::Rng;

/// Ends of 2,000 requests at queue depth eight, as text.
fn ends(text: &str) -> String {
    let mut device = SimSpec::parse(text).expect("a device that there is").build(1);
    let mut offsets = Rng::new(9);
    let mut ended = Vec::new();
    let mut list = String::new();
    let mut arrive = |device: &mut AnyDevice, now, token| {
        let offset = offsets.below(1 << 20) * 4_096;
        device.arrive(now, &Arrival { token, op: OpKind::Read, offset, bytes: 4_096 });
    };
    for token in 0..8 {
        arrive(&mut device, Nanos(0), token);
    }
    for _ in 0..2_000 {
        let now = device.next_event().expect("something in flight");
        device.advance(now, &mut ended);
        for end in ended.drain(..) {
            assert_eq!(end.at, now);
            list.push_str(&format!("{} {} {}\n", end.token, end.at.0, end.outcome));
            arrive(&mut device, now, end.token);
        }
    }
    list
}

/// The digests were recorded once. They are valid on any machine, because nothing in the device comes from
/// the platform. A change of the model changes them, and with them every recorded result.
#[test]
fn a_seed_gives_the_same_times_on_every_machine_and_in_every_version() {
    for (text, digest) in [
        ("mm1", "2715baf205037291"),
        ("md1,rate=100MB/s", "6ae8c0e361ba8f9a"),
        ("mg1,cv=0.4", "2ada0c2967779a1f"),
        ("mg1,cv=2", "18f73d6c182d93c9"),
        ("mmc", "3f13d8764b2c93ba"),
        ("capped,iops=1000,burst=10,throughput=3MB/s", "59b7fc82715f9d0d"),
        ("jittery", "6709d4542402503c"),
        ("drifting", "c3df7136fcea8319"),
        ("faulty,error=0.01", "61c7af1ee1b65d7a"),
        ("md1,cache=1g", "76282ce3ccfbb9b9"),
    ] {
        let found = record::hex_digest(&ends(text));
        assert_eq!(&found[..16], digest, "{text}");
    }
}

#[test]
fn events_come_in_order_of_time_and_those_of_one_time_in_the_order_in_which_they_were_put_in() {
    let mut agenda = EventQueue::default();
    for (at, event) in [(30, 'a'), (10, 'b'), (30, 'c'), (20, 'd'), (10, 'e'), (30, 'f')] {
        agenda.push(Nanos(at), event);
    }
    assert_eq!(agenda.next_at(), Some(Nanos(10)));
    assert_eq!(agenda.pop_until(Nanos(9)), None);
    let taken: String =
        std::iter::from_fn(|| agenda.pop_until(Nanos(30))).map(|(_, event)| event).collect();
    assert_eq!(taken, "bedacf");
    assert!(agenda.next_at().is_none());
}

/// When requests pass the gate, if they all arrive at once and their service takes a microsecond.
fn passed(text: &str, at: u64, bytes: &[u32]) -> Vec<u64> {
    let text = format!("md1,service=1us,servers=65536,{text}");
    let mut device = SimSpec::parse(&text).expect("a device that there is").build(1);
    pass(&mut device, at, bytes)
}

fn pass(device: &mut AnyDevice, at: u64, bytes: &[u32]) -> Vec<u64> {
    for (&bytes, token) in bytes.iter().zip(0..) {
        device.arrive(Nanos(at), &Arrival { token, op: OpKind::Read, offset: 0, bytes });
    }
    let mut ended = Vec::new();
    device.advance(Nanos(u64::MAX), &mut ended);
    ended.iter().map(|end| end.at.0 - 1_000).collect()
}

#[test]
fn a_burst_passes_at_once_and_then_the_rate_holds_exactly() {
    let passed = passed("iops=3000,burst=10", 5, &[4_096; 3_010]);
    assert!(passed[..10].iter().all(|&at| at == 5));
    assert!(passed[10] > 300_000);
    // The 3,000th request after the burst passes a second after the first.
    assert!(passed[3_009].abs_diff(1_000_000_005) <= 1, "{}", passed[3_009]);
}

#[test]
fn a_rest_gives_back_a_burst_and_no_more() {
    let text = "md1,service=1us,servers=65536,iops=1000,burst=4";
    let mut device = SimSpec::parse(text).unwrap().build(1);
    pass(&mut device, 0, &[1; 4]);
    let later = 3_600_000_000_000;
    let passed: Vec<u64> = pass(&mut device, later, &[1; 6]).iter().map(|at| at - later).collect();
    assert_eq!(passed, [0, 0, 0, 0, 1_000_000, 2_000_000]);
}

#[test]
fn bytes_are_paced_by_their_number() {
    let paced = passed("throughput=100MB/s", 0, &[1_000_000, 500_000, 1]);
    assert_eq!(paced, [0, 10_000_000, 15_000_000]);
    assert_eq!(passed("cv=0", 7, &[1 << 20]), [7], "without limits every request passes");
}

#[test]
fn mean_and_variation_of_service_times_are_those_asked_for() {
    for cv in [0.0, 0.1, 0.3, 0.5, std::f64::consts::FRAC_1_SQRT_2, 0.9, 1.0, 1.5, 3.0] {
        let mut device = SimSpec::parse(&format!("mg1,service=1s,cv={cv}")).unwrap().build(7);
        let (mut now, mut ended, count) = (Nanos(0), Vec::new(), 400_000);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let arrival = Arrival { token: 0, op: OpKind::Read, offset: 0, bytes: 512 };
            device.arrive(now, &arrival);
            let end = device.next_event().unwrap();
            device.advance(end, &mut ended);
            let value = end.since(now).as_secs_f64();
            assert!(value > 0.0);
            sum += value;
            squares += value * value;
            now = end;
        }
        let mean = sum / f64::from(count);
        let found = (squares / f64::from(count) - mean * mean).max(0.0).sqrt();
        // The standard error of the mean is cv / 632; that of the variation is larger.
        assert!((mean - 1.0).abs() <= 0.007 * cv + 1e-9, "{cv}: mean {mean}");
        assert!((found - cv).abs() <= 0.02 * cv, "{cv}: variation {found}");
    }
}

/// Latencies of successive requests on one server with a fixed service time.
fn latencies(text: &str, count: u32) -> Vec<u64> {
    let mut device = SimSpec::parse(text).expect("a device that there is").build(5);
    let (mut now, mut ended) = (Nanos(0), Vec::new());
    let mut one = || {
        device.arrive(now, &Arrival { token: 0, op: OpKind::Read, offset: 0, bytes: 512 });
        let end = device.next_event().expect("a request in flight");
        device.advance(end, &mut ended);
        let latency = end.since(now).0;
        now = end;
        latency
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn work_waits_for_the_end_of_a_stall_and_goes_on_where_it_was() {
    let latencies = latencies("md1,service=10us,stall=700us,stall-every=1ms", 100_000);
    // No request loses its progress before a stall, and none ends within one.
    assert!(latencies.iter().all(|latency| latency % 700_000 == 10_000));
    let stalled = latencies.iter().filter(|&&latency| latency > 10_000).count();
    assert!((900..1_100).contains(&stalled), "{stalled} of 1,000 expected");
}

#[test]
fn work_takes_longer_by_the_share_of_the_stalls() {
    let took: u64 = latencies("md1,service=1us,stall=20us,stall-every=100us", 100_000).iter().sum();
    // 1e8 ns of work, some 1,000 stalls: the standard error is 0.6 %.
    let stretch = took as f64 / 1e8;
    assert!((stretch - 1.2).abs() < 0.02, "{stretch}");
}

#[test]
fn only_a_request_after_a_long_enough_rest_waits_for_the_device_to_wake_up() {
    let spec = SimSpec::parse("md1,service=10us,wake=300us,wake-after=5ms").expect("a device");
    let mut device = spec.build(1);
    let (mut now, mut ended) = (Nanos(0), Vec::new());
    // The rest before each request, from the end of the previous one.
    let took = [1_000_000, 5_000_000, 5_000_001, 900_000_000, 0].map(|rest| {
        let begin = now.plus(Nanos(rest));
        device.advance(begin, &mut ended);
        let arrival = Arrival { token: 0, op: OpKind::Read, offset: 0, bytes: 4_096 };
        device.arrive(begin, &arrival);
        now = device.next_event().expect("a request in flight");
        device.advance(now, &mut ended);
        now.since(begin).0
    });
    assert_eq!(took, [10_000, 10_000, 310_000, 310_000, 10_000]);
}
