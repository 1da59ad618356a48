//! The content of each kind of data in writes.

use engine::tag::{Reading, SECTOR_BYTES, Tag, Tags, read};
use engine::{Buffers, Setup};
use record::{Data, OpKind};
use workload::Request;

const PAGE: usize = 4_096;
/// Four of the longest compressor windows.
const WINDOWS_BYTES: u64 = 256 << 10;

fn buffers(bytes: u32, change: impl FnOnce(&mut Setup)) -> Buffers {
    let mut setup = Setup { writes: true, data_seed: 3, ..Setup::reading(Vec::new(), 2, bytes) };
    change(&mut setup);
    Buffers::new(&setup).unwrap()
}

/// Data of the next write of slot 1.
fn next(buffers: &mut Buffers, offset: u64, bytes: u32, generation: u64) -> Vec<u8> {
    let request = Request { offset, bytes, op: OpKind::Write };
    let start = buffers.next_write(1, &request, generation);
    // SAFETY: the write's bytes are initialised and do not change until the slot's next write.
    unsafe { std::slice::from_raw_parts(start, bytes as usize) }.to_vec()
}

#[test]
fn no_two_blocks_of_random_writes_are_alike() {
    let mut buffers = buffers(8_192, |_| ());
    let mut seen = std::collections::HashSet::new();
    for _ in 0..1_000 {
        for block in next(&mut buffers, 0, 8_192, 0).chunks(PAGE) {
            assert!(seen.insert(block.to_vec()), "a block came twice");
            let zeros = block.iter().filter(|&&byte| byte == 0).count();
            assert!(zeros < PAGE / 64, "{zeros} zeros in random data");
        }
    }
}

#[test]
fn a_compressible_block_ends_in_its_share_of_zeros_and_the_rest_is_new() {
    for (percent, zeros) in [(0, 0), (25, 1_024), (70, 2_867), (100, 4_096)] {
        let mut buffers = buffers(8_192, |setup| {
            setup.data = Data::Compressible;
            setup.compressible_percent = percent;
        });
        let mut last = Vec::new();
        for _ in 0..100 {
            let content = next(&mut buffers, 0, 8_192, 0);
            for block in content.chunks(PAGE) {
                let trailing = block.iter().rev().take_while(|&&byte| byte == 0).count();
                // With probability 1/256, a random byte before them is zero.
                assert!((zeros..zeros + 8).contains(&trailing), "{percent} %: {trailing}");
            }
            assert!(percent == 100 || content != last);
            last = content;
        }
    }
}

#[test]
fn a_compressible_request_below_a_page_has_its_own_share() {
    let mut buffers = buffers(512, |setup| {
        setup.data = Data::Compressible;
        setup.compressible_percent = 50;
    });
    let content = next(&mut buffers, 0, 512, 0);
    assert!(content[256..].iter().all(|&byte| byte == 0));
    assert!(content[..256].iter().any(|&byte| byte != 0));
}

#[test]
fn zeros_are_zeros() {
    let mut buffers = buffers(65_536, |setup| setup.data = Data::Zeros);
    for _ in 0..3 {
        assert!(next(&mut buffers, 0, 65_536, 0).iter().all(|&byte| byte == 0));
    }
}

#[test]
fn every_block_of_a_tagged_write_tells_where_it_belongs_and_which_write_it_was() {
    for block_bytes in [4_096, 512] {
        let tags = Tags { block_bytes, seed: 77 };
        let mut buffers = buffers(65_536, |setup| {
            setup.data = Data::Tagged;
            setup.tags = tags;
        });
        // More writes than the ring has pieces, with several lengths.
        for generation in 1..200 {
            let (offset, bytes) = (generation * 8_192, 4_096 * (1 + generation as u32 % 16));
            let content = next(&mut buffers, offset, bytes, generation);
            for (index, block) in content.chunks(block_bytes as usize).enumerate() {
                let offset = offset + index as u64 * u64::from(block_bytes);
                let tag = Tag { offset, generation, seed: 77 };
                assert_eq!(read(block, offset, 77), Reading::Whole(tag));
            }
        }
    }
}

#[test]
fn a_tagged_request_of_a_sector_is_a_block() {
    let mut buffers = buffers(512, |setup| {
        setup.data = Data::Tagged;
        setup.tags = Tags { block_bytes: SECTOR_BYTES as u32, seed: 1 };
    });
    let content = next(&mut buffers, 1_536, 512, 9);
    let tag = Tag { offset: 1_536, generation: 9, seed: 1 };
    assert_eq!(read(&content, 1_536, 1), Reading::Whole(tag));
}

#[test]
fn slots_that_take_turns_repeat_nothing_within_the_window_of_any_compressor() {
    for depth in [1, 2, 8, 32, 128] {
        let mut setup = Setup::reading(Vec::new(), depth, 4_096);
        setup.writes = true;
        let mut buffers = Buffers::new(&setup).unwrap();
        // The second word of a page is never stamped, so it identifies the page of a ring.
        let mut last = std::collections::HashMap::new();
        let mut returned = 0;
        for write in 0..u64::from(depth) * 200 {
            let request = Request { offset: write * 4_096, bytes: 4_096, op: OpKind::Write };
            let start = buffers.next_write((write % u64::from(depth)) as u32, &request, 0);
            // SAFETY: the write's bytes are initialised and do not change until the slot's next write.
            let word = unsafe { *start.cast::<u64>().add(1) };
            if let Some(before) = last.insert(word, write) {
                returned += 1;
                assert!((write - before) * 4_096 >= WINDOWS_BYTES, "depth {depth}");
            }
        }
        assert!(returned > 0, "the rings come round at depth {depth}");
    }
}

#[test]
#[should_panic(expected = "a read of 8193 bytes into 8192")]
fn a_read_beyond_the_largest_request_is_refused_before_the_kernel_writes_elsewhere() {
    let _ = buffers(8_192, |_| ()).read_area(0, 8_193);
}

#[test]
#[should_panic(expected = "slot 2 is beyond")]
fn a_slot_beyond_the_depth_is_refused() {
    let _ = buffers(8_192, |_| ()).read_area(2, 1);
}

#[test]
#[should_panic(expected = "a write of 12288 bytes out of")]
fn a_write_beyond_the_largest_request_is_refused() {
    let mut small = buffers(4_096, |setup| setup.depth = 64);
    let _ = small.next_write(0, &Request { offset: 0, bytes: 8_193, op: OpKind::Write }, 0);
}
