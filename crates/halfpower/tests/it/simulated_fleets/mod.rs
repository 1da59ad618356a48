//! Simulates fleets with a known truth: thousands of devices with separate loads, some of which are slow.
//!
//! A device is a queue with a number of servers and its own service time. Its arrivals depend on the hour, on
//! the application of its rack and on chance; at times a batch job keeps a fixed queue depth. The service
//! time of a slow device is multiplied by a factor, always or at times; a slow rack slows all of its devices.
//! The frequency of slow drives is published (315 among 41,000 healthy ones). Factors, spreads and noise are
//! choices, and the evaluation shows how the result depends on each.
//!
//! The simulation is independent of the diagnosis: latencies come from queueing formulae, and a busy host is
//! not a slow one.

mod exposition;
mod member;

pub(crate) use exposition::{FleetReadings, write_fleet};

use member::{MODELS, SIZES, Simulated};
use model::fleet::{Fleet, FleetError, Rules, Tally};
use record::{FleetDiagnosis, FleetLabels};
use stats::SplitMix64;
use std::collections::BTreeSet;

/// Parameters of a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FleetPlan {
    /// Number of devices.
    pub(crate) devices: usize,
    /// Devices per host.
    pub(crate) host_devices: usize,
    /// Hosts per rack.
    pub(crate) rack_hosts: usize,
    /// Length, in windows.
    pub(crate) windows: usize,
    /// Length of a window in seconds.
    pub(crate) window_s: u64,
    /// Seconds between two readings.
    pub(crate) interval_s: u64,
    /// Share of the devices that are slow.
    pub(crate) prevalence: f64,
    /// Number of racks that are slow as a whole.
    pub(crate) slow_racks: usize,
    /// Standard deviation of the logarithm of healthy service times of one model.
    pub(crate) level_deviation: f64,
    /// Standard deviation of the logarithm of a single reading.
    pub(crate) noise_deviation: f64,
    /// Seed of all random choices.
    pub(crate) seed: u64,
}

impl FleetPlan {
    /// A week of this many devices, with the published prevalence.
    pub(crate) fn week(devices: usize, seed: u64) -> Self {
        Self {
            devices,
            host_devices: 12,
            rack_hosts: 16,
            windows: 168,
            window_s: 3600,
            interval_s: 15,
            prevalence: 315.0 / 41_315.0,
            slow_racks: devices.div_ceil(5_000),
            level_deviation: 0.08,
            noise_deviation: 0.15,
            seed,
        }
    }
}

/// The planted slowness of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlantedSlowness {
    /// Service time relative to a healthy device.
    pub(crate) factor: f64,
    /// First slow window.
    pub(crate) begin: usize,
    /// The window after the last slow one.
    pub(crate) end: usize,
    /// Share of the readings in these windows that are slow.
    pub(crate) duty: f64,
}

/// The truth of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FleetTruth {
    /// The slowness of each device; `None` for a healthy one.
    pub(crate) devices: Vec<Option<PlantedSlowness>>,
    /// Slow racks, by name.
    pub(crate) racks: Vec<(String, PlantedSlowness)>,
}

/// How well a diagnosis did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FleetScore {
    /// Slow devices and racks that were named.
    pub(crate) found: usize,
    /// Slow devices and racks that were not named.
    pub(crate) missed: usize,
    /// Healthy devices and racks that were named.
    pub(crate) accused: usize,
}

