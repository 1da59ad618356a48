//! Reads written data back, from the device and not from memory.
//!
//! Through the page cache, the kernel would serve reads from the pages that the writes left. Those pages
//! are first written to the device and dropped, and the document reports how many stayed. Each block is
//! read by a plain call, not by the engine under test: a fault of the engine in reads could hide its fault
//! in writes.

use crate::legs::Legs;
use crate::verify::{Checked, VerifyLog};
use engine::{OwnedFile, StripeLayout, SystemError, read_up_to_end};
use host::target;
use record::{Bytes, Workload, format_bytes};
use std::sync::atomic::AtomicBool;

/// Reads back all blocks of these jobs through the descriptors that they used; blocks of an array through
/// its legs. When `stop` is set, ends early with a partial result.
pub(crate) fn read_back(
    workload: &Workload,
    logs: Vec<VerifyLog>,
    files: &[OwnedFile],
    mut legs: Option<&mut Legs<'_>>,
    stop: &AtomicBool,
) -> Checked {
    let mut checked = Checked::default();
    checked.result.method = method(workload, files);
    for log in logs {
        let target = log.job as usize % files.len().max(1);
        let mut read = |offset: u64, memory: &mut [u8]| match (&mut legs, workload.stripe_bytes) {
            (Some(legs), _) => legs.read(offset, memory),
            (None, Some(chunk)) => {
                let layout = StripeLayout::new(chunk.0 as u32, files.len());
                read_stripe(files, layout, offset, memory)
            }
            (None, None) => files.get(target).map_or(Ok(0), |file| {
                read_up_to_end(file, memory, offset).map_err(SystemError::code)
            }),
        };
        let one = log.check(stop, &mut read);
        checked.merge(one);
    }
    checked
}

/// The result if nothing can be read back, for example from a device that does not respond.
#[must_use]
pub fn not_read_back(logs: &[VerifyLog], why: &str) -> Checked {
    let mut checked = Checked::default();
    checked.result.method = format!("not read back: {why}");
    checked.result.unchecked = logs.iter().map(VerifyLog::written).sum();
    checked
}

/// Ensures that reads come from the device, and describes how.
pub(crate) fn method(workload: &Workload, files: &[OwnedFile]) -> String {
    if workload.cache.direct() {
        return "with direct I/O".to_owned();
    }
    let area = match workload.stripe_bytes {
        // The area of a stripe spans all targets completely.
        Some(_) => (Bytes(0), Bytes(u64::MAX >> 1)),
        None => (workload.offset_bytes, workload.size_bytes),
    };
    let mut stayed = Some(0);
    for file in files {
        if let Err(error) = target::drop_clean_pages(file, area.0, area.1) {
            return format!("through the page cache, which could not be emptied: {error}");
        }
        let resident = target::resident_bytes(file, area.0, area.1);
        stayed = stayed.zip(resident).map(|(sum, bytes): (u64, Bytes)| sum + bytes.0);
    }
    match stayed {
        Some(0) => "through the page cache, emptied first".to_owned(),
        Some(bytes) => {
            let bytes = format_bytes(bytes);
            format!("through the page cache, emptied first except for {bytes}")
        }
        None => "through the page cache, which was emptied first as far as possible".to_owned(),
    }
}

fn read_stripe(
    files: &[OwnedFile],
    layout: StripeLayout,
    offset: u64,
    memory: &mut [u8],
) -> Result<usize, i32> {
    let mut done = 0;
    while done < memory.len() {
        let place = layout.place(offset + done as u64);
        let length = (memory.len() - done).min(place.left as usize);
        let file = &files[place.file as usize];
        let part = &mut memory[done..done + length];
        let got = read_up_to_end(file, part, place.offset).map_err(SystemError::code)?;
        done += got;
        if got < length {
            break;
        }
    }
    Ok(done)
}
