//! The queue device: a seed gives the same times on every machine.

use record::{Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Device, EventQueue, SimSpec};
use workload::Rng;

/// Ends of 2,000 requests, eight at a time, as text.
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

/// The digests were taken once. They hold on any machine, because nothing in the device comes
/// from the platform; a change of the model changes them, and with them every recorded result.
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
    let mut agenda = EventQueue::new();
    for (at, event) in [(30, 'a'), (10, 'b'), (30, 'c'), (20, 'd'), (10, 'e'), (30, 'f')] {
        agenda.push(Nanos(at), event);
    }
    assert_eq!((agenda.len(), agenda.next_at()), (6, Some(Nanos(10))));
    assert_eq!(agenda.pop_until(Nanos(9)), None);
    let taken: String =
        std::iter::from_fn(|| agenda.pop_until(Nanos(30))).map(|(_, event)| event).collect();
    assert_eq!(taken, "bedacf");
    assert!(agenda.is_empty() && agenda.next_at().is_none());
}
