//! How a Prometheus server is told who asks: the flags that all commands share that ask one.

use crate::failure::usage;
use anyhow::Context;
use clap::Args;
use prometheus::Client;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Send the token in this file to the server, as Authorization: Bearer.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    token_file: Option<PathBuf>,
    /// Send this header to the server, `NAME: VALUE`; once for each.
    #[arg(long, value_name = "HEADER", requires = "prometheus")]
    header: Vec<String>,
}

impl ServerArgs {
    /// A client of the server at this address.
    pub(crate) fn client(&self, address: &str) -> anyhow::Result<Client> {
        let token = self.token_file.as_ref().map(|path| {
            std::fs::read_to_string(path)
                .with_context(|| format!("cannot read --token-file {}", path.display()))
        });
        let token = token.transpose()?;
        Client::new(address, token.as_deref(), &self.header)
            .map_err(|error| usage(error.to_string()))
    }
}
