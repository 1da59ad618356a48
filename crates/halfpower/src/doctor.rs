//! `halfpower doctor`: what this machine can and cannot measure, and why.

use crate::output::{self, Verdict};
use anyhow::ensure;
use clap::Args;
use kernel::Roots;
use record::{Capability, EngineName, quoted};
use std::path::PathBuf;

/// The `schema` value of the document.
const DOCTOR_SCHEMA: &str = "halfpower/doctor/1";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory whose disk is meant.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn doctor(arguments: &DoctorArgs) -> anyhow::Result<Verdict> {
    let (roots, directory) = (Roots::default(), &arguments.directory);
    ensure!(directory.is_dir(), "{} is not a directory; name one", quoted(directory));
    let disk = kernel::disk_of(&roots, directory);
    let mut found = kernel::capabilities(&roots, disk.as_ref());
    found.extend(target::capabilities(directory));
    found.extend(tracer::capabilities(&roots, disk.as_ref()));
    let own = engine::engines().filter(|info| matches!(info.name, EngineName::Own(_)));
    found.extend(own.map(|info| {
        let name = format!("engine {}", info.name.name());
        Capability::of(&name, true, format!("of this build: {}", info.help), "")
    }));
    let document = serde_json::json!({ "schema": DOCTOR_SCHEMA, "capabilities": found });
    let page = || report::capabilities_text(&found, &output::style());
    output::document(arguments.json, &document, page)
}
