//! Simulates a machine with disk drives: from the application's request to the medium and back.
//!
//! A request goes to the file layer, which requests block transfers and CPU time. A block goes to the
//! volume, which divides it into stages of pieces. A piece is a command to one drive and crosses bus,
//! adapter, PCI and memory (`path`). The cost of simulating a request is that of its events; each is a step
//! in a heap with a few entries per drive. Rejected: a process per drive with messages (the scheduler would
//! decide the order of events), and formulae for queues (they hold for one load each).

mod build;
mod path;
mod remote;
mod spec;

pub(crate) use spec::{KEYS, KINDS};
pub use spec::{Location, MachineSpec};

use crate::bus::{Bus, PHASES};
use crate::device::{Arrival, Conditions, Device, Ended, HOST_CPU, PROCESS, Rebuilding, component};
use crate::drive::{Ask, Command};
use crate::event_queue::EventQueue;
use crate::files::{FileAction, FileLayer};
use crate::rebuild::Rebuild;
use crate::server::{Lane, Processors, Server};
use crate::slab::Slab;
use engine::ComponentSample;
use path::Port;
use record::{Nanos, OpKind};
use remote::Remote;
use workload::volume::{DiskLoad, Plan, Raid, Volume};

/// Minimum time of a call without disk access, even on an ideal host. Otherwise a program would make a
/// billion such calls per second from the page cache, and its trial would not end.
const CALL_NS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A processor has done the work that an action waits for.
    Act(u32),
    /// The adapter hands a piece to its drive.
    Issue(u32),
    Bus(u32),
    Interface(u32),
    Mechanism(u32),
    Parity(u32),
    Rebuild,
    /// The data of a block has crossed to or from an external disk array.
    Crossed(u32),
    /// A client's request is in memory.
    TakenIn(u32),
    /// The reply to a client is in the network card.
    Leaves(u32),
}

/// Part of a block that is one command.
#[derive(Clone, Copy, Debug)]
struct Io {
    block: u32,
    drive: u32,
    command: Command,
}

#[derive(Debug, Default)]
struct Block {
    /// Whether it is a step of the rebuild; its offset is then that on the failed disk.
    step: bool,
    tag: u32,
    write: bool,
    forced: bool,
    /// Whether it waited for another block, whose end started it.
    waited: bool,
    offset: u64,
    bytes: u32,
    plan: Plan,
    stage: usize,
    /// Pieces of the current stage that are not done.
    left: u32,
}

/// A machine.
#[derive(Debug)]
pub struct Machine {
    spec: MachineSpec,
    agenda: EventQueue<Event>,
    files: FileLayer,
    volume: Volume,
    /// Set when the first trial begins.
    rebuild: Option<Rebuild>,
    /// Time of its event on the agenda; the maximum time if none.
    rebuild_at_ns: u64,
    processors: Processors,
    /// Processor time that is charged to no process: the system itself starts blocks that waited.
    unclaimed_ns: u64,
    /// Computes parity, if the host does not.
    engine: Server,
    ports: Vec<Port>,
    buses: Vec<Bus>,
    adapters: Vec<Lane>,
    firmware: Vec<Server>,
    pcis: Vec<Lane>,
    memory: Lane,
    /// The connection to an external disk array.
    trunk: Lane,
    loads: Vec<DiskLoad>,
    ios: Slab<Io>,
    blocks: Slab<Block>,
    later: Slab<FileAction>,
    /// The network, if the application is at its other end.
    remote: Option<Remote>,
    ended: Vec<Ended>,
    wants: Vec<FileAction>,
    asks: Vec<Ask>,
    now_ns: u64,
}

impl Machine {
    fn at(&mut self, ns: u64, event: Event) {
        self.agenda.push(Nanos(ns), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act(number) => {
                let want = self.later.take(number);
                self.carry_out(want);
            }
            Event::Issue(io) => self.issue(io),
            Event::Bus(drive) => self.connection_ends(drive),
            Event::Interface(drive) => self.firmware_done(drive),
            Event::Mechanism(drive) => self.mechanism(drive),
            Event::Parity(block) => self.next_stage(block),
            Event::Rebuild => {
                self.rebuild_at_ns = u64::MAX;
                self.rebuild_on();
            }
            Event::TakenIn(number) => self.taken_in(number),
            Event::Leaves(number) => self.leaves(number),
            Event::Crossed(block) => {
                if self.blocks[block].write {
                    self.next_stage(block);
                } else {
                    self.block_done(block);
                }
            }
        }
    }

