//! Finds the positions of structure fields in the kernel's type information (BTF).
//!
//! Fields move between kernels. The BTF file of the running kernel gives their positions, and the arguments
//! of an event. It is read once, when a tracer opens. Its contents are not trusted: an offset outside the
//! file ends the search, and a field that is not a plain number or pointer counts as missing. Source: the
//! kernel's Documentation/bpf/btf.rst.

use super::assembler::{Place, Width};
use super::error::TracerError;
use crate::kernel::Roots;
use engine::input;

const MAGIC: u16 = 0xEB9F;
/// The longest chain of names for one type, and the deepest nesting of a field.
const DEEPEST: usize = 16;

/// Kinds of types.
const INTEGER: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;
const ALIAS: u32 = 8;
const VOLATILE: u32 = 9;
const CONSTANT: u32 = 10;
const RESTRICT: u32 = 11;
const PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const NOTE: u32 = 17;
const TYPE_NOTE: u32 = 18;
const ENUMERATION_64: u32 = 19;

/// The event that a program is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// Its type number in the kernel.
    pub(super) type_id: u32,
    /// Index of the requested argument, from 0.
    pub(super) argument: u32,
}

/// Header of a type: three words, and the offset of what follows them.
#[derive(Clone, Copy, Debug)]
struct Head {
    name: u32,
    kind: u32,
    count: usize,
    bit_fields: bool,
    /// Size in bytes, or the type that this one refers to.
    size_or_type: u32,
    rest: usize,
}

pub(super) struct KernelTypes {
    bytes: Vec<u8>,
    strings: usize,
    /// Offset of each type; type 0 is void.
    types: Vec<usize>,
}

impl KernelTypes {
    pub(super) fn read(roots: &Roots) -> Result<Self, TracerError> {
        let missing = TracerError::NoSupport("type information in /sys/kernel/btf/vmlinux");
        let bytes = input::kernel_bytes(&roots.sys.join("kernel/btf/vmlinux"));
        Self::parse(bytes.map_err(|_| missing.clone())?).ok_or(missing)
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        if bytes.get(..2)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let head = word(&bytes, 4)? as usize;
        let [types_at, types_bytes, strings_at] = [8, 12, 16].map(|at| word(&bytes, at));
        let begin = head.checked_add(types_at? as usize)?;
        let end = begin.checked_add(types_bytes? as usize)?.min(bytes.len());
        let strings = head.checked_add(strings_at? as usize)?;
        let mut found = Self { bytes, strings, types: vec![0] };
        let mut at = begin;
        while at < end {
            found.types.push(at);
            let head = found.head_at(at)?;
            let bytes = match head.kind {
                INTEGER | VARIABLE | NOTE => 4,
                ARRAY => 12,
                STRUCTURE | UNION | SECTION | ENUMERATION_64 => 12 * head.count,
                ENUMERATION | PROTOTYPE => 8 * head.count,
                kind if kind <= ENUMERATION_64 => 0,
                _ => return None,
            };
            at = head.rest + bytes;
        }
        Some(found)
    }

    fn head_at(&self, at: usize) -> Option<Head> {
        let info = word(&self.bytes, at + 4)?;
        Some(Head {
            name: word(&self.bytes, at)?,
            kind: info >> 24 & 0x1F,
            count: (info & 0xFFFF) as usize,
            bit_fields: info >> 31 != 0,
            size_or_type: word(&self.bytes, at + 8)?,
            rest: at + 12,
        })
    }

    fn head(&self, type_id: u32) -> Option<Head> {
        let at = *self.types.get(type_id as usize)?;
        (at > 0).then(|| self.head_at(at)).flatten()
    }

    fn is_named(&self, name: u32, wanted: &str) -> bool {
        let at = self.strings + name as usize;
        let end = at + wanted.len();
        self.bytes.get(at..end) == Some(wanted.as_bytes()) && self.bytes.get(end) == Some(&0)
    }

    fn find(&self, kind: u32, name: &str) -> Option<(u32, Head)> {
        (1..self.types.len() as u32).find_map(|id| {
            let head = self.head(id)?;
            (head.kind == kind && self.is_named(head.name, name)).then_some((id, head))
        })
    }

