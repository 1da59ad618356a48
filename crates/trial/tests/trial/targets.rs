//! Tests several targets, verification, and the effect of batching.

use crate::common::{NoProbe, document, file_workload, full_file, has, real};
use engine::{DEFAULT_ENGINE, OwnedFile, read_all};
use record::{Bytes, CacheMode, Data, EngineName, FindingCode, Nanos, StopRules, Trial, Workload};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::AtomicBool;
use trial::{RealBackend, TrialBackend};

const AREA: usize = 1 << 20;

fn on_files(files: Vec<File>, workload: &Workload) -> Trial {
    let files = files.into_iter().map(OwnedFile::from).collect();
    let mut backend =
        RealBackend::new(BTreeMap::from([(CacheMode::All, files)]), Box::new(NoProbe));
    let stop = AtomicBool::new(false);
    document(backend.measure(workload, 1, &stop, &mut |_| ()).unwrap(), workload)
}

#[test]
fn jobs_take_turns_at_the_targets_where_these_are_not_striped() {
    let workload = file_workload(AREA as u64, |spec| {
        spec.asked.read_percent = 0;
        (spec.asked.targets, spec.asked.numjobs, spec.asked.iodepth) = (3, 3, 2);
        spec.asked.data = Data::Zeros;
        spec.asked.engine = EngineName::Sync;
        spec.asked.stop.passes = Some(40);
        spec.asked.runtime_ns = Nanos(20_000_000_000);
    });
    let files: Vec<File> = (0..3).map(|_| full_file(AREA)).collect();
    let copies = files.iter().map(|file| file.try_clone().unwrap()).collect();
    let trial = on_files(copies, &workload);
    assert_eq!(trial.result.write.as_ref().unwrap().errors, 0);
    assert_eq!(trial.result.write.as_ref().unwrap().bytes, 3 * 40 * AREA as u64);
    for file in &files {
        let mut content = vec![1; AREA];
        read_all(file, &mut content, 0).unwrap();
        let zeros = content.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros > AREA / 2, "every target was written: {zeros}");
    }
}

#[test]
fn what_a_verified_run_wrote_is_read_back_and_found_good() {
    for (engine, read_percent) in [(DEFAULT_ENGINE, 0), (EngineName::Sync, 50)] {
        let workload = file_workload(AREA as u64, |spec| {
            spec.asked.read_percent = read_percent;
            (spec.asked.numjobs, spec.asked.iodepth) = (2, 4);
            spec.asked.data = Data::Tagged;
            spec.asked.engine = engine;
        });
        let trial = real(full_file(AREA), &workload).unwrap();
        let verify = trial.result.verify.as_ref().unwrap();
        let bad = verify.lost + verify.misplaced + verify.torn + verify.stale;
        assert_eq!((bad, verify.unchecked), (0, 0), "{engine:?}: {verify:?}");
        assert!(verify.good > 10, "{engine:?}: {verify:?}");
    }
}

#[test]
fn batches_are_timed_now_and_then_and_single_requests_never() {
    let batching = |depth| {
        let workload = file_workload(AREA as u64, |spec| {
            spec.asked.engine = EngineName::Null;
            spec.asked.iodepth = depth;
        });
        let trial = real(full_file(AREA), &workload).unwrap();
        trial.harness.value().unwrap().batching.clone()
    };
    let batched = batching(32).unwrap();
    assert_eq!(batched.requests_per_call, 32.0);
    assert!(batched.error_max_ns as f64 >= batched.error_mean_ns);
    assert_eq!(batching(1), None);
}

/// A run by passes over two files.
fn by_passes(passes: u32, runtime: Nanos, stripe: Option<Bytes>) -> Trial {
    let workload = Workload {
        cache: CacheMode::All,
        engine: EngineName::Sync,
        numjobs: 2,
        depth: 2,
        targets: 2,
        stripe_bytes: stripe,
        size_bytes: Bytes(AREA as u64 * if stripe.is_some() { 2 } else { 1 }),
        runtime_ns: runtime,
        stop: StopRules { passes: Some(passes), ..StopRules::default() },
        ..Workload::default()
    };
    on_files(vec![full_file(AREA), full_file(AREA)], &workload)
}

#[test]
fn a_pass_is_over_every_target_unless_they_are_striped_into_one() {
    for stripe in [None, Some(Bytes(64 << 10))] {
        let trial = by_passes(3, Nanos(20_000_000_000), stripe);
        assert_eq!(trial.result.read.as_ref().unwrap().bytes, 3 * 2 * AREA as u64, "{stripe:?}");
        assert!(!has(&trial, FindingCode::StopRuleNotMet));
        // More than the time allows, since every target counts.
        let trial = by_passes(u32::MAX, Nanos(10_000_000), stripe);
        let finding = trial.findings.iter().find(|it| it.code == FindingCode::StopRuleNotMet);
        let asked = &finding.unwrap().evidence[0];
        assert_eq!(asked.value, f64::from(u32::MAX) * 2.0 * AREA as f64, "{stripe:?}");
    }
}

#[test]
fn an_engine_of_another_system_or_a_depth_that_one_cannot_have_is_refused_with_what_to_do() {
    let refusal = |engine: EngineName, iodepth: u32| {
        let workload = file_workload(AREA as u64, |spec| {
            (spec.asked.engine, spec.asked.iodepth) = (engine, iodepth);
            spec.asked.stop.passes = Some(1);
        });
        real(full_file(AREA), &workload).unwrap_err().to_string()
    };
    for engine in engine::engines_elsewhere() {
        let text = refusal(engine, 1);
        assert!(
            text.contains(engine.name()) && text.contains("on this system use --ioengine"),
            "{text}"
        );
    }
    let several = |depth: u32| (2..u32::MAX).contains(&depth);
    for info in engine::ENGINES.iter().filter(|info| several(info.max_depth)) {
        let text = refusal(info.name, info.max_depth + 1);
        assert!(text.contains("at most") && text.contains("--numjobs"), "{text}");
    }
}