    /// Carries out the actions of the file layer, in order; actions after CPU work wait for it. Requests
    /// end at `end_ns` at the earliest.
    fn satisfy(&mut self, end_ns: u64) {
        let mut wants = std::mem::take(&mut self.wants);
        let mut work_ns = self.now_ns;
        for want in wants.drain(..) {
            if let FileAction::Compute(ns) | FileAction::Unclaimed(ns) = want {
                work_ns = self.processors.take(work_ns, ns);
                let unclaimed = matches!(want, FileAction::Unclaimed(_));
                self.unclaimed_ns += if unclaimed { ns } else { 0 };
                continue;
            }
            let ends = matches!(want, FileAction::End { .. });
            let at_ns = if ends { work_ns.max(end_ns) } else { work_ns };
            if at_ns > self.now_ns {
                let number = self.later.insert(want);
                self.at(at_ns, Event::Act(number));
            } else {
                self.carry_out(want);
            }
        }
        self.wants = wants;
    }

    fn carry_out(&mut self, want: FileAction) {
        match want {
            FileAction::Block { tag, op, offset, bytes, forced } => {
                let number = self.blocks.reuse();
                let block = &mut self.blocks[number];
                (block.step, block.tag) = (false, tag);
                (block.write, block.forced) = (op == OpKind::Write, forced);
                (block.offset, block.bytes) = (offset, bytes);
                block.waited = !self.volume.claim(number, op, offset, bytes);
                if block.waited && self.spec.location == Location::Host {
                    self.unclaimed_ns += self.spec.file.costs.extra_transfer_ns;
                }
                if !self.blocks[number].waited {
                    self.begin_block(number);
                }
            }
            FileAction::End { token, outcome } if self.remote.is_some() => {
                self.served(token, outcome);
            }
            FileAction::End { token, outcome } => {
                self.ended.push(Ended { token, at: Nanos(self.now_ns), outcome });
            }
            // Handled at the start of the loop.
            FileAction::Compute(_) | FileAction::Unclaimed(_) => {}
        }
    }

    fn begin_block(&mut self, number: u32) {
        if self.spec.volume.raid == Raid::Raid1 {
            for (load, port) in self.loads.iter_mut().zip(&self.ports) {
                load.head_bytes = port.drive.head_byte();
            }
        }
        let block = &mut self.blocks[number];
        let op = if block.write { OpKind::Write } else { OpKind::Read };
        if block.step {
            self.volume.plan_rebuild(block.offset, block.bytes, &self.loads, &mut block.plan);
        } else {
            self.volume.plan(op, block.offset, block.bytes, &self.loads, &mut block.plan);
        }
        block.stage = 0;
        if self.spec.location == Location::Host {
            // Each piece beyond the first is another transfer that the host starts.
            let first = block.plan.stages.first().map_or(0, |stage| stage.end);
            let more = first.saturating_sub(1) as u64;
            let work_ns = more * self.spec.file.costs.extra_transfer_ns;
            self.unclaimed_ns += if block.waited || block.step { work_ns } else { 0 };
            self.processors.take(self.now_ns, work_ns);
        }
        let block = &mut self.blocks[number];
        if block.write && !block.step && self.spec.location == Location::Array {
            self.cross(number);
        } else {
            self.next_stage(number);
        }
    }

    /// Moves the data of a block between the host and an external disk array.
    fn cross(&mut self, number: u32) {
        let block = &mut self.blocks[number];
        let (bytes, inward) = (u64::from(block.bytes), !block.write);
        let crossed = self.trunk.take(self.now_ns, bytes, inward);
        let crossed = crossed.max(self.pcis[0].take(self.now_ns, bytes, inward));
        let crossed = crossed.max(self.memory.take(self.now_ns, bytes, inward));
        self.at(crossed, Event::Crossed(number));
    }

