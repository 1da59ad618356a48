//! Tags of written blocks: what verification reads, and which torn blocks it detects.

use engine::tag::{Reading, Tag, Tags, read, stamp};
use record::Workload;
use workload::Rng;

const SEED: u64 = 9;

fn block(length: usize, offset: u64, generation: u64) -> Vec<u8> {
    let mut rng = Rng::new(generation);
    let mut block: Vec<u8> = (0..length / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    stamp(&mut block, offset, generation, SEED);
    block
}

#[test]
fn a_block_tells_what_was_stamped_into_it() {
    for length in [512, 4096] {
        let tag = Tag { offset: 81_920, generation: 7, seed: SEED };
        assert_eq!(read(&block(length, 81_920, 7), 81_920, SEED), Reading::Whole(tag));
    }
}

#[test]
fn every_bit_of_a_block_is_under_its_tag() {
    let whole = block(4096, 4096, 3);
    for bit in 0..4096 * 8 {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(read(&changed, 4096, SEED), Reading::Torn(_)), "bit {bit}");
    }
}

#[test]
fn a_block_torn_at_any_sector_names_the_writes_of_its_parts() {
    let (old, new) = (block(4096, 0, 3), block(4096, 0, 8));
    for cut in 1..8 {
        for (head, tail, names) in [(&old, &new, [3, 8]), (&new, &old, [8, 3])] {
            let torn = [&head[..cut * 512], &tail[cut * 512..]].concat();
            let Reading::Torn(text) = read(&torn, 0, SEED) else { panic!("cut {cut}") };
            for name in names {
                assert!(text.contains(&format!("of write {name}")), "{text}");
            }
        }
    }
}

#[test]
fn a_tear_is_seen_where_both_writes_carried_the_same_content() {
    let old = block(4096, 0, 3);
    let mut new = old.clone();
    stamp(&mut new, 0, 4, SEED);
    let torn = [&new[..2048], &old[2048..]].concat();
    assert!(matches!(read(&torn, 0, SEED), Reading::Torn(_)));
}

#[test]
fn the_tail_of_a_write_before_what_was_never_tagged_is_a_tear() {
    let new = block(4096, 0, 8);
    let torn = [&[0; 2048][..], &new[2048..]].concat();
    let Reading::Torn(text) = read(&torn, 0, SEED) else { panic!("no tear") };
    assert_eq!(text, "sectors 0 to 3 of an unknown write, sectors 4 to 7 of write 8");
}

#[test]
fn what_was_never_tagged_holds_no_tag() {
    assert_eq!(read(&[0; 4096], 0, SEED), Reading::Absent);
    let mut rng = Rng::new(5);
    for _ in 0..1000 {
        let random: Vec<u8> = (0..512).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        assert_eq!(read(&random, 0, SEED), Reading::Absent);
    }
}

#[test]
fn targets_with_the_same_offsets_have_tags_of_their_own() {
    let workload = Workload { targets: 2, ..Workload::default() };
    assert_ne!(Tags::of(&workload, 1, 0), Tags::of(&workload, 1, 1));
    assert_eq!(Tags::of(&workload, 1, 0), Tags::of(&workload, 1, 2));
    assert_eq!(Tags::of(&workload, 1, 0).block_bytes, 4096);
}
