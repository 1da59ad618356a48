//! Simulates dies and the channels that connect them: what each does, and when it ends.
//!
//! A die does one thing at a time. A read senses the page, unless it was the last one sensed, and then
//! sends the requested units over the channel. A program first receives the page over the channel. The die
//! is occupied throughout, the channel only for the transfer. Reads of the host may overtake waiting
//! operations (`first`) or interrupt a program or an erasure (`suspend`). After [`OVERTAKING_MAX`] of them
//! the overtaken operation runs to its end, so that writing progresses under any load of reads. Not
//! modelled: registers that let a transfer overlap the next sensing, planes that read independently, and
//! read times that differ between the pages of a cell.

use super::Event;
use super::geometry::Geometry;
use super::spec::{FlashSpec, ReadOrder};
use crate::device::component;
use crate::event_queue::EventQueue;
use crate::server::Server;
use engine::ComponentSample;
use record::Nanos;
use std::collections::VecDeque;

/// Time from an interruption until the die can do something else. Assumed: manufacturers publish some tens
/// of microseconds.
const SUSPEND_NS: u64 = 20_000;
/// Reads that may overtake one program or erasure.
const OVERTAKING_MAX: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Read,
    /// A read before a write that covers only part of a unit.
    Complete,
    Collect,
    Program,
    Move,
    Erase,
}

/// Names of the tasks as phases of a die, in their order.
const PHASES: [&str; 6] = ["read", "complete", "collect", "program", "move", "erase"];

#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// The page, or the block of an erasure.
    pub(super) page: u32,
    /// Units that cross the channel.
    pub(super) units: u32,
    /// The command of a read, or the list of waiting commands of a program.
    pub(super) owner: u32,
}

/// An event on a die; ignored if its epoch has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct DieEvent {
    die: u32,
    epoch: u32,
    what: DieStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DieStep {
    Sensed,
    /// The page has crossed the channel, and a read waits.
    Interruptible,
    Over,
}

#[derive(Clone, Debug, Default)]
struct Die {
    now: Option<Operation>,
    began: Nanos,
    ends: Nanos,
    interruptible_from: Nanos,
    /// Counts operations and interruptions.
    epoch: u32,
    /// The interrupted operation, with the time that it still needs.
    paused: Option<(Operation, u64)>,
    /// Reads that have overtaken the next operation.
    overtaken: u32,
    /// The page in the register, plus one.
    sensed: u32,
    reads: VecDeque<Operation>,
    others: VecDeque<Operation>,
}

#[derive(Debug, Default)]
pub(super) struct Dies {
    order: ReadOrder,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    /// Channel time by number of units.
    units_ns: Vec<u64>,
    dies: Vec<Die>,
    channels: Vec<Server>,
    busy_ns: [u64; PHASES.len()],
    /// Events in the drive, most of them on dies.
    pub(super) agenda: EventQueue<Event>,
}

impl Dies {
    pub(super) fn new(spec: &FlashSpec, geometry: &Geometry) -> Self {
        let units_ns = |units: u64| {
            let bytes = u128::from(units * super::geometry::UNIT_BYTES);
            (bytes * 1_000_000_000 / u128::from(spec.channel_bytes_per_s)) as u64
        };
        Self {
            order: spec.reads,
            read_ns: spec.read.0,
            program_ns: spec.program.0,
            erase_ns: geometry.erase_ns,
            units_ns: (0..=u64::from(geometry.page_units)).map(units_ns).collect(),
            dies: vec![Die::default(); geometry.dies as usize],
            channels: vec![Server::default(); geometry.channels as usize],
            ..Self::default()
        }
    }

    pub(super) fn idle(&self, die: u32) -> bool {
        self.dies[die as usize].now.is_none()
    }

    /// The time that units take on a channel.
    pub(super) fn transfer(&self, units: u32) -> Nanos {
        Nanos(self.units_ns[units as usize])
    }

    pub(super) fn submit(&mut self, now: Nanos, die: u32, operation: Operation) {
        let state = &mut self.dies[die as usize];
        if state.now.is_none() {
            // An idle die has no waiting operations either.
            self.begin(now, die, operation);
            return;
        }
        if self.order == ReadOrder::Queued || operation.task != Task::Read {
            state.others.push_back(operation);
            return;
        }
        state.reads.push_back(operation);
        let (from, epoch) = (state.interruptible_from, state.epoch);
        if self.order == ReadOrder::Suspend && self.can_interrupt(now, die) {
            if from <= now {
                self.interrupt(now, die);
            } else {
                let what = DieStep::Interruptible;
                self.agenda.push(from, Event::Die(DieEvent { die, epoch, what }));
            }
        }
    }