/// Labels of a device.
fn labels(device: usize, plan: &FleetPlan, model: &str) -> FleetLabels {
    let host = device / plan.host_devices;
    let firmware = if device.is_multiple_of(3) { "2" } else { "1" };
    [
        ("instance", format!("h{host:05}")),
        ("device", format!("sd{}", device % plan.host_devices)),
        ("model", model.to_owned()),
        ("rack", rack_name(host / plan.rack_hosts)),
        ("firmware", format!("{model}-{firmware}")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn rack_name(rack: usize) -> String {
    format!("r{rack:04}")
}

/// A random slow period, which in half of the cases lasts to the end.
fn planted(random: &mut SplitMix64, windows: usize, least: f64, most: f64) -> PlantedSlowness {
    let factor = least * (most / least).powf(random.unit());
    let length = (windows as f64 * (0.15 + 0.85 * random.unit())) as usize;
    let begin = if random.unit() < 0.5 {
        windows - length
    } else {
        random.below((windows - length + 1) as u64) as usize
    };
    let duty = if random.unit() < 0.3 { 0.3 + 0.6 * random.unit() } else { 1.0 };
    PlantedSlowness { factor, begin, end: begin + length, duty }
}

/// Simulates a fleet and judges it.
fn simulate_fleet(plan: &FleetPlan) -> Result<(Fleet, FleetTruth), FleetError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (labels, mut devices, truth) = drawn(plan);
    let mut fleet = Fleet::new(
        labels,
        &["model".to_owned()],
        &["instance", "rack", "firmware"].map(str::to_owned),
        0,
        plan.window_s,
    );
    let mut tallies = vec![Tally::default(); plan.devices];
    let part = plan.devices.div_ceil(threads).max(1);
    for window in 0..plan.windows {
        std::thread::scope(|scope| {
            for (devices, tallies) in devices.chunks_mut(part).zip(tallies.chunks_mut(part)) {
                scope.spawn(move || {
                    for (device, tally) in devices.iter_mut().zip(tallies) {
                        tally.clear();
                        device.window(window, plan, |traffic| tally.add(traffic));
                    }
                });
            }
        });
        fleet.close(&mut tallies)?;
    }
    Ok((fleet, truth))
}

/// Draws the devices of a fleet.
fn drawn(plan: &FleetPlan) -> (Vec<FleetLabels>, Vec<Simulated>, FleetTruth) {
    let mut random = SplitMix64::new(plan.seed);
    let hosts = plan.devices.div_ceil(plan.host_devices);
    let racks = hosts.div_ceil(plan.rack_hosts);
    let mut truth = FleetTruth { devices: vec![None; plan.devices], racks: Vec::new() };
    let mut chosen = BTreeSet::new();
    while chosen.len() < plan.slow_racks.min(racks / 2) {
        chosen.insert(random.below(racks as u64) as usize);
    }
    for &rack in &chosen {
        truth.racks.push((rack_name(rack), planted(&mut random, plan.windows, 1.5, 3.0)));
    }
    let mut slow = BTreeSet::new();
    let wanted = (plan.prevalence * plan.devices as f64).round() as usize;
    while slow.len() < wanted {
        slow.insert(random.below(plan.devices as u64) as usize);
    }
    for &device in &slow {
        truth.devices[device] = Some(planted(&mut random, plan.windows, 1.6, 12.0));
    }
    let applications: Vec<(f64, f64, f64, f64)> = (0..racks)
        .map(|_| {
            let bytes = SIZES[random.below(SIZES.len() as u64) as usize];
            let (reads, swing) = (0.2 + 0.7 * random.unit(), 0.6 * random.unit());
            (bytes, reads, swing, std::f64::consts::TAU * random.unit())
        })
        .collect();
    let mut all_labels = Vec::with_capacity(plan.devices);
    let mut devices = Vec::with_capacity(plan.devices);
    for device in 0..plan.devices {
        let host = device / plan.host_devices;
        let rack = host / plan.rack_hosts;
        // All devices of a host are of one model.
        let mut of_host = SplitMix64::new(plan.seed ^ (host as u64 + 1).wrapping_mul(0x9E37_79B9));
        let pick = of_host.unit();
        let mut sum = 0.0;
        let model = MODELS.iter().find(|(.., share)| {
            sum += share;
            pick < sum
        });
        let &(name, service_s, servers, _) = model.unwrap_or(&MODELS[0]);
        let busy_host = of_host.unit() < 0.05;
        let (bytes, reads, swing, phase) = applications[rack];
        let level = (plan.level_deviation * random.normal()).exp();
        let share = if busy_host { 0.8 } else { 0.1 + 0.4 * random.unit() };
        let of_rack = truth.racks.iter().find(|(name, _)| *name == rack_name(rack));
        all_labels.push(labels(device, plan, name));
        devices.push(Simulated {
            random: SplitMix64::new(random.next_u64()),
            service_s: service_s * level,
            servers,
            load: share * servers / service_s,
            swing,
            phase,
            bytes,
            reads,
            write_factor: 1.3,
            noise: plan.noise_deviation,
            wander: 0.0,
            batch: None,
            slow: [truth.devices[device], of_rack.map(|(_, slow)| *slow)],
        });
    }
    (all_labels, devices, truth)
}

/// Index of the device with these labels.
pub(crate) fn fleet_place(labels: &FleetLabels, plan: &FleetPlan) -> Option<usize> {
    let host: usize = labels.get("instance")?.strip_prefix('h')?.parse().ok()?;
    let device: usize = labels.get("device")?.strip_prefix("sd")?.parse().ok()?;
    Some(host * plan.host_devices + device)
}

/// Compares a diagnosis with the truth. Naming a slow rack counts for the rack, not for its devices.
pub(crate) fn score_fleet(
    found: &FleetDiagnosis,
    truth: &FleetTruth,
    plan: &FleetPlan,
) -> FleetScore {
    let mut score = FleetScore::default();
    let named: BTreeSet<usize> =
        found.slow.iter().filter_map(|one| fleet_place(&one.labels, plan)).collect();
    for (device, planted) in truth.devices.iter().enumerate() {
        match (planted.is_some(), named.contains(&device)) {
            (true, true) => score.found += 1,
            (true, false) => score.missed += 1,
            (false, true) => score.accused += 1,
            (false, false) => {}
        }
    }
    for (rack, _) in &truth.racks {
        let hit = found.common.iter().any(|one| {
            let pair = (&one.label, &one.value);
            pair == (&"rack".to_owned(), rack)
                || one.also.iter().any(|(label, value)| label == "rack" && value == rack)
        });
        if hit { score.found += 1 } else { score.missed += 1 }
    }
    score.accused += found
        .common
        .iter()
        .filter(|one| {
            one.label != "rack" || !truth.racks.iter().any(|(rack, _)| *rack == one.value)
        })
        .count();
    score
}

#[test]
fn nearly_all_slow_disks_of_a_fleet_are_named_and_hardly_a_healthy_one() {
    let devices = testkit::draws(1_000, 10_000);
    let plan = FleetPlan { interval_s: 120, ..FleetPlan::week(devices, 1) };
    let (fleet, truth) = simulate_fleet(&plan).unwrap();
    let score = score_fleet(&fleet.conclude(&Rules::default(), usize::MAX), &truth, &plan);
    // At least 95 % are found (or all but one, if few are slow), and 99 % of the named ones are slow.
    let slow = score.found + score.missed;
    assert!(slow >= 5 && score.missed * 20 <= slow.max(20), "{score:?}");
    assert!(score.accused * 100 <= score.found, "{score:?}");
}
