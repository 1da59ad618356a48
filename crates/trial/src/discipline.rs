//! Completions as calls: each issues the next request itself.
//!
//! This is how overlapped I/O with completion routines works (Riedel, van Ingen, Gray 1997, in the
//! appendix): the routine that handles a completion asks for the next request, and where that
//! completes at once, out of a cache, its routine is called before the first one returns. The
//! calls nest, one stack frame deeper for every request that did not have to wait. The depth is
//! counted and bounded here; beyond the bound a completion is posted to the job's loop, which is
//! what the posted form of the discipline does with all of them.

use crate::worker::{Step, Worker};
use engine::{Clock, Completion, Engine, EngineError};

/// Deepest nesting of calls: some hundred kilobytes of the stack of a thread.
pub const CALLBACK_DEPTH_MAX: u32 = 1_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    pub(crate) fn step_callback(&mut self, posting: bool) -> Result<Step, EngineError> {
        if !self.free.is_empty() && !self.stopping {
            self.refill()?;
        }
        if self.in_flight == 0 {
            return Ok(Step::Done);
        }
        self.done.clear();
        let min = if self.stopping { self.in_flight } else { 1 };
        self.engine.wait(min, self.in_flight, None, &mut self.done)?;
        if self.done.is_empty() {
            return Ok(Step::Blocked);
        }
        self.posted.extend(self.done.iter().copied());
        while let Some(completion) = self.posted.pop_front() {
            self.call(completion, 1, posting)?;
        }
        Ok(Step::Progress)
    }

    /// The call for one completion, inside so many others.
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
        // What is still posted has completed as well: the engine does not know of it any more.
        let inside = self.in_flight - self.posted.len() as u32;
        if posting || inside == 0 {
            return self.engine.hand_over();
        }
        self.done.clear();
        self.engine.wait(0, 1, None, &mut self.done)?;
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
