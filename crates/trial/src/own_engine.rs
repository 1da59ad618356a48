//! Registers engines that a build adds: a name, its capabilities, and the function that starts its jobs.
//!
//! The loop of a job is compiled for each engine's type. So the registered item is not an engine behind a
//! pointer but the function that starts jobs on it: one indirect call per workload, none per request.
//! Rejected: shared libraries, which have no stable interface for such types.

use crate::TrialError;
use crate::threads::{Crew, CrewStart};
use engine::{Direct, EngineInfo, EngineVisitor, OpenEngine, Striped, Transport};
use record::{CacheMode, EngineName, OwnEngineName};
use std::sync::OnceLock;

type Start = fn(CrewStart) -> Result<Crew, TrialError>;

static OWN: OnceLock<&'static [OwnEngine]> = OnceLock::new();

/// An engine that a build adds.
#[derive(Clone, Copy)]
pub struct OwnEngine {
    info: EngineInfo,
    direct: Start,
    striped: Start,
}

impl OwnEngine {
    /// The engine of a transport: its name for `--ioengine`, the maximum requests that one job really has
    /// in flight, the supported cache modes, and a line of help.
    ///
    /// # Panics
    /// If the name is invalid, which in a constant fails the build.
    #[must_use]
    pub const fn new<T: Transport>(
        name: &'static str,
        max_depth: u32,
        caches: &'static [CacheMode],
        help: &'static str,
    ) -> Self {
        let name = EngineName::Own(OwnEngineName::new(name));
        let info = EngineInfo { name, max_depth, caches, help };
        Self { info, direct: start_on::<Direct<T>>, striped: start_on::<Striped<T>> }
    }

    /// Facts about the engine that are known before it is opened.
    #[must_use]
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }
}

fn start_on<E: OpenEngine>(start: CrewStart) -> Result<Crew, TrialError> {
    start.visit::<E>()
}

/// Registers this process's own engines, once.
///
/// # Errors
/// If a name is already taken, or engines were already registered.
pub fn add_own_engines(own: &'static [OwnEngine]) -> Result<(), String> {
    engine::add_engines(own.iter().map(|engine| engine.info).collect())?;
    OWN.set(own).map_err(|_| "register engines once, before the program starts its work".to_owned())
}

/// Starts jobs on the registered engine that the workload names.
pub(crate) fn start(start: CrewStart) -> Result<Crew, TrialError> {
    let name = start.plan.workload.engine;
    let own = OWN.get().and_then(|own| own.iter().find(|engine| engine.info.name == name));
    let own = own.ok_or(TrialError::WrongEngine(name.name()))?;
    if start.striped() { (own.striped)(start) } else { (own.direct)(start) }
}
