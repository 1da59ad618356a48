//! Parses a load of a scenario in the form `KEY=VALUE ...`.
//!
//! Most keys are flags of `halfpower run`. The caller passes them to that parser, so that loads have one
//! grammar. Only keys without a flag in a trial are read here: the time of the load, the limits of its
//! control group, and its program.

use crate::scenarios::{GroupLimit, ScenarioLoad};
use record::{LimitedIo, Nanos, UnitError, Workload};

/// A load as written by the user.
#[derive(Clone, Debug, Default)]
pub struct LoadWords {
    /// The flags of `halfpower run`, as typed.
    pub flags: Vec<String>,
    name: Option<String>,
    from: Nanos,
    length: Option<Nanos>,
    /// Requests per second of the load's only direction.
    limit: Option<u64>,
    limits: Vec<GroupLimit>,
    write_back: bool,
}

impl LoadWords {
    /// Parses the words.
    ///
    /// # Errors
    /// Description of the invalid word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut load = Self::default();
        for word in text.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                return Err(format!("'{word}' does not have the form KEY=VALUE"));
            };
            let wrong = |error: UnitError| error.to_string();
            let time = || value.parse().map_err(wrong);
            let requests = || match value.parse::<u64>() {
                Ok(number @ 1..) => Ok(number),
                _ => Err(format!("{key}={value} is not a rate in IOPS")),
            };
            match key {
                "from" => load.from = time()?,
                "for" => load.length = Some(time()?),
                "limit" => load.limit = Some(requests()?),
                "riops" | "wiops" => load.limits.extend(GroupLimit::of(key, requests()?)),
                "rbps" | "wbps" => {
                    let bytes: record::Bytes = value.parse().map_err(wrong)?;
                    if bytes.0 == 0 {
                        return Err(format!("{key}={value} allows no requests"));
                    }
                    load.limits.extend(GroupLimit::of(key, bytes.0));
                }
                "name" => load.name = Some(value.to_owned()),
                "write-back" => {
                    load.write_back = match value {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(format!("write-back={value}: use yes or no")),
                    }
                }
                _ => load.flags.push(format!("--{key}={value}")),
            }
        }
        Ok(load)
    }

    /// The load with its workload, with number `index` on a device that is observed for `duration`.
    ///
    /// # Errors
    /// If it is not active while the device is observed, or its limit does not apply to the mix.
    pub fn load(
        self,
        workload: Workload,
        index: usize,
        duration: Nanos,
    ) -> Result<ScenarioLoad, String> {
        let mut limits = self.limits;
        if let Some(per_s) = self.limit {
            let op =
                workload.only_op().ok_or("limit= needs a load of only reads or only writes")?;
            limits.push(GroupLimit { limited: LimitedIo::of(op, false), per_s });
        }
        let end = self.length.map_or(duration, |length| self.from.plus(length));
        if self.from >= duration || end <= self.from {
            return Err("the load is never active while the device is observed".to_owned());
        }
        let name = self.name.unwrap_or_else(|| format!("load-{}", index + 1));
        Ok(ScenarioLoad {
            name,
            workload,
            begin: self.from,
            end,
            limits,
            write_back: self.write_back,
            uncounted: false,
        })
    }
}
