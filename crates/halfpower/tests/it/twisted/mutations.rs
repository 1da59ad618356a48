//! Mutates an input: bytes, tokens, numbers, lines, and pieces of other inputs.

use workload::Rng;

/// Numbers that often break arithmetic.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "1e308",
    "-1e308",
    "1e-320",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "4294967295",
    "4294967296",
    "0.0000001",
    "1e9",
    "65536",
    "NaN",
    "inf",
];

pub(super) struct Mutator {
    rng: Rng,
    /// Words of the corpus.
    tokens: Vec<Vec<u8>>,
}

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+')
}

/// The range of the token at a position; empty between tokens.
fn token_at(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let begin = bytes[..at].iter().rposition(|&byte| !in_token(byte)).map_or(0, |place| place + 1);
    let length = bytes[at..].iter().position(|&byte| !in_token(byte));
    begin..length.map_or(bytes.len(), |length| at + length)
}

impl Mutator {
    pub(super) fn new(seed: u64, corpus: &[Vec<u8>]) -> Self {
        let words = corpus.iter().flat_map(|input| input.split(|&byte| !in_token(byte)));
        let mut tokens: Vec<Vec<u8>> =
            words.filter(|word| (1..40).contains(&word.len())).map(<[u8]>::to_vec).collect();
        tokens.sort();
        tokens.dedup();
        Self { rng: Rng::new(seed), tokens }
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.below(end.max(1) as u64) as usize
    }

    fn token(&mut self) -> Vec<u8> {
        let at = self.below(self.tokens.len());
        self.tokens.get(at).cloned().unwrap_or_default()
    }

    /// An input of the corpus with one to eight changes, usually few: most of a text must stay intact, so
    /// that the rest of it is read.
    pub(super) fn twist(&mut self, corpus: &[Vec<u8>], largest: usize) -> Vec<u8> {
        let at = self.below(corpus.len());
        let mut bytes = corpus[at].clone();
        for _ in 0..=self.below(8).min(self.below(8)).min(self.below(8)) {
            let (at, end) = (self.below(bytes.len()), self.below(bytes.len() + 1));
            let (from, to) = (at.min(end), at.max(end).min(at.min(end) + 256));
            match self.below(9) {
                0 if !bytes.is_empty() => bytes[at] = self.below(256) as u8,
                1 => drop(bytes.drain(from..to)),
                2 => {
                    let piece = bytes[from..to].to_vec();
                    bytes.splice(end..end, piece);
                }
                3 => {
                    let number = NUMBERS[self.below(NUMBERS.len())];
                    let range = token_at(&bytes, at);
                    bytes.splice(range, number.bytes());
                }
                4 => {
                    let (range, token) = (token_at(&bytes, at), self.token());
                    bytes.splice(range, token);
                }
                5 => {
                    let token = self.token();
                    bytes.splice(end..end, token);
                }
                6 => {
                    let other = self.below(corpus.len());
                    let other = &corpus[other];
                    let begin = self.below(other.len());
                    let length = self.below(512).min(other.len() - begin.min(other.len()));
                    bytes.splice(end..end, other[begin..begin + length].iter().copied());
                }
                7 => bytes.truncate(end),
                _ => {
                    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                    let (one, other) = (self.below(lines.len()), self.below(lines.len()));
                    lines.swap(one, other);
                    bytes = lines.join(&b'\n');
                }
            }
            bytes.truncate(largest);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_none_is_too_large() {
        let corpus = vec![b"rw=randread bs=4k".to_vec(), Vec::new(), vec![b'x'; 300]];
        let inputs = |seed| -> Vec<Vec<u8>> {
            let mut mutator = Mutator::new(seed, &corpus);
            (0..500).map(|_| mutator.twist(&corpus, 400)).collect()
        };
        let first = inputs(1);
        assert_eq!(first, inputs(1));
        assert_ne!(first, inputs(2));
        assert!(first.iter().all(|input| input.len() <= 400));
        let different: std::collections::BTreeSet<_> = first.iter().collect();
        // A third of them start from an empty input, where few changes have an effect.
        assert!(different.len() > 300, "{}", different.len());
    }

    #[test]
    fn tokens_end_at_signs() {
        let text = b"bs=4k,8k";
        assert_eq!(token_at(text, 4), 3..5);
        assert_eq!(token_at(text, 2), 0..2);
        assert_eq!(token_at(b"", 0), 0..0);
    }
}
