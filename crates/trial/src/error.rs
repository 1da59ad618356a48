//! Errors that leave a trial without a result.

use engine::EngineError;

/// Why a trial could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The engine could not be opened, or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user or the system interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// A job's thread could not be started.
    #[error("job {job} of {jobs} could not be started ({source}); reduce --numjobs")]
    Thread {
        /// Number of the job.
        job: u32,
        /// Number of jobs in the run.
        jobs: u32,
        /// The system's error.
        source: std::io::Error,
    },
    /// A job's thread panicked, which is a defect of this program.
    #[error("job {0} ended in an internal error; please report this with the command line")]
    Panic(u32),
    /// This backend cannot run a part of a workload.
    #[error("a simulated device runs only complete workloads")]
    NoPart,
    /// The clients could not run the load: what happened, and on which machine.
    #[error("{0}")]
    Clients(String),
    /// The simulation has no events left although jobs wait, which is a defect.
    #[error("the simulated device lost a request; please report this with the command line")]
    Lost,
    /// The target was not opened for the cache mode of the workload.
    #[error("the target was not opened for --cache {0}")]
    CacheMode(&'static str),
    /// This backend cannot run the engine of the workload.
    #[error("the engine '{0}' cannot be used on this target")]
    WrongEngine(&'static str),
    /// The engine of the workload exists only on another operating system.
    #[error("the engine '{name}' needs {system}; on this system use --ioengine {instead}")]
    Elsewhere {
        /// Name of the engine.
        name: &'static str,
        /// The system that has it.
        system: &'static str,
        /// The closest engine on this system.
        instead: &'static str,
    },
}
