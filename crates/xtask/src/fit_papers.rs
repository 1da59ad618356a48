//! Fits the parameters of simulated machines that no paper prints, on every other size of a curve.
//!
//! A fit is a line of [`FITS`]: what is changed, and the published series that it is fitted on. The
//! sizes at odd places of an axis (the first, the third, ...) are fitted on, and the others judge:
//! `rows.csv` names the points, and `halfpower papers` leaves them out of its verdict. The objective
//! is the mean of the squared logarithms of reproduced over published; the search goes along one
//! parameter after the other in steps that shrink, from the values in the catalogue. What it finds
//! is printed, and written into the catalogue by hand, so that nobody takes over a value unseen.
//! Rejected: fitting everything at once (a figure would pay for another one's missing mechanism), and
//! fitting on all sizes (nothing would be left to judge with).

use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Parameters that are fitted together: `section.key` of the machines named, all of which get the
/// same value, on the series named. Two keys in one text keep their ratio.
struct Fit {
    name: &'static str,
    machines: &'static [&'static str],
    parameters: &'static [&'static str],
    series: &'static [&'static str],
}

const FITS: &[Fit] = &[
    Fit {
        name: "fast-reads",
        machines: &["st15150w"],
        parameters: &[
            "drive.media-rate-outermost-track drive.media-rate-innermost-track",
            "drive.firmware-command",
            "drive.firmware-end",
            "drive.finding-it",
            "bus.rate-in bus.rate-out",
        ],
        series: &["fig03.read.fast", "table3.fast.prefetch", "table3.fast.hit"],
    },
    Fit {
        name: "fast-writes",
        machines: &["st15150w"],
        parameters: &["drive.firmware-command-to-write"],
        series: &["fig03.write_wce.fast"],
    },
    Fit {
        name: "fast-queued",
        machines: &["st15150w"],
        parameters: &[
            "drive.firmware-command-among-others",
            "drive.firmware-first-after-another-drive",
        ],
        series: &["fig06.read.3", "fig07.read.1", "fig07.read.3", "fig08.wce.4"],
    },
    Fit {
        name: "fast-queued-writes",
        machines: &["st15150w"],
        parameters: &["drive.firmware-write-through"],
        series: &["fig06.write.8"],
    },
    Fit {
        name: "narrow",
        machines: &["st15150n"],
        parameters: &["bus.rate-in bus.rate-out"],
        series: &["table3.narrow.prefetch"],
    },
    Fit {
        name: "ultra-reads",
        machines: &["st34371w"],
        parameters: &[
            "drive.media-rate-outermost-track drive.media-rate-innermost-track",
            "drive.firmware-command",
            "drive.firmware-end",
        ],
        series: &["fig03.read.ultra"],
    },
    Fit {
        name: "ultra-writes",
        machines: &["st34371w"],
        parameters: &["drive.firmware-command-to-write"],
        series: &["fig03.write_wce.ultra"],
    },
    Fit {
        name: "ultra-queued",
        machines: &["st34371w"],
        parameters: &[
            "drive.firmware-command-among-others",
            "drive.firmware-first-after-another-drive",
            "host.pci-outward",
        ],
        series: &["fig10.read", "fig13.read", "fig13.write"],
    },
    Fit {
        name: "ultra-queued-writes",
        machines: &["st34371w"],
        parameters: &["drive.firmware-write-through"],
        series: &["fig12.one_write_8"],
    },
    Fit {
        name: "direct-costs",
        machines: &["st15150w", "st34371w"],
        parameters: &[
            "host.direct-read host.direct-write",
            "host.direct-read-per-kib host.direct-write-per-kib",
            "host.further-transfer",
        ],
        series: &[
            "fig04.mb.ultra_read",
            "fig04.mb.fast_read",
            "fig04.mb.ultra_write",
            "fig04.mb.ultra_write_wce",
            "fig04.mb.fast_write",
            "fig04.mb.fast_write_wce",
        ],
    },
    Fit {
        name: "buffered-read-costs",
        machines: &["st34371w"],
        parameters: &["host.buffered-read", "host.buffered-read-per-kib"],
        series: &["fig02.cost.read"],
    },
    Fit {
        name: "buffered-write-costs",
        machines: &["st34371w"],
        parameters: &["host.buffered-write", "host.buffered-write-per-kib"],
        series: &["fig02.cost.write", "fig02.cost.write_wce"],
    },
    Fit {
        name: "parity-cost",
        machines: &["st34371w"],
        parameters: &["host.exclusive-or-per-kib"],
        series: &["fig17.cost.host_write"],
    },
];

/// Factors by which a parameter is tried, one round after the other.
const STEPS: [f64; 7] = [2.5, 1.6, 1.3, 1.15, 1.07, 1.03, 1.01];
/// Rounds over all parameters of a fit at one step.
const ROUNDS: usize = 3;
/// From where a parameter begins that is zero: nanoseconds.
const FIRST: f64 = 10_000.0;
/// The steps below it lead to zero: nanoseconds.
const LEAST: f64 = 10.0;

/// One fit in place of all, and the program in place of the release build.
pub(crate) const VALUES: [&str; 2] = ["--only", "--binary"];

/// Prints what each fit finds.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let binary = place::binary(flags.value("--binary")?, false)?;
    let only: Option<String> = flags.value("--only")?;
    let mut machines = BTreeMap::new();
    let wanted = |fit: &&Fit| only.as_deref().is_none_or(|name| name == fit.name);
    ensure!(FITS.iter().any(|fit| wanted(&fit)), "there is no fit of this name");
    for fit in FITS.iter().filter(wanted) {
        for name in fit.machines {
            if !machines.contains_key(name) {
                machines.insert(*name, SimSpec::shown(name)?);
            }
        }
        fit_one(&binary, fit, &mut machines)?;
    }
    Ok(true)
}

