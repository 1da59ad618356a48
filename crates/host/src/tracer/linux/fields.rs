//! Finds the fields that the tracing programs read from the kernel's structures.
//!
//! The kernel's type information gives their positions. Names that changed between versions are tried in turn.

use super::assembler::Place;
use super::types::KernelTypes;

/// Positions of the fields that the programs read from a request or a bio.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) request: DataFields,
    pub(super) bio: DataFields,
    pub(super) major: Place,
    pub(super) first_minor: Place,
    pub(super) start: Place,
    pub(super) tag: Place,
    pub(super) hardware_queue: Place,
    pub(super) queue_number: Place,
}

/// Fields that requests and bios have in common.
#[derive(Debug)]
pub(super) struct DataFields {
    /// Path from the structure to its disk, pointer by pointer.
    pub(super) disk: Vec<Place>,
    pub(super) operation: Place,
    pub(super) bytes: Place,
    pub(super) sector: Place,
}

impl Fields {
    /// The fields in the running kernel, or the name of a missing one.
    pub(super) fn find(types: &KernelTypes) -> Result<Self, &'static str> {
        let place =
            |structure: &str, field: &'static str| types.place(structure, field).ok_or(field);
        // Up to Linux 5.15 for requests and 5.11 for bios, a single pointer led to the disk.
        let disk = |first: (&str, &str), second: (&str, &str), at_once: (&str, &'static str)| {
            let path = [first, second].map(|(structure, field)| types.place(structure, field));
            match path {
                [Some(first), Some(second)] => Ok(vec![first, second]),
                _ => place(at_once.0, at_once.1).map(|place| vec![place]),
            }
        };
        let request_disk =
            disk(("request", "q"), ("request_queue", "disk"), ("request", "rq_disk"))?;
        let bio_disk = disk(("bio", "bi_bdev"), ("block_device", "bd_disk"), ("bio", "bi_disk"))?;
        Ok(Self {
            request: DataFields {
                disk: request_disk,
                operation: place("request", "cmd_flags")?,
                bytes: place("request", "__data_len")?,
                sector: place("request", "__sector")?,
            },
            bio: DataFields {
                disk: bio_disk,
                operation: place("bio", "bi_opf")?,
                bytes: place("bio", "bi_iter.bi_size")?,
                sector: place("bio", "bi_iter.bi_sector")?,
            },
            major: place("gendisk", "major")?,
            first_minor: place("gendisk", "first_minor")?,
            start: place("request", "start_time_ns")?,
            tag: place("request", "tag")?,
            hardware_queue: place("request", "mq_hctx")?,
            queue_number: place("blk_mq_hw_ctx", "queue_num")?,
        })
    }
}
