//! Reads a metric of a trial by name: one number.

use record::{ComponentUse, DirectionResult, Trial};

/// Bytes of a MiB and of a MB.
const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

/// The metric of that name; an error if there is none, or the trial does not report it.
pub(crate) fn read(trial: &Trial, metric: &str) -> Result<f64, String> {
    let sum =
        |value: &dyn Fn(&DirectionResult) -> f64| -> f64 { trial.directions().map(value).sum() };
    let iops = sum(&|direction| direction.iops);
    let bytes_per_s = sum(&|direction| direction.bytes_per_s);
    if iops <= 0.0 {
        return Err("nothing completed".to_owned());
    }
    Ok(match metric {
        "mib_per_s" => bytes_per_s / MIB,
        "mb_per_s" => bytes_per_s / MB,
        "iops" => iops,
        "latency_ms" => trial.result.concurrency / iops * 1e3,
        "concurrency" => trial.result.concurrency,
        "cpu_us_per_io" => processors(trial)? / iops * 1e6,
        "cpu_ms_per_mib" => processors(trial)? / bytes_per_s * MIB * 1e3,
        "cpu_ms_per_mb" => processors(trial)? / bytes_per_s * MB * 1e3,
        "cpu_percent" => processors(trial)? * 100.0,
        "busy_percent" => {
            let counters = trial.device_counters.value().ok_or("the trial has no counters")?;
            counters.busy_ms / 1e3 / trial.result.duration_ns.as_secs_f64() * 100.0
        }
        _ => match argument_of(metric, "busy").or(argument_of(metric, "phase")) {
            Some(argument) => of_component(trial, argument)?,
            None => return Err(format!("there is no metric {metric:?}")),
        },
    })
}

/// The text in the brackets after a name.
fn argument_of<'a>(metric: &'a str, name: &str) -> Option<&'a str> {
    metric.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')
}

/// The busy share of a component, or the share of some phases in its busy time, in percent.
fn of_component(trial: &Trial, argument: &str) -> Result<f64, String> {
    let (name, phases) =
        argument.split_once('/').map_or((argument, None), |(name, phases)| (name, Some(phases)));
    let known = &trial.result.components;
    let component = known.iter().find(|component| component.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|component| component.name.as_str()).collect();
        format!("the trial has no component {name:?}; it has {}", names.join(", "))
    })?;
    match phases {
        None => Ok(component.busy_share * 100.0),
        Some(phases) => {
            let shares = phases.split('+').map(|phase| share_of(component, phase));
            shares.sum::<Result<f64, _>>().map(|share| share * 100.0)
        }
    }
}

fn share_of(component: &ComponentUse, name: &str) -> Result<f64, String> {
    let found = component.phases.iter().find(|phase| phase.name == name);
    found.map(|phase| phase.share).ok_or_else(|| {
        let names: Vec<&str> = component.phases.iter().map(|phase| phase.name.as_str()).collect();
        format!("{} has no phase {name:?}; it has {}", component.name, names.join(", "))
    })
}

/// Processor seconds per second.
fn processors(trial: &Trial) -> Result<f64, String> {
    let cost = trial.cpu.value().ok_or("the trial has no CPU cost")?;
    let seconds = trial.result.duration_ns.as_secs_f64();
    Ok((cost.user_ms + cost.system_ms) / 1e3 / seconds)
}
