//! Authentication flags, shared by all commands that query a Prometheus server.

use crate::failure::usage;
use anyhow::Context;
use clap::Args;
use engine::input;
use live::prometheus::Client;
use plan::session::StopFlag;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Send the token in this file to the server, in the header Authorization: Bearer.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    token_file: Option<PathBuf>,
    /// Send this header to the server, `NAME: VALUE`; can be repeated.
    #[arg(long, value_name = "HEADER", requires = "prometheus")]
    header: Vec<String>,
}

impl ServerArgs {
    /// A client for the server at this address.
    pub(crate) fn client(&self, address: &str, stop: &StopFlag) -> anyhow::Result<Client> {
        let token = self
            .token_file
            .as_ref()
            .map(|path| input::text(path, input::TOKEN).context("--token-file"));
        let token = token.transpose()?;
        Client::new(address, token.as_deref(), &self.header)
            .map(|client| client.stopping_at(Arc::clone(stop)))
            .map_err(|error| usage(error.to_string()))
    }
}
