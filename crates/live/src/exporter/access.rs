//! Decides which users may send requests: names with bcrypt hashes, by HTTP basic authentication.
//!
//! A bcrypt hash deliberately takes a tenth of a second of CPU time, and a scrape arrives every few seconds.
//! A name and password that were correct are therefore remembered as a keyed hash and compared in constant
//! time. All others need bcrypt, one at a time and in parallel with other responses. An unknown name takes as
//! long as a known one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bcrypt::HashParts;
use rustls::crypto::ring;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use subtle::ConstantTimeEq;

/// Accepted bcrypt costs: lower ones are invalid; with higher ones, a response takes minutes.
const COSTS: std::ops::RangeInclusive<u32> = 4..=16;

type Sum = [u8; 32];

/// The users. If there are none, every request is admitted.
#[derive(Default)]
pub(crate) struct Access {
    /// bcrypt hashes by name.
    hashes: BTreeMap<String, String>,
    /// Keyed hashes of correct credentials, by name.
    known: Mutex<BTreeMap<String, Sum>>,
    key: Sum,
}

impl Access {
    /// Adds a user; an error says what is wrong with the hash.
    pub(crate) fn add(&mut self, name: &str, hash: &str) -> Result<(), &'static str> {
        let parts: HashParts = hash.parse().map_err(|_| "is not a bcrypt hash")?;
        if !COSTS.contains(&parts.get_cost()) {
            return Err("has a cost outside the range 4 to 16");
        }
        if self.hashes.is_empty() {
            let random = ring::default_provider().secure_random;
            random
                .fill(&mut self.key)
                .map_err(|_| "cannot be stored: the system provides no random numbers")?;
        }
        self.hashes.insert(name.to_owned(), hash.to_owned());
        Ok(())
    }

    /// The same users, without remembered credentials.
    pub(crate) fn again(&self) -> Self {
        Self { hashes: self.hashes.clone(), key: self.key, ..Self::default() }
    }

    pub(crate) fn is_restricted(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Whether this `Authorization` header was correct before; `None` if bcrypt has to decide.
    pub(crate) fn remembers(&self, header: Option<&str>) -> Option<bool> {
        if !self.is_restricted() {
            return Some(true);
        }
        let Some((name, password)) = header.and_then(basic) else { return Some(false) };
        let sum = self.sum(&name, &password);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let right = known.get(&name).is_some_and(|one| bool::from(one.ct_eq(&sum)));
        right.then_some(true)
    }

    /// Whether bcrypt accepts this header. Slow: do not call it on the serving thread.
    pub(crate) fn admits(&self, header: &str) -> bool {
        let Some((name, password)) = basic(header) else { return false };
        let found = self.hashes.get(&name);
        let Some(hash) = found.or_else(|| self.dearest()) else { return false };
        let right = bcrypt::verify(&password, hash).unwrap_or(false);
        let admitted = right && found.is_some();
        if admitted {
            let sum = self.sum(&name, &password);
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name, sum);
        }
        admitted
    }

    /// The hash with the highest cost, which follows `$2y$`.
    fn dearest(&self) -> Option<&String> {
        self.hashes.values().max_by_key(|hash| hash.get(4..6).unwrap_or_default().to_owned())
    }

    fn sum(&self, name: &str, password: &str) -> Sum {
        let mut hash = Sha256::new();
        // The lengths distinguish "ab" "c" from "a" "bc".
        for part in [&self.key, name.as_bytes(), password.as_bytes()] as [&[u8]; 3] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// Name and password in `Basic BASE64`.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, rest) = header.split_once(' ')?;
    let bytes =
        STANDARD.decode(rest.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let text = String::from_utf8(bytes).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, password: &str) -> String {
        format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
    }

    fn access() -> Access {
        let mut access = Access::default();
        access.add("ada", &bcrypt::hash("hunter2", 4).unwrap()).unwrap();
        access
    }

    #[test]
    fn without_users_everybody_is_admitted() {
        assert_eq!(Access::default().remembers(None), Some(true));
    }

    #[test]
    fn a_right_password_takes_bcrypt_once_and_a_wrong_one_each_time() {
        let access = access();
        let right = header("ada", "hunter2");
        assert_eq!(access.remembers(Some(&right)), None);
        assert!(access.admits(&right));
        assert_eq!(access.remembers(Some(&right)), Some(true));
        for wrong in [header("ada", "hunter3"), header("bob", "hunter2"), header("", "")] {
            assert_eq!((access.remembers(Some(&wrong)), access.admits(&wrong)), (None, false));
            assert_eq!(access.remembers(Some(&wrong)), None, "a wrong one is not remembered");
        }
    }

    #[test]
    fn what_is_no_basic_authentication_is_refused_at_once() {
        let access = access();
        for header in [
            None,
            Some(""),
            Some("Basic"),
            Some("Basic !"),
            Some("Bearer YTpi"),
            Some("Basic YQ=="),
        ] {
            assert_eq!(access.remembers(header), Some(false), "{header:?}");
        }
    }

    #[test]
    fn hashes_of_other_kinds_and_costs_are_refused() {
        let mut access = Access::default();
        assert!(access.add("a", "hunter2").is_err());
        let hash = bcrypt::hash("x", 4).unwrap();
        assert!(access.add("a", &hash.replace("$04$", "$17$")).is_err());
        assert!(access.add("a", &hash.replace("$2b$", "$2y$")).is_ok(), "as htpasswd writes it");
    }
}
