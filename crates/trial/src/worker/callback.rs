//! Completions as calls: each one issues the next request itself.
//!
//! Overlapped I/O with completion routines works like this (Riedel, van Ingen, Gray 1997, appendix). If the
//! next request completes at once, from a cache, its routine is called before the first one returns, and
//! the calls nest. The nesting depth is counted and limited here. Beyond the limit a completion is posted
//! to the job's loop, as the posted form of the discipline does with all completions.

use super::{Step, Worker};
use engine::{Clock, Completion, Engine, EngineError, Wait};

/// Deepest nesting of calls: a few hundred kilobytes of a thread's stack.
pub const CALLBACK_DEPTH_MAX: u32 = 1_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    // Not inlined, for the same reason as `step_paced`.
    #[inline(never)]
    pub(super) fn step_callback(&mut self, posting: bool) -> Result<Step, EngineError> {
        if !self.free.is_empty() && !self.stopping {
            self.refill()?;
        }
        if self.in_flight == 0 {
            return Ok(Step::Done);
        }
        self.done.clear();
        let min = if self.stopping { self.in_flight } else { 1 };
        self.engine.wait(Wait::new(min, self.in_flight), &mut self.done)?;
        if self.done.is_empty() {
            return Ok(Step::Blocked);
        }
        self.posted.extend(self.done.iter().copied());
        while let Some(completion) = self.posted.pop_front() {
            self.call(completion, 1, posting)?;
        }
        Ok(Step::Progress)
    }

    /// Handles one completion, nested inside `depth` others.
    fn call(
        &mut self,
        completion: Completion,
        depth: u32,
        posting: bool,
    ) -> Result<(), EngineError> {
        self.callback_depth = self.callback_depth.max(depth);
        self.done.clear();
        self.done.push(completion);
        self.account::<true, false>();
        if self.stopping {
            return Ok(());
        }
        self.refill()?;
        // Posted completions no longer count as in flight for the engine.
        let inside = self.in_flight - self.posted.len() as u32;
        if posting || inside == 0 {
            return self.engine.hand_over();
        }
        self.done.clear();
        self.engine.wait(Wait::new(0, 1), &mut self.done)?;
        match self.done.pop() {
            Some(next) if depth < CALLBACK_DEPTH_MAX => self.call(next, depth + 1, posting),
            Some(next) => {
                self.posted.push_back(next);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
