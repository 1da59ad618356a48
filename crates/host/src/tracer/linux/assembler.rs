//! A small assembler for the kernel's BPF machine: typed instructions, and labels for jumps.
//!
//! Field offsets, device numbers and map descriptors of the running machine are constants in the programs,
//! so there is no object file to relocate. Rejected: a C program compiled by clang and a BPF crate (a tool
//! chain and a large dependency for three loads, a compare and a map update). Source: the kernel's
//! Documentation/bpf/standardization/instruction-set.rst.

/// A register. `R0` holds results, `R1` to `R5` arguments (lost in a call), `R6` to `R9` survive calls,
/// `R10` is the end of the stack frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// Width of a load or store in bytes, by its bits in the operation code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Width {
    Four = 0x00,
    Two = 0x08,
    One = 0x10,
    Eight = 0x18,
}

impl Width {
    pub(super) fn of(bytes: usize) -> Option<Self> {
        match bytes {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }
}

/// Position of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Offset from the start of its structure.
    pub(super) offset: i16,
    pub(super) width: Width,
}

/// 64-bit arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Arithmetic {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xB0,
}

/// When a jump is taken; comparisons are of unsigned 64-bit values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum When {
    Equal = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    NotEqual = 0x50,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Value(i32),
    Register(Register),
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Self::Value(value)
    }
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

/// Functions of the kernel, by their numbers in include/uapi/linux/bpf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum KernelFunction {
    MapLookup = 1,
    MapUpdate = 2,
    Nanoseconds = 5,
    ProcessAndThread = 14,
    ProcessName = 16,
}

/// A position in the program that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Why a program could not be assembled. All but the first are defects of this code, not of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProgramError {
    /// The event lacks what the program needs.
    #[error("it has no usable field {0:?}")]
    Field(&'static str),
    /// A jump to a label that was never bound.
    #[error("a jump leads nowhere")]
    Unbound,
    /// A jump over more instructions than fit in its field.
    #[error("a jump is too long")]
    TooFar,
}

#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

/// Classes and modes of operation codes.
const LOAD_MEMORY: u8 = 0x61;
const STORE_VALUE: u8 = 0x62;
const STORE_MEMORY: u8 = 0x63;
const ATOMIC_ADD: u8 = 0xC3;
const LOAD_64: u8 = 0x18;
const CLASS_JUMP: u8 = 0x05;
const CLASS_ARITHMETIC: u8 = 0x07;
const FROM_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The source field of a 64-bit load that means "the map of this descriptor".
const PSEUDO_MAP: u8 = 1;

impl Assembler {
    fn push(&mut self, operation: u8, target: u8, source: u8, offset: i16, value: i32) {
        let word = u64::from(operation)
            | u64::from(target | source << 4) << 8
            | u64::from(offset as u16) << 16
            | u64::from(value as u32) << 32;
        self.code.push(word);
    }

    /// `target = *(base + offset)`.
    pub(super) fn load(&mut self, width: Width, target: Register, base: Register, offset: i16) {
        self.push(LOAD_MEMORY | width as u8, target as u8, base as u8, offset, 0);
    }

    /// `target = ` the field at `place` of the structure that `base` points to.
    pub(super) fn load_place(&mut self, target: Register, base: Register, place: Place) {
        self.load(place.width, target, base, place.offset);
    }

    /// `*(base + offset) = source`.
    pub(super) fn store(
        &mut self,
        width: Width,
        base: Register,
        offset: i16,
        source: impl Into<Operand>,
    ) {
        let (code, source, value) = match source.into() {
            Operand::Value(value) => (STORE_VALUE, 0, value),
            Operand::Register(source) => (STORE_MEMORY, source as u8, 0),
        };
        self.push(code | width as u8, base as u8, source, offset, value);
    }