    /// The underlying type, without typedefs and qualifiers.
    fn plain(&self, mut type_id: u32) -> Option<(u32, Head)> {
        for _ in 0..DEEPEST {
            let head = self.head(type_id)?;
            match head.kind {
                ALIAS | VOLATILE | CONSTANT | RESTRICT | TYPE_NOTE => type_id = head.size_or_type,
                _ => return Some((type_id, head)),
            }
        }
        None
    }

    /// Position of `field` in a structure: a number or a pointer. A dot leads into a nested structure.
    pub(super) fn place(&self, structure: &str, field: &str) -> Option<Place> {
        let (_, mut head) = self.find(STRUCTURE, structure)?;
        let (mut bits, mut plain) = (0_u32, None);
        for name in field.split('.') {
            let (at, type_id) = self.member(head, name, DEEPEST)?;
            bits = bits.checked_add(at)?;
            let (_, found) = self.plain(type_id)?;
            (head, plain) = (found, Some(found));
        }
        let bytes = match plain?.kind {
            INTEGER | ENUMERATION => plain?.size_or_type as usize,
            POINTER => 8,
            _ => return None,
        };
        let width = Width::of(bytes)?;
        bits.is_multiple_of(8 * bytes as u32).then_some(())?;
        Some(Place { offset: i16::try_from(bits / 8).ok()?, width })
    }

    /// Position of a member in bits, and its type; an unnamed member's members belong to the structure.
    fn member(&self, structure: Head, wanted: &str, deepest: usize) -> Option<(u32, u32)> {
        if !matches!(structure.kind, STRUCTURE | UNION) || deepest == 0 {
            return None;
        }
        (0..structure.count).find_map(|index| {
            let at = structure.rest + 12 * index;
            let name = word(&self.bytes, at)?;
            let type_id = word(&self.bytes, at + 4)?;
            let mut bits = word(&self.bytes, at + 8)?;
            if structure.bit_fields {
                if bits >> 24 != 0 {
                    return None;
                }
                bits &= 0xFF_FFFF;
            }
            if self.is_named(name, wanted) {
                return Some((bits, type_id));
            }
            if !self.is_named(name, "") {
                return None;
            }
            let (_, within) = self.plain(type_id)?;
            let (more, found) = self.member(within, wanted, deepest - 1)?;
            Some((bits.checked_add(more)?, found))
        })
    }

