//! Reading `sim:NAME,key=value,...` into a device's parameters.
//!
//! One table lists the kinds and one the keys, with units and defaults; parser, errors and help
//! come from them.

use record::{Bytes, Nanos};

/// A kind of simulated device.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name after `sim:`.
    pub name: &'static str,
    /// Whether service times are exponential; fixed otherwise.
    pub exponential: bool,
    /// Default number of servers.
    pub servers: u32,
    /// What it is.
    pub help: &'static str,
}

/// The kinds.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "mm1",
        exponential: true,
        servers: 1,
        help: "one server, exponential service times: in a closed loop X = 1/S, R = depth x S",
    },
    Kind { name: "md1", exponential: false, servers: 1, help: "one server, fixed service time" },
    Kind {
        name: "mmc",
        exponential: true,
        servers: 8,
        help: "several servers with one queue, exponential service times: knee near the number of \
               servers",
    },
    Kind {
        name: "mdc",
        exponential: false,
        servers: 8,
        help: "several servers with one queue, fixed service time",
    },
];

/// A key of a simulated device.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// An example value, which is the default where there is one.
    pub default: &'static str,
    /// What it sets.
    pub help: &'static str,
}

/// The keys, which hold for every kind.
pub const KEYS: &[Key] = &[
    Key {
        name: "service",
        default: "5ms",
        help: "mean service time of a request, without transfer",
    },
    Key { name: "servers", default: "by kind", help: "requests served at once" },
    Key {
        name: "rate",
        default: "none",
        help: "transfer rate of a server in bytes per second; adds size/rate to the service",
    },
    Key { name: "size", default: "64GiB", help: "capacity" },
    Key {
        name: "cache",
        default: "none",
        help: "bytes of a cache on the device that keeps the blocks last used",
    },
    Key { name: "hit", default: "100us", help: "service time of a request that the cache serves" },
    Key {
        name: "drift",
        default: "0%",
        help: "growth of the service time per minute of virtual time",
    },
    Key { name: "error", default: "0", help: "probability that a request fails with EIO" },
];

/// Shortest service time: below it a minute of virtual time takes minutes of real time.
const SHORTEST: Nanos = Nanos(1_000);

/// Parameters of a queue device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// The text after `sim:`, as given.
    pub text: String,
    /// Whether service times are exponential.
    pub exponential: bool,
    /// Mean service time without transfer.
    pub service: Nanos,
    /// Requests served at once.
    pub servers: u32,
    /// Transfer rate of a server in bytes per second; 0 is infinite.
    pub rate_bytes_per_s: u64,
    /// Capacity.
    pub size: Bytes,
    /// Cache on the device; 0 is none.
    pub cache: Bytes,
    /// Service time of a hit.
    pub hit: Nanos,
    /// Growth of the service time per minute, as a share.
    pub drift_per_min: f64,
    /// Probability of an error.
    pub error: f64,
}

/// A simulated target that does not exist. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Unknown kind.
    #[error("there is no simulated device '{name}'{hint}; known are {known}")]
    Kind {
        /// What was asked.
        name: String,
        /// A near one, as a clause.
        hint: String,
        /// All.
        known: String,
    },
    /// Unknown key.
    #[error("simulated devices have no key '{name}'{hint}; known are {known}")]
    Key {
        /// What was asked.
        name: String,
        /// A near one, as a clause.
        hint: String,
        /// All.
        known: String,
    },
    /// A part without an equals sign.
    #[error("'{0}' in a simulated device is not of the form key=value")]
    Form(String),
    /// A value that cannot be read.
    #[error("{key}={value} of a simulated device cannot be used: {why}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong.
        why: String,
    },
}

