//! Saves results that are committed, each with its machine and versions.

use crate::{child, place};
use anyhow::{Context, Result};
use host::kernel;
use serde_json::{Value, json};
use std::process::Command;

/// Writes a result as `benches/results/NAME-DATE.json`.
pub(crate) fn keep(name: &str, parts: &[(&str, Value)]) -> Result<()> {
    let mut document = description();
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    document["time"] = json!(now);
    for (key, value) in parts {
        document[*key] = value.clone();
    }
    let folder = place::root().join("benches/results");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}-{}.json", &now[..10]));
    std::fs::write(&path, text(&document))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("  kept in {}", path.display());
    Ok(())
}

/// Formats a document with each row of a list on its own line.
fn text(document: &Value) -> String {
    let member = |(key, value): (&String, &Value)| match value.as_array() {
        Some(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| format!("\n    {row}")).collect();
            format!("  {key:?}: [{}\n  ]", rows.join(","))
        }
        None => format!("  {key:?}: {value}"),
    };
    let members: Vec<String> = document.as_object().into_iter().flatten().map(member).collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

/// The first line of a command's output, if it succeeds.
fn says(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let text = child::text(command.args(arguments).current_dir(place::root()), &[0]).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The machine and the versions of all programs involved.
fn description() -> Value {
    let environment = kernel::environment(&kernel::Roots::default(), None);
    json!({
        "machine": {
            "cpu": environment.cpu,
            "processors": std::thread::available_parallelism().map(usize::from).ok(),
            "kernel": environment.kernel,
            "virtualization": environment.virtualization,
        },
        "versions": {
            "halfpower": says("git", &["describe", "--always", "--dirty"]),
            "rustc": says("rustc", &["--version"]),
            "fio": says("fio", &["--version"]),
        },
    })
}
