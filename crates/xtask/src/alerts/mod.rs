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
    let (mut good, mut parts) = (true, Vec::new());
    if !flags.has("--real") {
        let hour = hour::run(&binary, &rules, smoke)?;
        good &= hour.good;
        parts.push(("virtual", hour.details));
    }
    if !flags.has("--virtual") && !smoke {
        let stage = stage::run(&binary, &rules)?;
        good &= stage.good;
        parts.push(("real", stage.details));
    }
    if !flags.has("--no-keep") && !smoke {
        parts.insert(0, ("rules", json!(RULES)));
        kept::keep("alerts", &parts)?;
    }
    Ok(good)
}

/// What a part found.
pub(crate) struct Tried {
    pub(crate) good: bool,
    pub(crate) details: serde_json::Value,
}
