//! Builds the tracing programs: what they record at each event in the life of a request.
//!
//! The kernel itself stores in each request its start time and its type. A program reads them at the
//! offsets that the kernel's type information gives. The kernel does not store for every disk when the
//! request was issued. That time is recorded under the request's tag, which is unique until the request
//! ends. So no lookup by key is needed, nothing moves when requests are merged, and no entry must be
//! deleted. A wait before a request is recorded under the bio's first sector.
//!
//! Events may occur on any processor, so requests in flight are in maps that all processors share; final
//! figures go to the processor's own counts. If an interrupt arrives while a program runs, the kernel skips
//! the program for that event; a completion without its issue is counted.
//!
//! | event | action |
//! |---|---|
//! | block_bio_queue | notes the time of the bio |
//! | block_getrq | the wait since then: throttling by rq-qos (io.cost, write-back throttling), lack of free tags |
//! | block_rq_issue | notes the time and the size; compares the sector with the last ends |
//! | block_rq_complete | counts queue time, device time and size |
//! | block_rq_requeue | counts an issue that was reverted |
//!
//! Throttling by control groups (io.max, blkio.throttle) occurs before block_bio_queue up to Linux 6.18.

use super::assembler::{
    Arithmetic, Assembler, KernelFunction, Label, Operand, ProgramError, Register, When, Width,
};
use super::fields::{DataFields, Fields};
use super::layout;
use super::syscalls::{Map, MapKind};
use super::types::Tracepoint;
use Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use rustix::io::Errno;

/// Ends of requests remembered per device, to distinguish interleaved streams from random requests.
pub(super) const STREAMS: usize = 16;
/// Maximum number of devices that the program distinguishes by comparisons; for more it uses a map.
const COMPARED: usize = 24;

/// Bios that can wait for their requests at the same time: a power of two.
pub(super) const BIOS: usize = 16_384;

/// Bytes of the values in the maps.
pub(super) const ENTRY_BYTES: usize = 16;
pub(super) const ENDS_BYTES: usize = (STREAMS + 1) * 8;

#[derive(Debug)]
pub(super) struct Maps {
    /// Index of a bio to its slot and sector, and the time when it was queued.
    pub(super) bios: Map,
    /// Slot to the start of its requests in `requests`, and the number of tags in a hardware queue.
    pub(super) tags: Map,
    /// Tag in a queue of a disk to the issue time, 0 for none, and the bytes.
    pub(super) requests: Map,
    /// Slot to the last ends, and the index of the next to replace.
    pub(super) ends: Map,
    pub(super) counts: Map,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) maps: Maps,
    pub(super) devices: Devices,
    pub(super) fields: Fields,
}

/// Kernel numbers of devices, each with the slot of its disk.
#[derive(Debug)]
pub(super) struct Devices {
    numbers: Vec<(u32, u32)>,
    /// The same as a map, for programs with too many devices to compare.
    slots: Map,
}

impl Devices {
    pub(super) fn new(numbers: Vec<(u32, u32)>) -> Result<Self, Errno> {
        let slots = Map::new(MapKind::Hash, 4, 4, numbers.len())?;
        for (number, slot) in &numbers {
            slots.set(&number.to_ne_bytes(), &slot.to_ne_bytes())?;
        }
        Ok(Self { numbers, slots })
    }

    /// Sets `R7` to the slot of the device whose number is in `R1`, or jumps to `out`. Uses `R0` to `R4`
    /// and four bytes of the stack.
    pub(super) fn find_slot(&self, code: &mut Assembler, key: i16, out: Label) {
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

// Offsets in the stack frame, below its end.
const SLOT: i16 = -8;
const PLACE: i16 = -16;
const BYTES: i16 = -24;

/// Mask of the operation in its word, and the operation that writes.
const OPERATION: i32 = 0xFF;
const WRITE: i32 = 1;
/// Bits for the sector in a bio's key; the slot is above them.
const SECTOR_BITS: i32 = 52;

/// A program under construction, and the label of its early exit.
struct Program<'a> {
    plan: &'a Plan,
    code: Assembler,
    out: Label,
}

impl<'a> Program<'a> {
    /// Sets `R6` to the request or bio of the event, and `R9` to the argument `second`.
    fn new(plan: &'a Plan, point: Tracepoint, second: Option<u32>) -> Self {
        let mut code = Assembler::default();
        let out = code.label();
        let argument = |number: u32| (number * 8) as i16;
        code.load(Width::Eight, R6, R1, argument(point.argument));
        if let Some(number) = second {
            code.load(Width::Eight, R9, R1, argument(number));
        }
        Self { plan, code, out }
    }

