//! Engine, clock and probe of a simulated device: handles to one shared [`SimHost`].

use crate::device::{HOST_CPU, PROCESS};
use crate::sim_host::SimHost;
use engine::{
    Clock, Completion, ComponentSample, CpuSample, Engine, EngineError, Probe, ProbeFacts,
    ProbeSample, Processors, Submission, Wait,
};
use record::{CpuSplit, FlushKind, Nanos};
use std::cell::RefCell;
use std::rc::Rc;

/// The engine of one simulated job.
#[derive(Clone, Debug)]
pub struct SimEngine {
    host: Rc<RefCell<SimHost>>,
    job: u32,
    prepared: Vec<Submission>,
}

impl SimEngine {
    /// The engine of job `job`.
    #[must_use]
    pub fn new(host: &Rc<RefCell<SimHost>>, job: u32) -> Self {
        Self { host: Rc::clone(host), job, prepared: Vec::new() }
    }
}

impl Engine for SimEngine {
    fn prepare(&mut self, requests: &[Submission]) {
        self.prepared.extend_from_slice(requests);
    }

    fn flush(&mut self, slot: u32, _kind: FlushKind) {
        self.host.borrow_mut().refuse(self.job, slot);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        let mut host = self.host.borrow_mut();
        for submission in self.prepared.drain(..) {
            host.arrive(self.job, &submission);
        }
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.hand_over()?;
        let mut host = self.host.borrow_mut();
        host.collect(self.job, ask.max, done);
        host.wake_at(self.job, ask.deadline);
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        vec!["virtual time".to_owned()]
    }
}

/// Reads the virtual time.
#[derive(Clone, Debug)]
pub struct SimClock(pub(crate) Rc<RefCell<SimHost>>);

impl Clock for SimClock {
    fn now(&self) -> Nanos {
        self.0.borrow().now()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SimProbe(pub(crate) Rc<RefCell<SimHost>>);

/// The processors of the simulated host, if they are modelled.
fn host_cpu(components: &[ComponentSample]) -> Option<&ComponentSample> {
    components.iter().find(|component| component.name == HOST_CPU)
}

impl Probe for SimProbe {
    fn sample(&mut self) -> ProbeSample {
        let host = self.0.borrow();
        let components = host.components();
        // The modelled CPU time is system work: file layer, drivers, interrupts.
        let cpu = host_cpu(&components).map(|host| {
            let process = host.phases.iter().find(|phase| phase.name == PROCESS);
            let system_ns = process.map_or(host.busy_ns, |phase| phase.busy_ns);
            CpuSample { system_ns, ..CpuSample::default() }
        });
        ProbeSample { at: host.now(), cpu, device: Some(host.counters()), components }
    }

    fn facts(&self) -> ProbeFacts {
        let components = self.0.borrow().components();
        ProbeFacts {
            cpu_split: CpuSplit::Modelled,
            processors: Processors {
                usable: host_cpu(&components).map_or(0.0, |host| f64::from(host.units)),
                clock: None,
                no_instructions_reason: "CPU time is modelled".to_owned(),
            },
            no_device_reason: "the simulated device keeps no counters".to_owned(),
            no_cpu_reason: "a simulated trial uses no CPU time".to_owned(),
            cpu_step_ns: 0,
        }
    }
}
