//! Jobs on one thread, against a simulated device in virtual time.

use crate::{JobTally, Measurement, Rig, Step, TrialError, Window, Worker};
use engine::Probe;
use record::{EngineName, Nanos, Workload};
use simdisk::{DeviceSpec, QueueDevice, Room, SimClock, SimEngine, SimProbe};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use workload::RequestStream;

/// Runs workloads on one simulated device, whose state and time go on from trial to trial.
#[derive(Debug)]
pub struct SimRig {
    room: Rc<RefCell<Room>>,
}

impl SimRig {
    /// A rig with a fresh device; `seed` makes its service times.
    #[must_use]
    pub fn new(spec: &DeviceSpec, seed: u64) -> Self {
        Self { room: Rc::new(RefCell::new(Room::new(QueueDevice::new(spec, seed)))) }
    }
}

type SimWorker<'a> = Worker<'a, SimEngine, SimClock>;

impl Rig for SimRig {
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        _tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        if workload.engine != EngineName::Sim {
            return Err(TrialError::WrongEngine(workload.engine.name()));
        }
        let begin = self.room.borrow().now().plus(workload.ramp_ns);
        let window = Window { begin, end: begin.plus(workload.runtime_ns) };
        self.room.borrow_mut().admit(workload.numjobs);
        let mut workers: Vec<SimWorker<'_>> = (0..workload.numjobs)
            .map(|job| {
                let stream = RequestStream::new(workload, seed, job);
                let engine = SimEngine::new(&self.room, job);
                let clock = SimClock::new(&self.room);
                Worker::new(engine, clock, stream, workload.iodepth, window, stop)
            })
            .collect();
        let mut probe = SimProbe::new(&self.room);
        let samples = self.drive(&mut workers, window, &mut probe)?;
        if stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let mut tally = JobTally::new();
        for worker in workers {
            tally.merge(&worker.finish());
        }
        Ok(Measurement {
            window,
            tally,
            samples,
            cpu_split: probe.cpu_split(),
            no_device_reason: probe.no_device_reason(),
            no_cpu_reason: probe.no_cpu_reason(),
            harness: None,
        })
    }

    fn simulated(&self) -> bool {
        true
    }
}

impl SimRig {
    /// Steps the jobs in order of (virtual time, index) until all are done.
    fn drive(
        &self,
        workers: &mut [SimWorker<'_>],
        window: Window,
        probe: &mut SimProbe,
    ) -> Result<[engine::ProbeSample; 2], TrialError> {
        let mut samples = Vec::with_capacity(2);
        let mut sample_times = vec![window.end, window.begin];
        loop {
            let mut all_done = true;
            for worker in &mut *workers {
                loop {
                    match worker.step()? {
                        Step::Progress => {}
                        Step::Blocked => {
                            all_done = false;
                            break;
                        }
                        Step::Done => break,
                    }
                }
            }
            let next = self.room.borrow().next_event();
            let until = if all_done { Nanos(u64::MAX) } else { next.ok_or(TrialError::Lost)? };
            while let Some(time) = sample_times.pop_if(|time| *time <= until) {
                self.room.borrow_mut().advance(time);
                samples.push(probe.sample());
            }
            if all_done {
                return samples.try_into().map_err(|_| TrialError::Lost);
            }
            self.room.borrow_mut().advance(until);
        }
    }
}
