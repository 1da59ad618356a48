//! Shared parts of this crate's tests: backends, workloads, and agreement with theory.

use crate::scratch::scratch_file;
use engine::{
    DEFAULT_ENGINE, Engine, EngineError, OwnedFile, Probe, ProbeFacts, ProbeSample, Processors,
    Setup, write_all,
};
use record::{
    Bytes, CacheMode, CpuSplit, EngineName, FindingCode, Nanos, Target, TargetKind, Trial, Workload,
};
use simdisk::{SimBackend, SimSpec};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trial::{Identity, Measurement, Opening, RealBackend, TrialBackend, TrialError, run_trial};
use workload::Spec;

/// A probe without counters: these tests run without a known device.
pub(crate) struct NoProbe;

impl Probe for NoProbe {
    fn sample(&mut self) -> ProbeSample {
        ProbeSample::default()
    }
    fn facts(&self) -> ProbeFacts {
        ProbeFacts {
            cpu_split: CpuSplit::Sampled,
            processors: Processors::default(),
            no_device_reason: "no device in this test".to_owned(),
            no_cpu_reason: "no CPU time in this test".to_owned(),
            cpu_step_ns: 0,
        }
    }
}

pub(crate) fn identity() -> Identity {
    Identity {
        id: "id".to_owned(),
        time: None,
        halfpower_version: "0".to_owned(),
        targets: vec![Target {
            path: "target".to_owned(),
            kind: TargetKind::Simulated,
            size_bytes: Bytes(1 << 30),
            device: None,
            filesystem: None,
            extents: None,
            file_hash: None,
            test_file: None,
        }],
        environment: None,
        findings: Vec::new(),
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
    }
}

pub(crate) fn simulated(device: &str, change: impl FnOnce(&mut Spec)) -> Trial {
    let mut spec = Spec::default();
    spec.asked.engine = EngineName::Sim;
    change(&mut spec);
    let workload = spec.build(Bytes(1 << 30)).unwrap();
    let mut backend = SimBackend::new(&SimSpec::parse(device).unwrap(), 1);
    let stop = AtomicBool::new(false);
    run_trial(&mut backend, &workload, (&workload, 1), identity(), &stop, &mut |_| ()).unwrap().0
}

pub(crate) fn file_backend(file: File) -> RealBackend {
    let files = BTreeMap::from([(CacheMode::All, vec![OwnedFile::from(file)])]);
    RealBackend::new(files, Box::new(NoProbe))
}

pub(crate) fn file_workload(bytes: u64, change: impl FnOnce(&mut Spec)) -> Workload {
    let runtime_ns = Nanos(100_000_000);
    let (cache, engine) = (CacheMode::All, DEFAULT_ENGINE);
    let asked = Workload { cache, engine, runtime_ns, ..Workload::default() };
    let mut spec = Spec::of(asked);
    change(&mut spec);
    spec.build(Bytes(bytes)).unwrap()
}

pub(crate) fn real(file: File, workload: &Workload) -> Result<Trial, TrialError> {
    let stop = AtomicBool::new(false);
    let asked = (workload, 1);
    run_trial(&mut file_backend(file), workload, asked, identity(), &stop, &mut |_| ())
        .map(|(trial, _)| trial)
}

pub(crate) fn full_file(bytes: usize) -> File {
    let file = scratch_file();
    write_all(&file, &vec![1; bytes], 0).unwrap();
    file
}

/// Asserts that rate and mean latency agree with theory, within the trial's own intervals (with a margin of
/// one half, because several intervals are checked).
pub(crate) fn assert_agrees(trial: &Trial, iops: f64, latency_ns: f64) {
    let read = trial.result.read.as_ref().unwrap();
    let latency = read.latency_ns.as_ref().unwrap();
    let rate_width = read.iops_ci95_rel.unwrap().max(1e-4) * 1.5;
    let latency_width = latency.mean_ci95_rel.unwrap().max(1e-4) * 1.5;
    assert!((read.iops / iops - 1.0).abs() < rate_width, "{} against {iops}", read.iops);
    let error = (latency.mean / latency_ns - 1.0).abs();
    assert!(error < latency_width, "{} against {latency_ns}", latency.mean);
    assert!(rate_width < 0.1 && latency_width < 0.1, "the intervals are useful");
}

/// A workload for a simulated device of 1 GiB.
pub(crate) fn sim_workload(change: impl FnOnce(&mut Spec)) -> Workload {
    let mut spec = Spec::default();
    spec.asked.engine = EngineName::Sim;
    change(&mut spec);
    spec.build(Bytes(1 << 30)).unwrap()
}

pub(crate) fn has(trial: &Trial, code: FindingCode) -> bool {
    trial.findings.iter().any(|finding| finding.code == code)
}

/// A backend that returns a given measurement, to get its document.
pub(crate) struct Made(pub(crate) Option<Measurement>, pub(crate) bool);

impl TrialBackend for Made {
    fn measure(
        &mut self,
        _: &Workload,
        _: u64,
        _: &AtomicBool,
        _: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        Ok(self.0.take().unwrap())
    }
    fn simulated(&self) -> bool {
        self.1
    }
}

pub(crate) fn document(measurement: Measurement, workload: &Workload) -> Trial {
    let mut backend = Made(Some(measurement), workload.engine == EngineName::Sim);
    let stop = AtomicBool::new(false);
    run_trial(&mut backend, workload, (workload, 1), identity(), &stop, &mut |_| ()).unwrap().0
}

/// A trial on a file, with engines that `open` opens.
pub(crate) fn real_on<E: Engine + 'static>(
    file: File,
    workload: &Workload,
    open: impl Fn(u32, &Setup) -> Result<E, EngineError> + Send + Sync + 'static,
) -> Result<Trial, TrialError> {
    let stop = AtomicBool::new(false);
    let mut backend = file_backend(file);
    let open: Opening<E> = Arc::new(open);
    let measured = backend.measure_on(workload, 1, &stop, &mut |_| (), &open)?;
    Ok(document(measured, workload))
}
