//! Engines that carry out requests one after the other on the job's own thread. A job's real queue depth is
//! therefore one. More jobs add depth.

use crate::{Completion, EngineError, Memory, Setup, Transfer, Transport, Wait};
use std::collections::VecDeque;

/// Carries out single transfers, each to its end.
pub trait Carrier: Sized + 'static {
    /// Opens it.
    ///
    /// # Errors
    /// If the kernel refuses, with the cause and a remedy.
    fn open(setup: &Setup) -> Result<Self, EngineError>;

    /// Carries out a transfer. Returns the bytes, or a negated error number.
    fn carry_out(&mut self, transfer: &Transfer) -> i32;

    /// See [`Transport::features`].
    fn features(&self) -> Vec<String>;
}

/// A transport that runs transfers one after the other.
#[derive(Debug)]
pub struct OneByOne<C> {
    carrier: C,
    queue: VecDeque<Transfer>,
}

impl<C: Carrier> Transport for OneByOne<C> {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        Ok(Self { carrier: C::open(setup)?, queue: VecDeque::with_capacity(most as usize) })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.queue.push_back(transfer);
    }

    #[inline]
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        // No more than requested: the caller's clock must see each request end on its own.
        for _ in 0..ask.min {
            let Some(transfer) = self.queue.pop_front() else { break };
            let outcome = self.carrier.carry_out(&transfer);
            done.push(Completion { slot: transfer.tag, outcome });
        }
        Ok(())
    }

    fn quiesce(&mut self) -> bool {
        self.queue.clear();
        true
    }

    fn features(&self) -> Vec<String> {
        self.carrier.features()
    }
}
