//! Dies and the channels that connect them: who works on what, and when it is over.
//!
//! A die does one thing at a time. A read senses the page and then sends the units asked for over
//! the channel; a program first takes the page over the channel; an erasure needs no channel. The
//! die is held throughout, the channel for the transfer, in order of request. The page sensed last
//! stays in the die's register until something is programmed or erased there, so that reads in
//! order sense each page once.
//!
//! Reads of the host may overtake what waits (`first`), or interrupt a program or an erasure under
//! way (`suspend`); after [`OVERTAKING_MAX`] of them what they overtook is done to its end, so that
//! writing goes on under any load of reads. Left out: registers that let a transfer overlap the
//! next sensing (cache read), planes that read independently, and read times that differ between
//! the pages of a cell.

use super::Event;
use super::geometry::Geometry;
use super::spec::{FlashSpec, ReadOrder};
use crate::event_queue::EventQueue;
use crate::slab::Slab;
use engine::{ComponentSample, PhaseSample};
use record::Nanos;

/// No operation, no page, no list.
pub(super) const NONE: u32 = u32::MAX;
/// From the moment of an interruption until the die can do something else. Assumed: makers publish
/// some tens of microseconds.
const SUSPEND_NS: u64 = 20_000;
/// Reads that one program or erasure lets pass.
const OVERTAKING_MAX: u32 = 16;

/// What a die is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// A read of the host.
    Read,
    /// A read of what a write of a part of a unit leaves as it was.
    Complete,
    /// A read of the collector.
    Collect,
    /// A program of what the host wrote.
    Program,
    /// A program of what the collector moves.
    Move,
    /// An erasure.
    Erase,
}

/// Names of the tasks as phases of a die, in their order.
const PHASES: [&str; 6] = ["read", "complete", "collect", "program", "move", "erase"];

/// An operation of a die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// The page; of an erasure the block.
    pub(super) page: u32,
    /// Units that go over the channel.
    pub(super) units: u32,
    /// Of a read the command, of a program the list of commands that wait for it.
    pub(super) owner: u32,
    /// Units of the write buffer that are free afterwards.
    pub(super) held: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    operation: Operation,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    fn push(&mut self, queue: &mut Slab<Queued>, number: u32) {
        if self.head == NONE {
            self.head = number;
        } else {
            queue.get_mut(self.tail).next = number;
        }
        self.tail = number;
    }

    fn pop(&mut self, queue: &mut Slab<Queued>) -> Option<Operation> {
        if self.head == NONE {
            return None;
        }
        let Queued { operation, next } = queue.take(self.head);
        self.head = next;
        Some(operation)
    }

    fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// Something that happens on a die; of no account if its epoch is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct DieEvent {
    die: u32,
    epoch: u32,
    what: DieStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DieStep {
    /// The page is in the register.
    Sensed,
    /// The page has come over the channel, and a read waits.
    Interruptible,
    /// The operation is over.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Die {
    /// What it does.
    now: Option<Operation>,
    began: Nanos,
    ends: Nanos,
    interruptible_from: Nanos,
    /// Counts operations and interruptions.
    epoch: u32,
    /// What was interrupted, with the time that it still needs.
    paused: Option<(Operation, u64)>,
    /// Reads that have overtaken what is to be done next.
    overtaken: u32,
    /// The page in the register.
    sensed: u32,
    reads: Fifo,
    others: Fifo,
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    free_at: Nanos,
    busy_ns: u64,
}

impl Channel {
    /// Sends for so long as soon as it is free; when that is over.
    fn send(&mut self, now: Nanos, ns: u64) -> Nanos {
        self.free_at = self.free_at.max(now).plus(Nanos(ns));
        self.busy_ns += ns;
        self.free_at
    }
}

/// All dies of a drive.
#[derive(Debug)]
pub(super) struct Dies {
    order: ReadOrder,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    /// Time of a number of units on the channel.
    units_ns: Vec<u64>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    queue: Slab<Queued>,
    busy_ns: [u64; PHASES.len()],
}

