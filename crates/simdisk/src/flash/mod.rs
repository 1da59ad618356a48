//! Simulates a flash drive: a controller behind a link, a write buffer, channels and dies, and a map. The
//! drive writes all data to a new place and collects the remains of old ones.
//!
//! A command passes the controller, then takes a fixed delay (in parallel with others). A read goes to the
//! dies that hold its units and returns over the link. Units that were never written, or are still in the
//! buffer, need no die. A write waits for room in the buffer and crosses the link, and is then done. If it
//! must reach the flash, it is done when its pages are programmed. Garbage collection begins when free
//! blocks run low (`collect`); from then on the host gets as many slots as collection frees.
//!
//! Not modelled: an SLC cache, overwriting within the buffer, read-ahead, a map on the flash, wear, read
//! disturb, retries, errors, and trimming (`preconditioned=fresh` is the drive afterwards). Rejected:
//! service times drawn from a measured distribution, which are valid only for the load at which they were
//! measured.

mod collect;
mod commands;
mod dies;
mod geometry;
mod link;
mod mapping;
mod spec;
mod start;
mod write;

use crate::device::{Arrival, Conditions, Device, Ended, component};
use crate::server::Server;
use crate::slab::Slab;
use collect::Collector;
use commands::Command;
use dies::{DieEvent, Dies, Operation, Task};
use engine::ComponentSample;
use geometry::{Geometry, UNIT_BYTES};
use link::{Line, Link};
use mapping::Mapping;
use record::{CacheMode, Nanos, OpKind};
use std::collections::VecDeque;

pub use spec::{FlashSpec, ReadOrder, Start};
pub(crate) use spec::{KEYS, KINDS, keys_with_defaults};

const NEVER: Nanos = Nanos(u64::MAX);

#[derive(Clone, Copy, Debug)]
enum Event {
    Done(u32),
    Die(DieEvent),
    /// Checks whether the drive is idle.
    Rested,
}

/// Units of 4 KiB written so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// By the host.
    pub host: u64,
    /// By the collector.
    pub moved: u64,
    /// Left empty because a page had to be programmed before it was full.
    pub padded: u64,
}

/// The buffer units that a page of the host holds, and the commands that wait for the page.
#[derive(Debug, Default)]
struct PageOwners {
    units: u32,
    waiters: Vec<u32>,
}

/// A flash drive.
#[derive(Debug, Default)]
pub struct FlashDevice {
    spec: FlashSpec,
    mapping: Mapping,
    dies: Dies,
    /// Pages whose data is still in the controller, one bit each.
    buffered: Vec<u64>,
    controller: Server,
    /// Commands that have passed the controller, in their fixed delay.
    passed: Line<u32>,
    link: Link,
    /// Units of writes on the link, each with its command.
    sent: Line<(u32, u32)>,
    done_now: Vec<u32>,
    commands: Slab<Command>,
    /// Number of commands that the drive has accepted.
    taken: u32,
    outside: VecDeque<u32>,
    writers: VecDeque<u32>,
    room: u32,
    /// Slots promised to writes that are entering the buffer.
    reserved: u32,
    /// Whether writes of this trial must reach the flash before they are done.
    forced: bool,
    /// Owners of the host's open page.
    open: PageOwners,
    /// Owners of pages that are being programmed.
    waiters: Slab<PageOwners>,
    collector: Collector,
    written: Written,
}

impl FlashDevice {
    /// A drive in its state at time zero; `seed` places the data if that is random.
    #[must_use]
    pub fn new(spec: &FlashSpec, seed: u64) -> Self {
        let geometry = Geometry::new(spec);
        let pages = geometry.slots() / geometry.page_units;
        let dies = Dies::new(spec, &geometry);
        let collector = Collector::new(&geometry, spec.gc);
        let mut mapping = Mapping::new(geometry);
        start::lay_out(&mut mapping, spec.start, seed);
        Self {
            mapping,
            dies,
            buffered: vec![0; (pages as usize).div_ceil(64)],
            link: Link::new(spec.link_bytes_per_s, spec.duplex),
            room: (spec.buffer.0 / UNIT_BYTES) as u32,
            collector,
            spec: spec.clone(),
            ..Self::default()
        }
    }