    /// Exits for anything but reads and writes of the devices. Sets `R7` to the slot, and `R8` to 0 for
    /// reads and 1 for writes.
    fn choose(&mut self, fields: &DataFields) {
        let Self { plan, code, out } = self;
        code.set(R1, R6);
        for place in &fields.disk {
            code.load_place(R1, R1, *place);
        }
        code.load_place(R2, R1, plan.fields.first_minor);
        code.load_place(R1, R1, plan.fields.major);
        code.compute(Arithmetic::ShiftLeft, R1, 20);
        code.compute(Arithmetic::Add, R1, R2);
        plan.devices.find_slot(code, SLOT, *out);
        code.load_place(R8, R6, fields.operation);
        code.compute(Arithmetic::And, R8, OPERATION);
        code.jump_if(R8, When::Above, WRITE, *out);
        // A lone flush is a write without data until the block layer changes its type.
        code.load_place(R1, R6, fields.bytes);
        code.jump_if(R1, When::Equal, 0, *out);
        code.store(Width::Four, R10, SLOT, R7);
    }

    fn read_clock(&mut self) {
        self.code.call(KernelFunction::Nanoseconds);
        self.code.set(R9, R0);
    }

    fn finish(mut self) -> Result<Vec<u64>, ProgramError> {
        self.code.bind(self.out);
        self.code.exit();
        self.code.finish()
    }

    /// Sets `R0` to the device's counts on this processor, or exits.
    fn find_counts(&mut self) {
        let Self { plan, code, out } = self;
        look_up(code, &plan.maps.counts, SLOT, *out);
    }

    /// Sets `R0` to the counts of the operation in `R8` (0 or 1). Uses `R1`.
    fn find_operation_counts(&mut self) {
        self.find_counts();
        self.code.set(R1, R8);
        self.code.compute(Arithmetic::Multiply, R1, (layout::OP_WORDS * 8) as i32);
        self.code.compute(Arithmetic::Add, R0, R1);
    }

    /// Sets `R0` to the entry of the request in `R6`, or exits. Uses `R1` to `R4`.
    fn find_request(&mut self) {
        let Self { plan, code, out } = self;
        look_up(code, &plan.maps.tags, SLOT, *out);
        code.load(Width::Eight, R2, R0, 8);
        code.load_place(R3, R6, plan.fields.tag);
        // Without a tag, this is a large number.
        code.jump_if(R3, When::AtLeast, R2, *out);
        code.load_place(R1, R6, plan.fields.hardware_queue);
        code.load_place(R1, R1, plan.fields.queue_number);
        code.compute(Arithmetic::Multiply, R1, R2);
        code.compute(Arithmetic::Add, R1, R3);
        code.load(Width::Eight, R2, R0, 0);
        code.compute(Arithmetic::Add, R1, R2);
        code.store(Width::Four, R10, PLACE, R1);
        look_up(code, &plan.maps.requests, PLACE, *out);
    }

    /// Sets `R8` to the key of the bio in `R6` and `R0` to its entry, or exits. Uses `R1` to `R4`.
    fn find_bio(&mut self) {
        let Self { plan, code, out } = self;
        code.load_place(R8, R6, plan.fields.bio.sector);
        // The sectors of a page would share only an eighth of the indexes.
        code.set(R1, R8);
        code.compute(Arithmetic::ShiftRight, R1, 3);
        code.compute(Arithmetic::And, R1, BIOS as i32 - 1);
        code.store(Width::Four, R10, PLACE, R1);
        code.compute(Arithmetic::ShiftLeft, R7, SECTOR_BITS);
        code.compute(Arithmetic::Add, R8, R7);
        look_up(code, &plan.maps.bios, PLACE, *out);
    }
}

/// `register = ` address of a position on the stack.
pub(super) fn address(code: &mut Assembler, register: Register, place: i16) {
    code.set(register, R10);
    code.compute(Arithmetic::Add, register, i32::from(place));
}

/// `R0 = ` address of the entry for the key on the stack; jumps to `absent` if there is none.
pub(super) fn look_up(code: &mut Assembler, map: &Map, key: i16, absent: Label) {
    code.set_map(R1, map.number());
    address(code, R2, key);
    code.call(KernelFunction::MapLookup);
    code.jump_if(R0, When::Equal, 0, absent);
}

/// Sets the entry for the key on the stack to the value there.
pub(super) fn update(code: &mut Assembler, map: &Map, key: i16, value: i16) {
    code.set_map(R1, map.number());
    address(code, R2, key);
    address(code, R3, value);
    code.set(R4, 0);
    code.call(KernelFunction::MapUpdate);
}

/// `*(base + word) += amount`; not atomic, because each processor has its own counts. Uses `R2`.
fn add(code: &mut Assembler, base: Register, word: usize, amount: impl Into<Operand>) {
    let at = (word * 8) as i16;
    code.load(Width::Eight, R2, base, at);
    code.compute(Arithmetic::Add, R2, amount);
    code.store(Width::Eight, base, at, R2);
}

/// Adds the value in `R1` to the histogram of times or sizes at a word of `base`. Uses `R1` to `R3`.
fn record(code: &mut Assembler, base: Register, word: usize, largest_shift: u32) {
    let (fits, skip) = (code.label(), code.label());
    // Larger values go to the last bucket.
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
    /// A bio gets its request.
    Getrq,
    Issue,
    Complete,
    Requeue,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BioQueue => "block_bio_queue",
            Self::Getrq => "block_getrq",
            Self::Issue => "block_rq_issue",
            Self::Complete => "block_rq_complete",
            Self::Requeue => "block_rq_requeue",
        }
    }

    /// The kernel's name of the structure that the event passes.
    pub(super) fn structure(self) -> &'static str {
        match self {
            Self::BioQueue | Self::Getrq => "bio",
            Self::Issue | Self::Complete | Self::Requeue => "request",
        }
    }

    pub(super) fn program(self, plan: &Plan, point: Tracepoint) -> Result<Vec<u64>, ProgramError> {
        // The arguments after the request are the status and the completed bytes.
        let second = matches!(self, Self::Complete).then_some(point.argument + 2);
        let mut program = Program::new(plan, point, second);
        match self {
            Self::BioQueue => program.queue_bio(),
            Self::Getrq => program.end_wait(),
            Self::Issue => program.issue(),
            Self::Complete => program.complete(),
            Self::Requeue => program.requeue(),
        }
        program.finish()
    }
}