/// Edit distance (Levenshtein), for suggestions.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// "; did you mean X?" where a known name is near.
fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .min()
        .filter(|&(distance, _)| distance <= 2)
        .map(|(_, candidate)| format!(" (did you mean '{candidate}'?)"))
        .unwrap_or_default()
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl DeviceSpec {
    /// Reads `NAME,key=value,...`, the text after `sim:`.
    ///
    /// # Errors
    /// Names the part that is wrong and, for a name that is nearly right, the right one.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let names = || KINDS.iter().map(|kind| kind.name);
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| SpecError::Kind {
            name: name.to_owned(),
            hint: hint(name, names()),
            known: list(names()),
        })?;
        let mut spec = Self {
            text: text.to_owned(),
            exponential: kind.exponential,
            service: Nanos(5_000_000),
            servers: kind.servers,
            rate_bytes_per_s: 0,
            size: Bytes(64 << 30),
            cache: Bytes(0),
            hit: Nanos(100_000),
            drift_per_min: 0.0,
            error: 0.0,
        };
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| SpecError::Form(part.to_owned()))?;
            spec.set(key, value)?;
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        let bad =
            |why: String| SpecError::Value { key: key.to_owned(), value: value.to_owned(), why };
        let nanos = || match value.parse::<Nanos>() {
            Ok(nanos) if nanos < SHORTEST => Err(bad("use at least 1us".to_owned())),
            Ok(nanos) => Ok(nanos),
            Err(error) => Err(bad(error.to_string())),
        };
        let bytes = |text: &str| text.parse::<Bytes>().map_err(|error| bad(error.to_string()));
        match key {
            "service" => self.service = nanos()?,
            "hit" => self.hit = nanos()?,
            "size" => self.size = bytes(value)?,
            "cache" => self.cache = bytes(value)?,
            "rate" => self.rate_bytes_per_s = bytes(value.strip_suffix("/s").unwrap_or(value))?.0,
            "servers" => match value.parse() {
                Ok(servers @ 1..=65_536) => self.servers = servers,
                _ => return Err(bad("use a whole number from 1 to 65536".to_owned())),
            },
            "drift" => {
                let percent = value.strip_suffix('%').unwrap_or(value);
                self.drift_per_min = match percent.parse::<f64>() {
                    Ok(percent) if percent.abs() <= 1_000.0 => percent / 100.0,
                    _ => return Err(bad("use a percentage, for example 20%".to_owned())),
                };
            }
            "error" => match value.parse() {
                Ok(error) if (0.0..=1.0).contains(&error) => self.error = error,
                _ => return Err(bad("use a probability from 0 to 1".to_owned())),
            },
            _ => {
                let names = || KEYS.iter().map(|key| key.name);
                return Err(SpecError::Key {
                    name: key.to_owned(),
                    hint: hint(key, names()),
                    known: list(names()),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_set_what_they_name() {
        let spec = DeviceSpec::parse("mmc,servers=4,service=100us,rate=200MB/s,drift=20%").unwrap();
        assert_eq!((spec.servers, spec.service), (4, Nanos(100_000)));
        assert_eq!(spec.rate_bytes_per_s, 200_000_000);
        assert_eq!(spec.drift_per_min, 0.2);
        assert!(spec.exponential);
    }

    #[test]
    fn a_wrong_name_suggests_the_nearest_and_a_wrong_value_says_why() {
        let text = |spec: &str| DeviceSpec::parse(spec).unwrap_err().to_string();
        assert!(text("mm2").contains("did you mean 'mm1'"));
        assert!(text("mm1,servise=1ms").contains("did you mean 'service'"));
        assert!(text("nothing-like-it").contains("known are mm1"));
        assert!(text("mm1,service").contains("key=value"));
        assert!(text("mm1,service=0ms").contains("at least 1us"));
        assert!(text("mm1,error=2").contains("0 to 1"));
    }

    #[test]
    fn every_key_of_the_table_is_understood() {
        for key in KEYS {
            let text = format!("mm1,{}=1", key.name);
            assert!(DeviceSpec::parse(&text).is_ok(), "{text}");
        }
    }
}
