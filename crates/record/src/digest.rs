//! The hash that identifies documents and workloads: half of a SHA-256, which is long enough to avoid
//! collisions.

use sha2::{Digest, Sha256};

/// 32 hexadecimal digits that identify a text: the first half of its SHA-256.
#[must_use]
pub fn hex_digest(text: &str) -> String {
    hex_digest_of([text])
}

/// The same for a text in pieces.
pub fn hex_digest_of<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> String {
    let mut hash = Sha256::new();
    pieces.into_iter().for_each(|piece| hash.update(piece));
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
