//! An engine that completes every request immediately, which measures only the load generator.

use crate::{Completion, Engine, EngineError, OpenEngine, Setup, Submission, Wait};
use record::FlushKind;

/// Completes requests in order and in full, without I/O.
#[derive(Debug)]
pub struct NullEngine {
    ready: Vec<Completion>,
}

impl OpenEngine for NullEngine {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self { ready: Vec::with_capacity(setup.depth as usize) })
    }

    fn data(&self, _slot: u32, _bytes: usize) -> &[u8] {
        &[]
    }
}

impl Engine for NullEngine {
    #[inline]
    fn prepare(&mut self, requests: &[Submission]) {
        self.ready.extend(
            requests.iter().map(|s| Completion { slot: s.slot, outcome: s.request.bytes as i32 }),
        );
    }

    fn flush(&mut self, slot: u32, _kind: FlushKind) {
        self.ready.push(Completion { slot, outcome: 0 });
    }

    #[inline]
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let count = self.ready.len().min(ask.max as usize);
        // One bulk copy, so that speed does not depend on how the compiler optimizes a loop.
        done.extend_from_slice(&self.ready[..count]);
        self.ready.drain(..count);
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}
