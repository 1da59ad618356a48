//! Tests that every device in the tables meets the contract of `Device`, in every cache mode, alone and in
//! the arrangements that its keys select.
//!
//! `SimHost` relies on the contract: a request that never ends would block a job forever, one that ends
//! twice would complete another request, and an event in the past would turn time back. Loads are closed,
//! in both directions, of several sizes, sequential and random, so that caches, queues and background work
//! are all exercised.

use record::{CacheMode, Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Conditions, Device, Ended, FAMILIES, SimSpec};
use workload::Rng;

const MODES: [CacheMode; 4] = [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None];
const AREA_BYTES: u64 = 256 << 20;
const REQUESTS: u32 = 600;
/// Events after which a trial counts as endless.
const EVENTS_MAX: u32 = 2_000_000;

/// A load on one device, and its state.
struct Bench {
    device: AnyDevice,
    rng: Rng,
    now: Nanos,
    next_offset: u64,
    /// By token: the request in flight, and when it arrived.
    in_flight: Vec<Option<(Arrival, Nanos)>>,
    log: Vec<Ended>,
}

impl Bench {
    fn new(text: &str) -> Self {
        let device = SimSpec::parse(text).expect(text).build(7);
        let rng = Rng::new(11);
        let (now, log) = (Nanos(0), Vec::new());
        Self { device, rng, now, next_offset: 0, in_flight: Vec::new(), log }
    }

    fn arrive(&mut self, token: u32) {
        let op = if self.rng.below(3) == 0 { OpKind::Write } else { OpKind::Read };
        let bytes = [512, 4_096, 8_192, 65_536, 262_144][self.rng.below(5) as usize];
        let random = self.rng.below(AREA_BYTES / 512 - 512) * 512;
        let offset = if self.rng.below(2) == 0 { random } else { self.next_offset };
        self.next_offset = (offset + u64::from(bytes)) % (AREA_BYTES - (1 << 20));
        let arrival = Arrival { token, op, offset, bytes };
        self.in_flight[token as usize] = Some((arrival, self.now));
        self.device.arrive(self.now, &arrival);
    }

    /// Runs a trial to its end, including the device's work between trials.
    fn trial(&mut self, what: &str, cache: CacheMode, depth: u32) {
        let conditions = Conditions { cache, offset_bytes: 0, working_bytes: AREA_BYTES };
        self.device.begin(&conditions);
        self.in_flight = vec![None; depth as usize];
        let mut left = REQUESTS;
        for token in 0..depth {
            self.arrive(token);
            left -= 1;
        }
        let mut ended = Vec::new();
        let mut waiting = depth;
        let mut events = 0;
        while waiting > 0 {
            let next = self.device.next_event();
            let next = next.unwrap_or_else(|| panic!("{what}: {waiting} requests never end"));
            assert!(next >= self.now, "{what}: {next:?} is before {:?}", self.now);
            events += 1;
            assert!(events < EVENTS_MAX, "{what}: no end");
            self.device.advance(next, &mut ended);
            self.now = next;
            for end in ended.drain(..) {
                let flight = self.in_flight[end.token as usize].take();
                let (arrival, since) = flight.unwrap_or_else(|| panic!("{what}: {end:?} twice"));
                assert!(end.at > since && end.at <= self.now, "{what}: {end:?} since {since:?}");
                let whole = end.outcome == arrival.bytes as i32;
                assert!(whole || end.outcome < 0, "{what}: {end:?} of {arrival:?}");
                self.log.push(end);
                waiting -= 1;
                if left > 0 {
                    left -= 1;
                    waiting += 1;
                    self.arrive(end.token);
                }
            }
        }
        self.rest(what);
    }

    /// Runs the device's own work without requests, for at most a minute.
    fn rest(&mut self, what: &str) {
        let end = self.now.plus(Nanos(60_000_000_000));
        let mut ended = Vec::new();
        for events in 0.. {
            assert!(events < EVENTS_MAX, "{what}: it never rests");
            let Some(next) = self.device.next_event().filter(|&next| next <= end) else { break };
            self.device.advance(next, &mut ended);
            self.now = self.now.max(next);
        }
        assert_eq!(ended, [], "{what}: ended without having begun");
    }

    /// Checks that busy times do not exceed the elapsed time, and that phases are parts of them.
    fn check_uses(&self, what: &str) {
        for component in self.device.uses() {
            let most = self.now.0 * u64::from(component.units);
            assert!(component.busy_ns <= most, "{what}: {component:?} of {most} ns");
            let phases: u64 = component.phases.iter().map(|phase| phase.busy_ns).sum();
            let parts =
                component.phases.is_empty() || phases.abs_diff(component.busy_ns) <= most / 1_000;
            assert!(parts, "{what}: {component:?}");
        }
    }
}

/// Runs all modes and two depths, one after another on one device.
fn log_of(text: &str) -> Vec<Ended> {
    let mut bench = Bench::new(text);
    for (cache, depth) in MODES.into_iter().flat_map(|mode| [(mode, 1), (mode, 16)]) {
        let what = format!("sim:{text}, {cache:?}, depth {depth}");
        bench.trial(&what, cache, depth);
        bench.check_uses(&what);
    }
    assert_eq!(bench.log.len(), (REQUESTS as usize) * MODES.len() * 2, "{text}");
    bench.log
}

#[test]
fn every_device_ends_each_request_once_after_it_began_and_the_same_seed_does_it_the_same_way() {
    for kind in FAMILIES.iter().flat_map(|family| family.kinds) {
        let log = log_of(kind.name);
        assert!(log == log_of(kind.name), "sim:{} differs from itself", kind.name);
    }
}

#[test]
fn arrangements_of_drives_keep_the_contract_too() {
    for keys in [
        "disks=3,raid=0,chunk=16k",
        "disks=2,raid=1",
        "disks=4,raid=1,mirror=plain,failed=2",
        "disks=5,raid=5",
        "disks=5,raid=5,failed=1,raidat=adapter",
        "disks=4,buses=2,raid=0,wce=off",
        "file=extend,fs=nt4sp3",
        "file=last-first,fs=w2k",
        "fs=none,host=ideal,adapter=none",
        "seek=off,rotation=off,readahead=off,coalesce=off,contention=off",
    ] {
        log_of(&format!("st34371w,{keys}"));
        log_of(&format!("atlas10k,{keys}"));
    }
    log_of("fireball,disks=4,raid=5,raidat=adapter");
    log_of("sata-ssd,size=1GiB,preconditioned=random");
    log_of("nvme-ssd,size=1GiB,preconditioned=fresh,gc=off");
    log_of("capped,throughput=10MB/s,stall=5ms,error=0.1");
}
