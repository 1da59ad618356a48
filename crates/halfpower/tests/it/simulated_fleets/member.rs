//! One device of a simulated fleet while it runs.

use super::{FleetPlan, PlantedSlowness};
use model::fleet::{Direction, Traffic};
use stats::SplitMix64;

/// Service time in seconds, servers, and share of the fleet, of each model.
pub(super) const MODELS: [(&str, f64, f64, f64); 3] =
    [("HDD-16T", 6e-3, 1.0, 0.45), ("SSD-4T", 150e-6, 16.0, 0.35), ("NVME-8T", 80e-6, 64.0, 0.20)];
/// Request sizes of the applications.
pub(super) const SIZES: [f64; 4] = [4096.0, 8192.0, 16384.0, 65536.0];
/// Maximum utilization of a device. Load beyond it waits in the program, not in the device.
const LOAD_MOST: f64 = 0.9;
/// Maximum depth of the queue.
const DEPTH_MOST: f64 = 32.0;
const DAY_S: f64 = 86_400.0;

/// One device while it runs.
pub(super) struct Simulated {
    pub(super) random: SplitMix64,
    pub(super) service_s: f64,
    pub(super) servers: f64,
    /// Mean requests per second, and their daily variation.
    pub(super) load: f64,
    pub(super) swing: f64,
    pub(super) phase: f64,
    pub(super) bytes: f64,
    pub(super) reads: f64,
    /// Service time of writes relative to reads.
    pub(super) write_factor: f64,
    pub(super) noise: f64,
    /// Random walk of its load from window to window.
    pub(super) wander: f64,
    pub(super) batch: Option<f64>,
    pub(super) slow: [Option<PlantedSlowness>; 2],
}

impl Simulated {
    /// Simulates a window, reading by reading.
    pub(super) fn window(
        &mut self,
        window: usize,
        plan: &FleetPlan,
        mut each: impl FnMut(&Traffic),
    ) {
        self.wander = 0.7 * self.wander + 0.7 * self.random.normal();
        let hourly = (0.04 * self.random.normal()).exp();
        let batch_ends = self.batch.is_some() && self.random.unit() < 0.4;
        if batch_ends {
            self.batch = None;
        } else if self.batch.is_none() && self.random.unit() < 0.03 {
            self.batch = Some(2f64.powi(1 + self.random.below(5) as i32));
        }
        let begin_s = window as f64 * plan.window_s as f64;
        let seconds = plan.interval_s as f64;
        for reading in 0..plan.window_s / plan.interval_s {
            let hour = (begin_s + (reading * plan.interval_s) as f64) / DAY_S;
            let swing = self.swing * (std::f64::consts::TAU * hour + self.phase).sin();
            let arriving =
                self.load * (swing + 0.3 * self.wander + 0.25 * self.random.normal()).exp();
            let mut service_s = self.service_s * hourly;
            for slow in self.slow.iter().flatten() {
                let during = (slow.begin..slow.end).contains(&window);
                if during && (slow.duty >= 1.0 || self.random.unit() < slow.duty) {
                    service_s *= slow.factor;
                }
            }
            if self.random.unit() < 0.005 {
                // Housekeeping, which healthy drives also do.
                service_s *= 1.0 + 4.0 * self.random.unit();
            }
            let share_of_writes = (1.0 - self.reads) * (self.write_factor - 1.0);
            let mean_s = service_s * (1.0 + share_of_writes);
            let (rate, latency_s, busy) = self.served(arriving, mean_s);
            let noise = (self.noise * self.random.normal()).exp();
            let read_s = latency_s * noise / (1.0 + share_of_writes);
            let requests = (rate * seconds).round();
            let direction = |share: f64, each_s: f64| Direction {
                requests: requests * share,
                bytes: requests * share * self.bytes,
                seconds: requests * share * each_s,
            };
            each(&Traffic {
                reads: direction(self.reads, read_s),
                writes: direction(1.0 - self.reads, read_s * self.write_factor),
                busy_seconds: busy * seconds,
            });
        }
    }

    /// Requests per second, mean latency and busy share of a load on this device.
    fn served(&self, arriving: f64, service_s: f64) -> (f64, f64, f64) {
        let most = self.servers / service_s;
        let load = arriving / most;
        if let Some(depth) = self.batch {
            let rate = depth.min(self.servers) / service_s;
            return (rate, depth / rate, 1.0);
        }
        if load > LOAD_MOST {
            let rate = LOAD_MOST * most;
            return (rate, DEPTH_MOST.max(self.servers) / rate, 1.0);
        }
        // Sakasegawa's approximation of the wait for one of several servers.
        let power = (2.0 * (self.servers + 1.0)).sqrt() - 1.0;
        let wait = service_s * load.powf(power) / (self.servers * (1.0 - load));
        let busy = 1.0 - (1.0 - load).powf(self.servers);
        (arriving, service_s + wait, busy)
    }
}
