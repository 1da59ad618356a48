//! Why a trial has no result.

use engine::EngineError;

/// A trial that could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The engine could not be opened, or broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user or the system asked for an end.
    #[error("interrupted")]
    Interrupted,
    /// A job's thread could not be started.
    #[error("job {job} of {jobs} could not be started ({source}); reduce --numjobs")]
    Thread {
        /// Which job.
        job: u32,
        /// Of how many.
        jobs: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// A job's thread ended in a panic, which is a defect of this program.
    #[error("job {0} ended in an internal error; please report this with the command line")]
    Panic(u32),
    /// Only a part of a workload was asked of a backend that runs whole ones.
    #[error("a simulated device runs complete workloads and cannot run a part of one")]
    NoPart,
    /// Machines that were to carry it out could not: what happened, and where.
    #[error("{0}")]
    Clients(String),
    /// The simulation has nothing left to happen although jobs wait, which is a defect.
    #[error("the simulated device lost a request; please report this with the command line")]
    Lost,
    /// The target was not opened for the cache mode of the workload.
    #[error("the target was not opened for --cache {0}")]
    CacheMode(&'static str),
    /// The engine of the workload is not one that this backend can run.
    #[error("the engine '{0}' cannot be used on this target")]
    WrongEngine(&'static str),
    /// The engine of the workload is one that another operating system has.
    #[error("the engine '{name}' needs {system}; on this system use --ioengine {instead}")]
    Elsewhere {
        /// Its name.
        name: &'static str,
        /// The system that has it.
        system: &'static str,
        /// What comes closest here.
        instead: &'static str,
    },
}
