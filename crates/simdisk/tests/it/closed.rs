//! Runs closed loops directly on a device, without jobs and histograms, for calibration.

use engine::ComponentSample;
use record::{CacheMode, Nanos, OpKind};
use simdisk::{AnyDevice, Arrival, Conditions, Device, Ended, SimSpec};
use workload::Rng;

/// A closed loop.
#[derive(Clone, Copy)]
pub struct Loop {
    pub op: OpKind,
    pub random: bool,
    pub bytes: u64,
    pub depth: u32,
    pub cache: CacheMode,
    /// Start and length of the area; 0 for the whole device.
    pub from: u64,
    pub area: u64,
    /// Number of requests before and during the measurement.
    pub warm: u64,
    pub count: u64,
}

/// The result.
pub struct Gave {
    pub seconds: f64,
    pub requests: u64,
    pub bytes: u64,
    pub uses: Vec<ComponentSample>,
}

impl Gave {
    pub fn mib_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1_048_576.0
    }

    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e6
    }

    pub fn per_s(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    fn component(&self, name: &str) -> &ComponentSample {
        let component = self.uses.iter().find(|component| component.name == name);
        component.expect("a component that there is")
    }

    /// Share of the time that a component was busy.
    pub fn busy(&self, name: &str) -> f64 {
        let component = self.component(name);
        component.busy_ns as f64 / 1e9 / self.seconds / f64::from(component.units)
    }

    /// Share of a component's busy time that a phase took.
    pub fn phase(&self, name: &str, phase: &str) -> f64 {
        let component = self.component(name);
        let phase = component.phases.iter().find(|candidate| candidate.name == phase);
        phase.map_or(0.0, |phase| phase.busy_ns as f64 / component.busy_ns as f64)
    }
}

impl Loop {
    /// Sequential requests from the outer edge, 100 MB of them, past the file-system cache.
    pub fn sequential(op: OpKind, kib: u64, depth: u32) -> Self {
        let bytes = kib * 1_024;
        let count = (100 << 20) / bytes;
        let cache = CacheMode::Device;
        Self { op, random: false, bytes, depth, cache, from: 0, area: 0, warm: 0, count }
    }

    /// Requests at random offsets.
    pub fn random(op: OpKind, kib: u64, depth: u32) -> Self {
        let cache = CacheMode::Device;
        let bytes = kib * 1_024;
        Self { op, random: true, bytes, depth, cache, from: 0, area: 0, warm: 500, count: 8_000 }
    }

    /// Runs it on a new device.
    pub fn run(&self, target: &str) -> Gave {
        let mut device = SimSpec::parse(target).expect("a target that there is").build(1);
        let area = if self.area == 0 { device.size() - self.from } else { self.area };
        device.begin(&Conditions {
            cache: self.cache,
            offset_bytes: self.from,
            working_bytes: area,
        });
        let mut rng = Rng::new(7);
        let blocks = area / self.bytes;
        let (mut issued, mut done, mut now) = (0, 0, Nanos(0));
        let mut begun = Nanos(0);
        let mut before = device.uses();
        let mut ended: Vec<Ended> = Vec::new();
        let mut issue = |device: &mut AnyDevice, now: Nanos, token: u32, issued: u64| {
            let block = if self.random { rng.below(blocks) } else { issued % blocks };
            let offset = self.from + block * self.bytes;
            let arrival = Arrival { token, op: self.op, offset, bytes: self.bytes as u32 };
            device.arrive(now, &arrival);
        };
        for token in 0..self.depth {
            issue(&mut device, now, token, issued);
            issued += 1;
        }
        while done < self.warm + self.count {
            let next = device.next_event().expect("a request in flight ends");
            assert!(next >= now, "time goes on");
            now = next;
            device.advance(now, &mut ended);
            for end in ended.drain(..) {
                assert_eq!(end.outcome, self.bytes as i32);
                assert!(end.at <= now);
                done += 1;
                if done == self.warm {
                    begun = now;
                    before = device.uses();
                }
                issue(&mut device, now, end.token, issued);
                issued += 1;
            }
        }
        let mut uses = device.uses();
        for (component, earlier) in uses.iter_mut().zip(&before) {
            component.busy_ns -= earlier.busy_ns;
            for phase in &mut component.phases {
                let earlier = earlier.phases.iter().find(|earlier| earlier.name == phase.name);
                phase.busy_ns -= earlier.map_or(0, |earlier| earlier.busy_ns);
            }
        }
        Gave {
            seconds: now.since(begun).as_secs_f64(),
            requests: self.count,
            bytes: self.count * self.bytes,
            uses,
        }
    }
}
