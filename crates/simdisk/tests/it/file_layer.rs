//! Tests the file layer with a trivial disk: a fixed time per transfer plus bytes over a rate, one transfer
//! after the other, and one processor.

use crate::file_bench::{Bench, FILE_BYTES, KIB, MIB, block_ns, costs, sequence, spec};
use record::{CacheMode, OpKind};
use simdisk::{Conditions, FileSpec, FileState, FileSystem};
use workload::Rng;

#[test]
fn past_the_cache_a_request_is_split_at_the_largest_transfer_and_its_parts_go_at_once() {
    let mut bench = Bench::new(&spec(FileSystem::Nt4Sp6), CacheMode::Device);
    bench.run(OpKind::Read, 1, 192 * KIB, [MIB].into_iter());
    let parts = [(MIB, 64 * KIB), (MIB + 64 * KIB, 64 * KIB), (MIB + 128 * KIB, 64 * KIB)];
    assert_eq!(bench.of(OpKind::Read), parts);
    let cost = 50_000 + 192 * 500;
    assert!(bench.seen.iter().all(|seen| seen.at == cost / 2 + 2 * 20_000 && !seen.forced));
    assert_eq!(bench.now, cost + 2 * 20_000 + 3 * block_ns(64 * KIB));
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::None);
    bench.run(OpKind::Write, 1, 192 * KIB, [MIB].into_iter());
    assert_eq!(bench.written(), [(MIB, 192 * KIB)]);
    assert!(bench.seen[0].forced, "written through to the medium");
}

#[test]
fn small_sequential_reads_run_at_the_pace_of_64_kib_transfers_one_at_a_time() {
    for (size, system) in [(4, FileSystem::Nt4Sp6), (16, FileSystem::W2k), (64, FileSystem::Nt4Sp3)]
    {
        let mut bench = Bench::new(&spec(system), CacheMode::All);
        let total = 8 * MIB;
        let took = bench.run(OpKind::Read, 1, size * KIB, sequence(size * KIB, total));
        assert!(bench.of(OpKind::Read).iter().all(|&(_, bytes)| bytes == 64 * KIB), "{size} KiB");
        assert_eq!(bench.most_in_flight, 1);
        let each = took / (total / (64 * KIB));
        // The work on a frame overlaps with reading the next one. The exception is the call in which no
        // read-ahead is requested because the last one is still in progress.
        let disk = block_ns(64 * KIB);
        let call = 12_000 + size * 6_000;
        assert!(each >= disk && each <= disk + call + 50_000, "{size} KiB: {each} for {disk}");
    }
}

#[test]
fn where_the_processor_is_slower_than_the_disk_it_sets_the_pace_of_buffered_reads() {
    let mut slow = spec(FileSystem::Nt4Sp6);
    slow.costs.buffered_read.per_kib_ns = 40_000;
    let mut bench = Bench::new(&slow, CacheMode::All);
    let took = bench.run(OpKind::Read, 1, 16 * KIB, sequence(16 * KIB, 8 * MIB));
    let each = 4 * (12_000 + 16 * 40_000) + 45_000;
    let ratio = took as f64 / (128 * each) as f64;
    assert!((0.99..1.02).contains(&ratio), "{ratio}");
}

#[test]
fn random_reads_fetch_only_their_pages_and_a_second_read_of_them_nothing() {
    let mut bench = Bench::new(&spec(FileSystem::W2k), CacheMode::All);
    let offsets = [9 * MIB + 8 * KIB, 3 * MIB + 2 * KIB, 7 * MIB];
    bench.run(OpKind::Read, 1, 8 * KIB, offsets.into_iter());
    let read = bench.of(OpKind::Read);
    assert_eq!(read[0], (9 * MIB + 8 * KIB, 8 * KIB));
    assert_eq!(read[1], (3 * MIB, 12 * KIB), "whole pages");
    let before = bench.now;
    bench.run(OpKind::Read, 1, 8 * KIB, [9 * MIB + 8 * KIB].into_iter());
    assert_eq!(bench.now - before, 12_000 + 8 * 6_000, "the call and the copy");
    assert_eq!(bench.seen.len(), 3);
}

