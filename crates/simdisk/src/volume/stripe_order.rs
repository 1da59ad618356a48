//! Who may write to which stripe: one request at a time, in order of arrival.
//!
//! Two partial writes at once on one stripe would both start from the old parity and leave a wrong
//! one, so every array serialises them. A request lines up at all of its stripes when it arrives
//! and goes when it is first at each: because all lines are joined at one moment, no two requests
//! can wait for each other.

use crate::slab::NumberMap;
use std::collections::VecDeque;

/// A request's stripes, and at how many of them it is not first yet.
#[derive(Clone, Copy, Debug)]
struct Claim {
    first: u64,
    last: u64,
    behind_others: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StripeOrder {
    /// Requests by stripe, in order of arrival.
    lines: NumberMap<VecDeque<u32>>,
    /// By request.
    claims: NumberMap<Claim>,
}

impl StripeOrder {
    /// Lines a request up for stripes `first..=last`; whether it is first at all of them.
    pub(super) fn claim(&mut self, request: u32, first: u64, last: u64) -> bool {
        let mut behind_others = 0;
        for stripe in first..=last {
            let line = self.lines.entry(stripe).or_default();
            behind_others += u64::from(!line.is_empty());
            line.push_back(request);
        }
        let before = self.claims.insert(request.into(), Claim { first, last, behind_others });
        debug_assert!(before.is_none(), "request {request} claims twice");
        behind_others == 0
    }

    /// Takes a request out of its lines; those that are now first everywhere.
    pub(super) fn release(&mut self, request: u32) -> Vec<u32> {
        let mut ready = Vec::new();
        let Some(claim) = self.claims.remove(&request.into()) else { return ready };
        debug_assert_eq!(claim.behind_others, 0, "only who is first can be done");
        for stripe in claim.first..=claim.last {
            let Some(line) = self.lines.get_mut(&stripe) else { continue };
            let first = line.pop_front();
            debug_assert_eq!(first, Some(request));
            let Some(&next) = line.front() else {
                self.lines.remove(&stripe);
                continue;
            };
            let Some(next_claim) = self.claims.get_mut(&next.into()) else { continue };
            next_claim.behind_others -= 1;
            if next_claim.behind_others == 0 {
                ready.push(next);
            }
        }
        ready
    }
}
