//! Tries the alert rules: on an hour of virtual time through the real judge, and on a real disk that
//! becomes slow, with a real Prometheus and a real Alertmanager.
//!
//! The hour is simulated ([`hour`]), judged and rendered by the code of the exporter, and held against
//! the rules by `promtool test rules`, which runs Prometheus' own evaluation in virtual time. The
//! same series are held against two rules of thumb that many sites use, so that the numbers of
//! alerts can be compared. The real stage ([`stage`]) shows that the way from the kernel's counters
//! to an alert in Alertmanager works, and how long it takes.
//!
//! Rejected: blocks of openmetrics in a running server, which evaluates alerts of now alone.

mod hour;
mod stage;

use crate::arguments::Arguments;
use crate::{kept, place};
use anyhow::{Context as _, Result};
use serde_json::json;
use std::path::PathBuf;

pub(crate) const SWITCHES: [&str; 4] = ["--smoke", "--no-keep", "--virtual", "--real"];
pub(crate) const VALUES: [&str; 1] = ["--binary"];

/// The rules of the documentation.
const RULES: &str = "docs/exporter/halfpower.rules.yml";

/// Runs both parts, or the one that is named; whether all alerts came that had to, and no others.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let smoke = flags.has("--smoke");
    let binary: Option<PathBuf> = flags.value("--binary")?;
    let binary = place::binary(binary, smoke)?;
    // promtool takes a pattern, and a file that is not there for one that matches nothing.
    let rules = std::fs::canonicalize(place::root().join(RULES)).context(RULES)?;
    if let Some(lacks) = testkit::Capability::Prometheus.lack() {
        println!("SKIP alerts: {lacks}");
        return Ok(true);
    }
    let is_asked = |part: &str| !flags.has("--virtual") && !flags.has("--real") || flags.has(part);
    let keep = !flags.has("--no-keep") && !smoke;
    let mut good = true;
    let mut add = |name: &str, tried: Tried| -> Result<()> {
        good &= tried.good;
        if keep {
            kept::keep(name, &[("rules", json!(RULES)), ("details", tried.details)])?;
        }
        Ok(())
    };
    if is_asked("--virtual") {
        add("alerts-virtual", hour::run(&binary, &rules, smoke)?)?;
    }
    if is_asked("--real") && !smoke {
        add("alerts-real", stage::run(&binary, &rules)?)?;
    }
    Ok(good)
}

/// What a part found.
pub(crate) struct Tried {
    pub(crate) good: bool,
    pub(crate) details: serde_json::Value,
}