#[test]
fn concurrent_readers_of_one_page_share_its_read_and_end_in_order_of_arrival() {
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
    for token in 0..4 {
        bench.arrive(token, OpKind::Read, 50 * MIB + u64::from(3 - token) * KIB, KIB);
    }
    let mut ended = Vec::new();
    while ended.len() < 4 {
        ended.extend(bench.step());
    }
    assert_eq!(ended, [0, 1, 2, 3]);
    assert_eq!(bench.of(OpKind::Read), [(50 * MIB, 4 * KIB)]);
}

#[test]
fn linux_reads_128_kib_ahead() {
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
    bench.run(OpKind::Read, 1, 4 * KIB, sequence(4 * KIB, 4 * MIB));
    assert!(bench.of(OpKind::Read).iter().all(|&(_, bytes)| bytes == 128 * KIB));
    assert_eq!(bench.most_in_flight, 2, "the frame that is waited for and the next one");
}

#[test]
fn memory_keeps_what_was_used_last() {
    let small = FileSpec { memory_bytes: 2 * MIB, ..spec(FileSystem::W2k) };
    let mut bench = Bench::new(&small, CacheMode::All);
    // One page in every other frame, so that each is a separate area and none is sequential.
    let at = |page: u64| page * 128 * KIB;
    bench.run(OpKind::Read, 1, 4 * KIB, (1..=512).map(at));
    bench.run(OpKind::Read, 1, 4 * KIB, (1..=512).map(at));
    assert_eq!(bench.seen.len(), 512, "all of it fits");
    bench.run(OpKind::Read, 1, 4 * KIB, (513..=612).map(at));
    bench.run(OpKind::Read, 1, 4 * KIB, (101..=512).map(at));
    assert_eq!(bench.seen.len(), 612, "the last ones are still there");
    bench.run(OpKind::Read, 1, 4 * KIB, (1..=16).map(at));
    assert_eq!(bench.seen.len(), 628, "the first ones had to go");
}

#[test]
fn buffered_writes_reach_the_disk_in_64_kib_one_at_a_time_while_the_writer_waits() {
    for size in [4, 16, 64, 256] {
        let mut bench = Bench::new(&spec(FileSystem::Nt4Sp6), CacheMode::All);
        let total = 40 * MIB;
        let took = bench.run(OpKind::Write, 1, size * KIB, sequence(size * KIB, total));
        assert!(bench.written().iter().all(|&(_, bytes)| bytes == 64 * KIB), "{size} KiB");
        assert!(bench.of(OpKind::Read).is_empty());
        assert_eq!(bench.most_in_flight, 1);
        // When the last write is accepted, a quarter of memory is dirty; before that, copying and
        // write-back alternate.
        let dirty = 4 * MIB;
        let copies = total / (size * KIB) * (12_000 + size * 7_000);
        let written = (total - dirty) / (64 * KIB) * (block_ns(64 * KIB) + 45_000);
        let ratio = took as f64 / (copies + written) as f64;
        assert!((0.97..1.03).contains(&ratio), "{size} KiB: {ratio}");
    }
}

#[test]
fn a_scan_writes_all_that_became_dirty_since_the_last_one_and_nothing_is_left() {
    let mut bench = Bench::new(&spec(FileSystem::Nt4Sp6), CacheMode::All);
    bench.run(OpKind::Write, 1, 8 * KIB, sequence(8 * KIB, 3 * MIB));
    assert!(bench.written().is_empty(), "below the limit, within the first second");
    bench.drain();
    let bytes: u64 = bench.written().iter().map(|&(_, bytes)| bytes).sum();
    assert_eq!(bytes, 3 * MIB);
    assert!((1_000_000_000..2_000_000_000).contains(&bench.now), "one scan, after a second");
    assert_eq!(bench.layer.next_event(), None);
}