impl Dies {
    pub(super) fn new(spec: &FlashSpec, geometry: &Geometry) -> Self {
        let units_ns = |units: u64| {
            let bytes = u128::from(units * super::geometry::UNIT_BYTES);
            (bytes * 1_000_000_000 / u128::from(spec.channel_bytes_per_s)) as u64
        };
        let die = Die {
            now: None,
            began: Nanos(0),
            ends: Nanos(0),
            interruptible_from: Nanos(0),
            epoch: 0,
            paused: None,
            overtaken: 0,
            sensed: NONE,
            reads: Fifo::EMPTY,
            others: Fifo::EMPTY,
        };
        Self {
            order: spec.reads,
            read_ns: spec.read.0,
            program_ns: spec.program.0,
            erase_ns: geometry.erase_ns,
            units_ns: (0..=u64::from(geometry.page_units)).map(units_ns).collect(),
            dies: vec![die; geometry.dies as usize],
            channels: vec![Channel::default(); geometry.channels as usize],
            queue: Slab::default(),
            busy_ns: [0; PHASES.len()],
        }
    }

    /// Whether a die has nothing to do.
    pub(super) fn idle(&self, die: u32) -> bool {
        self.dies[die as usize].now.is_none()
    }

    /// The time that units take over a channel.
    pub(super) fn transfer(&self, units: u32) -> Nanos {
        Nanos(self.units_ns[units as usize])
    }

    /// Gives a die something to do.
    pub(super) fn submit(
        &mut self,
        now: Nanos,
        die: u32,
        operation: Operation,
        agenda: &mut EventQueue<Event>,
    ) {
        let state = &mut self.dies[die as usize];
        if state.now.is_none() {
            // A die with nothing under way has nothing that waits, either.
            self.begin(now, die, operation, agenda);
            return;
        }
        let number = self.queue.insert(Queued { operation, next: NONE });
        if self.order == ReadOrder::Queued || operation.task != Task::Read {
            state.others.push(&mut self.queue, number);
            return;
        }
        state.reads.push(&mut self.queue, number);
        let (from, epoch) = (state.interruptible_from, state.epoch);
        if self.order == ReadOrder::Suspend && self.can_interrupt(now, die) {
            if from <= now {
                self.interrupt(now, die, agenda);
            } else {
                let what = DieStep::Interruptible;
                agenda.push(from, Event::Die(DieEvent { die, epoch, what }));
            }
        }
    }

    /// Lets an event happen; the operation that it ended. The die has gone on with its next.
    pub(super) fn happen(
        &mut self,
        now: Nanos,
        event: DieEvent,
        agenda: &mut EventQueue<Event>,
    ) -> Option<(u32, Operation)> {
        let DieEvent { die, epoch, what } = event;
        let state = &mut self.dies[die as usize];
        let operation = state.now?;
        if state.epoch != epoch {
            return None;
        }
        match what {
            DieStep::Sensed => {
                self.send(now, die, operation.units, agenda);
                None
            }
            DieStep::Interruptible => {
                if !state.reads.is_empty() && self.can_interrupt(now, die) {
                    self.interrupt(now, die, agenda);
                }
                None
            }
            DieStep::Over => {
                self.busy_ns[operation.task as usize] += now.since(state.began).0;
                state.now = None;
                if operation.task != Task::Read {
                    state.overtaken = 0;
                }
                self.go_on(now, now, die, agenda);
                Some((die, operation))
            }
        }
    }

    /// Busy time of dies and channels.
    pub(super) fn uses(&self) -> [ComponentSample; 2] {
        let phases = PHASES.iter().zip(self.busy_ns);
        let dies = ComponentSample {
            name: "flash dies".to_owned(),
            units: self.dies.len() as u32,
            busy_ns: self.busy_ns.iter().sum(),
            phases: phases.map(|(&name, busy_ns)| PhaseSample { name, busy_ns }).collect(),
        };
        let channels = ComponentSample {
            name: "flash channels".to_owned(),
            units: self.channels.len() as u32,
            busy_ns: self.channels.iter().map(|channel| channel.busy_ns).sum(),
            phases: Vec::new(),
        };
        [dies, channels]
    }

