//! The one table of engines that work on real descriptors.
//!
//! A line per engine gives its name, type and capabilities; dispatch is generated from it. Past
//! [`visit_engine`] the engine is a static type: the choice costs one match per job.

use crate::{NullEngine, OpenEngine, SyncEngine, UringEngine};
use record::EngineName;

/// What is known of an engine before it is opened.
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    /// Its name.
    pub name: EngineName,
    /// Largest number of requests that one job really has in flight.
    pub max_depth: u32,
    /// Whether it reaches the target at all.
    pub does_io: bool,
    /// What it is, for help texts.
    pub help: &'static str,
}

/// Code that is generic over the engine.
pub trait EngineVisitor {
    /// What it returns.
    type Output;
    /// Runs with the engine's type.
    fn visit<E: OpenEngine>(self) -> Self::Output;
}

macro_rules! engines {
    ($($name:ident: $type:ty, max_depth $depth:expr, does_io $io:literal, $help:literal;)*) => {
        /// All engines that [`visit_engine`] knows.
        pub const ENGINES: &[EngineInfo] = &[
            $(EngineInfo {
                name: EngineName::$name,
                max_depth: $depth,
                does_io: $io,
                help: $help,
            },)*
        ];

        /// Runs `visitor` with the type of the named engine; `None` for one that is not in the
        /// table (simulated devices bring their own).
        pub fn visit_engine<V: EngineVisitor>(name: EngineName, visitor: V) -> Option<V::Output> {
            match name {
                $(EngineName::$name => Some(visitor.visit::<$type>()),)*
                EngineName::Sim => None,
            }
        }
    };
}

engines! {
    IoUring: UringEngine, max_depth u32::MAX, does_io true,
        "io_uring: any depth from one thread";
    Sync: SyncEngine, max_depth 1, does_io true,
        "pread and pwrite: one request per job, depth comes from --numjobs";
    Null: NullEngine, max_depth u32::MAX, does_io false,
        "completes at once without I/O: shows the limit of this program";
}
