//! Flags for runs on several machines, and how targets are opened there.

use crate::failure::{refuse_given, usage};
use crate::progress::Progress;
use crate::values::one_of;
use clap::Args;
use clients::{Clients, DEFAULT_LAUNCH, Launch};
use plan::session::{Opener, StopFlag, ThisMachine};
use record::{Nanos, TargetSharing};

/// Minimum of `--agent-timeout`; an agent sends a message every second.
const AGENT_TIMEOUT_MIN: Nanos = Nanos(2_000_000_000);

#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Comma-separated list of machines that generate the load together, or @FILE with one machine
    /// per line. All machines use the same flags. In a target's path, {host} is the machine's name
    /// and {rank} is its number.
    #[arg(long, value_name = "HOST,...", help_heading = "Several machines")]
    pub(crate) hosts: Option<String>,
    /// Command that starts the agent of a host; it is not run by a shell [default: ssh -o
    /// BatchMode=yes ... {host} halfpower agent].
    #[arg(long, value_name = "WORDS", requires = "hosts", help_heading = "Several machines")]
    launch: Option<String>,
    /// Whether the machines share one target (shared) or each has its own (own) [default: detected
    /// from the path and the machines].
    #[arg(long, value_name = "shared|own", help_heading = "Several machines",
        value_parser = one_of(&[TargetSharing::Shared, TargetSharing::Own], TargetSharing::name))]
    targets_are: Option<TargetSharing>,
    /// Time without a message after which an agent counts as lost [default: 60s at the start, then
    /// 15s].
    #[arg(long, value_name = "TIME", help_heading = "Several machines")]
    agent_timeout: Option<Nanos>,
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
        let Some(hosts) = &self.hosts else {
            let why = |flag: &str| format!("{flag} applies to several machines; add --hosts");
            return refuse_given(&unused, why).map(|()| Box::new(ThisMachine) as _);
        };
        let launch = Launch::new(hosts, self.launch.as_deref().unwrap_or(DEFAULT_LAUNCH))?;
        let silence = self.agent_timeout;
        if silence.is_some_and(|silence| silence < AGENT_TIMEOUT_MIN) {
            return Err(usage(
                "--agent-timeout must be at least 2s, because an agent reports once a second",
            ));
        }
        let display = Box::new(progress.clone());
        Ok(Box::new(Clients::start(&launch, self.targets_are, silence, stop, display)?))
    }

    /// Whether several machines take part.
    pub(crate) fn given(&self) -> bool {
        self.hosts.is_some()
    }
}