    /// Sends the pieces of the next stage that is not empty, or ends the block.
    fn next_stage(&mut self, number: u32) {
        let block = &mut self.blocks[number];
        let Some(stage) = block.plan.stages.get(block.stage).copied() else {
            if !block.write && self.spec.location == Location::Array {
                self.cross(number);
            } else {
                self.block_done(number);
            }
            return;
        };
        let begin = block.stage.checked_sub(1).map_or(0, |last| block.plan.stages[last].end);
        block.left = (stage.end - begin) as u32;
        let forced = block.forced;
        if block.left == 0 {
            self.stage_done(number);
            return;
        }
        for index in begin..stage.end {
            let piece = self.blocks[number].plan.pieces[index];
            let (op, first, bytes) = (piece.op, piece.offset, piece.bytes);
            let command = Command { id: 0, op, forced, first, bytes };
            let io = self.ios.insert(Io { block: number, drive: piece.disk, command });
            self.ios[io].command.id = io;
            self.loads[piece.disk as usize].waiting += 1;
            if self.spec.adapter.command_ns == 0 {
                self.issue(io);
            } else {
                let adapter = self.adapter(piece.disk);
                let at_ns = self.firmware[adapter].serve(self.now_ns, self.spec.adapter.command_ns);
                self.at(at_ns, Event::Issue(io));
            }
        }
    }

    fn stage_done(&mut self, number: u32) {
        let block = &mut self.blocks[number];
        let xor_bytes = block.plan.stages[block.stage].xor_bytes;
        let step = block.step;
        block.stage += 1;
        if xor_bytes == 0 {
            self.next_stage(number);
            return;
        }
        let work_ns = |per_kib_ns: u64| xor_bytes * per_kib_ns / 1_024;
        let done_ns = if self.spec.location == Location::Host {
            let work_ns = work_ns(self.spec.host.xor_per_kib_ns);
            self.unclaimed_ns += if step { work_ns } else { 0 };
            self.processors.take(self.now_ns, work_ns)
        } else {
            self.engine.serve(self.now_ns, work_ns(self.spec.adapter.xor_per_kib_ns))
        };
        self.at(done_ns, Event::Parity(number));
    }

    fn io_done(&mut self, io: u32) {
        let Io { block, drive, .. } = self.ios.take(io);
        self.loads[drive as usize].waiting -= 1;
        let left = &mut self.blocks[block].left;
        *left -= 1;
        if *left == 0 {
            self.stage_done(block);
        }
    }

    fn block_done(&mut self, number: u32) {
        let block = &mut self.blocks[number];
        if block.step {
            return self.step_done(number);
        }
        let (tag, outcome) = (block.tag, block.bytes as i32);
        self.blocks.release(number);
        for next in self.volume.release(number) {
            self.begin_block(next);
        }
        self.files.block_done(Nanos(self.now_ns), tag, outcome, &mut self.wants);
        self.satisfy(self.now_ns);
    }

    /// Begins the due steps of the rebuild, and schedules the next check.
    fn rebuild_on(&mut self) {
        let Some(rebuild) = &mut self.rebuild else { return };
        let Some((offset, bytes)) = rebuild.take(self.now_ns) else {
            if let Some(due_ns) = rebuild.due().filter(|&due| due < self.rebuild_at_ns) {
                self.rebuild_at_ns = due_ns;
                self.at(due_ns, Event::Rebuild);
            }
            return;
        };
        let number = self.blocks.reuse();
        let block = &mut self.blocks[number];
        (block.step, block.write, block.forced) = (true, true, false);
        (block.offset, block.bytes) = (offset, bytes);
        block.waited = !self.volume.claim_rebuild(number, offset, bytes);
        if !self.blocks[number].waited {
            self.begin_block(number);
        }
        self.rebuild_on();
    }

    /// Records that a step has moved its bytes. Its stripes stay locked until all earlier steps are done.
    fn step_done(&mut self, number: u32) {
        let block = &self.blocks[number];
        let (offset, bytes) = (block.offset, block.bytes);
        let over = self.volume.rebuilt(number, offset, bytes, true);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.count(&self.blocks[number].plan);
            rebuild.over(over.over.len(), self.volume.rebuilt_bytes(), Nanos(self.now_ns));
        }
        over.over.into_iter().for_each(|step| self.blocks.release(step));
        over.ready.into_iter().for_each(|next| self.begin_block(next));
        self.rebuild_on();
    }

    /// Accepts a request that is in this machine's memory, after `first_ns` of CPU work.
    fn arrive_here(&mut self, arrival: &Arrival, first_ns: u64) {
        if first_ns > 0 {
            self.wants.push(FileAction::Compute(first_ns));
        }
        self.files.arrive(Nanos(self.now_ns), arrival, &mut self.wants);
        self.satisfy(self.now_ns + CALL_NS);
    }

    /// Executes the next event at or before `until`; returns its time.
    #[inline]
    fn next_step(&mut self, until: Nanos) -> Option<Nanos> {
        let files_at = self.files.next_event().filter(|&at| at <= until);
        let network_at = self.remote.as_ref().and_then(|remote| remote.network.next_event());
        let network_at = network_at.filter(|&at| at <= until);
        let limit = files_at.into_iter().chain(network_at).min().unwrap_or(until);
        if let Some((at, event)) = self.agenda.pop_until(limit) {
            self.now_ns = at.0;
            self.happen(event);
            return Some(at);
        }
        if let Some(at) = network_at.filter(|&at| at == limit) {
            self.network_events(at);
            return Some(at);
        }
        let at = files_at?;
        self.now_ns = self.now_ns.max(at.0);
        self.files.advance(at, &mut self.wants);
        self.satisfy(self.now_ns);
        Some(at)
    }

    fn adapter(&self, drive: u32) -> usize {
        (self.ports[drive as usize].bus / self.spec.adapter.channels) as usize
    }
}