    /// An event, and which of its arguments is a pointer to a structure of that name.
    pub(super) fn tracepoint(&self, event: &str, structure: &str) -> Option<Tracepoint> {
        let (type_id, alias) = self.find(ALIAS, &format!("btf_trace_{event}"))?;
        let (_, pointer) = self.plain(alias.size_or_type)?;
        let (_, prototype) = self.plain(pointer.size_or_type)?;
        if pointer.kind != POINTER || prototype.kind != PROTOTYPE {
            return None;
        }
        // The first is the kernel's own and is not passed.
        (1..prototype.count).find_map(|index| {
            let (_, argument) = self.plain(word(&self.bytes, prototype.rest + 8 * index + 4)?)?;
            let (_, of) = self.plain(argument.size_or_type)?;
            let right = argument.kind == POINTER
                && of.kind == STRUCTURE
                && self.is_named(of.name, structure);
            right.then_some(Tracepoint { type_id, argument: index as u32 - 1 })
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    /// A file of types, assembled according to the kernel's documentation.
    #[derive(Default)]
    struct Made {
        types: Vec<u8>,
        strings: Vec<u8>,
    }

    impl Made {
        fn name(&mut self, name: &str) -> u32 {
            if self.strings.is_empty() {
                self.strings.push(0);
            }
            if name.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32;
            self.strings.extend(name.bytes().chain([0]));
            at
        }

        fn add(&mut self, name: &str, kind: u32, count: u32, size_or_type: u32, rest: &[u32]) {
            let name = self.name(name);
            for word in [name, kind << 24 | count, size_or_type].iter().chain(rest) {
                self.types.extend(word.to_ne_bytes());
            }
        }

        fn finish(self) -> Vec<u8> {
            let mut bytes = MAGIC.to_ne_bytes().to_vec();
            bytes.extend([1, 0]);
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            for word in [24, 0, types, types, strings] {
                bytes.extend(u32::to_ne_bytes(word));
            }
            bytes.extend(self.types);
            bytes.extend(self.strings);
            bytes
        }
    }

    fn made() -> Vec<u8> {
        let mut made = Made::default();
        let [tag, sector, disk, inner] =
            ["tag", "sector", "disk", "inner"].map(|name| made.name(name));
        made.add("int", INTEGER, 0, 4, &[32]); // 1
        made.add("long", INTEGER, 0, 8, &[64]); // 2
        made.add("sector_t", ALIAS, 0, 2, &[]); // 3
        made.add("", STRUCTURE, 2, 16, &[tag, 1, 0, sector, 3, 64]); // 4
        made.add("gendisk", STRUCTURE, 1, 4, &[tag, 1, 0]); // 5
        made.add("", POINTER, 0, 5, &[]); // 6
        made.add("request", STRUCTURE, 3, 40, &[0, 4, 64, disk, 6, 192, inner, 5, 256]); // 7
        made.add("", POINTER, 0, 7, &[]); // 8
        made.add("", POINTER, 0, 0, &[]); // 9
        made.add("", PROTOTYPE, 4, 0, &[0, 9, 0, 6, 0, 8, 0, 1]); // 10
        made.add("", POINTER, 0, 10, &[]); // 11
        made.add("btf_trace_block_rq_issue", ALIAS, 0, 11, &[]); // 12
        made.finish()
    }

    #[test]
    fn fields_are_found_through_names_and_nameless_structures() {
        let types = KernelTypes::parse(made()).unwrap();
        let place = |offset, width| Some(Place { offset, width });
        assert_eq!(types.place("request", "tag"), place(8, Width::Four));
        assert_eq!(types.place("request", "sector"), place(16, Width::Eight));
        assert_eq!(types.place("request", "disk"), place(24, Width::Eight));
        assert_eq!(types.place("request", "inner.tag"), place(32, Width::Four));
        // A structure is not a number, and missing fields are not found.
        assert_eq!(types.place("request", "inner"), None);
        assert_eq!(types.place("request", "bytes"), None);
        assert_eq!(types.place("bio", "tag"), None);
    }

    #[test]
    fn an_argument_is_found_by_what_it_points_to() {
        let types = KernelTypes::parse(made()).unwrap();
        let found = |structure| types.tracepoint("block_rq_issue", structure);
        assert_eq!(found("gendisk"), Some(Tracepoint { type_id: 12, argument: 0 }));
        assert_eq!(found("request"), Some(Tracepoint { type_id: 12, argument: 1 }));
        assert_eq!(found("bio"), None);
        assert_eq!(types.tracepoint("block_rq_complete", "request"), None);
    }

    #[test]
    fn a_broken_file_never_panics_and_never_ends_in_a_loop() {
        let whole = made();
        let mut numbers = SplitMix64::new(1);
        let mut draw = |below: usize| numbers.below(below as u64) as usize;
        let mut read = 0;
        for _ in 0..testkit::draws(5_000, 50_000) {
            let mut bytes = whole.clone();
            for _ in 0..=draw(4) {
                let at = draw(bytes.len());
                bytes[at] = [0, 0xFF, draw(256) as u8][draw(3)];
            }
            if draw(4) == 0 {
                bytes.truncate(draw(bytes.len()));
            }
            let Some(types) = KernelTypes::parse(bytes) else { continue };
            read += 1;
            for field in ["tag", "sector", "inner.tag"] {
                if let Some(place) = types.place("request", field) {
                    assert!(place.offset >= 0);
                }
            }
            if let Some(point) = types.tracepoint("block_rq_issue", "request") {
                assert!(point.argument < 4, "{point:?}");
            }
        }
        assert!(read > 100, "{read}");
    }
}
