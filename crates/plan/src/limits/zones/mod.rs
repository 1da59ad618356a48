//! Maps throughput against position: which positions are read when, and what the rates show about the
//! medium.
//!
//! The target is cut into equal pieces. Each pass reads another window of every piece, so that no cache
//! sees a place twice, and in a different order, so that drift affects all places equally. Each member of
//! an array is read alone at the same shares of its surface, in the same passes. Rejected: one pass from
//! the beginning to the end, in which time and place are the same, and a straight line through the rates,
//! which flat noise fits as well as bands do.

mod analysis;
mod array;
mod document;
mod plan;

pub use analysis::{Analysis, Visit, analyse, positions};
pub use document::{Mapped, document};
pub use plan::{ArrayPlan, MIN_PASSES, MIN_POSITIONS, Place, Settings, ZonePlan};