    /// `*(base + offset) += source` on eight bytes, atomically across all processors.
    pub(super) fn add_shared(&mut self, base: Register, offset: i16, source: Register) {
        self.push(ATOMIC_ADD | Width::Eight as u8, base as u8, source as u8, offset, 0);
    }

    /// `target = target operation operand`.
    pub(super) fn compute(
        &mut self,
        operation: Arithmetic,
        target: Register,
        operand: impl Into<Operand>,
    ) {
        self.push_operand(CLASS_ARITHMETIC | operation as u8, target, operand.into());
    }

    /// Emits an operation on a register and a value or another register.
    fn push_operand(&mut self, code: u8, target: Register, operand: Operand) {
        match operand {
            Operand::Value(value) => self.push(code, target as u8, 0, 0, value),
            Operand::Register(source) => {
                self.push(code | FROM_REGISTER, target as u8, source as u8, 0, 0);
            }
        }
    }

    /// `target = operand`.
    pub(super) fn set(&mut self, target: Register, operand: impl Into<Operand>) {
        self.compute(Arithmetic::Move, target, operand);
    }

    /// `target = value`, in all 64 bits.
    pub(super) fn set_wide(&mut self, target: Register, value: u64) {
        self.push(LOAD_64, target as u8, 0, 0, value as u32 as i32);
        self.push(0, 0, 0, 0, (value >> 32) as u32 as i32);
    }

    /// `target = ` the map of a descriptor.
    pub(super) fn set_map(&mut self, target: Register, descriptor: i32) {
        self.push(LOAD_64, target as u8, PSEUDO_MAP, 0, descriptor);
        self.push(0, 0, 0, 0, 0);
    }

    pub(super) fn call(&mut self, function: KernelFunction) {
        self.push(CALL, 0, 0, 0, function as i32);
    }

    /// Ends the program with 0: the event is not passed on.
    pub(super) fn exit(&mut self) {
        self.set(Register::R0, 0);
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// A label that is bound later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    pub(super) fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(CLASS_JUMP, 0, 0, 0, 0);
    }

    pub(super) fn jump_if(
        &mut self,
        left: Register,
        when: When,
        right: impl Into<Operand>,
        label: Label,
    ) {
        self.jumps.push((self.code.len(), label));
        self.push_operand(CLASS_JUMP | when as u8, left, right.into());
    }

    pub(super) fn finish(mut self) -> Result<Vec<u64>, ProgramError> {
        for &(at, label) in &self.jumps {
            let to = self.labels[label.0].ok_or(ProgramError::Unbound)?;
            let distance =
                i16::try_from(to as i64 - at as i64 - 1).map_err(|_| ProgramError::TooFar)?;
            self.code[at] |= u64::from(distance as u16) << 16;
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_the_standard_says() {
        let mut code = Assembler::default();
        let end = code.label();
        code.load(Width::Four, Register::R1, Register::R6, 8);
        code.jump_if(Register::R1, When::NotEqual, 7, end);
        code.set_wide(Register::R2, 0x1_0000_0002);
        code.bind(end);
        code.exit();
        // r1 = *(u32 *)(r6 + 8); if r1 != 7 goto +2; r2 = imm64; r0 = 0; exit
        assert_eq!(
            code.finish().unwrap(),
            [
                0x0000_0000_0008_6161,
                0x0000_0007_0002_0155,
                0x0000_0002_0000_0218,
                0x0000_0001_0000_0000,
                0x0000_0000_0000_00B7,
                0x0000_0000_0000_0095,
            ]
        );
    }

    #[test]
    fn jumps_back_and_jumps_nowhere_are_told_apart() {
        let mut code = Assembler::default();
        let top = code.label();
        code.bind(top);
        code.jump(top);
        assert_eq!(code.finish().unwrap(), [0x0000_0000_FFFF_0005]);
        let mut code = Assembler::default();
        let nowhere = code.label();
        code.jump(nowhere);
        assert_eq!(code.finish(), Err(ProgramError::Unbound));
    }
}
