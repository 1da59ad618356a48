//! Flags for runs on several machines, and how targets are opened there.

use crate::failure::usage;
use crate::output::Verdict;
use crate::progress::Progress;
use crate::values::one_of;
use clap::Args;
use clients::mpi;
use clients::{Barrier, Clients, DEFAULT_LAUNCH, Launch, Rank};
use host::target::Access;
use plan::session::{Opener, SessionError, StopFlag, ThisMachine};
use record::{Nanos, TargetSharing};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Minimum of `--agent-timeout`; an agent sends a message every second.
const AGENT_TIMEOUT_MIN: Nanos = Nanos(2_000_000_000);

/// Maximum time that a rank waits in an MPI barrier. All ranks are told to arrive at the same time.
const MEETING_TIME: Duration = Duration::from_secs(10);

const SHARINGS: &[TargetSharing] = &[TargetSharing::Shared, TargetSharing::Own];

#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Comma-separated list of machines that generate the load together, or @FILE with one machine
    /// per line. All run with the same flags; {host} and {rank} in a target's path stand for the
    /// machine's name and number.
    #[arg(long, value_name = "HOST,...", help_heading = "Several machines")]
    pub(crate) hosts: Option<String>,
    /// Command that starts the agent of a host, without a shell [default: ssh -o BatchMode=yes ...
    /// {host} halfpower agent].
    #[arg(long, value_name = "WORDS", requires = "hosts", help_heading = "Several machines")]
    launch: Option<String>,
    /// Whether the machines share one target (shared) or each has its own (own) [default: detected
    /// from the path and the machines].
    #[arg(long, value_name = "shared|own", value_parser = sharing, help_heading = "Several machines")]
    targets_are: Option<TargetSharing>,
    /// Time without a message after which an agent counts as lost [default: 60s at the start, then
    /// 15s].
    #[arg(long, value_name = "TIME", help_heading = "Several machines")]
    agent_timeout: Option<Nanos>,
    /// Use the processes that mpirun or srun started with this command as clients; rank 0
    /// coordinates.
    #[arg(long, conflicts_with = "hosts", help_heading = "Several machines")]
    mpi: bool,
    /// File through which the processes find each other, in a shared folder; not needed on one
    /// machine.
    #[arg(long, value_name = "FILE", requires = "mpi", help_heading = "Several machines")]
    rendezvous: Option<PathBuf>,
}

fn sharing(text: &str) -> Result<TargetSharing, String> {
    one_of(SHARINGS, TargetSharing::name)(text)
}

/// A barrier of the MPI library.
#[derive(Debug)]
struct MpiBarrier(&'static mpi::World);

impl Barrier for MpiBarrier {
    fn library(&self) -> String {
        self.0.library.clone()
    }

    fn meet(&self, stop: &StopFlag) -> Result<(), String> {
        self.0.meet(MEETING_TIME, &|| stop.load(Ordering::Relaxed))
    }
}

impl HostArgs {
    /// The file with the list of machines, if one is given.
    pub(crate) fn file(&self) -> Option<&str> {
        self.hosts.as_deref()?.strip_prefix('@')
    }

    /// Opens targets on this machine, or on the machines whose agents it starts. The progress line names the
    /// machines that it is waiting for.
    pub(crate) fn opener(
        &self,
        stop: &StopFlag,
        progress: &Progress,
    ) -> anyhow::Result<Box<dyn Opener>> {
        let unused = [
            ("--targets-are", self.targets_are.is_some()),
            ("--agent-timeout", self.agent_timeout.is_some()),
        ];
        let mut launch = match &self.hosts {
            Some(hosts) => Launch::new(hosts, self.launch.as_deref().unwrap_or(DEFAULT_LAUNCH))?,
            None if self.mpi => self.rank()?.launch(),
            None => {
                return match unused.iter().find(|(_, given)| *given) {
                    Some((flag, _)) => {
                        Err(usage(format!("{flag} applies to several machines; add --hosts")))
                    }
                    None => Ok(Box::new(ThisMachine)),
                };
            }
        };
        let silence = self.agent_timeout;
        if silence.is_some_and(|silence| silence < AGENT_TIMEOUT_MIN) {
            return Err(usage(
                "--agent-timeout must be at least 2s, because an agent reports once a second",
            ));
        }
        let display = Box::new(progress.clone());
        Ok(Box::new(Clients::start(&mut launch, self.targets_are, silence, stop, display)?))
    }

    /// If a launcher started this process as a rank other than 0, serves rank 0 and does nothing else.
    /// `allowed` is the access to targets that its own command line permits; rank 0 cannot exceed it.
    pub(crate) fn take_part(
        &self,
        stop: &StopFlag,
        allowed: Access,
    ) -> anyhow::Result<Option<Verdict>> {
        if !self.mpi {
            return Ok(None);
        }
        let rank = self.rank()?;
        if rank.number == 0 {
            return Ok(None);
        }
        rank.take_part(stop, allowed)?;
        Ok(Some(Verdict::Clean))
    }

    /// The rank of this process in its launcher, with the MPI barrier if the build has MPI.
    fn rank(&self) -> anyhow::Result<Rank> {
        let rank = Rank::of_environment(self.rendezvous.as_deref())?.waiting(self.agent_timeout);
        let joined = mpi::join().map_err(|why| SessionError::NoResult(format!("--mpi: {why}")))?;
        let Some(world) = joined else { return Ok(rank) };
        if (world.number, world.of) != (rank.number, rank.of) {
            return Err(usage(format!(
                "--mpi: the launcher reports rank {} of {}, but the MPI library of this build ({}) \
                 reports rank {} of {}: start halfpower with the launcher of that MPI, or use a \
                 build without MPI",
                rank.number, rank.of, world.library, world.number, world.of
            )));
        }
        Ok(rank.meeting_in(Arc::new(MpiBarrier(world))))
    }

    /// Whether several machines take part.
    pub(crate) fn given(&self) -> bool {
        self.hosts.is_some() || self.mpi
    }
}
