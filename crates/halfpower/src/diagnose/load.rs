//! A load of a simulated scenario, from the words of `--load`.
//!
//! Whatever `halfpower run` can ask of a device, a load can: its words are handed to the parser of
//! `run` as flags, so that there is one grammar of loads. Only what a trial has no word for is read
//! here: when the load is there, the limit of its control group, and whose it is.

use super::DiagnoseArgs;
use crate::cli::{Cli, Verb};
use crate::failure::UsageError;
use clap::Parser;
use record::{Bytes, EngineName, LimitedIo, Nanos, OpKind};
use scenarios::{GroupLimit, ScenarioLoad};
use simdisk::SimSpec;
use workload::Spec;

/// The area of a simulated device where a load names none: that of `check`.
const AREA: Bytes = Bytes(2 << 30);

/// Reads one load.
pub(super) fn load(
    text: &str,
    index: usize,
    device: &SimSpec,
    arguments: &DiagnoseArgs,
) -> anyhow::Result<ScenarioLoad> {
    let wrong = |why: String| UsageError(format!("--load {text:?}: {why}"));
    let (mut from, mut length, mut limit, mut limits) = (Nanos(0), None, None, Vec::new());
    let (mut name, mut write_back) = (format!("load-{}", index + 1), false);
    let mut words = vec!["halfpower".to_owned(), "run".to_owned(), "sim:mm1".to_owned()];
    for word in text.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            return Err(wrong(format!("'{word}' is not of the form KEY=VALUE")).into());
        };
        let time = || crate::values::nanos(value).map_err(&wrong);
        let requests = || {
            let number = value.parse::<u64>().ok().filter(|&number| number > 0);
            number
                .ok_or_else(|| wrong(format!("{key}={value} is no number of requests per second")))
        };
        match key {
            "from" => from = time()?,
            "for" => length = Some(time()?),
            "limit" => limit = Some(requests()?),
            "riops" | "wiops" => limits.extend(GroupLimit::of(key, requests()?)),
            "rbps" | "wbps" => {
                let bytes = crate::values::bytes(value).map_err(&wrong)?;
                if bytes.0 == 0 {
                    return Err(wrong(format!("{key}={value} lets nothing through")).into());
                }
                limits.extend(GroupLimit::of(key, bytes.0));
            }
            "name" => value.clone_into(&mut name),
            "write-back" => {
                write_back = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(wrong(format!("write-back={value}: say yes or no")).into()),
                }
            }
            _ => words.push(format!("--{key}={value}")),
        }
    }
    let parsed = Cli::try_parse_from(&words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        wrong(first.trim_start_matches("error: ").to_owned())
    })?;
    let Verb::Run(run) = parsed.verb else {
        return Err(wrong("it asks for no run".to_owned()).into());
    };
    if let Some(text) = run.contradiction() {
        return Err(wrong(text).into());
    }
    let asked = run.spec();
    let size = asked.size.unwrap_or(AREA).min(device.size());
    let spec = Spec { engine: EngineName::Sim, size: Some(size), ..asked };
    let workload = spec.build(device.size())?;
    if let Some(per_s) = limit {
        let only = workload.only_op();
        let why = || wrong("limit= takes a load of reads or of writes alone".to_owned());
        let op: OpKind = only.ok_or_else(why)?;
        limits.push(GroupLimit { limited: LimitedIo::of(op, false), per_s });
    }
    let end = length.map_or(arguments.length, |length| from.plus(length));
    if from >= arguments.length || end <= from {
        return Err(wrong("it is never there while the device is observed".to_owned()).into());
    }
    Ok(ScenarioLoad { name, workload, begin: from, end, limits, write_back })
}
