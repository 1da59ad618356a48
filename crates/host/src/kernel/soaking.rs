//! What trying a soaker showed, for the list of what a machine can measure.

/// Soakers could be started.
#[derive(Clone, Debug)]
pub(crate) struct Soaking {
    /// Processors with one.
    pub(crate) cpus: u32,
    /// What makes their counts unsure, in clauses; empty where nothing does.
    pub(crate) doubts: String,
}
