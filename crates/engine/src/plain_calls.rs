//! The simplest carrier: a system call that reads or writes at an offset, and returns when it is finished.
//!
//! It is the baseline for comparisons, and the fallback if asynchronous calls are forbidden.

use crate::platform::{Files, PLAIN_CALLS};
use crate::{Carrier, Direct, EngineError, OneByOne, Setup, Transfer};

/// One system call per request.
pub type SyncEngine = Direct<OneByOne<PlainCalls>>;

/// Blocking calls that read or write at an offset.
#[derive(Debug)]
pub struct PlainCalls(Files);

impl Carrier for PlainCalls {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self(Files::of_a_thread(setup)?))
    }

    #[inline]
    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        self.0.carry_out(transfer)
    }

    fn features(&self) -> Vec<String> {
        vec![PLAIN_CALLS.to_owned()]
    }
}
