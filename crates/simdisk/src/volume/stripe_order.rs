//! Who may write to which stripe: one request at a time, in order of arrival.
//!
//! Two partial writes at once on one stripe would both start from the old parity and leave a wrong
//! one, so every array serialises them. A request lines up at all of its stripes when it arrives
//! and goes when it is first at each: because all lines are joined at one moment, no two requests
//! can wait for each other.

use crate::number_map::NumberMap;
use crate::slab::Slab;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Place {
    request: u32,
    behind: u32,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
}

/// A request's stripes, and at how many of them it is not first yet.
#[derive(Clone, Copy, Debug, Default)]
struct Claim {
    first: u64,
    last: u64,
    behind_others: u64,
    claimed: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StripeOrder {
    lines: NumberMap<Line>,
    places: Slab<Place>,
    claims: Vec<Claim>,
}

impl StripeOrder {
    /// Lines a request up for stripes `first..=last`; whether it is first at all of them.
    pub(super) fn claim(&mut self, request: u32, first: u64, last: u64) -> bool {
        let mut behind_others = 0;
        for stripe in first..=last {
            let place = self.places.insert(Place { request, behind: NONE });
            match self.lines.get_mut(&stripe) {
                Some(line) => {
                    self.places[line.last].behind = place;
                    line.last = place;
                    behind_others += 1;
                }
                None => {
                    self.lines.insert(stripe, Line { first: place, last: place });
                }
            }
        }
        let index = request as usize;
        if index >= self.claims.len() {
            self.claims.resize(index + 1, Claim::default());
        }
        debug_assert!(!self.claims[index].claimed, "request {request} claims twice");
        self.claims[index] = Claim { first, last, behind_others, claimed: true };
        behind_others == 0
    }

    /// Takes a request out of its lines; appends those that are now first everywhere.
    pub(super) fn release(&mut self, request: u32, ready: &mut Vec<u32>) {
        let Some(claim) = self.claims.get_mut(request as usize).filter(|claim| claim.claimed)
        else {
            return;
        };
        claim.claimed = false;
        debug_assert_eq!(claim.behind_others, 0, "only who is first can be done");
        for stripe in claim.first..=claim.last {
            let Some(line) = self.lines.get_mut(&stripe) else { continue };
            let Place { request: first, behind } = self.places.take(line.first);
            debug_assert_eq!(first, request);
            if behind == NONE {
                self.lines.remove(&stripe);
                continue;
            }
            line.first = behind;
            let next = self.places[behind].request;
            let next_claim = &mut self.claims[next as usize];
            next_claim.behind_others -= 1;
            if next_claim.behind_others == 0 {
                ready.push(next);
            }
        }
    }
}
