//! The programs themselves: what is noted at each event of a request's life.
//!
//! A request is known by device, operation and first sector from its start to its completion; a bio
//! by the same from when it is queued until it gets its request. Events come on whatever processor,
//! so that what is in progress is in maps that all share; finished figures go to counts of the
//! processor's own. A program that an interrupt finds another one running is left out by the
//! kernel; a completion without its request is counted.
//!
//! | event | what is done |
//! |---|---|
//! | block_bio_queue | notes the time of the bio |
//! | block_getrq | the wait since then: throttling by rq-qos (io.cost, write-back throttling), want of free tags |
//! | block_io_start (6.5; before it block_getrq) | notes the start of the request |
//! | block_rq_issue | notes the last issue; compares its sector with the last ends |
//! | block_rq_complete | counts queue time, device time and size; a part of a request moves its entry on |
//! | block_bio_frontmerge, block_bio_backmerge, block_rq_merge | moves or forgets entries |
//!
//! Throttling by control groups (io.max, blkio.throttle) is before block_bio_queue up to Linux
//! 6.18.

use super::assembler::{
    Arithmetic, Assembler, KernelFunction, Label, Operand, ProgramError, Register, When, Width,
};
use super::format::{Format, Place};
use super::layout;
use super::syscalls::{Map, MapKind};
use Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use rustix::io::Errno;

/// Ends of requests that are remembered for each device, to tell interleaved streams from random
/// requests.
pub(super) const STREAMS: usize = 16;
/// The letter before that of the operation of a request that flushes the device's cache first.
pub(super) const FLUSH_FIRST: i32 = b'F' as i32;
/// Devices that are told apart by comparisons in the program; more of them by a map.
const COMPARED: usize = 24;

/// Bytes of keys and values of the maps.
pub(super) const KEY_BYTES: usize = 16;
pub(super) const REQUEST_BYTES: usize = 24;
pub(super) const ENDS_BYTES: usize = (STREAMS + 1) * 8;

/// What the programs look up and count in.
#[derive(Debug)]
pub(super) struct Maps {
    /// Bio to the time when it was queued.
    pub(super) queued: Map,
    /// Request to start, issue, sectors.
    pub(super) requests: Map,
    /// Slot to the last ends, and which is to be replaced next.
    pub(super) ends: Map,
    /// Slot to counts.
    pub(super) counts: Map,
}

/// What the programs are made for.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) maps: Maps,
    pub(super) devices: Devices,
}

/// Numbers of devices as the kernel has them, each with the slot of its disk.
#[derive(Debug)]
pub(super) struct Devices {
    numbers: Vec<(u32, u32)>,
    /// The same as a map, for programs that compare with too many.
    slots: Map,
}

impl Devices {
    pub(super) fn new(numbers: Vec<(u32, u32)>, processors: usize) -> Result<Self, Errno> {
        let slots = Map::new(MapKind::Hash, 4, 4, numbers.len(), processors)?;
        for (number, slot) in &numbers {
            slots.set(&number.to_ne_bytes(), &slot.to_ne_bytes())?;
        }
        Ok(Self { numbers, slots })
    }

    /// `R7` becomes the slot of the device of the event at `R6`, or the program goes to `out`. Uses
    /// `R0` to `R4` and four bytes of the stack.
    pub(super) fn find_slot(&self, code: &mut Assembler, device: Place, key: i16, out: Label) {
        code.load(device.width, R1, R6, device.offset);
        if self.numbers.len() > COMPARED {
            code.store(Width::Four, R10, key, R1);
            look_up(code, &self.slots, key, out);
            code.load(Width::Four, R7, R0, 0);
            return;
        }
        let found = code.label();
        for &(number, slot) in &self.numbers {
            code.set(R7, slot as i32);
            code.jump_if(R1, When::Equal, number as i32, found);
        }
        code.jump(out);
        code.bind(found);
    }
}

