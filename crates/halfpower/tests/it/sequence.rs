//! The same seed gives the same sequence of requests, with every engine.
//!
//! The data that a run wrote to a sparse file shows its requests. Runs with the same sequence and the same
//! number of bytes write the same blocks. Two different sequences of hundreds of random blocks among
//! thousands never do so by chance.

use crate::program::trial;
use std::collections::BTreeSet;
use testkit::{disk_folder, requires};

const BLOCK_BYTES: usize = 4096;
const FILE_BYTES: u64 = 64 << 20;

/// The blocks that a run with these flags writes to a file that was all zeros.
fn blocks_written(flags: &str) -> BTreeSet<usize> {
    let folder = disk_folder().unwrap();
    let file = folder.path().join("data");
    std::fs::File::create(&file).unwrap().set_len(FILE_BYTES).unwrap();
    let words = format!(
        "{} --rw randwrite --overwrite --cache all --io-size 4m --runtime 30s {flags}",
        file.display()
    );
    assert!(trial(0, &words).result.write.unwrap().ios > 100);
    let bytes = std::fs::read(&file).unwrap();
    let blocks = bytes.chunks(BLOCK_BYTES).enumerate();
    let written = blocks.filter(|(_, block)| **block != [0; BLOCK_BYTES]);
    let written: BTreeSet<usize> = written.map(|(index, _)| index).collect();
    assert!(written.len() < bytes.len() / BLOCK_BYTES, "the whole file: nothing can be told");
    written
}

#[test]
fn the_same_seed_makes_the_same_requests_on_both_engines_and_another_seed_others() {
    requires!(Disk);
    let ring = blocks_written("--seed 7 --ioengine io_uring");
    let deep = blocks_written("--seed 7 --ioengine io_uring --iodepth 8");
    let sync = blocks_written("--seed 7 --ioengine sync");
    let other = blocks_written("--seed 8 --ioengine sync");
    assert_eq!(ring, sync, "the engines differ");
    assert_eq!(ring, deep, "depth changes the sequence");
    assert_ne!(sync, other, "the seed changes nothing");
}
