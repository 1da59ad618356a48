//! The inner loops of the memory tests.
//!
//! A compiler removes loops whose results are not used, and vectorizes others. Words are therefore relaxed
//! atomics, which the language does not allow it to merge, remove or widen; each access is one plain 64-bit
//! move. The words read are folded into a checksum. The null loops do everything but the access. A
//! processor overlaps both, so subtracting the null loop removes too much rather than too little; both
//! figures are reported. Rejected: volatile accesses (unsafe), `black_box` around each word (a store per
//! load), and floating-point sums as in the papers (loaded two at a time).

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const LINE_WORDS: usize = 8;
/// Words per step of the unrolled loops: enough to make the cost of the loop itself negligible. With 32
/// loads per step the compiler sums in a different order, and the loop was 4 to 9 % slower than the same
/// loop in C; with 16 the two are equal. For stores, 32 is faster by 2 %.
pub(crate) const READ_STEP_WORDS: usize = 16;
/// Words per step of stores.
pub(crate) const WRITE_STEP_WORDS: usize = 32;
/// Lines per step of the loops that access one word of each line.
const STEP_LINES: usize = 8;

/// The exclusive or of all words. Four chains, so that the loads and not the sum limit the speed.
pub fn read(words: &[AtomicU64]) -> u64 {
    let mut sums = [0_u64; 4];
    let (steps, rest) = words.as_chunks::<READ_STEP_WORDS>();
    for step in steps {
        for (index, word) in step.iter().enumerate() {
            sums[index % 4] ^= word.load(Ordering::Relaxed);
        }
    }
    for word in rest {
        sums[0] ^= word.load(Ordering::Relaxed);
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

/// Writes `value` to all words.
pub fn write(words: &[AtomicU64], value: u64) {
    let (steps, rest) = words.as_chunks::<WRITE_STEP_WORDS>();
    for step in steps {
        for word in step {
            word.store(value, Ordering::Relaxed);
        }
    }
    for word in rest {
        word.store(value, Ordering::Relaxed);
    }
}

pub(crate) fn read_lines(words: &[AtomicU64]) -> u64 {
    let mut sums = [0_u64; STEP_LINES];
    for step in words.chunks_exact(STEP_LINES * LINE_WORDS) {
        for (line, sum) in sums.iter_mut().enumerate() {
            *sum ^= step[line * LINE_WORDS].load(Ordering::Relaxed);
        }
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

pub(crate) fn write_lines(words: &[AtomicU64], value: u64) {
    for step in words.chunks_exact(STEP_LINES * LINE_WORDS) {
        for line in 0..STEP_LINES {
            step[line * LINE_WORDS].store(value, Ordering::Relaxed);
        }
    }
}

/// The library's copy, which chooses its loads and stores by length.
pub fn copy(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
    black_box(&mut *to);
}

/// The steps of [`read`] or [`write`] without the accesses.
pub(crate) fn null_words<const STEP_WORDS: usize>(words: &[AtomicU64]) {
    for _step in words.as_chunks::<STEP_WORDS>().0 {
        black_box(());
    }
}

/// The steps of the loops over lines without the accesses.
pub(crate) fn null_lines(words: &[AtomicU64]) {
    for _step in words.chunks_exact(STEP_LINES * LINE_WORDS) {
        black_box(());
    }
}

/// A buffer of words that all differ. It is written, so that memory is allocated.
pub fn buffer(words: usize) -> Vec<AtomicU64> {
    (0..words as u64).map(|index| AtomicU64::new(pattern(index))).collect()
}

fn pattern(index: u64) -> u64 {
    index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_of_each_line_is_read_and_written_and_no_other() {
        let words = buffer(256);
        let heads = words.iter().step_by(LINE_WORDS);
        let xor = heads.fold(0, |all, word| all ^ word.load(Ordering::Relaxed));
        assert_eq!(read_lines(&words), xor);
        write_lines(&words, 7);
        for (index, word) in words.iter().enumerate() {
            let value = word.load(Ordering::Relaxed);
            let expected = if index % LINE_WORDS == 0 { 7 } else { pattern(index as u64) };
            assert_eq!(value, expected, "{index}");
        }
    }
}
