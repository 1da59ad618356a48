//! A machine with disk drives: from the application's request to the medium and back.
//!
//! A request goes to the file layer, which wants blocks moved and processor time spent; a block
//! goes to the volume, which makes stages of pieces of it; a piece is a command to one drive and
//! crosses bus, adapter, PCI and memory (`path`). Everything is an event at a time; what several
//! want at once is served in order by whoever has it: processors, buses, adapters, mechanisms.
//!
//! The cost of a request is that of its events, each a step in a heap whose size is a few per
//! drive. Requests, blocks and pieces live in numbered places that are used again. Rejected: a
//! process per drive with messages (the order of events would be the scheduler's), and formulae
//! for queues (they hold for one load each; the point is any arrangement).

mod path;
mod remote;
mod spec;

pub use spec::MachineSpec;
pub(crate) use spec::{KEYS, KINDS};

use crate::bus::{Bus, Lane, PHASES};
use crate::device::{Arrival, Conditions, Device, Ended, HOST_CPU, PROCESS};
use crate::drive::{Ask, Drive, DriveSpec};
use crate::event_queue::EventQueue;
use crate::files::{FileAction, FileLayer};
use crate::host::Processors;
use crate::slab::Slab;
use crate::volume::{DiskLoad, Location, Plan, Raid, Volume};
use crate::{ComponentSample, PhaseSample};
use path::Port;
use record::{Nanos, OpKind};
use remote::Remote;
use workload::Rng;

/// Spindles of a kind differ by so much at most, in millionths: makers give half a percent and less.
const SPREAD_PPM: u32 = 2_000;

/// What a call that no disk takes part in takes at least, on an ideal host too: else a program would
/// make a billion of them a second out of the page cache, and its trial would not end.
const CALL_NS: u64 = 1_000;

/// How much faster a spindle turns than that of the first disk. No two are alike: platters of the
/// same speed would keep their angles to each other for a whole run, and an array would show the
/// one pattern that these angles make, instead of the mean over all.
fn spindle_ppm(disk: u32) -> u32 {
    // Multiples of the golden section, modulo one, are spread evenly however many there are.
    ((u64::from(disk.wrapping_mul(2_654_435_769)) * u64::from(SPREAD_PPM)) >> 32) as u32
}

/// Where a platter is when time begins: anywhere, for nothing turns the disks of an array together.
/// The first one's angle is that of its first byte. Multiples of the golden section would not do:
/// from each disk to the next they are the same turn.
fn start_angle_ns(disk: u32, revolution_ns: u64) -> u64 {
    if disk == 0 { 0 } else { Rng::new(u64::from(disk)).below(revolution_ns) }
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A processor has done what a want waits for.
    FileAction(u32),
    /// The adapter hands a piece to its drive.
    Issue(u32),
    /// A connection of a drive ends.
    Bus(u32),
    /// The firmware of a drive has done its step.
    Interface(u32),
    /// The mechanism of a drive.
    Mechanism(u32),
    /// The parity work of a block's stage is done.
    Parity(u32),
    /// The data of a block have crossed to or from a box of disks.
    Crossed(u32),
    /// A request of a client is in memory.
    TakenIn(u32),
    /// The reply to a client is in the network card.
    Leaves(u32),
}

/// Part of a block that is one command.
#[derive(Clone, Copy, Debug, Default)]
struct Io {
    block: u32,
    drive: u32,
    write: bool,
    forced: bool,
    first: u64,
    bytes: u32,
}

/// A block on its way.
#[derive(Debug, Default)]
struct Block {
    tag: u32,
    write: bool,
    forced: bool,
    /// Whether it waited for another one, whose end started it.
    waited: bool,
    offset: u64,
    bytes: u32,
    plan: Plan,
    stage: usize,
    /// Pieces of the stage that are not done.
    left: u32,
}

