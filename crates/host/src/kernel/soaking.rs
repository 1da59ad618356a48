//! Result of trying the soaker, for the list of what a machine can measure.

/// Soakers could be started.
#[derive(Clone, Debug)]
pub(crate) struct Soaking {
    pub(crate) cpus: u32,
    /// What makes their counts uncertain, as clauses; empty if nothing does.
    pub(crate) doubts: String,
}
