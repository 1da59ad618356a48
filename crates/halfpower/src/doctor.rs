//! `halfpower doctor`: reports what this machine can and cannot measure, and why.

use crate::output::{self, Verdict};
use anyhow::ensure;
use clap::Args;
use diagnose::causes;
use host::kernel::{self, Roots};
use host::target;
use host::tracer;
use record::{Capability, DeviceFacts, EngineName, quoted};
use std::path::PathBuf;

/// The `schema` value of the document.
const DOCTOR_SCHEMA: &str = "halfpower/doctor/1";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory on the disk to check.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn doctor(arguments: &DoctorArgs) -> anyhow::Result<Verdict> {
    let (roots, directory) = (Roots::default(), &arguments.directory);
    ensure!(directory.is_dir(), "{} is not a directory; name a directory", quoted(directory));
    let disk = kernel::disk_of(&roots, directory);
    let mut found = kernel::capabilities(&roots, disk.as_ref());
    found.extend(target::capabilities(directory));
    found.extend(tracer::capabilities(&roots, disk.as_ref()));
    found.extend(causes_read(&roots, disk.as_ref()));
    let own = engine::engines().filter(|info| matches!(info.name, EngineName::Own(_)));
    found.extend(own.map(|info| {
        let name = format!("engine {}", info.name.name());
        Capability::of(&name, true, format!("added to this build: {}", info.help), "")
    }));
    let document = serde_json::json!({ "schema": DOCTOR_SCHEMA, "capabilities": found });
    let page = || report::capabilities_text(&found, &output::style());
    output::document(arguments.json, &document, page)
}

/// Which checks for causes can read their data. A cause whose check fails cannot be excluded.
fn causes_read(roots: &Roots, disk: Option<&DeviceFacts>) -> Vec<Capability> {
    let Some(disk) = disk else { return Vec::new() };
    // A rotating disk may be asleep, so it gets no query that the disk itself must answer.
    let awake = disk.rotational == Some(false);
    let host = causes::Host::new(roots, std::slice::from_ref(disk), &|_| awake);
    let read = causes::read(&host, causes::Round::Once);
    let named = |check: &str, device: &Option<String>| {
        let of = device.as_ref().map(|device| format!(" of {device}")).unwrap_or_default();
        format!("check {check}{of}")
    };
    let facts = read.facts.iter().map(|fact| {
        Capability::of(&named(&fact.check, &fact.device), true, fact.values_text(), "")
    });
    let not_read = read.not_read.iter().map(|one| {
        let remedy = "a diagnosis cannot exclude the causes that this check looks for";
        Capability::of(&named(&one.check, &one.device), false, one.reason.clone(), remedy)
    });
    facts.chain(not_read).collect()
}
