//! Parses DiskSim's ASCII traces: `time device block blocks flags`. Times are in milliseconds or another
//! unit, blocks have 512 bytes, and flags are hexadecimal with the lowest bit set for a read.

use crate::replay::ReplayError;
use crate::replay::lines::Lines;
use crate::replay::requests::Requests;
use record::{Nanos, OpKind, Replay};

const BLOCK_BYTES: u64 = 512;
const READ: u32 = 1;

pub(crate) fn read(lines: Lines<'_>, unit_ns: u64) -> Result<Replay, ReplayError> {
    let mut found = Requests::default();
    for line in lines {
        let mut words = line.words();
        let at = Nanos(words.time("the time", unit_ns)?);
        let place = words;
        let device = words.word("the device")?;
        let device = found.device(device);
        let device =
            device.ok_or_else(|| place.wrong("the recording has more than 65,536 devices"))?;
        let place = words;
        let block = words.number("the block")?;
        let length = words;
        let blocks = words.number("the number of blocks")?;
        let flags_at = words;
        let flags = words.word("the field of flags")?;
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16)
            .map_err(|_| flags_at.wrong(&format!("{flags:?} is not a hexadecimal flag value")))?;
        if words.maybe().is_some() {
            return Err(flags_at.wrong("the line has more than five fields"));
        }
        let offset = block.checked_mul(BLOCK_BYTES);
        let offset = offset.ok_or_else(|| place.wrong("the block is larger than any device"))?;
        let bytes = blocks.checked_mul(BLOCK_BYTES).and_then(|it| u32::try_from(it).ok());
        let bytes = bytes.filter(|bytes| *bytes > 0 && *bytes <= i32::MAX as u32);
        let bytes =
            bytes.ok_or_else(|| length.wrong("a request cannot have this number of blocks"))?;
        let end = offset.checked_add(u64::from(bytes));
        end.ok_or_else(|| place.wrong("the block is larger than any device"))?;
        let op = if flags & READ == 1 { OpKind::Read } else { OpKind::Write };
        found.push(device, at, op, offset, bytes);
    }
    found.replay("")
}
