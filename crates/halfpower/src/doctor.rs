//! `halfpower doctor`: what this machine can and cannot measure, and why.

use crate::cli::DoctorArgs;
use crate::output::{self, Verdict};
use anyhow::anyhow;
use kernel::Roots;

/// The `schema` value of the document.
const DOCTOR_SCHEMA: &str = "halfpower/doctor/1";

/// Prints the capabilities.
pub(crate) fn doctor(arguments: &DoctorArgs) -> anyhow::Result<Verdict> {
    if !arguments.directory.is_dir() {
        return Err(anyhow!("{:?} is not a directory; name one", arguments.directory));
    }
    let (roots, directory) = (Roots::default(), &arguments.directory);
    let disk = kernel::disk_of(&roots, directory);
    let mut found = kernel::capabilities(&roots, disk.as_ref());
    found.extend(target::capabilities(directory));
    found.extend(tracer::capabilities(&roots, disk.as_ref()));
    let text = if arguments.json {
        output::json(&serde_json::json!({ "schema": DOCTOR_SCHEMA, "capabilities": found }))?
    } else {
        report::capabilities_text(&found, &output::style())
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}