/// `R8` becomes 0 for reads and 1 for writes, or the program goes to `out`. The letter of the
/// operation is the first, or the second behind that of a preceding flush. Uses `R1`.
pub(super) fn find_operation(code: &mut Assembler, at: i16, out: Label) {
    let (plain, read, known) = (code.label(), code.label(), code.label());
    code.load(Width::One, R1, R6, at);
    code.jump_if(R1, When::NotEqual, FLUSH_FIRST, plain);
    code.load(Width::One, R1, R6, at + 1);
    code.bind(plain);
    code.jump_if(R1, When::Equal, i32::from(b'R'), read);
    code.set(R8, 1);
    code.jump_if(R1, When::Equal, i32::from(b'W'), known);
    code.jump(out);
    code.bind(read);
    code.set(R8, 0);
    code.bind(known);
}

// The stack frame, below its end. Keys are (slot and operation, sector).
const SECTOR: i16 = -8;
const KEY: i16 = -16;
const SECTORS: i16 = -24;
const ISSUE: i16 = -32;
const START: i16 = -40;
/// A second key.
const OTHER_SECTOR: i16 = -48;
const OTHER_KEY: i16 = -56;
const SLOT: i16 = -64;
const DEVICE_TIME: i16 = -72;
const QUEUE_TIME: i16 = -80;

/// A program in the making, and where it ends early.
struct Program<'a> {
    plan: &'a Plan,
    code: Assembler,
    out: Label,
}

impl<'a> Program<'a> {
    /// Leaves with anything but reads and writes of the devices. Then `R6` is the event, `R7` the
    /// slot, `R8` 0 for reads and 1 for writes, `R9` the time, and the key is on the stack.
    fn begin(plan: &'a Plan, format: &Format) -> Result<Self, ProgramError> {
        let device = format.number("dev").ok_or(ProgramError::Field("dev"))?;
        let sector = format.number("sector").ok_or(ProgramError::Field("sector"))?;
        let operation = format.array("rwbs", 2).ok_or(ProgramError::Field("rwbs"))?;
        let mut code = Assembler::default();
        let out = code.label();
        let mut program = Self { plan, code, out };
        program.code.set(R6, R1);
        plan.devices.find_slot(&mut program.code, device, SLOT, out);
        find_operation(&mut program.code, operation, out);
        let code = &mut program.code;
        code.set(R1, R7);
        code.compute(Arithmetic::ShiftLeft, R1, 1);
        code.compute(Arithmetic::Add, R1, R8);
        code.store(Width::Eight, R10, KEY, R1);
        code.load(sector.width, R1, R6, sector.offset);
        code.store(Width::Eight, R10, SECTOR, R1);
        code.call(KernelFunction::Nanoseconds);
        code.set(R9, R0);
        Ok(program)
    }

    fn finish(mut self) -> Result<Vec<u64>, ProgramError> {
        self.code.bind(self.out);
        self.code.exit();
        self.code.finish()
    }

    /// `R0` becomes the device's counts on this processor, or the program ends.
    fn find_counts(&mut self) {
        let Self { plan, code, out } = self;
        code.store(Width::Four, R10, SLOT, R7);
        look_up(code, &plan.maps.counts, SLOT, *out);
    }

    /// `R0` becomes those of the operation: `R8` is 0 or 1. Uses `R1`.
    fn find_operation_counts(&mut self) {
        self.find_counts();
        self.code.set(R1, R8);
        self.code.compute(Arithmetic::Multiply, R1, (layout::OP_WORDS * 8) as i32);
        self.code.compute(Arithmetic::Add, R0, R1);
    }

    /// Notes the start of the request in `R9`.
    fn note_start(&mut self) {
        let Self { plan, code, .. } = self;
        code.store(Width::Eight, R10, START, R9);
        code.store(Width::Eight, R10, ISSUE, 0);
        code.store(Width::Eight, R10, SECTORS, 0);
        update(code, &plan.maps.requests, KEY, START);
    }
}