impl Program<'_> {
    fn queue_bio(&mut self) {
        self.choose(&self.plan.fields.bio);
        self.read_clock();
        self.find_bio();
        self.code.store(Width::Eight, R0, 0, R8);
        self.code.store(Width::Eight, R0, 8, R9);
    }

    fn end_wait(&mut self) {
        self.choose(&self.plan.fields.bio);
        self.read_clock();
        self.find_bio();
        let Self { code, out, .. } = self;
        code.load(Width::Eight, R1, R0, 0);
        code.jump_if(R1, When::NotEqual, R8, *out);
        code.load(Width::Eight, R1, R0, 8);
        code.jump_if(R1, When::Equal, 0, *out);
        // The clocks of processors may differ slightly.
        code.jump_if(R1, When::Above, R9, *out);
        code.compute(Arithmetic::Subtract, R9, R1);
        code.store(Width::Eight, R0, 8, 0);
        self.find_counts();
        self.code.set(R1, R9);
        record(&mut self.code, R0, layout::BEFORE, layout::TIME_SHIFT);
    }

    fn issue(&mut self) {
        let fields = &self.plan.fields.request;
        self.choose(fields);
        self.read_clock();
        self.find_request();
        let Self { plan, code, out } = self;
        code.store(Width::Eight, R0, 0, R9);
        code.load_place(R1, R6, fields.bytes);
        code.store(Width::Eight, R0, 8, R1);
        // Sets R9 to the first sector and R6 to the sector after the last.
        code.load_place(R9, R6, fields.sector);
        code.compute(Arithmetic::ShiftRight, R1, 9);
        code.set(R6, R9);
        code.compute(Arithmetic::Add, R6, R1);
        look_up(code, &plan.maps.ends, SLOT, *out);
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

    fn complete(&mut self) {
        let fields = &self.plan.fields.request;
        self.choose(fields);
        // A partial completion; the request ends with the rest.
        self.code.load_place(R1, R6, fields.bytes);
        self.code.jump_if(R1, When::Above, R9, self.out);
        self.read_clock();
        self.find_request();
        let (plan, out) = (self.plan, self.out);
        let code = &mut self.code;
        let (unmatched, later, none, timed) =
            (code.label(), code.label(), code.label(), code.label());
        code.load(Width::Eight, R1, R0, 0);
        code.jump_if(R1, When::Equal, 0, unmatched);
        code.store(Width::Eight, R0, 0, 0);
        code.load(Width::Eight, R2, R0, 8);
        code.store(Width::Eight, R10, BYTES, R2);
        // The clocks of processors may differ slightly.
        code.jump_if(R9, When::AtLeast, R1, later);
        code.set(R9, R1);
        code.bind(later);
        code.compute(Arithmetic::Subtract, R9, R1);
        // Sets R6 to the queue time, or to -1 if the kernel stores no start.
        code.load_place(R2, R6, plan.fields.start);
        code.set(R6, 0);
        code.jump_if(R2, When::Equal, 0, none);
        code.jump_if(R2, When::Above, R1, timed);
        code.set(R6, R1);
        code.compute(Arithmetic::Subtract, R6, R2);
        code.jump(timed);
        code.bind(none);
        code.set(R6, -1);
        code.bind(timed);
        self.find_operation_counts();
        let code = &mut self.code;
        code.set(R1, R9);
        record(code, R0, layout::DEVICE, layout::TIME_SHIFT);
        code.load(Width::Eight, R1, R10, BYTES);
        code.compute(Arithmetic::ShiftRight, R1, 9);
        record(code, R0, layout::SIZE, layout::SIZE_SHIFT);
        code.jump_if(R6, When::Equal, -1, out);
        code.set(R1, R6);
        record(code, R0, layout::QUEUE, layout::TIME_SHIFT);
        code.jump(out);
        code.bind(unmatched);
        self.find_operation_counts();
        add(&mut self.code, R0, layout::UNMATCHED, 1);
    }

    fn requeue(&mut self) {
        self.choose(&self.plan.fields.request);
        self.find_operation_counts();
        add(&mut self.code, R0, layout::REQUEUED, 1);
    }
}
