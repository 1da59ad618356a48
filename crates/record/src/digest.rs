//! The hash by which documents and workloads are known: half of a SHA-256, long enough never to collide.

use sha2::{Digest, Sha256};

/// 32 hexadecimal digits that identify a text: the first half of its SHA-256.
#[must_use]
pub fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
