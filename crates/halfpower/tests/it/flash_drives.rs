//! Flash drives, tested with the program: preconditioning, and the results of `check`.

use crate::program::{found, profile, trial};
use record::{DepthCurve, FindingCode, OpKind, Profile};

fn curve(profile: &Profile, op: OpKind) -> &DepthCurve {
    profile.depth_curves.iter().find(|curve| curve.op == op).unwrap()
}

#[test]
fn preconditioning_brings_a_drive_to_the_rate_that_it_keeps() {
    // All of a small drive, whose ratios are those of a large one.
    let words = "--rw randwrite --iodepth 32 --runtime";
    let target = "sim:sata-ssd,size=1g";
    let worn = trial(0, &format!("{target} {words} 2s --precondition"));
    let done = worn.preconditioning.as_ref().unwrap();
    assert!(done.steady, "{done:?}");
    let rate = worn.result.write.as_ref().unwrap().iops;
    let fresh = trial(0, &format!("{target} {words} 100ms"));
    let first = fresh.result.write.as_ref().unwrap().iops;
    assert!(first > 5.0 * rate, "{first} at first, {rate} in the end");
    let laid_out = trial(0, &format!("{target},preconditioned=random {words} 10s"));
    let steady = laid_out.result.write.as_ref().unwrap().iops;
    assert!((rate / steady - 1.0).abs() < 0.05, "{rate} {steady}");
    assert!(!found(&worn.findings, FindingCode::NotSteady), "{:?}", worn.findings);
}

#[test]
fn a_check_finds_the_knee_where_dies_or_controller_are_busy_and_what_forcing_writes_costs() {
    let nvme = profile(0, "sim:nvme-ssd");
    // 64 dies; a controller that takes a read every 1.6 us.
    assert_eq!(curve(&nvme, OpKind::Read).knee, Some(128));
    let most = nvme.limits.read_iops.as_ref().unwrap();
    assert!(most.low <= 625e3 && 625e3 <= most.high * 1.01, "{most:?}");
    let alone = &curve(&nvme, OpKind::Read).points[0].latency_ns;
    assert!((alone.value / 84.9e3 - 1.0).abs() < 0.02, "{alone:?}");
    let sata = profile(0, "sim:sata-ssd");
    // At most 32 commands, and a controller that takes a read every 10.5 us.
    assert_eq!(curve(&sata, OpKind::Read).knee, Some(16));
    assert_eq!(curve(&sata, OpKind::Write).knee, Some(4));
}

#[test]
fn a_drive_that_falls_at_once_and_then_wanders_is_cut_and_called_not_steady() {
    let words = "--size 32g --rw randwrite --iodepth 32 --runtime 20s";
    let falls = trial(0, &format!("sim:nvme-ssd {words}"));
    // 1.1 s at about 550,000/s, then 45,000 to 100,000.
    let warm_up = falls.result.warm_up.as_ref().unwrap();
    assert!((1.1e9..2.6e9).contains(&(warm_up.duration_ns.0 as f64)), "{warm_up:?}");
    assert!(warm_up.iops > 3.0 * falls.result.write.as_ref().unwrap().iops);
    assert!(found(&falls.findings, FindingCode::WarmUpCut));
    assert!(found(&falls.findings, FindingCode::NotSteady), "{:?}", falls.result.series);
    assert_eq!(falls.result.steady, Some(false));
    let kept = trial(0, &format!("sim:nvme-ssd {words} --keep-warm-up"));
    assert!(kept.result.warm_up.is_none());
    assert!(found(&kept.findings, FindingCode::NotSteady), "{:?}", kept.result.write);
    let worn = trial(0, &format!("sim:nvme-ssd,preconditioned=random {words}"));
    assert!(worn.result.warm_up.is_none() && worn.clean(), "{:?}", worn.findings);
    assert_eq!(worn.result.steady, Some(true));
    let width = worn.result.write.as_ref().unwrap().iops_ci95_rel.unwrap();
    assert!(width < 0.01, "{width}");
}
