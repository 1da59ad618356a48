//! Parses the layout of an event's fields from its `format` file in tracefs.
//!
//! Fields move between kernels, so no offset is known in advance. The text is not trusted: a field counts
//! as missing unless it is a plain number of 1, 2, 4 or 8 bytes, at a multiple of its size, inside the
//! range that a program may read. Rejected: offsets by kernel version, which do not match in distributions.

use super::assembler::{Place, Width};
use crate::kernel;

/// The first bytes of an event belong to the kernel; programs may not read them.
const HEAD_BYTES: usize = 8;
/// Upper limit of what programs may read (`PERF_MAX_TRACE_SIZE`).
const LARGEST_BYTES: usize = 8192;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Its number for perf_event_open.
    pub(super) id: u64,
    fields: Vec<Field>,
}

impl Format {
    /// Parses a `format` file; `None` if it has no number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = kernel::read::field(text, "ID")?.parse().ok()?;
        let fields = text.lines().filter_map(field).collect();
        Some(Self { id, fields })
    }

    pub(super) fn number(&self, name: &str) -> Option<Place> {
        let field = self.find(name)?;
        let width = Width::of(field.bytes)?;
        (field.offset.is_multiple_of(field.bytes)).then_some(())?;
        Some(Place { offset: i16::try_from(field.offset).ok()?, width })
    }

    /// The offset of an array of at least this many bytes.
    pub(super) fn array(&self, name: &str, at_least: usize) -> Option<i16> {
        let field = self.find(name).filter(|field| field.bytes >= at_least)?;
        i16::try_from(field.offset).ok()
    }

    fn find(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field that programs may read: `field:unsigned int nr_sector;  offset:24;  size:4;  signed:0;`
fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let value = |key| parts.clone().find_map(|part| part.strip_prefix(key)?.trim().parse().ok());
    let (offset, bytes): (usize, usize) = (value("offset:")?, value("size:")?);
    let readable = offset >= HEAD_BYTES && offset.checked_add(bytes)? <= LARGEST_BYTES;
    let last = declaration.split_ascii_whitespace().next_back()?;
    let name = last.split('[').next()?.trim_start_matches('*').to_owned();
    readable.then_some(Field { name, offset, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    /// `block_rq_issue` of Linux 6.18.
    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d %s\", REC->dev\n";

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let format = Format::parse(ISSUE).unwrap();
        assert_eq!(format.id, 2104);
        assert_eq!(format.number("sector"), Some(Place { offset: 16, width: Width::Eight }));
        assert_eq!(format.number("nr_sector"), Some(Place { offset: 24, width: Width::Four }));
        assert_eq!(format.array("rwbs", 2), Some(34));
        // Programs cannot read the kernel's own header; an array is not a number.
        assert_eq!(format.number("common_pid"), None);
        assert_eq!(format.number("rwbs"), None);
        assert_eq!(format.number("bytes"), None);
    }

    #[test]
    fn offsets_that_a_program_must_not_use_are_as_good_as_missing() {
        let with = |line: &str| Format::parse(&format!("ID: 1\n{line}")).unwrap().number("dev");
        assert!(with("field:dev_t dev; offset:8; size:4; signed:0;").is_some());
        for line in [
            "field:dev_t dev; offset:9; size:4; signed:0;",
            "field:dev_t dev; offset:8; size:3; signed:0;",
            "field:dev_t dev; offset:8; size:0; signed:0;",
            "field:dev_t dev; offset:8192; size:4; signed:0;",
            "field:dev_t dev; offset:18446744073709551612; size:4; signed:0;",
            "field:dev_t dev; offset:-8; size:4; signed:0;",
            "field:dev_t dev; size:4; signed:0;",
        ] {
            assert_eq!(with(line), None, "{line}");
        }
    }

    #[test]
    fn broken_text_never_panics_and_never_gives_a_place_outside() {
        let mut numbers = SplitMix64::new(1);
        let mut draw = |below: usize| numbers.below(below as u64) as usize;
        for _ in 0..testkit::draws(2_000, 20_000) {
            let mut bytes = ISSUE.as_bytes().to_vec();
            for _ in 0..=draw(6) {
                let at = draw(bytes.len());
                match draw(4) {
                    0 => bytes[at] = draw(256) as u8,
                    1 => drop(bytes.remove(at)),
                    2 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"0123456789-;:[]\n\xff"[draw(17)]),
                }
                if bytes.is_empty() {
                    bytes.push(b'I');
                }
            }
            let Some(format) = Format::parse(&String::from_utf8_lossy(&bytes)) else { continue };
            for name in ["dev", "sector", "nr_sector", "cmd", ""] {
                if let Some(place) = format.number(name) {
                    assert!((8..8192).contains(&place.offset), "{place:?}");
                }
            }
            if let Some(offset) = format.array("rwbs", 2) {
                assert!((8..8191).contains(&offset));
            }
        }
    }
}