    /// Handles an event; returns the operation that it ended. The die has already started the next one.
    pub(super) fn happen(&mut self, now: Nanos, event: DieEvent) -> Option<(u32, Operation)> {
        let DieEvent { die, epoch, what } = event;
        let state = &mut self.dies[die as usize];
        let operation = state.now?;
        if state.epoch != epoch {
            return None;
        }
        match what {
            DieStep::Sensed => self.send(now, die, operation.units),
            DieStep::Interruptible => {
                if !state.reads.is_empty() && self.can_interrupt(now, die) {
                    self.interrupt(now, die);
                }
            }
            DieStep::Over => {
                self.busy_ns[operation.task as usize] += now.since(state.began).0;
                state.now = None;
                if operation.task != Task::Read {
                    state.overtaken = 0;
                }
                self.go_on(now, now, die);
                return Some((die, operation));
            }
        }
        None
    }

    pub(super) fn uses(&self) -> [ComponentSample; 2] {
        let phases: Vec<_> = PHASES.into_iter().zip(self.busy_ns).collect();
        let sent_ns = self.channels.iter().map(|channel| channel.busy_ns).sum();
        [
            component("flash dies", self.dies.len() as u32, self.busy_ns.iter().sum(), &phases),
            component("flash channels", self.channels.len() as u32, sent_ns, &[]),
        ]
    }

    /// Whether the operation of a die lets a read interrupt it, and that is worth the time.
    fn can_interrupt(&self, now: Nanos, die: u32) -> bool {
        let state = &self.dies[die as usize];
        let may_wait = |task| matches!(task, Task::Program | Task::Move | Task::Erase);
        state.now.is_some_and(|operation| may_wait(operation.task))
            && state.paused.is_none()
            && state.overtaken < OVERTAKING_MAX
            && state.ends.since(now.max(state.interruptible_from)).0 > SUSPEND_NS
    }

    fn interrupt(&mut self, now: Nanos, die: u32) {
        let state = &mut self.dies[die as usize];
        let Some(operation) = state.now.take() else { return };
        self.busy_ns[operation.task as usize] += now.since(state.began).0;
        state.paused = Some((operation, state.ends.since(now).0));
        state.epoch = state.epoch.wrapping_add(1);
        self.go_on(now, now.plus(Nanos(SUSPEND_NS)), die);
    }

    /// Starts the next operation of a die that has ended one, from `at`.
    fn go_on(&mut self, now: Nanos, at: Nanos, die: u32) {
        let state = &mut self.dies[die as usize];
        let overtakes = state.paused.is_some() || !state.others.is_empty();
        if (!overtakes || state.overtaken < OVERTAKING_MAX)
            && let Some(read) = state.reads.pop_front()
        {
            state.overtaken += u32::from(overtakes);
            self.begin(at, die, read);
        } else if let Some((operation, left_ns)) = state.paused.take() {
            state.now = Some(operation);
            state.began = now;
            state.interruptible_from = now;
            state.epoch = state.epoch.wrapping_add(1);
            self.end_at(now.plus(Nanos(left_ns)), die);
        } else if let Some(operation) = state.others.pop_front() {
            self.begin(at, die, operation);
        }
    }

    fn begin(&mut self, at: Nanos, die: u32, operation: Operation) {
        let channel = die as usize % self.channels.len();
        let state = &mut self.dies[die as usize];
        state.now = Some(operation);
        state.began = at;
        state.epoch = state.epoch.wrapping_add(1);
        match operation.task {
            Task::Read | Task::Complete | Task::Collect => {
                if state.sensed == operation.page + 1 {
                    self.send(at, die, operation.units);
                } else {
                    state.sensed = operation.page + 1;
                    let event = DieEvent { die, epoch: state.epoch, what: DieStep::Sensed };
                    self.agenda.push(at.plus(Nanos(self.read_ns)), Event::Die(event));
                }
            }
            Task::Program | Task::Move => {
                state.sensed = 0;
                let ns = self.units_ns[operation.units as usize];
                state.interruptible_from = Nanos(self.channels[channel].serve(at.0, ns));
                let ends = state.interruptible_from.plus(Nanos(self.program_ns));
                self.end_at(ends, die);
            }
            Task::Erase => {
                state.sensed = 0;
                state.interruptible_from = at;
                self.end_at(at.plus(Nanos(self.erase_ns)), die);
            }
        }
    }

    /// Sends the sensed units over the channel, which ends the read.
    fn send(&mut self, at: Nanos, die: u32, units: u32) {
        let channel = die as usize % self.channels.len();
        let ends = self.channels[channel].serve(at.0, self.units_ns[units as usize]);
        self.end_at(Nanos(ends), die);
    }

    fn end_at(&mut self, ends: Nanos, die: u32) {
        let state = &mut self.dies[die as usize];
        state.ends = ends;
        let event = DieEvent { die, epoch: state.epoch, what: DieStep::Over };
        self.agenda.push(ends, Event::Die(event));
    }
}