#[test]
fn a_slow_writer_is_written_back_while_it_goes_on_and_never_waits_for_the_limit() {
    let mut bench = Bench::new(&spec(FileSystem::Nt4Sp6), CacheMode::All);
    // Twice the limit of 4 MiB, and less than the limit per second, because each page is read first.
    let total = 8 * MIB;
    let took = bench.run(OpKind::Write, 1, 2 * KIB, sequence(2 * KIB, total));
    let pages = total / (4 * KIB);
    let alone = pages * (block_ns(4 * KIB) + 45_000) + 2 * pages * (12_000 + 2 * 7_000);
    let ratio = took as f64 / alone as f64;
    assert!((0.95..1.10).contains(&ratio), "{ratio}");
    let bytes: u64 = bench.written().iter().map(|&(_, bytes)| bytes).sum();
    assert!(bytes > 3 * MIB, "{bytes}");
}

#[test]
fn linux_writes_back_many_at_once_and_never_holds_more_than_a_fifth_of_memory_dirty() {
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
    bench.run(OpKind::Write, 1, 16 * KIB, sequence(16 * KIB, 30 * MIB));
    let bytes: u64 = bench.written().iter().map(|&(_, bytes)| bytes).sum();
    assert!(bytes >= 30 * MIB - 16 * MIB / 5 - 32 * 128 * KIB);
    assert!(bench.most_in_flight > 8);
    bench.drain();
    let bytes: u64 = bench.written().iter().map(|&(_, bytes)| bytes).sum();
    assert_eq!(bytes, 30 * MIB, "every byte once");
}

#[test]
fn random_writes_are_written_back_by_rising_address() {
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
    let mut rng = Rng::new(3);
    bench.run(OpKind::Write, 1, 8 * KIB, (0..150).map(|_| rng.below(12_000) * 8 * KIB));
    bench.drain();
    let written = bench.written();
    assert!(written.len() > 120);
    assert!(written.is_sorted(), "one pass, in order");
}

#[test]
fn writes_of_half_a_page_read_each_page_once_and_whole_pages_are_not_read() {
    let mut bench = Bench::new(&spec(FileSystem::W2k), CacheMode::All);
    bench.run(OpKind::Write, 1, 2 * KIB, sequence(2 * KIB, MIB));
    let read = bench.of(OpKind::Read);
    assert_eq!(read.len() as u64, MIB / (4 * KIB));
    assert!(read.iter().all(|&(_, bytes)| bytes == 4 * KIB));
    let mut bench = Bench::new(&spec(FileSystem::W2k), CacheMode::All);
    bench.run(OpKind::Write, 1, 4 * KIB, sequence(4 * KIB, MIB));
    assert!(bench.of(OpKind::Read).is_empty());
}

#[test]
fn half_pages_beyond_the_end_of_a_file_are_not_read() {
    let extend = FileSpec { state: FileState::Extend, ..spec(FileSystem::Nt4Sp3) };
    let mut bench = Bench::new(&extend, CacheMode::All);
    bench.run(OpKind::Write, 1, 2 * KIB, sequence(2 * KIB, MIB));
    assert!(bench.of(OpKind::Read).is_empty());
}

#[test]
fn a_random_buffered_write_on_nt_reads_64_kib_for_its_8() {
    let mut bench = Bench::new(&spec(FileSystem::W2k), CacheMode::All);
    let offsets = (1..20).map(|index| index * 5 * MIB + 8 * KIB);
    bench.run(OpKind::Write, 1, 8 * KIB, offsets.clone());
    let around: Vec<(u64, u64)> =
        offsets.flat_map(|at| [(at - 8 * KIB, 8 * KIB), (at + 8 * KIB, 48 * KIB)]).collect();
    assert_eq!(bench.of(OpKind::Read), around, "the rest of the frame");
    bench.drain();
    assert!(bench.written().iter().all(|&(_, bytes)| bytes == 8 * KIB));
    let mut linux = Bench::new(&spec(FileSystem::None), CacheMode::All);
    linux.run(OpKind::Write, 1, 8 * KIB, (1..20).map(|index| index * 5 * MIB));
    assert!(linux.of(OpKind::Read).is_empty());
}

