//! Parsers for the values of flags. Each error says which values are accepted.

use record::{
    AreaZone, Bytes, EngineName, IoClass, IoPriority, NO_TIME_LIMIT, Nanos, RaidLevel, RebuildPace,
    SizeShare, UnitError,
};
use std::str::FromStr;

pub(crate) use workload::values::*;

/// A parser that accepts the names of a table.
pub(crate) fn choice<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T)],
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| one_of(table, |(name, _)| name)(text).map(|(_, value)| value)
}

/// Parses a number with a unit, for flags that clap's own parser cannot handle.
pub(crate) fn unit<T: FromStr<Err = UnitError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

/// Parses a short time, which needs a unit: other flags read a bare number as seconds, which is rarely meant
/// here.
pub(crate) fn short_time(text: &str) -> Result<Nanos, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!("write {text}us, {text}ms or {text}s"));
    }
    unit(text)
}

pub(crate) fn some_bytes(text: &str) -> Result<Bytes, String> {
    match unit(text)? {
        Bytes(0) => Err("the value must be above 0, for example 1g".to_owned()),
        size => Ok(size),
    }
}

/// Parses a run time, or `none` for a run that only another stop rule ends.
pub(crate) fn run_time(text: &str) -> Result<Nanos, String> {
    if text == "none" { Ok(NO_TIME_LIMIT) } else { unit(text) }
}

/// Parses a size; 0 is allowed.
pub(crate) fn bytes(text: &str) -> Result<Bytes, String> {
    unit(text)
}

/// Parts of an area with their shares of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zones(pub(crate) Vec<AreaZone>);

/// Parses zones such as `50/5:30/15:20/80`.
pub(crate) fn zones(text: &str) -> Result<Zones, String> {
    let wrong = || {
        "use percentages of the requests and of the area, for example 50/5:30/15:20/80".to_owned()
    };
    let zone = |part: &str| {
        let (requests, area) = part.split_once('/').ok_or_else(wrong)?;
        let share = |text: &str| text.parse::<u8>().ok().filter(|share| (1..=100).contains(share));
        let (request_percent, area_percent) =
            (share(requests).ok_or_else(wrong)?, share(area).ok_or_else(wrong)?);
        Ok(AreaZone { request_percent, area_percent })
    };
    text.split(':').map(zone).collect::<Result<_, String>>().map(Zones)
}

/// CPU numbers, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processors(pub(crate) Vec<u32>);

/// Parses a list such as `0-3,6`.
pub(crate) fn processors(text: &str) -> Result<Processors, String> {
    let wrong = || "use CPU numbers and ranges, for example 0-3,6".to_owned();
    let mut found = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last > PROCESSOR_MAX {
            return Err(wrong());
        }
        found.extend(first..=last);
    }
    Ok(Processors(found.into_iter().collect()))
}

/// Largest CPU number that a thread can be bound to here.
const PROCESSOR_MAX: u32 = 1_023;

pub(crate) fn raid(text: &str) -> Result<RaidLevel, String> {
    let levels =
        [RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid5, RaidLevel::Raid6, RaidLevel::Raid10];
    let found = levels.into_iter().find(|level| level.number().to_string() == text);
    found.ok_or_else(|| "use 0, 1, 5, 6 or 10".to_owned())
}

/// Default chunk size, also of `sim:` and `predict`.
pub(crate) const CHUNK_BYTES: Bytes = Bytes(64 << 10);

/// Parses a rate in bytes per second, or `max`.
pub(crate) fn rebuild_pace(text: &str) -> Result<RebuildPace, String> {
    let rate = || some_bytes(text.strip_suffix("/s").unwrap_or(text)).map(Some);
    let bytes_per_s = if text == "max" { None } else { rate()? };
    Ok(RebuildPace { bytes_per_s })
}

/// Request sizes with their shares, as one value of a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix(pub(crate) Vec<SizeShare>);

pub(crate) fn mix(text: &str) -> Result<Mix, String> {
    workload::parse_mix(text).map(Mix)
}

/// fio's engines, and the halfpower engines that do the same.
const FIO_ENGINES: &[(&str, EngineName)] = &[
    ("psync", EngineName::Sync),
    ("pvsync", EngineName::Sync),
    ("pvsync2", EngineName::Sync),
    ("vsync", EngineName::Sync),
    ("posixaio", EngineName::Threads),
    ("windowsaio", EngineName::Iocp),
];

pub(crate) fn engine(text: &str) -> Result<EngineName, String> {
    let known = || engine::engines().map(|info| info.name);
    known().find(|name| name.name() == text).ok_or_else(|| {
        let elsewhere = engine::engines_elsewhere().find(|name| name.name() == text);
        if let Some((system, instead)) = elsewhere.and_then(engine::engine_elsewhere) {
            return format!(
                "the engine '{text}' needs {system}; on this system use --ioengine {}",
                instead.name()
            );
        }
        if let Some((_, same)) = FIO_ENGINES.iter().find(|(fio, _)| *fio == text) {
            let here = engine::engine_elsewhere(*same).map_or(*same, |(_, instead)| instead);
            return format!("fio's '{text}' corresponds to --ioengine {}", here.name());
        }
        format!("unknown engine '{text}'; {}", use_one(known().map(EngineName::name)))
    })
}

/// A parser that accepts the names of these values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let found = all.iter().copied().find(|one| name(*one) == text);
        found.ok_or_else(|| use_one(all.iter().map(|one| name(*one))))
    }
}

/// Parses a class and a level, such as `be/0`; the default level is 0.
pub(crate) fn io_priority(text: &str) -> Result<IoPriority, String> {
    const CLASSES: [IoClass; 3] = [IoClass::Realtime, IoClass::BestEffort, IoClass::Idle];
    let (class, level) = text.split_once('/').unwrap_or((text, "0"));
    let class = one_of(&CLASSES, IoClass::name)(class)?;
    let level = level.parse().ok().filter(|level| *level < 8).ok_or("use a level from 0 to 7")?;
    if class == IoClass::Idle && level > 0 {
        return Err("the idle class has no levels; use idle".to_owned());
    }
    Ok(IoPriority { class, level })
}

fn use_one<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("use one of {}", names.collect::<Vec<_>>().join(", "))
}
