//! Unbuffered sequential writes: exactly 100 blocks of 64 KiB with direct I/O.
//!
//! After figure 19 of Riedel, van Ingen and Gray (1997). O_DIRECT has three requirements: memory, offset and
//! length must be multiples of the device's block size. In return, the data is copied once less, and the page
//! cache keeps its content. The published program counts with `while (i++ < 100)` and writes 101 blocks, and
//! checks no result; this one has neither error.
//!
//! `cargo run --example unbuffered_write -- NEW_FILE`
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

const BLOCKS: u64 = 100;
const BLOCK_BYTES: usize = 64 << 10;
/// Sufficient for any device.
const ALIGNMENT: usize = 4_096;
/// `O_DIRECT` of Linux on x86_64 (open(2); asm-generic/fcntl.h).
const O_DIRECT: i32 = 0o40000;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("usage: unbuffered_write NEW_FILE")?;
    let name = path.display();
    let file = OpenOptions::new()
        .write(true)
        // A program that writes should not overwrite existing data by mistake.
        .create_new(true)
        .custom_flags(O_DIRECT)
        .open(&path)
        .with_context(|| format!("cannot create {name} (is there one, or no O_DIRECT here?)"))?;
    // Aligned memory without unsafe code: allocate more than needed, and use the aligned part.
    let mut memory = vec![0; BLOCK_BYTES + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let block = &mut memory[start..start + BLOCK_BYTES];
    let begin = Instant::now();
    for number in 0..BLOCKS {
        block.fill(number as u8);
        let offset = number * BLOCK_BYTES as u64;
        let written = file
            .write_at(block, offset)
            .with_context(|| format!("cannot write {name} at byte {offset}"))?;
        // A full disk causes a partial write; the next write would give the reason.
        ensure!(written == BLOCK_BYTES, "{name} took {written} bytes of block {number}");
    }
    // The written data is not durable yet: the drive has its own cache, and the file's length is not on the
    // disk either.
    file.sync_all().with_context(|| format!("cannot flush {name}"))?;
    let bytes = BLOCKS * BLOCK_BYTES as u64;
    println!("{bytes} bytes in {BLOCKS} requests");
    println!("{:.1} MB/s", bytes as f64 / 1e6 / begin.elapsed().as_secs_f64());
    Ok(())
}
