//! Tests the network in front of a machine: the use of its link, and which messages wait.

use record::{Nanos, OpKind};
use simdisk::{CallCost, Network, NetworkSpec};

/// Bytes on the wire for a message without data: a header of 64 bytes, plus the overhead of a frame.
const EMPTY_BYTES: u64 = 64 + 1_538 - 1_460;

fn gigabit() -> Network {
    Network::new(&NetworkSpec::GIGABIT)
}

/// Runs all events; returns the time at which each message reached its end, by token.
fn run(network: &mut Network, tokens: usize) -> Vec<u64> {
    let mut times = vec![0; tokens];
    while let Some((at, token, _)) = network.step(Nanos(u64::MAX)) {
        times[token as usize] = at.0;
    }
    times
}

#[test]
fn a_stream_of_large_replies_fills_the_link_but_for_the_headers() {
    let mut network = gigabit();
    for token in 0..100 {
        network.reply(Nanos(0), token, OpKind::Read, 128 << 10);
    }
    let last = *run(&mut network, 100).iter().max().unwrap();
    let uses = network.uses();
    let wire_ns = uses[2].busy_ns;
    let rate = 100.0 * 131_072.0 / wire_ns as f64;
    // 1460 of 1538 bytes are payload.
    assert!((0.1170..0.1188).contains(&rate), "{rate} bytes per ns");
    assert!(last > wire_ns, "the last one still costs the client CPU time");
}

#[test]
fn the_two_directions_do_not_wait_for_each_other_and_messages_of_one_direction_do() {
    let reply_beside = |writes: u32, replies: u32| {
        let mut network = gigabit();
        for token in 0..writes {
            network.send(Nanos(0), token, OpKind::Write, 1 << 20);
        }
        // The data of the first write is on the link.
        while network.step(Nanos(10_000_000)).is_some() {}
        for token in 0..replies {
            network.reply(Nanos(10_000_000), writes + token, OpKind::Read, 64 << 10);
        }
        let last = (writes + replies) as usize;
        run(&mut network, last)[last - 1]
    };
    let alone = reply_beside(0, 1);
    assert_eq!(reply_beside(1, 1), alone);
    assert!(reply_beside(0, 2) >= alone + 500_000);
}

#[test]
fn a_write_takes_one_turn_more_than_a_read() {
    let round = |op| {
        let mut network = gigabit();
        network.send(Nanos(0), 0, op, 4_096);
        let there = run(&mut network, 1)[0];
        network.reply(Nanos(there), 0, op, 4_096);
        run(&mut network, 1)[0]
    };
    let more = round(OpKind::Write) - round(OpKind::Read);
    let turn = 2 * 20_000 + 2 * EMPTY_BYTES * 8;
    assert_eq!(more, turn);
}

#[test]
fn a_request_does_not_wait_for_a_reply_that_is_still_on_the_link() {
    let mut network = gigabit();
    network.reply(Nanos(0), 0, OpKind::Read, 8 << 20);
    network.reply(Nanos(0), 1, OpKind::Read, 8 << 20);
    network.send(Nanos(1_000), 2, OpKind::Read, 4_096);
    let half = NetworkSpec::GIGABIT.client.ns(4_096) / 2;
    assert_eq!(run(&mut network, 3)[2], 1_000 + half + 20_000 + EMPTY_BYTES * 8);
}

#[test]
fn two_processors_make_two_requests_at_once_and_the_third_after_the_shorter() {
    let client = CallCost { fixed_ns: 0, per_kib_ns: 2_000 };
    let spec = NetworkSpec { client, ..NetworkSpec::GIGABIT };
    let mut network = Network::new(&spec);
    for (at, token, kib) in [(0, 0, 100), (0, 1, 40), (10, 2, 30)] {
        network.send(Nanos(at), token, OpKind::Read, kib << 10);
    }
    // A request crosses the link without data, so the time differences are those of the processors.
    let times = run(&mut network, 3);
    assert_eq!([times[0] - times[1], times[2] - times[1]], [60_000, 30_000]);
    let uses = network.uses();
    assert_eq!((uses[0].units, uses[0].busy_ns), (2, 170_000));
}
