//! Tests when the counters around a run are read.

use crate::common::{NoProbe, document, file_workload, full_file, has};
use crate::faulty::{Fault, Faulty};
use engine::{
    DeviceSample, NullEngine, OpenEngine, OwnedFile, Probe, ProbeFacts, ProbeSample, Setup,
};
use record::{CacheMode, FindingCode, Flush, FlushKind, Measured, Nanos, Trial};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use trial::{Opening, RealBackend, validity};

const BLOCK: u64 = 4_096;

/// Counts the requests of the engine, and is read late, as on a machine whose processors are busy.
struct LateProbe(Arc<AtomicU64>);

impl Probe for LateProbe {
    fn sample(&mut self) -> ProbeSample {
        std::thread::sleep(Duration::from_millis(50));
        let ios = self.0.load(Ordering::SeqCst);
        let device = DeviceSample {
            device: "counted".to_owned(),
            ios: [ios, 0, 0],
            bytes: [ios * BLOCK, 0, 0],
            ..DeviceSample::default()
        };
        ProbeSample { device: Some(device), ..ProbeSample::default() }
    }
    fn facts(&self) -> ProbeFacts {
        NoProbe.facts()
    }
}

/// A run of a mebibyte whose counters are read a second late at the end.
fn counted_late() -> Trial {
    let counted = Arc::new(AtomicU64::new(0));
    let file = BTreeMap::from([(CacheMode::All, vec![OwnedFile::from(full_file(1 << 20))])]);
    let mut backend = RealBackend::new(file, Box::new(LateProbe(Arc::clone(&counted))));
    let workload = file_workload(1 << 20, |spec| {
        spec.asked.stop.passes = Some(1);
        spec.asked.runtime_ns = Nanos(60_000_000_000);
    });
    let open: Opening<_> = Arc::new(move |_, setup: &Setup| {
        let counted = Arc::clone(&counted);
        Ok(Faulty::new(NullEngine::open(setup)?, move |_, _: &_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Fault::None
        }))
    });
    let stop = AtomicBool::new(false);
    let mut measured = backend.measure_on(&workload, 1, &stop, &mut |_| (), &open).unwrap();
    let bytes = |sample: &ProbeSample| sample.device.as_ref().unwrap().bytes[0];
    assert_eq!((bytes(&measured.before[0]), bytes(&measured.after)), (0, 1 << 20));
    // If the run completed all of its requests, the last reading may be late.
    measured.after.at = Nanos(measured.end.0 + 1_000_000_000);
    measured.before[0].at = measured.window.begin;
    document(measured, &workload)
}

#[test]
fn a_short_run_is_counted_from_its_first_byte_however_late_the_counters_are_read() {
    let trial = counted_late();
    assert_eq!(trial.device_counters.value().unwrap().ratio_bytes, Some(1.0));
}

#[test]
fn what_a_journal_writes_beside_flushed_writes_is_not_of_others() {
    let mut trial = counted_late();
    trial.workload.cache = CacheMode::Device;
    trial.workload.read_percent = 0;
    let mut counters = trial.device_counters.value().unwrap().clone();
    (counters.bytes, counters.ratio_bytes) = (2 * counters.bytes, Some(2.0));
    trial.device_counters = Measured::Value(counters);
    let mut others = |flush: Option<Flush>| {
        trial.workload.flush = flush;
        trial.findings = validity::findings(&trial);
        has(&trial, FindingCode::ForeignIo)
    };
    assert!(others(None));
    assert!(!others(Some(Flush { kind: FlushKind::Fdatasync, every: 8 })));
}
