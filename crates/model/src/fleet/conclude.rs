//! Draws conclusions about a fleet from its windows.

use crate::fleet::chance::Chance;
use crate::fleet::common::{Common, View, explain, groups};
use crate::fleet::ratios::Ratios;
use crate::fleet::reference::Reference;
use crate::fleet::scan::{Healthy, Run, highest, risen};
use crate::fleet::spread::healthy;
use crate::fleet::tally::Tally;
use crate::fleet::window::{Standing, standings};
use record::{
    Estimate, FLEET_SCHEMA, FleetCommon, FleetDevice, FleetDiagnosis, FleetKind, FleetLabels,
    FleetLeftOut, FleetSlowness, FleetYardstick,
};
use stats::normal_tail;
use std::collections::BTreeMap;

/// If fewer healthy devices than this are expected to be as slow, a suspicion counts as certain.
const BEYOND_DOUBT: f64 = 1e-6;

/// Thresholds for slow devices, set by the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Accepted share of healthy devices among those called slow, above 0 and below 1.
    pub false_share: f64,
    /// Smallest latency ratio to the peers that is reported, above 1.
    pub least_ratio: f64,
}

impl Default for Rules {
    /// One in a hundred of the devices called slow may be healthy. A latency 20 % above the peers is
    /// reported.
    fn default() -> Self {
        Self { false_share: 0.01, least_ratio: 1.2 }
    }
}

/// Why a window is rejected.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The window has another number of devices than the fleet.
    #[error("a window of {found} devices does not fit a fleet of {expected}")]
    Devices {
        /// Devices of the fleet.
        expected: usize,
        /// Devices of the window.
        found: usize,
    },
}

/// The devices of a fleet with their ratios in each window so far.
pub struct Fleet {
    labels: Vec<FleetLabels>,
    /// The peer group of each device, and the labels that each group shares.
    kind: Vec<u32>,
    kinds: Vec<FleetLabels>,
    /// Labels that slow devices may have in common, and the index of each device's value.
    common_labels: Vec<String>,
    values: Vec<Vec<Option<u32>>>,
    /// Ratios to devices of several hosts, racks and so on. They show whether a rack is slow as a whole.
    outside: Ratios,
    /// Ratios to all comparable devices, including those that share a rack and its work. They show whether
    /// a device is slow by itself.
    closest: Ratios,
    /// Whether a device was ever left out because it had too few peers.
    alone: Vec<bool>,
    /// Healthy latencies of each kind.
    references: Vec<Reference>,
    begin_s: u64,
    window_s: u64,
}

impl Fleet {
    /// A fleet of devices with these labels. Devices with the same values of all `peer_labels` are peers.
    /// `common_labels` are searched for common causes. Windows follow each other from `begin_s` (seconds
    /// since 1970).
    #[must_use]
    pub fn new(
        labels: Vec<FleetLabels>,
        peer_labels: &[String],
        common_labels: &[String],
        begin_s: u64,
        window_s: u64,
    ) -> Self {
        let mut kinds: Vec<FleetLabels> = Vec::new();
        let mut known: BTreeMap<FleetLabels, u32> = BTreeMap::new();
        let kind: Vec<u32> = labels
            .iter()
            .map(|labels| {
                let shared: FleetLabels = peer_labels
                    .iter()
                    .filter_map(|name| Some((name.clone(), labels.get(name)?.clone())))
                    .collect();
                *known.entry(shared.clone()).or_insert_with(|| {
                    kinds.push(shared);
                    kinds.len() as u32 - 1
                })
            })
            .collect();
        let outside = Ratios::none(labels.len());
        let closest = outside.clone();
        let alone = vec![false; labels.len()];
        let mut numbers: Vec<BTreeMap<&str, u32>> = vec![BTreeMap::new(); common_labels.len()];
        let mut of_kind: Vec<Vec<BTreeMap<u32, usize>>> =
            vec![vec![BTreeMap::new(); common_labels.len()]; kinds.len()];
        let mut values = Vec::with_capacity(labels.len());
        for (labels, &kind) in labels.iter().zip(&kind) {
            let mut own = Vec::with_capacity(common_labels.len());
            for (place, label) in common_labels.iter().enumerate() {
                let number = labels.get(label).map(|value| {
                    let next = numbers[place].len() as u32;
                    *numbers[place].entry(value).or_insert(next)
                });
                if let Some(number) = number {
                    *of_kind[kind as usize][place].entry(number).or_default() += 1;
                }
                own.push(number);
            }
            values.push(own);
        }
        let references = of_kind
            .iter()
            .map(|of| Reference::new(&of.iter().map(values_in_use).collect::<Vec<_>>()))
            .collect();
        let common_labels = common_labels.to_vec();
        Self {
            labels,
            kind,
            kinds,
            values,
            common_labels,
            outside,
            closest,
            alone,
            references,
            begin_s,
            window_s,
        }
    }

