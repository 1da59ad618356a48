//! A price list as a TOML file: disks, adapters and hosts, what they cost and what they carry.
//!
//! Each value keeps its place in the text, so that an error names line and key. What a list does not
//! say is not made up: a disk without a rate of writes is bought for no writes.

use crate::limits::pap::rate_of;
use model::whatif::StatedDisk;
use record::{Bytes, Nanos, UnitError};
use serde::Deserialize;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// Currency where the list names none, as the papers'.
const CURRENCY: &str = "USD";
/// Size of the random requests of a stated rate where the list names none, as on data sheets.
const RANDOM_BYTES: u64 = 4_096;
/// No disk gives more bytes at random than in sequence, but for the rounding of data sheets.
const AT_RANDOM_MOST: f64 = 1.05;
/// What a read alone takes at least, over the time between reads one after the other: data sheets round.
const LONE_LEAST: f64 = 0.95;
/// Amounts, counts and rates beyond this are mistakes.
const MOST: f64 = 1e12;

/// What is wrong with a price list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PricesError {
    /// Line, from 1; `None` where it is about all of the list.
    pub line: Option<usize>,
    /// What is wrong, and what to write.
    pub text: String,
}

impl fmt::Display for PricesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => write!(f, "{}", self.text),
        }
    }
}

/// What somebody sells.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceList {
    /// Currency of all amounts.
    pub currency: String,
    /// What power costs, where that counts.
    pub power: Option<Power>,
    /// At least one.
    pub disks: Vec<ListedDisk>,
    /// None where disks hang on nothing that is bought.
    pub adapters: Vec<ListedPart>,
    /// None where the host is there.
    pub hosts: Vec<ListedPart>,
}

/// Power over the time that the disks run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Money for a kilowatt hour.
    pub per_kwh: f64,
    /// Years.
    pub years: f64,
}

/// Where the rates of a disk come from.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSource {
    /// The list. A disk without writes has none.
    Stated {
        /// The rates; those of writes are those of reads where `writes` is false.
        disk: StatedDisk,
        /// Whether the list states rates of writes.
        writes: bool,
    },
    /// A saved profile, by its id.
    Profile(String),
}

/// A disk of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedDisk {
    /// Its name.
    pub name: String,
    /// Its price.
    pub price: f64,
    /// Its size.
    pub size_bytes: Bytes,
    /// What it is plugged into; `None` fits everything.
    pub interface: Option<String>,
    /// Power that it takes.
    pub watts: f64,
    /// Where its rates come from.
    pub rates: RateSource,
}