/// `register = ` address of a place on the stack.
pub(super) fn address(code: &mut Assembler, register: Register, place: i16) {
    code.set(register, R10);
    code.compute(Arithmetic::Add, register, i32::from(place));
}

/// `R0 = ` address of the entry of the key on the stack; goes to `absent` where there is none.
pub(super) fn look_up(code: &mut Assembler, map: &Map, key: i16, absent: Label) {
    code.set_map(R1, map.number());
    address(code, R2, key);
    code.call(KernelFunction::MapLookup);
    code.jump_if(R0, When::Equal, 0, absent);
}

/// Sets the entry of the key on the stack to the value there.
pub(super) fn update(code: &mut Assembler, map: &Map, key: i16, value: i16) {
    code.set_map(R1, map.number());
    address(code, R2, key);
    address(code, R3, value);
    code.set(R4, 0);
    code.call(KernelFunction::MapUpdate);
}

/// Forgets the entry of the key on the stack.
fn delete(code: &mut Assembler, map: &Map, key: i16) {
    code.set_map(R1, map.number());
    address(code, R2, key);
    code.call(KernelFunction::MapDelete);
}

/// `*(base + word) += amount`; this processor's own, so no atomic step. Uses `R2`.
fn add(code: &mut Assembler, base: Register, word: usize, amount: impl Into<Operand>) {
    let at = (word * 8) as i16;
    code.load(Width::Eight, R2, base, at);
    code.compute(Arithmetic::Add, R2, amount);
    code.store(Width::Eight, base, at, R2);
}

/// Counts the value in `R1` in the histogram of times or sizes that is at a word of `base`.
/// Uses `R1` to `R3`.
fn record(code: &mut Assembler, base: Register, word: usize, largest_shift: u32) {
    let (fits, skip) = (code.label(), code.label());
    // Larger values are in the last bucket.
    let largest = (1_u64 << (largest_shift + 5)) - 1;
    code.set_wide(R3, largest);
    code.jump_if(R3, When::AtLeast, R1, fits);
    code.set(R1, R3);
    code.bind(fits);
    code.set(R2, 0);
    for step in [16, 8, 4, 2, 1] {
        let small = code.label();
        code.set(R3, 1 << (layout::SUB_BITS + step));
        code.jump_if(R3, When::Above, R1, small);
        code.compute(Arithmetic::ShiftRight, R1, step as i32);
        code.compute(Arithmetic::Add, R2, step as i32);
        code.bind(small);
    }
    code.compute(Arithmetic::ShiftLeft, R2, layout::SUB_BITS as i32);
    code.compute(Arithmetic::Add, R1, R2);
    let last = ((largest_shift << layout::SUB_BITS) + 31) as i32;
    code.jump_if(R1, When::Above, last, skip);
    code.compute(Arithmetic::ShiftLeft, R1, 3);
    code.compute(Arithmetic::Add, R1, base);
    add(code, R1, word, 1);
    code.bind(skip);
}

/// An event that a program is attached to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    BioQueue,
    /// A bio gets its request: ends its wait where that is measured; where there is no event of the
    /// start of requests, it stands for it.
    Getrq {
        waits: bool,
        starts: bool,
    },
    IoStart,
    Issue,
    Complete,
    /// A bio went into a request behind its end.
    BackMerge,
    /// A bio went into a request before its beginning, which is known by the bio's sector from now
    /// on.
    FrontMerge,
    /// A request was put behind another one and is none of its own any more.
    RequestMerge,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BioQueue => "block_bio_queue",
            Self::Getrq { .. } => "block_getrq",
            Self::IoStart => "block_io_start",
            Self::Issue => "block_rq_issue",
            Self::Complete => "block_rq_complete",
            Self::BackMerge => "block_bio_backmerge",
            Self::FrontMerge => "block_bio_frontmerge",
            Self::RequestMerge => "block_rq_merge",
        }
    }

    pub(super) fn program(self, plan: &Plan, format: &Format) -> Result<Vec<u64>, ProgramError> {
        let length = || format.number("nr_sector").ok_or(ProgramError::Field("nr_sector"));
        let mut program = Program::begin(plan, format)?;
        program.leave_without_data(length()?);
        let code = &mut program.code;
        match self {
            Self::BioQueue => {
                code.store(Width::Eight, R10, START, R9);
                update(code, &plan.maps.queued, KEY, START);
            }
            Self::Getrq { waits, starts } => {
                if starts {
                    program.note_start();
                }
                if waits {
                    program.end_wait();
                }
            }
            Self::IoStart => program.note_start(),
            Self::Issue => program.issue(length()?),
            Self::Complete => program.complete(length()?),
            Self::BackMerge => delete(code, &plan.maps.queued, KEY),
            Self::FrontMerge => program.front_merge(length()?),
            Self::RequestMerge => delete(code, &plan.maps.requests, KEY),
        }
        program.finish()
    }
}