/// A machine.
#[derive(Debug)]
pub struct Machine {
    spec: MachineSpec,
    agenda: EventQueue<Event>,
    files: FileLayer,
    volume: Volume,
    processors: Processors,
    /// What of their time is on nobody's account: the system starts what waited by itself.
    unclaimed_ns: u64,
    /// What works on parity where the host does not.
    engine: Processors,
    ports: Vec<Port>,
    buses: Vec<Bus>,
    /// The drive on each bus that had the last command.
    heard: Vec<u32>,
    adapters: Vec<Lane>,
    /// Their own processors.
    firmware: Vec<Processors>,
    pcis: Vec<Lane>,
    memory: Lane,
    /// To a box of disks.
    trunk: Lane,
    /// Buses on one adapter.
    channels: u32,
    loads: Vec<DiskLoad>,
    ios: Slab<Io>,
    blocks: Slab<Block>,
    later: Slab<Option<FileAction>>,
    /// The network, if the application is at the other end of one.
    remote: Option<Remote>,
    ended: Vec<Ended>,
    wants: Vec<FileAction>,
    asks: Vec<Ask>,
    ready: Vec<u32>,
    now_ns: u64,
}

impl Machine {
    /// A machine at rest. The specification must have passed its check.
    #[must_use]
    pub fn new(spec: &MachineSpec) -> Self {
        let bus_count = spec.bus_count();
        let ports: Vec<Port> = (0..spec.disks)
            .map(|disk| {
                let spindle_ppm = spindle_ppm(disk);
                let start_angle_ns = start_angle_ns(disk, spec.drive.revolution_ns());
                let spec = DriveSpec { spindle_ppm, start_angle_ns, ..spec.drive };
                let drive = Drive::new(&spec);
                Port::new(drive, disk % bus_count)
            })
            .collect();
        let disk_bytes = ports.first().map_or(0, |port| port.drive.bytes());
        let volume = Volume::new(&spec.volume, spec.disks, disk_bytes);
        let channels = spec.adapter.channels.max(1);
        let adapter_count = bus_count.div_ceil(channels);
        let (adapter, host, contended) = (&spec.adapter, &spec.host, spec.contention);
        Self {
            files: FileLayer::new(&spec.file, volume.size()),
            processors: Processors::new(host.processors),
            unclaimed_ns: 0,
            engine: Processors::new(1),
            buses: (0..bus_count).map(|_| Bus::new(&spec.bus, contended)).collect(),
            heard: vec![0; bus_count as usize],
            adapters: (0..adapter_count)
                .map(|_| Lane::new(adapter.in_bytes_per_s, adapter.out_bytes_per_s, contended))
                .collect(),
            firmware: (0..adapter_count).map(|_| Processors::new(1)).collect(),
            pcis: (0..spec.pcis)
                .map(|_| Lane::new(host.pci_bytes_per_s, host.pci_bytes_per_s, contended))
                .collect(),
            memory: Lane::new(host.memory_in_bytes_per_s, host.memory_out_bytes_per_s, contended),
            trunk: Lane::new(spec.bus.in_bytes_per_s, spec.bus.out_bytes_per_s, contended),
            channels,
            loads: vec![DiskLoad::default(); spec.disks as usize],
            ios: Slab::default(),
            blocks: Slab::default(),
            later: Slab::default(),
            remote: spec.network.as_ref().map(Remote::new),
            ended: Vec::new(),
            wants: Vec::new(),
            asks: Vec::new(),
            ready: Vec::new(),
            now_ns: 0,
            agenda: EventQueue::new(),
            ports,
            volume,
            spec: spec.clone(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn spec(&self) -> &MachineSpec {
        &self.spec
    }

    fn at(&mut self, ns: u64, event: Event) {
        self.agenda.push(Nanos(ns), event);
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::FileAction(number) => {
                let want = self.later.get_mut(number).take();
                self.later.release(number);
                if let Some(want) = want {
                    self.carry_out(want);
                }
            }
            Event::Issue(io) => self.issue(io),
            Event::Bus(drive) => self.connection_ends(drive),
            Event::Interface(drive) => self.firmware_done(drive),
            Event::Mechanism(drive) => self.mechanism(drive),
            Event::Parity(block) => self.next_stage(block),
            Event::TakenIn(number) => self.taken_in(number),
            Event::Leaves(number) => self.leaves(number),
            Event::Crossed(block) => {
                if self.blocks.get_mut(block).write {
                    self.next_stage(block);
                } else {
                    self.block_done(block);
                }
            }
        }
    }

    /// Carries out what the file layer wants, in its order; what follows work waits for it.
    /// Requests end at `end_ns` at the earliest.
    fn satisfy(&mut self, end_ns: u64) {
        let mut wants = std::mem::take(&mut self.wants);
        let mut work_ns = self.now_ns;
        for want in wants.drain(..) {
            if let FileAction::Compute { ns } = want {
                work_ns = self.processors.take(work_ns, ns);
                continue;
            }
            let ends = matches!(want, FileAction::End { .. });
            let at_ns = if ends { work_ns.max(end_ns) } else { work_ns };
            if at_ns > self.now_ns {
                let number = self.later.reuse();
                *self.later.get_mut(number) = Some(want);
                self.at(at_ns, Event::FileAction(number));
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
                let block = self.blocks.get_mut(number);
                (block.tag, block.write, block.forced) = (tag, op == OpKind::Write, forced);
                (block.offset, block.bytes) = (offset, bytes);
                block.waited = !self.volume.claim(number, op, offset, bytes);
                if block.waited && self.spec.volume.location == Location::Host {
                    self.unclaimed_ns += self.spec.file.costs.extra_transfer_ns;
                }
                if !self.blocks.get_mut(number).waited {
                    self.begin_block(number);
                }
            }
            FileAction::End { token, outcome } if self.remote.is_some() => {
                self.served(token, outcome);
            }
            FileAction::End { token, outcome } => {
                self.ended.push(Ended { token, at: Nanos(self.now_ns), outcome });
            }
            // Taken where wants come in.
            FileAction::Compute { .. } => {}
        }
    }

    fn begin_block(&mut self, number: u32) {
        if self.spec.volume.raid == Raid::Raid1 {
            for (load, port) in self.loads.iter_mut().zip(&self.ports) {
                load.head_bytes = port.drive.head_byte();
            }
        }
        let block = self.blocks.get_mut(number);
        let op = if block.write { OpKind::Write } else { OpKind::Read };
        self.volume.plan(op, block.offset, block.bytes, &self.loads, &mut block.plan);
        block.stage = 0;
        if self.spec.volume.location == Location::Host {
            // Each piece beyond the first is one more transfer that the host starts.
            let first = block.plan.stages.first().map_or(0, |stage| stage.end);
            let more = first.saturating_sub(1) as u64;
            let work_ns = more * self.spec.file.costs.extra_transfer_ns;
            self.unclaimed_ns += if block.waited { work_ns } else { 0 };
            self.processors.take(self.now_ns, work_ns);
        }
        let block = self.blocks.get_mut(number);
        if block.write && self.spec.volume.location == Location::Array {
            self.cross(number);
        } else {
            self.next_stage(number);
        }
    }

    /// Moves the data of a block between host and a box of disks.
    fn cross(&mut self, number: u32) {
        let block = self.blocks.get_mut(number);
        let (bytes, inward) = (u64::from(block.bytes), !block.write);
        let crossed = self.trunk.take(self.now_ns, bytes, inward);
        let crossed = crossed.max(self.pcis[0].take(self.now_ns, bytes, inward));
        let crossed = crossed.max(self.memory.take(self.now_ns, bytes, inward));
        self.at(crossed, Event::Crossed(number));
    }

    /// Sends the pieces of the next stage that has any, or ends the block.
    fn next_stage(&mut self, number: u32) {
        let block = self.blocks.get_mut(number);
        let Some(stage) = block.plan.stages.get(block.stage).copied() else {
            if !block.write && self.spec.volume.location == Location::Array {
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
            let piece = self.blocks.get_mut(number).plan.pieces[index];
            let io = self.ios.reuse();
            *self.ios.get_mut(io) = Io {
                block: number,
                drive: piece.disk,
                write: piece.op == OpKind::Write,
                forced,
                first: piece.offset,
                bytes: piece.bytes,
            };
            self.loads[piece.disk as usize].waiting += 1;
            if self.spec.adapter.command_ns == 0 {
                self.issue(io);
            } else {
                let adapter = self.adapter(piece.disk);
                let at_ns = self.firmware[adapter].take(self.now_ns, self.spec.adapter.command_ns);
                self.at(at_ns, Event::Issue(io));
            }
        }
    }

    fn stage_done(&mut self, number: u32) {
        let block = self.blocks.get_mut(number);
        let xor_bytes = block.plan.stages[block.stage].xor_bytes;
        block.stage += 1;
        if xor_bytes == 0 {
            self.next_stage(number);
            return;
        }
        let done_ns = if self.spec.volume.location == Location::Host {
            let work_ns = xor_bytes * self.spec.host.xor_per_kib_ns / 1_024;
            self.processors.take(self.now_ns, work_ns)
        } else {
            let work_ns = xor_bytes * self.spec.adapter.xor_per_kib_ns / 1_024;
            self.engine.take(self.now_ns, work_ns)
        };
        self.at(done_ns, Event::Parity(number));
    }

    /// A command of a block is done.
    fn io_done(&mut self, io: u32) {
        let Io { block, drive, .. } = *self.ios.get_mut(io);
        self.ios.release(io);
        self.loads[drive as usize].waiting -= 1;
        let left = &mut self.blocks.get_mut(block).left;
        *left -= 1;
        if *left == 0 {
            self.stage_done(block);
        }
    }

    fn block_done(&mut self, number: u32) {
        let block = self.blocks.get_mut(number);
        let (tag, outcome) = (block.tag, block.bytes as i32);
        self.blocks.release(number);
        let mut ready = std::mem::take(&mut self.ready);
        self.volume.release(number, &mut ready);
        for next in ready.drain(..) {
            self.begin_block(next);
        }
        self.ready = ready;
        let mut wants = std::mem::take(&mut self.wants);
        self.files.block_done(Nanos(self.now_ns), tag, outcome, &mut wants);
        self.wants = wants;
        self.satisfy(self.now_ns);
    }

    /// Takes a request that is in this machine's memory; `first_ns` of work come before it.
    fn arrive_here(&mut self, arrival: &Arrival, first_ns: u64) {
        let mut wants = std::mem::take(&mut self.wants);
        if first_ns > 0 {
            wants.push(FileAction::Compute { ns: first_ns });
        }
        self.files.arrive(Nanos(self.now_ns), arrival, &mut wants);
        self.wants = wants;
        self.satisfy(self.now_ns + CALL_NS);
    }

    /// Carries out the next event at or before `until`; when that was.
    #[inline]
    fn next_step(&mut self, until: Nanos) -> Option<Nanos> {
        let files_at = self.files.next_event().filter(|&at| at <= until);
        let network_at = self.remote.as_ref().and_then(Remote::next_event);
        let network_at = network_at.filter(|&at| at <= until);
        let limit = files_at.into_iter().chain(network_at).min().unwrap_or(until);
        if let Some((at, event)) = self.agenda.pop_until(limit) {
            self.now_ns = at.0;
            self.step(event);
            return Some(at);
        }
        if let Some(at) = network_at.filter(|&at| at == limit) {
            self.network_events(at);
            return Some(at);
        }
        let at = files_at?;
        self.now_ns = self.now_ns.max(at.0);
        let mut wants = std::mem::take(&mut self.wants);
        self.files.advance(at, &mut wants);
        self.wants = wants;
        self.satisfy(self.now_ns);
        Some(at)
    }

    /// The adapter of a drive.
    fn adapter(&self, drive: u32) -> usize {
        (self.ports[drive as usize].bus / self.channels) as usize
    }
}

impl Device for Machine {
    fn begin(&mut self, conditions: &Conditions) {
        self.files.begin(conditions);
    }

    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        self.now_ns = self.now_ns.max(now.0);
        match &mut self.remote {
            Some(remote) => remote.send(now, arrival),
            None => self.arrive_here(arrival, 0),
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        let network_at = self.remote.as_ref().and_then(Remote::next_event);
        let own = [self.agenda.next_at(), self.files.next_event(), network_at];
        own.into_iter().flatten().min()
    }

    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        while self.next_step(until).is_some() {}
        self.now_ns = self.now_ns.max(until.0);
        ended.append(&mut self.ended);
    }

    fn advance_to_end(&mut self, from: Nanos, until: Nanos, ended: &mut Vec<Ended>) -> Nanos {
        let (mut now, mut until) = (from, until);
        while let Some(at) = self.next_step(until) {
            now = now.max(at);
            if !self.ended.is_empty() {
                until = now;
            }
        }
        self.now_ns = self.now_ns.max(now.0);
        ended.append(&mut self.ended);
        now
    }

    fn size(&self) -> u64 {
        self.volume.size()
    }

    fn uses(&self) -> Vec<ComponentSample> {
        let plain = |name: String, units: u32, busy_ns: u64| ComponentSample {
            name,
            units,
            busy_ns,
            phases: Vec::new(),
        };
        // A trial's processor time is that of the host on which the application runs.
        let name = if self.remote.is_some() { "server CPU" } else { HOST_CPU };
        let mut uses = Vec::new();
        if let Some(remote) = &self.remote {
            remote.uses(&mut uses);
        }
        let units = self.processors.count().max(1);
        let mut host = plain(name.to_owned(), units, self.processors.busy_ns());
        if self.spec.volume.raid == Raid::Raid5 {
            let process_ns = host.busy_ns.saturating_sub(self.unclaimed_ns);
            let phases = [(PROCESS, process_ns), ("system", self.unclaimed_ns)];
            host.phases = phases.map(|(name, busy_ns)| PhaseSample { name, busy_ns }).to_vec();
        }
        uses.push(host);
        uses.push(plain("memory".to_owned(), 1, self.memory.busy_ns()));
        for (index, pci) in self.pcis.iter().enumerate() {
            uses.push(plain(format!("PCI {index}"), 1, pci.busy_ns()));
        }
        for (index, adapter) in self.adapters.iter().enumerate() {
            let busy_ns = adapter.busy_ns().max(self.firmware[index].busy_ns());
            uses.push(plain(format!("adapter {index}"), 1, busy_ns));
        }
        for (index, bus) in self.buses.iter().enumerate() {
            let phases = PHASES
                .iter()
                .zip(bus.phase_ns())
                .filter(|&(_, &ns)| ns > 0)
                .map(|(&name, &busy_ns)| PhaseSample { name, busy_ns });
            uses.push(ComponentSample {
                name: format!("bus {index}"),
                units: 1,
                busy_ns: bus.phase_ns().iter().sum(),
                phases: phases.collect(),
            });
        }
        for (index, port) in self.ports.iter().enumerate() {
            uses.push(plain(format!("drive {index} interface"), 1, port.busy_ns()));
            let used = port.drive.used();
            let phases = [
                ("seek", used.seek_ns),
                ("rotation", used.rotate_ns),
                ("transfer", used.transfer_ns),
            ];
            uses.push(ComponentSample {
                name: format!("drive {index} mechanism"),
                units: 1,
                busy_ns: phases.iter().map(|&(_, ns)| ns).sum(),
                phases: phases.map(|(name, busy_ns)| PhaseSample { name, busy_ns }).to_vec(),
            });
        }
        uses
    }
}