    /// Number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.labels.len()
    }

    /// Closes a window. There is one tally per device, in the order of the devices.
    ///
    /// # Errors
    /// If the number of tallies differs from the number of devices.
    pub fn close(&mut self, tallies: &mut [Tally]) -> Result<(), FleetError> {
        if tallies.len() != self.devices() {
            let (expected, found) = (self.devices(), tallies.len());
            return Err(FleetError::Devices { expected, found });
        }
        let standings = standings(tallies, &self.kind, &self.values, &mut self.references);
        for (member, [outside, closest]) in standings.into_iter().enumerate() {
            self.alone[member] |= closest == Standing::NoPeers;
            self.outside.push(member, outside);
            self.closest.push(member, closest);
        }
        Ok(())
    }

    /// The diagnosis from the first `windows` windows; `usize::MAX` for all.
    #[must_use]
    pub fn conclude(&self, rules: &Rules, windows: usize) -> FleetDiagnosis {
        let whole = self.closest.mean.first().map_or(0, Vec::len);
        let windows = windows.min(whole);
        let mut views = [&self.outside, &self.closest].map(|all| {
            let ratios = all.first(windows);
            let healthy = self.spreads(&ratios.mean);
            View { ratios, healthy }
        });
        let candidates = groups(&self.labels, &self.common_labels, &self.kind);
        let common = explain(candidates, &mut views, &self.kind);
        let [_, View { ratios: Ratios { mean: series, upper }, healthy }] = views;
        // A rack that is slow as a whole made the fleet look less uniform than it is.
        let spreads = if common.is_empty() { healthy } else { self.spreads(&series) };
        let upper_spreads = self.spreads(&upper);
        let tests: Vec<Tested> = [
            (&series, &spreads, FleetYardstick::Peers, false),
            (&upper, &upper_spreads, FleetYardstick::Peers, true),
            (&series, &spreads, FleetYardstick::OwnPast, false),
            (&upper, &upper_spreads, FleetYardstick::OwnPast, true),
        ]
        .into_iter()
        .map(|(series, spreads, against, now_and_then)| {
            Tested::of(series, spreads, &self.kind, against, now_and_then)
        })
        .collect();
        let compared = tests[0].runs.iter().flatten().count();
        // The strongest suspicion against a device, and how many healthy devices would look as slow.
        let worst = |member: usize| {
            let suspicions = tests.iter().filter_map(|test| {
                let run = test.runs[member]?;
                let expected = test.chance.expected(run.score) * tests.len() as f64;
                // If several suspicions are certain, the first test wins: the plainest and steadiest.
                let expected = expected.max(BEYOND_DOUBT);
                (run.mean >= rules.least_ratio.ln()).then_some((expected, test, run))
            });
            suspicions.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let mut order: Vec<(usize, (f64, &Tested, Run))> =
            (0..self.devices()).filter_map(|member| Some((member, worst(member)?))).collect();
        order.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then(a.0.cmp(&b.0)));
        let shares = false_shares(order.iter().map(|(_, (expected, ..))| *expected));
        let devices: Vec<FleetDevice> = order
            .iter()
            .zip(&shares)
            .filter(|(_, share)| **share <= rules.false_share)
            .map(|((member, (_, test, run)), share)| FleetDevice {
                labels: self.labels[*member].clone(),
                against: test.against,
                now_and_then: test.now_and_then,
                slow: self.slowness(run, 1.0 - share),
            })
            .collect();
        let allowed = rules.false_share * (devices.len() + 1) as f64 / tests.len() as f64;
        let least = tests[0].chance.least(allowed);
        let slow = &tests[0].runs;
        FleetDiagnosis {
            schema: FLEET_SCHEMA.to_owned(),
            halfpower_version: String::new(),
            source: String::new(),
            simulated: false,
            begin_s: self.begin_s,
            end_s: self.begin_s + self.window_s * windows as u64,
            window_s: self.window_s,
            devices: self.devices() as u32,
            false_share: rules.false_share,
            common: common.iter().map(|one| self.common(one)).collect(),
            slow: devices,
            by_profile: Vec::new(),
            kinds: self.kinds_of(slow, &spreads, rules, least, windows),
            left_out: if compared == self.devices() { Vec::new() } else { self.left_out(slow) },
            findings: Vec::new(),
        }
    }

    fn spreads(&self, series: &[Vec<f32>]) -> Vec<Healthy> {
        let of = |kind: usize| -> Vec<&[f32]> {
            let all = series.iter().zip(&self.kind);
            all.filter(|(_, own)| **own as usize == kind).map(|(one, _)| one.as_slice()).collect()
        };
        (0..self.kinds.len()).map(|kind| healthy(&of(kind))).collect()
    }

    fn slowness(&self, run: &Run, confidence: f64) -> FleetSlowness {
        let log = Estimate::from_se(run.mean, run.deviation, run.windows as u32);
        FleetSlowness {
            ratio: Estimate::exp_of(&log),
            begin_s: self.begin_s + self.window_s * run.begin as u64,
            end_s: self.begin_s + self.window_s * run.end as u64,
            lasts: run.lasts,
            score: run.score,
            confidence,
        }
    }

    fn common(&self, one: &Common) -> FleetCommon {
        FleetCommon {
            label: one.group.label.clone(),
            value: one.group.value.clone(),
            also: one.also.clone(),
            devices: one.group.members.len() as u32,
            slow_devices: one.slow as u32,
            // The threshold already allows for the search over all groups and segments.
            slow: self.slowness(&one.run, 1.0 - normal_tail(one.run.score)),
        }
    }

    fn kinds_of(
        &self,
        slow: &[Option<Run>],
        spreads: &[Healthy],
        rules: &Rules,
        least: f64,
        windows: usize,
    ) -> Vec<FleetKind> {
        let mut kinds: Vec<FleetKind> = self
            .kinds
            .iter()
            .zip(spreads)
            .enumerate()
            .map(|(kind, (labels, spread))| {
                let of = |member: &usize| self.kind[*member] as usize == kind;
                let devices = (0..self.devices()).filter(of).count();
                let compared = (0..self.devices()).filter(of).filter(|&one| slow[one].is_some());
                let compared = compared.count();
                let ratio = (least * spread.deviation(windows as f64)).exp();
                FleetKind {
                    labels: labels.clone(),
                    devices: devices as u32,
                    compared: compared as u32,
                    level_deviation: spread.level,
                    noise_deviation: spread.noise,
                    smallest_ratio: (compared > 0).then_some(ratio.max(rules.least_ratio)),
                }
            })
            .collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.devices));
        kinds
    }

    fn left_out(&self, slow: &[Option<Run>]) -> Vec<FleetLeftOut> {
        let name = |member: &usize| {
            let labels = &self.labels[*member];
            let words =
                ["instance", "device"].map(|key| labels.get(key).map_or("?", String::as_str));
            words.join(" ")
        };
        let reasons = [
            (
                true,
                "too few other devices of the same kind had a similar load at the same time, or \
                 all of them are in one host or rack",
            ),
            (false, "too few requests or samples: fewer than three windows are usable"),
        ];
        let out = |alone: bool| -> Vec<usize> {
            let all = 0..self.devices();
            all.filter(|&one| slow[one].is_none() && self.alone[one] == alone).collect()
        };
        reasons
            .into_iter()
            .filter_map(|(alone, reason)| {
                let names: Vec<String> = out(alone).iter().map(name).collect();
                FleetLeftOut::of(reason, &names)
            })
            .collect()
    }
}