    /// Whether what a die does lets a read pass, and it is worth the time.
    fn can_interrupt(&self, now: Nanos, die: u32) -> bool {
        let state = &self.dies[die as usize];
        state.now.is_some_and(|operation| !is_read(operation.task))
            && state.paused.is_none()
            && state.overtaken < OVERTAKING_MAX
            && state.ends.since(now.max(state.interruptible_from)).0 > SUSPEND_NS
    }

    fn interrupt(&mut self, now: Nanos, die: u32, agenda: &mut EventQueue<Event>) {
        let state = &mut self.dies[die as usize];
        let Some(operation) = state.now.take() else { return };
        self.busy_ns[operation.task as usize] += now.since(state.began).0;
        state.paused = Some((operation, state.ends.since(now).0));
        state.epoch = state.epoch.wrapping_add(1);
        self.go_on(now, now.plus(Nanos(SUSPEND_NS)), die, agenda);
    }

    /// Lets a die that has ended something go on with what is next, from `at`.
    fn go_on(&mut self, now: Nanos, at: Nanos, die: u32, agenda: &mut EventQueue<Event>) {
        let state = &mut self.dies[die as usize];
        let overtakes = state.paused.is_some() || !state.others.is_empty();
        if (!overtakes || state.overtaken < OVERTAKING_MAX)
            && let Some(read) = state.reads.pop(&mut self.queue)
        {
            state.overtaken += u32::from(overtakes);
            self.begin(at, die, read, agenda);
        } else if let Some((operation, left_ns)) = state.paused.take() {
            state.now = Some(operation);
            state.began = now;
            state.interruptible_from = now;
            state.epoch = state.epoch.wrapping_add(1);
            self.end_at(now.plus(Nanos(left_ns)), die, agenda);
        } else if let Some(operation) = state.others.pop(&mut self.queue) {
            self.begin(at, die, operation, agenda);
        }
    }

    fn begin(&mut self, at: Nanos, die: u32, operation: Operation, agenda: &mut EventQueue<Event>) {
        let channel = die as usize % self.channels.len();
        let state = &mut self.dies[die as usize];
        state.now = Some(operation);
        state.began = at;
        state.epoch = state.epoch.wrapping_add(1);
        match operation.task {
            Task::Read | Task::Complete | Task::Collect => {
                if state.sensed == operation.page {
                    self.send(at, die, operation.units, agenda);
                } else {
                    state.sensed = operation.page;
                    let event = DieEvent { die, epoch: state.epoch, what: DieStep::Sensed };
                    agenda.push(at.plus(Nanos(self.read_ns)), Event::Die(event));
                }
            }
            Task::Program | Task::Move => {
                state.sensed = NONE;
                let ns = self.units_ns[operation.units as usize];
                state.interruptible_from = self.channels[channel].send(at, ns);
                let ends = state.interruptible_from.plus(Nanos(self.program_ns));
                self.end_at(ends, die, agenda);
            }
            Task::Erase => {
                state.sensed = NONE;
                state.interruptible_from = at;
                self.end_at(at.plus(Nanos(self.erase_ns)), die, agenda);
            }
        }
    }

    /// Sends what was sensed over the channel, which ends the read.
    fn send(&mut self, at: Nanos, die: u32, units: u32, agenda: &mut EventQueue<Event>) {
        let channel = die as usize % self.channels.len();
        let ends = self.channels[channel].send(at, self.units_ns[units as usize]);
        self.end_at(ends, die, agenda);
    }

    fn end_at(&mut self, ends: Nanos, die: u32, agenda: &mut EventQueue<Event>) {
        let state = &mut self.dies[die as usize];
        state.ends = ends;
        let event = DieEvent { die, epoch: state.epoch, what: DieStep::Over };
        agenda.push(ends, Event::Die(event));
    }
}

fn is_read(task: Task) -> bool {
    matches!(task, Task::Read | Task::Complete | Task::Collect)
}