impl Program<'_> {
    /// A flush alone is a write without data until the block layer makes a request of another kind
    /// of it: as a write it is never issued.
    fn leave_without_data(&mut self, length: Place) {
        self.code.load(length.width, R1, R6, length.offset);
        self.code.jump_if(R1, When::Equal, 0, self.out);
    }

    fn end_wait(&mut self) {
        let Self { plan, code, out } = self;
        look_up(code, &plan.maps.queued, KEY, *out);
        code.load(Width::Eight, R1, R0, 0);
        // Clocks of processors may differ by a hair.
        code.jump_if(R1, When::Above, R9, *out);
        code.compute(Arithmetic::Subtract, R9, R1);
        delete(code, &plan.maps.queued, KEY);
        self.find_counts();
        self.code.set(R1, R9);
        record(&mut self.code, R0, layout::BEFORE, layout::TIME_SHIFT);
    }

    fn issue(&mut self, length: Place) {
        let (plan, out) = (self.plan, self.out);
        let code = &mut self.code;
        let (unknown, first) = (code.label(), code.label());
        code.load(length.width, R6, R6, length.offset);
        code.store(Width::Eight, R10, SECTORS, R6);
        look_up(code, &plan.maps.requests, KEY, unknown);
        code.load(Width::Eight, R1, R0, 8);
        code.store(Width::Eight, R0, 8, R9);
        code.store(Width::Eight, R0, 16, R6);
        // It was issued before and put back: counted already.
        code.jump_if(R1, When::NotEqual, 0, out);
        code.jump(first);
        code.bind(unknown);
        code.store(Width::Eight, R10, START, 0);
        code.store(Width::Eight, R10, ISSUE, R9);
        update(code, &plan.maps.requests, KEY, START);
        code.bind(first);
        // R9 becomes the first sector and R6 the one behind the last.
        code.load(Width::Eight, R9, R10, SECTOR);
        code.compute(Arithmetic::Add, R6, R9);
        code.store(Width::Four, R10, SLOT, R7);
        look_up(code, &plan.maps.ends, SLOT, out);
        let (matched, counted) = (code.label(), code.label());
        let places: Vec<Label> = (0..STREAMS).map(|_| code.label()).collect();
        for (index, &place) in places.iter().enumerate() {
            code.load(Width::Eight, R1, R0, (index * 8) as i16);
            code.jump_if(R1, When::Equal, R9, place);
        }
        let next = (STREAMS * 8) as i16;
        code.load(Width::Eight, R1, R0, next);
        code.set(R2, R1);
        code.compute(Arithmetic::Add, R2, 1);
        code.store(Width::Eight, R0, next, R2);
        code.compute(Arithmetic::And, R1, STREAMS as i32 - 1);
        code.compute(Arithmetic::ShiftLeft, R1, 3);
        code.compute(Arithmetic::Add, R0, R1);
        code.store(Width::Eight, R0, 0, R6);
        code.set(R9, 0);
        code.jump(counted);
        for (index, &place) in places.iter().enumerate() {
            code.bind(place);
            code.store(Width::Eight, R0, (index * 8) as i16, R6);
            code.jump(matched);
        }
        code.bind(matched);
        code.set(R9, 1);
        code.bind(counted);
        self.find_operation_counts();
        let code = &mut self.code;
        add(code, R0, layout::ISSUED, 1);
        add(code, R0, layout::SEQUENTIAL, R9);
    }

    fn complete(&mut self, length: Place) {
        let (plan, out) = (self.plan, self.out);
        let code = &mut self.code;
        let (unmatched, forgotten, partial) = (code.label(), code.label(), code.label());
        code.load(length.width, R6, R6, length.offset);
        look_up(code, &plan.maps.requests, KEY, unmatched);
        code.load(Width::Eight, R1, R0, 0);
        code.load(Width::Eight, R2, R0, 8);
        code.load(Width::Eight, R3, R0, 16);
        code.store(Width::Eight, R10, START, R1);
        code.store(Width::Eight, R10, ISSUE, R2);
        code.store(Width::Eight, R10, SECTORS, R3);
        // Its issue was not seen.
        code.jump_if(R2, When::Equal, 0, forgotten);
        code.jump_if(R3, When::Above, R6, partial);
        code.compute(Arithmetic::Subtract, R9, R2);
        code.store(Width::Eight, R10, DEVICE_TIME, R9);
        code.compute(Arithmetic::Subtract, R2, R1);
        code.store(Width::Eight, R10, QUEUE_TIME, R2);
        delete(code, &plan.maps.requests, KEY);
        self.find_operation_counts();
        let code = &mut self.code;
        code.load(Width::Eight, R1, R10, DEVICE_TIME);
        record(code, R0, layout::DEVICE, layout::TIME_SHIFT);
        code.load(Width::Eight, R1, R10, SECTORS);
        record(code, R0, layout::SIZE, layout::SIZE_SHIFT);
        // Its start was not seen.
        code.load(Width::Eight, R1, R10, START);
        code.jump_if(R1, When::Equal, 0, out);
        code.load(Width::Eight, R1, R10, QUEUE_TIME);
        record(code, R0, layout::QUEUE, layout::TIME_SHIFT);
        code.jump(out);

        // The kernel now calls the rest of it by its own first sector.
        code.bind(partial);
        code.compute(Arithmetic::Subtract, R3, R6);
        code.store(Width::Eight, R10, SECTORS, R3);
        delete(code, &plan.maps.requests, KEY);
        code.load(Width::Eight, R1, R10, SECTOR);
        code.compute(Arithmetic::Add, R1, R6);
        code.store(Width::Eight, R10, SECTOR, R1);
        update(code, &plan.maps.requests, KEY, START);
        code.jump(out);

        code.bind(forgotten);
        delete(code, &plan.maps.requests, KEY);
        code.bind(unmatched);
        self.find_operation_counts();
        let code = &mut self.code;
        add(code, R0, layout::UNMATCHED, 1);
    }

    fn front_merge(&mut self, length: Place) {
        let Self { plan, code, out } = self;
        delete(code, &plan.maps.queued, KEY);
        code.load(length.width, R6, R6, length.offset);
        code.load(Width::Eight, R1, R10, SECTOR);
        code.compute(Arithmetic::Add, R1, R6);
        code.store(Width::Eight, R10, OTHER_SECTOR, R1);
        code.load(Width::Eight, R1, R10, KEY);
        code.store(Width::Eight, R10, OTHER_KEY, R1);
        look_up(code, &plan.maps.requests, OTHER_KEY, *out);
        for (word, place) in [START, ISSUE, SECTORS].into_iter().enumerate() {
            code.load(Width::Eight, R1, R0, (word * 8) as i16);
            code.store(Width::Eight, R10, place, R1);
        }
        delete(code, &plan.maps.requests, OTHER_KEY);
        update(code, &plan.maps.requests, KEY, START);
    }
}