/// Effective number of values of a label: the number of equally frequent values that would coincide as
/// often. One device with a value of its own does not count as a second value.
fn values_in_use(devices: &BTreeMap<u32, usize>) -> usize {
    let all: f64 = devices.values().map(|&count| count as f64).sum();
    let alike: f64 = devices.values().map(|&count| (count as f64 / all).powi(2)).sum();
    if all > 0.0 { (1.0 / alike).round() as usize } else { 0 }
}

/// One test of all devices against a baseline.
struct Tested {
    against: FleetYardstick,
    now_and_then: bool,
    /// The slowest segment of each device.
    runs: Vec<Option<Run>>,
    chance: Chance,
}

impl Tested {
    fn of(
        series: &[Vec<f32>],
        spreads: &[Healthy],
        kind: &[u32],
        against: FleetYardstick,
        now_and_then: bool,
    ) -> Self {
        let scan = match against {
            FleetYardstick::Peers => highest,
            FleetYardstick::OwnPast => risen,
        };
        let runs = |sign: f64| -> Vec<Option<Run>> {
            let all = series.iter().zip(kind);
            all.map(|(one, &kind)| scan(one, sign, &spreads[kind as usize])).collect()
        };
        let fast = runs(-1.0).iter().flatten().map(|run| run.score).collect();
        let windows = series.first().map_or(0, Vec::len);
        Self { against, now_and_then, runs: runs(1.0), chance: Chance::of(fast, windows) }
    }
}

/// Share of healthy devices among those with at most these expectations, from the most certain down.
fn false_shares(expected: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut shares: Vec<f64> =
        expected.enumerate().map(|(rank, one)| (one / (rank + 1) as f64).min(1.0)).collect();
    // Make the shares monotonic: accepting a device accepts every more certain one.
    let mut least = 1.0f64;
    for share in shares.iter_mut().rev() {
        least = least.min(*share);
        *share = least;
    }
    shares
}
