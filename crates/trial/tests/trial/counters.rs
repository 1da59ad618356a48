//! When the counters around a run are read.

use crate::common::{NoProbe, document, file_workload, full_file};
use crate::faulty::{Fault, Faulty};
use engine::{DeviceSample, NullEngine, OpenEngine, Probe, ProbeFacts, ProbeSample, Setup};
use record::{CacheMode, Nanos};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use trial::{Opening, RealBackend};

const BLOCK: u64 = 4_096;

/// Counts what the engine was given, and is read as late as on a machine whose processors are busy.
struct LateProbe(Arc<AtomicU64>);

impl Probe for LateProbe {
    fn sample(&mut self) -> ProbeSample {
        std::thread::sleep(Duration::from_millis(50));
        let ios = self.0.load(Ordering::SeqCst);
        let device = DeviceSample {
            device: "counted".to_owned(),
            ios: [ios, 0],
            bytes: [ios * BLOCK, 0],
            ..DeviceSample::default()
        };
        ProbeSample { device: Some(device), ..ProbeSample::default() }
    }
    fn facts(&self) -> ProbeFacts {
        NoProbe.facts()
    }
}

#[test]
fn a_short_run_is_counted_from_its_first_byte_however_late_the_counters_are_read() {
    let counted = Arc::new(AtomicU64::new(0));
    let file = BTreeMap::from([(CacheMode::All, vec![OwnedFd::from(full_file(1 << 20))])]);
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
    // Of a run that did all that it was asked for, the last reading may be late as well.
    measured.after.at = Nanos(measured.end.0 + 1_000_000_000);
    measured.before[0].at = measured.window.begin;
    let trial = document(measured, &workload);
    let counters = trial.device_counters.value().unwrap();
    assert_eq!(counters.ratio_bytes, Some(1.0));
}