/// An adapter, into which disks are plugged, or a host, into which adapters are.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPart {
    /// Its name.
    pub name: String,
    /// Its price.
    pub price: f64,
    /// Disks for which there is a place.
    pub disks: u32,
    /// Adapters for which there is a place; of an adapter 0.
    pub adapters: u32,
    /// Bytes per second of reads; infinite where the list says nothing.
    pub read_bytes_per_s: f64,
    /// The same of writes.
    pub write_bytes_per_s: f64,
    /// Requests per second; infinite where the list says nothing.
    pub iops: f64,
    /// Which disks fit; `None` takes all.
    pub interface: Option<String>,
    /// Power that it takes.
    pub watts: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenList {
    currency: Option<String>,
    power: Option<WrittenPower>,
    #[serde(default)]
    disk: Vec<Spanned<WrittenDisk>>,
    #[serde(default)]
    adapter: Vec<WrittenPart>,
    #[serde(default)]
    host: Vec<WrittenPart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenPower {
    per_kwh: Spanned<f64>,
    years: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenDisk {
    name: Spanned<String>,
    price: Spanned<f64>,
    size: Spanned<String>,
    interface: Option<String>,
    watts: Option<Spanned<f64>>,
    profile: Option<Spanned<String>>,
    random_read: Option<Spanned<f64>>,
    random_write: Option<Spanned<f64>>,
    random_size: Option<Spanned<String>>,
    sequential_read: Option<Spanned<String>>,
    sequential_write: Option<Spanned<String>>,
    read_latency: Option<Spanned<String>>,
    write_latency: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenPart {
    name: Spanned<String>,
    price: Spanned<f64>,
    disks: Option<Spanned<f64>>,
    adapters: Option<Spanned<f64>>,
    bandwidth: Option<Spanned<String>>,
    write_bandwidth: Option<Spanned<String>>,
    iops: Option<Spanned<f64>>,
    interface: Option<Spanned<String>>,
    watts: Option<Spanned<f64>>,
}

/// The text of a list, which knows the line of a place in it.
struct Text<'t>(&'t str);

impl Text<'_> {
    fn line(&self, span: Range<usize>) -> Option<usize> {
        Some(self.0.get(..span.start)?.matches('\n').count() + 1)
    }

    fn wrong<T>(&self, key: &str, at: &Spanned<T>, text: impl fmt::Display) -> PricesError {
        PricesError { line: self.line(at.span()), text: format!("{key}: {text}") }
    }

    fn number(&self, key: &str, at: &Spanned<f64>, least: f64) -> Result<f64, PricesError> {
        let value = *at.get_ref();
        if (least..=MOST).contains(&value) && (value > 0.0 || least == 0.0) {
            return Ok(value);
        }
        let takes = if least == 0.0 { "a number from 0" } else { "a number above 0" };
        Err(self.wrong(key, at, format!("{value} is not allowed; use {takes}, up to 1e12")))
    }

    fn count(&self, key: &str, at: &Spanned<f64>) -> Result<u32, PricesError> {
        let value = *at.get_ref();
        let fits = value.fract() == 0.0 && (1.0..=1e6).contains(&value);
        fits.then_some(value as u32)
            .ok_or_else(|| self.wrong(key, at, format!("{value} is not allowed; use 1 to 1000000")))
    }

    fn rate(&self, key: &str, at: &Spanned<String>) -> Result<f64, PricesError> {
        rate_of(at.get_ref()).map_err(|error| self.wrong(key, at, error))
    }

    fn bytes(&self, key: &str, at: &Spanned<String>) -> Result<Bytes, PricesError> {
        let read: Result<Bytes, UnitError> = at.get_ref().parse();
        match read.map_err(|error| self.wrong(key, at, error))? {
            Bytes(0) => Err(self.wrong(key, at, "use a value above 0, for example 4TB")),
            bytes => Ok(bytes),
        }
    }

    fn time(&self, key: &str, at: &Spanned<String>) -> Result<f64, PricesError> {
        let read: Result<Nanos, UnitError> = at.get_ref().parse();
        match read.map_err(|error| self.wrong(key, at, error))? {
            Nanos(0) => Err(self.wrong(key, at, "use a value above 0, for example 90us")),
            time => Ok(time.0 as f64),
        }
    }

    /// The power of something; an error where power counts and this has none.
    fn watts(
        &self,
        name: &Spanned<String>,
        watts: Option<&Spanned<f64>>,
        power: Option<Power>,
    ) -> Result<f64, PricesError> {
        match watts {
            Some(watts) => self.number("watts", watts, 0.0),
            None if power.is_none() => Ok(0.0),
            None => {
                let text = format!(
                    "{:?} has no watts; with [power], every part needs watts",
                    name.get_ref()
                );
                Err(self.wrong("watts", name, text))
            }
        }
    }

    fn disk(
        &self,
        place: &Spanned<WrittenDisk>,
        power: Option<Power>,
    ) -> Result<ListedDisk, PricesError> {
        let disk = place.get_ref();
        let rates = match &disk.profile {
            Some(id) => {
                let stated = [&disk.random_read, &disk.random_write].into_iter().flatten().count();
                let texts = [
                    &disk.random_size,
                    &disk.sequential_read,
                    &disk.sequential_write,
                    &disk.read_latency,
                    &disk.write_latency,
                ];
                if stated + texts.into_iter().flatten().count() > 0 {
                    let text = "the rates come from the profile; remove the rates in the list";
                    return Err(self.wrong("profile", id, text));
                }
                RateSource::Profile(id.get_ref().clone())
            }
            None => self.stated(disk)?,
        };
        Ok(ListedDisk {
            name: disk.name.get_ref().clone(),
            price: self.number("price", &disk.price, 0.0)?,
            size_bytes: self.bytes("size", &disk.size)?,
            interface: disk.interface.clone(),
            watts: self.watts(&disk.name, disk.watts.as_ref(), power)?,
            rates,
        })
    }

    fn stated(&self, disk: &WrittenDisk) -> Result<RateSource, PricesError> {
        let (Some(reads), Some(stream)) = (&disk.random_read, &disk.sequential_read) else {
            let text = format!(
                "{:?} has no rates; add random-read and sequential-read, or a profile",
                disk.name.get_ref()
            );
            return Err(self.wrong("disk", &disk.name, text));
        };
        let reads_per_s = self.number("random-read", reads, f64::MIN_POSITIVE)?;
        let read_bytes_per_s = self.rate("sequential-read", stream)?;
        let of_size = disk.random_size.as_ref().map(|at| self.bytes("random-size", at));
        let lone = |key: &str, at: &Option<Spanned<String>>| {
            at.as_ref().map(|at| self.time(key, at)).transpose()
        };
        let writes = match (&disk.random_write, &disk.sequential_write) {
            (Some(random), Some(stream)) => Some((
                self.number("random-write", random, f64::MIN_POSITIVE)?,
                self.rate("sequential-write", stream)?,
            )),
            (None, None) => None,
            _ => {
                let text = format!(
                    "{:?} has only one of random-write and sequential-write; give both or neither",
                    disk.name.get_ref()
                );
                return Err(self.wrong("disk", &disk.name, text));
            }
        };
        let (writes_per_s, write_bytes_per_s) = writes.unwrap_or((reads_per_s, read_bytes_per_s));
        let stated = StatedDisk {
            random_bytes: of_size.transpose()?.map_or(RANDOM_BYTES, |bytes| bytes.0),
            reads_per_s,
            writes_per_s,
            read_bytes_per_s,
            write_bytes_per_s,
            lone_read_ns: lone("read-latency", &disk.read_latency)?,
            lone_write_ns: lone("write-latency", &disk.write_latency)?,
        };
        if let (Some(at), Some(lone_ns)) = (&disk.read_latency, stated.lone_read_ns)
            && lone_ns * reads_per_s < LONE_LEAST * 1e9
        {
            let text = format!(
                "{reads_per_s} random reads per second take at least {:.2} ms each, so the \
                 latency at QD 1 cannot be lower",
                1e3 / reads_per_s
            );
            return Err(self.wrong("read-latency", at, text));
        }
        if let (Some(at), None) = (&disk.write_latency, &writes) {
            let text = "has no effect without random-write and sequential-write";
            return Err(self.wrong("write-latency", at, text));
        }
        let at_random = |per_s: f64| per_s * stated.random_bytes as f64;
        for (key, at, per_s, stream) in [
            ("random-read", disk.random_read.as_ref(), reads_per_s, read_bytes_per_s),
            ("random-write", disk.random_write.as_ref(), writes_per_s, write_bytes_per_s),
        ] {
            if let (Some(at), true) = (at, at_random(per_s) > AT_RANDOM_MOST * stream) {
                let bytes = stated.random_bytes;
                let text = format!(
                    "{per_s} requests per second of {bytes} bytes each exceed the sequential \
                     rate; is random-size correct?"
                );
                return Err(self.wrong(key, at, text));
            }
        }
        Ok(RateSource::Stated { disk: stated, writes: writes.is_some() })
    }

    fn part(&self, part: &WrittenPart, power: Option<Power>, host: bool) -> Read {
        let places = |key: &str, at: &Option<Spanned<f64>>| {
            at.as_ref().map(|at| self.count(key, at)).transpose()
        };
        let disks = places("disks", &part.disks)?;
        if disks.is_none() && !host {
            let text = "an adapter needs its number of ports, for example disks = 4";
            return Err(self.wrong("disks", &part.name, text));
        }
        if let (Some(at), false) = (&part.adapters, host) {
            return Err(self.wrong("adapters", at, "only a host has slots for adapters"));
        }
        if let (Some(at), true) = (&part.interface, host) {
            return Err(self.wrong("interface", at, "only disks and adapters have an interface"));
        }
        let rate = |key: &str, at: &Option<Spanned<String>>| {
            at.as_ref().map(|at| self.rate(key, at)).transpose()
        };
        let read = rate("bandwidth", &part.bandwidth)?.unwrap_or(f64::INFINITY);
        let iops = part.iops.as_ref().map(|at| self.number("iops", at, f64::MIN_POSITIVE));
        Ok(ListedPart {
            name: part.name.get_ref().clone(),
            price: self.number("price", &part.price, 0.0)?,
            disks: disks.unwrap_or(u32::MAX),
            adapters: places("adapters", &part.adapters)?.unwrap_or(u32::MAX),
            read_bytes_per_s: read,
            write_bytes_per_s: rate("write-bandwidth", &part.write_bandwidth)?.unwrap_or(read),
            iops: iops.transpose()?.unwrap_or(f64::INFINITY),
            interface: part.interface.as_ref().map(|at| at.get_ref().clone()),
            watts: self.watts(&part.name, part.watts.as_ref(), power)?,
        })
    }
}

type Read = Result<ListedPart, PricesError>;

/// Reads a price list.
///
/// # Errors
/// Line and key of what is wrong, and what it takes.
pub fn parse(text: &str) -> Result<PriceList, PricesError> {
    let text = Text(text);
    let written: WrittenList = toml::from_str(text.0).map_err(|error| PricesError {
        line: error.span().and_then(|span| text.line(span)),
        text: error.message().to_owned(),
    })?;
    let power = written.power.as_ref().map(|power| {
        Ok(Power {
            per_kwh: text.number("per-kwh", &power.per_kwh, 0.0)?,
            years: text.number("years", &power.years, 0.0)?,
        })
    });
    let power = power.transpose()?;
    if written.disk.is_empty() {
        let text = "the list has no [[disk]]; see docs/buying.md".to_owned();
        return Err(PricesError { line: None, text });
    }
    let disks: Result<Vec<_>, _> = written.disk.iter().map(|disk| text.disk(disk, power)).collect();
    let parts = |parts: &[WrittenPart], host: bool| -> Result<Vec<_>, _> {
        parts.iter().map(|part| text.part(part, power, host)).collect()
    };
    let names = written.disk.iter().map(|disk| ("disk", &disk.get_ref().name));
    let adapters = written.adapter.iter().map(|part| ("adapter", &part.name));
    let mut seen = Vec::new();
    for (kind, name) in
        names.chain(adapters).chain(written.host.iter().map(|it| ("host", &it.name)))
    {
        if name.get_ref().trim().is_empty() || seen.contains(&(kind, name.get_ref())) {
            let problem = format!("{:?}: each {kind} needs a unique name", name.get_ref());
            return Err(text.wrong("name", name, problem));
        }
        seen.push((kind, name.get_ref()));
    }
    Ok(PriceList {
        currency: written.currency.unwrap_or_else(|| CURRENCY.to_owned()),
        power,
        disks: disks?,
        adapters: parts(&written.adapter, false)?,
        hosts: parts(&written.host, true)?,
    })
}
