//! The tables of engines that work on real files, one per system. A row has the name, the transport and the
//! capabilities, and dispatch is generated from it: to one target, a stripe or an array. The engine that does
//! no I/O is in every table. The crate's `README.md` says how to add a row.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "linux")]
use linux::{ELSEWHERE, OTHER_SYSTEM};
#[cfg(windows)]
pub use windows::*;
#[cfg(windows)]
use windows::{ELSEWHERE, OTHER_SYSTEM};

use crate::OpenEngine;
use record::{CacheMode, EngineName};
use std::sync::OnceLock;

/// Properties of an engine that are known before it is opened.
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    /// Its name.
    pub name: EngineName,
    /// Maximum number of requests that one job really has in flight.
    pub max_depth: u32,
    /// The cache modes that it supports.
    pub caches: &'static [CacheMode],
    /// Description for help texts.
    pub help: &'static str,
}

/// Engines of a custom build, in addition to the table.
static OWN: OnceLock<Vec<EngineInfo>> = OnceLock::new();

/// All engines of this build: those of the table, then the custom ones.
pub fn engines() -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().chain(OWN.get().into_iter().flatten())
}

/// The engine with this name; `None` if this build lacks it.
#[must_use]
pub fn engine_info(name: EngineName) -> Option<&'static EngineInfo> {
    engines().find(|info| info.name == name)
}

/// The system that has an engine which this system lacks, and the closest engine here; `None` for the engines
/// of this system.
#[must_use]
pub fn engine_elsewhere(name: EngineName) -> Option<(&'static str, EngineName)> {
    let (_, instead) = ELSEWHERE.iter().find(|(other, _)| *other == name)?;
    Some((OTHER_SYSTEM, *instead))
}

/// The engines that only another system has.
pub fn engines_elsewhere() -> impl Iterator<Item = EngineName> {
    ELSEWHERE.iter().map(|(name, _)| *name)
}

/// Adds the engines of a custom build, once per process.
///
/// # Errors
/// If a name already exists, or if engines were added before.
pub fn add_engines(own: Vec<EngineInfo>) -> Result<(), String> {
    for (at, info) in own.iter().enumerate() {
        let name = info.name.name();
        let taken = own[..at].iter().chain(ENGINES).any(|other| other.name.name() == name);
        if taken || name == EngineName::Sim.name() {
            return Err(format!("an engine named '{name}' already exists; use another name"));
        }
    }
    OWN.set(own).map_err(|_| "register engines once, before the program starts its work".to_owned())
}

/// Code that is generic over the engine type.
pub trait EngineVisitor {
    /// What it returns.
    type Output;
    /// Whether the engine works on a stripe ([`Setup::stripe_bytes`](crate::Setup)).
    fn striped(&self) -> bool {
        false
    }
    /// Whether it works on an array ([`Setup::array`](crate::Setup)), which has priority over a stripe.
    fn array(&self) -> bool {
        false
    }
    /// Runs with the engine's type.
    fn visit<E: OpenEngine>(self) -> Self::Output;
}

/// All cache modes.
const ANY_CACHE: &[CacheMode] =
    &[CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None];

macro_rules! engine_table {
    ($($name:ident: $transport:ty, max_depth $depth:expr, caches $caches:ident, $help:literal;)*) => {
        /// All engines that [`visit_engine`] knows.
        pub const ENGINES: &[EngineInfo] = &[
            $(EngineInfo {
                name: EngineName::$name, max_depth: $depth, caches: $caches, help: $help,
            },)*
            EngineInfo {
                name: EngineName::Null,
                max_depth: u32::MAX,
                caches: ANY_CACHE,
                help: "completes requests at once without I/O: measures halfpower's own limit",
            },
        ];

        /// Runs `visitor` with the type of the named engine; `None` for an engine that is not in the table.
        /// Simulated devices have their own engine, and other systems have other engines.
        pub fn visit_engine<V: EngineVisitor>(name: EngineName, visitor: V) -> Option<V::Output> {
            Some(match name {
                $(EngineName::$name if visitor.array() => visitor.visit::<Array<$transport>>(),
                  EngineName::$name if visitor.striped() => visitor.visit::<Striped<$transport>>(),
                  EngineName::$name => visitor.visit::<Direct<$transport>>(),)*
                EngineName::Null => visitor.visit::<NullEngine>(),
                _ => return None,
            })
        }
    };
}
use engine_table;