#[test]
fn written_through_each_request_waits_for_the_medium_and_on_nt_for_the_one_before() {
    let mut bench = Bench::new(&spec(FileSystem::Nt4Sp3), CacheMode::Fs);
    bench.run(OpKind::Write, 8, 8 * KIB, sequence(8 * KIB, MIB));
    assert_eq!(bench.most_in_flight, 1);
    assert_eq!(bench.written(), sequence(8 * KIB, MIB).map(|at| (at, 8 * KIB)).collect::<Vec<_>>());
    assert!(bench.seen.iter().all(|seen| seen.forced));
    let mut linux = Bench::new(&spec(FileSystem::None), CacheMode::Fs);
    linux.run(OpKind::Write, 8, 2 * KIB, sequence(4 * KIB, MIB).map(|at| at + KIB));
    assert!(linux.most_in_flight > 1);
    assert!(linux.written().iter().all(|&(_, bytes)| bytes == 4 * KIB), "whole pages");
}

#[test]
fn extending_writes_go_one_at_a_time_and_writes_inside_the_file_do_not() {
    let most = |state| {
        let mut bench =
            Bench::new(&FileSpec { state, ..spec(FileSystem::Nt4Sp3) }, CacheMode::Device);
        bench.run(OpKind::Write, 8, 16 * KIB, sequence(16 * KIB, 4 * MIB));
        let written: u64 = bench.written().iter().map(|&(_, bytes)| bytes).sum();
        assert_eq!(written, 4 * MIB);
        bench.most_in_flight
    };
    assert_eq!(most(FileState::Written), 8);
    assert_eq!(most(FileState::Extend), 1);
}

#[test]
fn a_file_written_again_from_its_start_is_extended_again_even_with_requests_in_line() {
    let extend = FileSpec { state: FileState::Extend, ..spec(FileSystem::Nt4Sp3) };
    let mut bench = Bench::new(&extend, CacheMode::Device);
    let twice = sequence(64 * KIB, MIB).chain(sequence(64 * KIB, MIB));
    bench.run(OpKind::Write, 8, 64 * KIB, twice);
    assert_eq!(bench.most_in_flight, 1);
    assert_eq!(bench.written().len(), 32, "nothing was zeroed");
}

#[test]
fn a_write_beyond_the_end_zeroes_the_gap_first_on_nt_only() {
    let extend = |system| {
        let mut bench =
            Bench::new(&FileSpec { state: FileState::Extend, ..spec(system) }, CacheMode::Device);
        bench.run(OpKind::Write, 1, 8 * KIB, [160 * KIB].into_iter());
        bench.written()
    };
    let zeroes = [(0, 64 * KIB), (64 * KIB, 64 * KIB), (128 * KIB, 32 * KIB), (160 * KIB, 8 * KIB)];
    assert_eq!(extend(FileSystem::W2k), zeroes);
    assert_eq!(extend(FileSystem::None), [(160 * KIB, 8 * KIB)]);
}

#[test]
fn a_file_whose_last_block_was_written_first_is_written_twice_and_half_as_fast() {
    let took = |state| {
        let mut bench = Bench::new(&FileSpec { state, ..spec(FileSystem::W2k) }, CacheMode::Device);
        let took = bench.run(OpKind::Write, 1, 64 * KIB, sequence(64 * KIB, 16 * MIB));
        let mut written = bench.written();
        written.sort_unstable();
        (took, written)
    };
    let (plain, _) = took(FileState::Extend);
    let (twice, written) = took(FileState::LastFirst);
    let ratio = twice as f64 / plain as f64;
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
    let expected: Vec<(u64, u64)> =
        sequence(64 * KIB, 16 * MIB).flat_map(|at| [(at, 64 * KIB); 2]).collect();
    assert_eq!(written, expected);
}

#[test]
fn above_64_kib_sp3_reads_ahead_out_of_order_and_sp6_does_not() {
    let offsets = |system| {
        let mut bench = Bench::new(&spec(system), CacheMode::All);
        bench.run(OpKind::Read, 1, 128 * KIB, sequence(128 * KIB, MIB));
        let frames: Vec<u64> =
            bench.of(OpKind::Read).iter().map(|&(offset, _)| offset / (64 * KIB)).collect();
        frames
    };
    assert_eq!(offsets(FileSystem::Nt4Sp3)[..6], [0, 2, 1, 4, 3, 6]);
    assert!(offsets(FileSystem::Nt4Sp6).is_sorted());
}

