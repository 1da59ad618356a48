//! Expectations against theory, and whole profiles.

use crate::synthetic::{Noise, depths, rounds, sizes, target, workload};
use model::queueing::{mm1_response, mmc_response};
use model::{Characterise, DEFAULT_KNEE_GAIN, SATURATIONS};
use record::{Expectation, Nanos, OpKind, Pattern, Profile, Trial, Workload};

const SERVICE_S: f64 = 100e-6;

fn servers(count: u32) -> impl Fn(&Workload) -> f64 {
    move |workload| f64::from(workload.depth.min(count)) / SERVICE_S
}

fn expectations(count: u32, noise_rel: f64, seed: u64) -> Vec<Expectation> {
    let design = depths(OpKind::Read, 64);
    let trials = rounds(&design, servers(count), 3, noise_rel, &mut Noise(seed));
    let curves = model::depth_curves(&model::aggregate(&trials, 0.05), DEFAULT_KNEE_GAIN);
    model::expectations(&curves[0])
}

#[test]
fn eight_servers_are_expected_to_respond_as_erlang_says_and_mm1_is_shown_to_be_wrong() {
    let expected = expectations(8, 0.0, 0);
    assert_eq!(expected.len(), SATURATIONS.len());
    for (row, saturation) in expected.iter().zip(SATURATIONS) {
        let truth = mmc_response(SERVICE_S, 8, saturation * 8.0 / SERVICE_S).unwrap() * 1e9;
        assert!((row.response_ns.value / truth - 1.0).abs() < 1e-6);
        let mm1 = mm1_response(SERVICE_S / 8.0, saturation).unwrap() * 1e9;
        assert!((row.mm1_response_ns / mm1 - 1.0).abs() < 1e-9);
        assert!((row.mm1_error_rel - (mm1 / truth - 1.0)).abs() < 1e-6);
    }
    // At a quarter of the maximum M/M/1 promises a sixth of the true time.
    assert!(expected[0].mm1_error_rel < -0.8);
}

#[test]
fn with_one_server_mm1_has_no_error() {
    for row in expectations(1, 0.0, 0) {
        assert!(row.mm1_error_rel.abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn the_interval_holds_the_true_response_time_of_a_noisy_device() {
    let truth: Vec<f64> = SATURATIONS
        .iter()
        .map(|share| mmc_response(SERVICE_S, 8, share * 8.0 / SERVICE_S).unwrap() * 1e9)
        .collect();
    let mut covered = [0; 4];
    for seed in 0..200 {
        for (index, row) in expectations(8, 0.02, seed).iter().enumerate() {
            let interval = row.response_ns;
            assert!(interval.low <= interval.value && interval.value <= interval.high);
            covered[index] +=
                u32::from(interval.low <= truth[index] && truth[index] <= interval.high);
        }
    }
    assert!(covered.iter().all(|&count| count >= 180), "{covered:?} of 200");
}

#[test]
fn a_noisier_curve_gives_a_wider_interval_and_the_same_curve_the_same_one() {
    let width = |noise| expectations(8, noise, 3)[1].response_ns.relative_half_width();
    assert!(width(0.04) > 2.0 * width(0.01));
    assert_eq!(expectations(8, 0.04, 3), expectations(8, 0.04, 3));
}

fn profile(trials: &[Trial]) -> Profile {
    model::characterise(Characterise {
        halfpower_version: "0.0.0".to_owned(),
        id: "profile".to_owned(),
        time: None,
        seed: 1,
        simulated: true,
        target: target(),
        environment: None,
        budget_ns: Nanos(60_000_000_000),
        target_rel: 0.05,
        trials,
        earlier: &[],
    })
}

#[test]
fn a_profile_holds_every_part_and_survives_json() {
    let mut design = depths(OpKind::Read, 32);
    design.extend(depths(OpKind::Write, 32));
    design.extend(sizes(OpKind::Read, 1));
    design.push(workload(OpKind::Read, Pattern::Hit, 4096, 1));
    let profile = profile(&rounds(&design, servers(4), 3, 0.01, &mut Noise(1)));
    assert_eq!(profile.cells.len(), design.len());
    assert_eq!(profile.depth_curves.len(), 2);
    assert_eq!(profile.size_curves.len(), 1);
    assert_eq!(profile.service_time_fits.len(), 1);
    assert_eq!(profile.expectations.len(), 8);
    assert!(profile.limits.write_iops.is_some());
    assert_eq!(profile.measured_ns.0, 3 * design.len() as u64 * 1_000_000_000);
    assert!(profile.advice.is_empty() && profile.findings.is_empty());
    // A number that is not finite would become null and fail to be read back.
    let text = serde_json::to_string(&profile).unwrap();
    let read: Profile = serde_json::from_str(&text).unwrap();
    assert_eq!(read.cells.len(), profile.cells.len());
}

#[test]
fn nothing_but_bad_or_lone_trials_still_makes_a_profile() {
    assert!(profile(&[]).cells.is_empty());
    let lone = rounds(&depths(OpKind::Read, 2), servers(4), 1, 0.0, &mut Noise(1));
    let profile = profile(&lone);
    assert_eq!(profile.cells.len(), 2);
    let text = serde_json::to_string(&profile).unwrap();
    assert!(serde_json::from_str::<Profile>(&text).is_ok());
}