    /// Units written so far.
    #[must_use]
    pub fn written(&self) -> Written {
        self.written
    }

    /// Units that can be programmed before a block must be erased.
    #[must_use]
    pub fn free_units(&self) -> u64 {
        self.mapping.free_slots()
    }

    /// Whether every unit is where the map says, and no slot holds a unit that is elsewhere.
    #[must_use]
    pub fn map_is_consistent(&self) -> bool {
        let map = &self.mapping;
        let found = |unit: &u32| map.slot(*unit).is_some();
        let written = (0..map.geometry.units).filter(found);
        let right =
            written.clone().all(|unit| map.slot(unit).and_then(|it| map.unit(it)) == Some(unit));
        let held = (0..map.geometry.slots()).filter(|&slot| map.unit(slot).is_some());
        right && held.count() == written.count()
    }

    fn is_buffered(&self, page: u32) -> bool {
        self.buffered[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Marks whether a page's data is in the controller.
    fn set_buffered(&mut self, page: u32, is: bool) {
        let word = &mut self.buffered[page as usize / 64];
        *word = *word & !(1 << (page % 64)) | u64::from(is) << (page % 64);
    }

    fn submit(&mut self, now: Nanos, operation: Operation) {
        let die = self.mapping.geometry.die_of_page(operation.page);
        self.dies.submit(now, die, operation);
    }

    fn happen(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Done(command) => self.done_now.push(command),
            Event::Rested => self.rested(now),
            Event::Die(event) => {
                if let Some((die, operation)) = self.dies.happen(now, event) {
                    self.over(now, die, operation);
                }
            }
        }
    }

    fn over(&mut self, now: Nanos, die: u32, operation: Operation) {
        match operation.task {
            Task::Read => self.read_over(now, operation),
            Task::Complete => self.line_up(now, operation.owner),
            Task::Collect => self.collected(now, operation),
            Task::Program => self.programmed(now, operation),
            Task::Move => self.moved(now, operation.page),
            Task::Erase => self.erased(now, operation.page),
        }
        self.close_if_idle(now, die);
    }
}

impl Device for FlashDevice {
    fn begin(&mut self, conditions: &Conditions) {
        let through = matches!(conditions.cache, CacheMode::Fs | CacheMode::None);
        self.forced = through && !self.spec.plp;
    }

    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        let command = self.commands.insert(Command::new(arrival));
        if self.taken < self.spec.queue {
            self.take_in(now, command);
        } else {
            self.outside.push_back(command);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        let in_lines = self.passed.next_at().min(self.sent.next_at());
        let next = self.dies.agenda.next_at().map_or(in_lines, |at| at.min(in_lines));
        (next != NEVER).then_some(next)
    }

    #[inline]
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos> {
        let next = self.next_event().filter(|&next| next <= until)?;
        // At the same time: dies and links first, then new requests.
        if let Some((now, event)) = self.dies.agenda.pop_until(next) {
            self.happen(now, event);
        } else if self.sent.next_at() == next {
            if let Some((now, (command, units))) = self.sent.pop() {
                self.place(now, command, units);
            }
        } else if let Some((now, command)) = self.passed.pop() {
            match self.commands[command].op {
                OpKind::Read => self.read(now, command),
                OpKind::Write => self.write(now, command),
            }
        }
        for index in 0..self.done_now.len() {
            ended.push(self.done(next, self.done_now[index]));
        }
        self.done_now.clear();
        Some(next)
    }

    fn size(&self) -> u64 {
        self.spec.size.0
    }

    fn uses(&self) -> Vec<ComponentSample> {
        let mut uses = vec![component("controller", 1, self.controller.busy_ns, &[])];
        uses.extend(self.link.samples());
        uses.extend(self.dies.uses());
        uses
    }
}
