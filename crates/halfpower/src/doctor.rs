//! `halfpower doctor`: what this machine can and cannot measure, and why.

use crate::cli::DoctorArgs;
use crate::output::{self, Verdict};
use anyhow::anyhow;
use host::Roots;
use report::CapabilityRow;

/// Prints the capabilities.
pub(crate) fn doctor(arguments: &DoctorArgs) -> anyhow::Result<Verdict> {
    if !arguments.directory.is_dir() {
        return Err(anyhow!("{:?} is not a directory; name one", arguments.directory));
    }
    let rows: Vec<CapabilityRow> = host::capabilities(&Roots::default(), &arguments.directory)
        .into_iter()
        .map(|found| CapabilityRow {
            name: found.name,
            available: found.available,
            detail: found.detail,
            remedy: found.remedy,
        })
        .collect();
    let text = if arguments.json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "name": row.name,
                    "available": row.available,
                    "detail": row.detail,
                    "remedy": row.remedy,
                })
            })
            .collect();
        output::json(&serde_json::json!({ "schema": "halfpower/doctor/1", "capabilities": rows }))?
    } else {
        report::capabilities_text(&rows, &output::style())
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}