/// Where the value of `section.key` stands in a description.
fn value_at(text: &str, parameter: &str) -> Result<std::ops::Range<usize>> {
    let (section, key) = parameter.split_once('.').context("a parameter is section.key")?;
    let none = || format!("the description has no {parameter}");
    let section = text.find(&format!("[{section}]")).with_context(none)?;
    let line = text[section..].find(&format!("\n{key} = ")).with_context(none)? + section + 1;
    let from = line + key.len() + 3;
    let end = text[from..].find(['#', '\n']).map_or(text.len(), |end| from + end);
    Ok(from..from + text[from..end].trim_end().len())
}

/// A value as it is searched for: nanoseconds, or bytes per second.
fn number(text: &str) -> Result<f64> {
    let text = text.trim_matches('"');
    let rate = text.strip_suffix("/s");
    let value = match rate {
        Some(bytes) => bytes.parse::<record::Bytes>().map(|bytes| bytes.0).ok(),
        None => text.parse::<record::Nanos>().map(|nanos| nanos.0).ok(),
    };
    value.map(|value| value as f64).with_context(|| format!("{text:?} is no time and no rate"))
}

/// The value as a description has it, with three digits.
fn written(value: f64, before: &str) -> String {
    let size = 10f64.powf(value.max(1.0).log10().floor() - 2.0).max(1.0);
    let rounded = (value / size).round() * size;
    let rate = before.contains("/s");
    if rate { format!("\"{} kB/s\"", (rounded / 1e3).round()) } else { format!("\"{rounded} ns\"") }
}

fn fit_one(binary: &Path, fit: &Fit, machines: &mut BTreeMap<&'static str, String>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let first = &machines[fit.machines[0]];
    let mut values: Vec<f64> = Vec::new();
    let mut before = Vec::new();
    for parameter in fit.parameters {
        let texts: Vec<String> = parameter
            .split(' ')
            .map(|key| Ok(first[value_at(first, key)?].to_owned()))
            .collect::<Result<_>>()?;
        values.push(number(&texts[0])?);
        before.push(texts);
    }
    let begun_with = values.clone();
    let change = |text: &mut String, values: &[f64]| -> Result<()> {
        for (at, (parameter, before)) in fit.parameters.iter().zip(&before).enumerate() {
            for (key, before) in parameter.split(' ').zip(before) {
                let place = value_at(text, key)?;
                let factor = number(before)? / begun_with[at];
                let value = if factor.is_finite() { values[at] * factor } else { values[at] };
                text.replace_range(place, &written(value, before));
            }
        }
        Ok(())
    };
    let cost = |values: &[f64]| -> Result<f64> {
        let mut command = Command::new(binary);
        command.args(["papers", "--json"]);
        for name in fit.machines {
            let mut text = machines[name].clone();
            change(&mut text, values)?;
            let file = folder.path().join(format!("{name}.toml"));
            std::fs::write(&file, text)?;
            command.arg("--machine").arg(format!("{name}={}", file.display()));
        }
        fit.series.iter().for_each(|series| {
            command.args(["--only", series]);
        });
        let output = command.output()?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        objective(&report)
    };
    let begun = cost(&values)?;
    let mut least = begun;
    for step in STEPS {
        for _ in 0..ROUNDS {
            let mut better = false;
            for at in 0..values.len() {
                for factor in [step, 1.0 / step] {
                    let mut tried = values.clone();
                    tried[at] = match values[at] * factor {
                        0.0 => FIRST * step,
                        value if value < LEAST => 0.0,
                        value => value,
                    };
                    let found = cost(&tried)?;
                    if found < least * 0.999 {
                        (values, least, better) = (tried, found, true);
                        break;
                    }
                }
            }
            if !better {
                break;
            }
        }
    }
    println!("{}: error {:.1} % -> {:.1} %", fit.name, percent(begun), percent(least));
    for ((parameter, value), before) in fit.parameters.iter().zip(&values).zip(&before) {
        println!("  {parameter:45} {:>14} -> {}", before[0], written(*value, &before[0]));
    }
    for name in fit.machines {
        change(machines.get_mut(name).context("a machine")?, &values)?;
    }
    Ok(())
}

/// The root of a mean square of logarithms, as a share in percent.
fn percent(objective: f64) -> f64 {
    objective.sqrt().exp_m1() * 100.0
}

/// The mean over the series of the mean square of the logarithms at the points that the data name as
/// fitted on, which are those that judge nothing.
fn objective(report: &Value) -> Result<f64> {
    let rows = report["rows"].as_array().context("rows")?;
    let of_row = |row: &Value| -> Result<f64> {
        let points = row["points"].as_array().context("points")?;
        let squares: Vec<f64> = points
            .iter()
            .filter(|point| point["fitted"] == true)
            .map(|point| {
                let value =
                    |name: &str| point[name].as_f64().with_context(|| row["reason"].to_string());
                Ok((value("reproduced")? / value("published")?).ln().powi(2))
            })
            .collect::<Result<_>>()?;
        ensure!(!squares.is_empty(), "{} names no point that it is fitted on", row["id"]);
        Ok(stats::mean(&squares))
    };
    let all: Vec<f64> = rows.iter().map(of_row).collect::<Result<_>>()?;
    Ok(stats::mean(&all))
}