#[test]
fn a_page_that_cannot_be_read_fails_those_who_wait_for_it_and_no_one_else() {
    let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
    bench.bad = Some(0);
    bench.arrive(0, OpKind::Read, 60 * MIB, 4 * KIB);
    bench.arrive(1, OpKind::Read, 70 * MIB, 4 * KIB);
    bench.drain();
    assert_eq!(bench.errors, 1);
    bench.bad = None;
    bench.run(OpKind::Read, 1, 4 * KIB, [60 * MIB].into_iter());
    assert_eq!((bench.seen.len(), bench.errors), (3, 1), "it is read again");
}

#[test]
fn a_trial_begins_with_an_empty_cache_and_blocks_of_the_last_one_do_no_harm() {
    let mut bench = Bench::new(&spec(FileSystem::W2k), CacheMode::All);
    bench.run(OpKind::Read, 1, 4 * KIB, sequence(4 * KIB, MIB));
    assert!(bench.in_flight > 0, "read-ahead is on its way");
    let conditions =
        Conditions { cache: CacheMode::All, offset_bytes: 0, working_bytes: FILE_BYTES };
    bench.layer.begin(&conditions);
    let read = bench.seen.len();
    bench.run(OpKind::Read, 1, 4 * KIB, sequence(4 * KIB, MIB));
    bench.drain();
    assert!(bench.seen.len() >= read + 16);
}

#[test]
fn sixteen_readers_side_by_side_are_all_sequential_and_of_more_the_one_not_seen_for_longest_is_not()
{
    let longest = |readers: u64| {
        let mut bench = Bench::new(&spec(FileSystem::None), CacheMode::All);
        // None begins at the start of the file, so that the first read of each is a jump.
        let at = |index: u64| (1 + index % readers) * 5 * MIB + index / readers * 4 * KIB;
        bench.run(OpKind::Read, 1, 4 * KIB, (0..8 * readers).map(at));
        let lengths: Vec<u64> = bench.of(OpKind::Read).iter().map(|&(_, bytes)| bytes).collect();
        assert!(lengths[..readers as usize].iter().all(|&bytes| bytes == 4 * KIB));
        lengths.into_iter().max()
    };
    assert_eq!([2, 16, 17].map(longest), [128, 128, 4].map(|kib| Some(kib * KIB)));
}

#[test]
fn memory_is_not_taken_from_dirty_pages_and_one_that_was_cleaned_counts_as_just_used() {
    let small = FileSpec { memory_bytes: 40 * 4 * KIB, ..spec(FileSystem::None) };
    let mut bench = Bench::new(&small, CacheMode::All);
    let at = |page: u64| page * 256 * KIB;
    let read = |bench: &mut Bench, pages: std::ops::Range<u64>| {
        let before = bench.of(OpKind::Read).len();
        bench.run(OpKind::Read, 1, 4 * KIB, pages.map(at));
        bench.of(OpKind::Read).len() - before
    };
    bench.run(OpKind::Write, 1, 4 * KIB, [at(1)].into_iter());
    assert_eq!(read(&mut bench, 2..62), 60);
    assert_eq!(read(&mut bench, 1..2), 0, "it is older than all that had to go, but dirty");
    bench.drain();
    assert_eq!(bench.written(), [(at(1), 4 * KIB)]);
    assert_eq!(read(&mut bench, 62..92), 30);
    assert_eq!(read(&mut bench, 1..2), 0, "the 39 of before went first");
}

#[test]
fn a_frame_with_pages_on_their_way_stays_where_memory_holds_a_page() {
    let one = FileSpec { memory_bytes: 4 * KIB, ..spec(FileSystem::None) };
    let mut bench = Bench::new(&one, CacheMode::All);
    let at = |page: u64| page * 256 * KIB;
    bench.run(OpKind::Read, 8, 4 * KIB, (1..=64).map(at));
    assert_eq!(bench.of(OpKind::Read).len(), 64, "each is read once for who waits for it");
}