impl Device for Machine {
    fn begin(&mut self, conditions: &Conditions) {
        self.files.begin(conditions);
        let asked = self.spec.rebuild.zip(self.spec.volume.failed);
        if let (Some((spec, disk)), None) = (asked, &self.rebuild) {
            let (volume, chunk) = (&self.volume, self.spec.volume.chunk_bytes);
            let now = Nanos(self.now_ns);
            self.rebuild = Some(Rebuild::new(spec, disk, self.spec.disks, (volume, chunk), now));
            self.rebuild_on();
        }
    }

    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        self.now_ns = self.now_ns.max(now.0);
        match &mut self.remote {
            Some(remote) => remote.send(now, arrival),
            None => self.arrive_here(arrival, 0),
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        let network_at = self.remote.as_ref().and_then(|remote| remote.network.next_event());
        let own = [self.agenda.next_at(), self.files.next_event(), network_at];
        own.into_iter().flatten().min()
    }

    #[inline]
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos> {
        let at = self.next_step(until);
        ended.append(&mut self.ended);
        at
    }

    fn size(&self) -> u64 {
        self.volume.size()
    }

    fn rebuild(&self) -> Option<Rebuilding> {
        self.rebuild.as_ref().map(Rebuild::told)
    }

    fn uses(&self) -> Vec<ComponentSample> {
        // A trial's CPU time is that of the host on which the application runs.
        let name = if self.remote.is_some() { "server CPU" } else { HOST_CPU };
        let mut uses = Vec::new();
        if let Some(remote) = &self.remote {
            uses.extend(remote.network.uses());
        }
        let (count, busy_ns) = (self.processors.count.max(1), self.processors.busy_ns);
        let process_ns = busy_ns.saturating_sub(self.unclaimed_ns);
        let phases = [(PROCESS, process_ns), ("system", self.unclaimed_ns)];
        let parity = self.spec.volume.raid == Raid::Raid5;
        uses.push(component(
            name,
            count,
            busy_ns,
            if parity || self.unclaimed_ns > 0 { &phases } else { &[] },
        ));
        uses.push(component("memory", 1, self.memory.busy_ns, &[]));
        for (index, pci) in self.pcis.iter().enumerate() {
            uses.push(component(format!("PCI {index}"), 1, pci.busy_ns, &[]));
        }
        for (index, adapter) in self.adapters.iter().enumerate() {
            let busy_ns = adapter.busy_ns.max(self.firmware[index].busy_ns);
            uses.push(component(format!("adapter {index}"), 1, busy_ns, &[]));
        }
        for (index, bus) in self.buses.iter().enumerate() {
            let phases = PHASES.into_iter().zip(bus.phase_ns).filter(|&(_, ns)| ns > 0);
            let (phases, busy_ns) = (phases.collect::<Vec<_>>(), bus.phase_ns.iter().sum());
            uses.push(component(format!("bus {index}"), 1, busy_ns, &phases));
        }
        for (index, port) in self.ports.iter().enumerate() {
            uses.push(component(format!("drive {index} interface"), 1, port.busy_ns, &[]));
            let used = port.drive.used;
            let phases = [
                ("seek", used.seek_ns),
                ("rotation", used.rotate_ns),
                ("transfer", used.transfer_ns),
            ];
            let busy_ns = phases.iter().map(|&(_, ns)| ns).sum();
            uses.push(component(format!("drive {index} mechanism"), 1, busy_ns, &phases));
        }
        uses
    }
}
