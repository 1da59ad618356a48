//! `halfpower agent`: takes part in a load of several machines, over its standard input and output.

use crate::failure::usage;
use crate::output::Verdict;
use anyhow::Context;
use clap::Args;
use plan::session::StopFlag;
use std::io::IsTerminal;

#[derive(Debug, Args)]
#[command(after_help = "`halfpower run --hosts` starts the agent, for example as\n  \
    ssh HOST halfpower agent\n\
    The agent writes to a target only if `run` has the flag that allows writing.\n\
    The agent ends when its standard input closes.")]
pub(crate) struct AgentArgs {}

pub(crate) fn agent(_: &AgentArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    if std::io::stdin().is_terminal() {
        let text =
            "agent is started by `halfpower run --hosts`, not by hand: see halfpower run --help";
        return Err(usage(text));
    }
    clients::serve(std::io::stdin(), std::io::stdout(), stop)
        .context("cannot reply to the coordinator")?;
    Ok(Verdict::Clean)
}
