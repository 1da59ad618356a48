//! Readers of the values of flags. Each error says what is accepted.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use record::{Bytes, CacheMode, EngineName, Nanos, SizeShare, UnitError};

/// A reader of the names in a table, all of which an error lists.
pub(crate) fn choice<T: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(table.iter().map(|(name, _)| *name));
    names.try_map(move |name| {
        let found = table.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| format!("there is no {name:?}"))
    })
}

pub(crate) fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

pub(crate) fn some_bytes(text: &str) -> Result<Bytes, String> {
    match bytes(text)? {
        Bytes(0) => Err("it must be more than 0, for example 1g".to_owned()),
        size => Ok(size),
    }
}

pub(crate) fn nanos(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

/// Request sizes with their shares, as one value of a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix(pub(crate) Vec<SizeShare>);

pub(crate) fn mix(text: &str) -> Result<Mix, String> {
    workload::parse_mix(text).map(Mix)
}

/// `text` as a number with at most `places` decimal places, in units of the last one.
fn scaled(text: &str, places: u32) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > places as usize || !(whole.to_owned() + fraction).is_ascii() {
        return None;
    }
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<width$}", width = places as usize).parse().ok()
}

/// A whole percentage, with or without its sign.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let percent = scaled(number, 0).filter(|percent| *percent <= 100);
    percent
        .and_then(|percent| u8::try_from(percent).ok())
        .ok_or_else(|| "use a whole percentage from 0 to 100, for example 80%".to_owned())
}

/// A percentage with decimals, in millionths.
pub(crate) fn ppm(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    scaled(number, 4).ok_or_else(|| "use a percentage, for example 2% or 0.5%".to_owned())
}

/// A decimal number in thousandths.
pub(crate) fn thousandths(text: &str) -> Result<u32, String> {
    scaled(text, 3)
        .ok_or_else(|| "use a number with at most three decimal places, for example 1.2".to_owned())
}

/// Arrivals per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rates {
    /// Of all requests.
    pub(crate) all: u64,
    /// Of writes, where reads and writes have a rate each.
    pub(crate) writes: Option<u64>,
}

pub(crate) fn rates(text: &str) -> Result<Rates, String> {
    let number = |text: &str| {
        text.parse::<u32>().map(u64::from).map_err(|_| {
            "use requests per second as one number (1000), or as two for reads and writes \
             (700,300)"
                .to_owned()
        })
    };
    match text.split_once(',') {
        None => Ok(Rates { all: number(text)?, writes: None }),
        Some((reads, writes)) => {
            let writes = number(writes)?;
            Ok(Rates { all: number(reads)? + writes, writes: Some(writes) })
        }
    }
}

/// fio's engines by what does the same here.
const FIO_ENGINES: &[(&str, EngineName)] = &[
    ("psync", EngineName::Sync),
    ("pvsync", EngineName::Sync),
    ("pvsync2", EngineName::Sync),
    ("vsync", EngineName::Sync),
    ("posixaio", EngineName::Threads),
];

pub(crate) fn engine(text: &str) -> Result<EngineName, String> {
    let known = || engine::ENGINES.iter().map(|info| info.name);
    known().find(|name| name.name() == text).ok_or_else(|| {
        if let Some((_, same)) = FIO_ENGINES.iter().find(|(fio, _)| *fio == text) {
            return format!("here fio's '{text}' is --ioengine {}", same.name());
        }
        let names: Vec<&str> = known().map(EngineName::name).collect();
        format!("there is no engine '{text}'; use one of {}", names.join(", "))
    })
}

/// fio's `direct`, which is a switch.
pub(crate) fn direct(text: &str) -> Result<CacheMode, String> {
    match text {
        "1" => Ok(CacheMode::Device),
        "0" => Ok(CacheMode::All),
        _ => Err("use --direct=1 or --direct=0, or put --direct last".to_owned()),
    }
}

pub(crate) fn cache(text: &str) -> Result<CacheMode, String> {
    match text {
        "all" | "Y" | "y" | "0" => Ok(CacheMode::All),
        "fs" | "S" | "s" => Ok(CacheMode::Fs),
        "device" | "H" | "h" => Ok(CacheMode::Device),
        "none" | "N" | "n" => Ok(CacheMode::None),
        _ => Err("use all, fs, device or none, or their letters Y (or 0), S, H, N".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_of_sqlio_names_its_cache_mode() {
        for mode in [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None] {
            assert_eq!(cache(&mode.letter().to_string()), Ok(mode));
            assert_eq!(cache(mode.name()), Ok(mode));
        }
        assert_eq!(cache("0"), Ok(CacheMode::All));
        assert!(cache("some").is_err());
    }

    #[test]
    fn decimals_are_read_exactly_and_nothing_else_is() {
        assert_eq!(thousandths("1.2"), Ok(1_200));
        assert_eq!(thousandths("0.001"), Ok(1));
        assert_eq!(thousandths("3"), Ok(3_000));
        for wrong in ["", ".5", "1.2.3", "1.2345", "-1", "+1", "1e3", "a", "٣", "9999999999"] {
            assert!(thousandths(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!((ppm("2%"), ppm("0.5")), (Ok(20_000), Ok(5_000)));
        assert_eq!((percent("80%"), percent("0"), percent("100")), (Ok(80), Ok(0), Ok(100)));
        assert!(percent("101").is_err() && percent("1.5").is_err());
    }

    #[test]
    fn rates_are_one_or_two_numbers() {
        assert_eq!(rates("1000"), Ok(Rates { all: 1_000, writes: None }));
        assert_eq!(rates("700,300"), Ok(Rates { all: 1_000, writes: Some(300) }));
        for wrong in ["", "700,", ",300", "1k", "-5", "1,2,3"] {
            assert!(rates(wrong).unwrap_err().contains("requests per second"), "{wrong:?}");
        }
    }
}

/// A reader of names: those of a table, and no others.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let found = all.iter().copied().find(|one| name(*one) == text);
        let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("use one of {}", names()))
    }
}
