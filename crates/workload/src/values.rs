//! Parses values from the command line. Each error says what is accepted.

use record::CacheMode;

/// Parses a number with at most `places` decimal places, in units of the last one.
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

/// A whole percentage, with or without a percent sign.
///
/// # Errors
/// What to write instead.
pub fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let percent = scaled(number, 0).filter(|percent| *percent <= 100);
    percent
        .and_then(|percent| u8::try_from(percent).ok())
        .ok_or_else(|| "use a whole percentage from 0 to 100, for example 80%".to_owned())
}

/// A percentage with decimals, in millionths.
///
/// # Errors
/// What to write instead.
pub fn ppm(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    scaled(number, 4).ok_or_else(|| "use a percentage, for example 2% or 0.5%".to_owned())
}

/// A decimal number in thousandths.
///
/// # Errors
/// What to write instead.
pub fn thousandths(text: &str) -> Result<u32, String> {
    scaled(text, 3)
        .ok_or_else(|| "use a number with at most three decimal places, for example 1.2".to_owned())
}

/// Arrivals per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// For all requests.
    pub all: u64,
    /// For writes, if reads and writes have separate rates.
    pub writes: Option<u64>,
}

/// Arrivals per second as one number, or as two for reads and writes.
///
/// # Errors
/// What to write instead.
pub fn rates(text: &str) -> Result<Rates, String> {
    let number = |text: &str| {
        thousands(text).and_then(whole).ok_or_else(|| {
            "use requests per second: one number (1000 or 1k), or two for reads and writes \
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

/// The value of fio's switch `direct`.
///
/// # Errors
/// What to write instead.
pub fn direct(text: &str) -> Result<CacheMode, String> {
    match text {
        "1" => Ok(CacheMode::Device),
        "0" => Ok(CacheMode::All),
        _ => Err("use --direct=1 or --direct=0, or put --direct last".to_owned()),
    }
}

/// The name of a cache mode, or its SQLIO letter.
///
/// # Errors
/// What to write instead.
pub fn cache(text: &str) -> Result<CacheMode, String> {
    match text {
        "all" | "Y" | "y" | "0" => Ok(CacheMode::All),
        "fs" | "S" | "s" => Ok(CacheMode::Fs),
        "device" | "H" | "h" => Ok(CacheMode::Device),
        "none" | "N" | "n" => Ok(CacheMode::None),
        _ => Err("use all, fs, device or none, or the letters Y (or 0), S, H, N".to_owned()),
    }
}

/// A percentage above 0 and below 100, as a share.
///
/// # Errors
/// What to write instead.
pub fn part(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    let share = number.filter(|percent| *percent > 0.0 && *percent < 100.0);
    share
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "use a percentage above 0 and below 100, for example 30%".to_owned())
}

/// Requests per second.
///
/// # Errors
/// What to write instead.
pub fn rate(text: &str) -> Result<f64, String> {
    let rate = thousands(text).filter(|rate| *rate > 0.0 && rate.is_finite());
    rate.ok_or_else(|| "use requests per second, for example 3000 or 3k".to_owned())
}

/// A number, optionally in thousands (`3k`) or millions (`1.5m`).
fn thousands(text: &str) -> Option<f64> {
    let factors = [("k", 1e3), ("K", 1e3), ("m", 1e6), ("M", 1e6)];
    let found = factors.iter().find_map(|(end, factor)| Some((text.strip_suffix(end)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1.0));
    let is_plain = !number.is_empty() && number.chars().all(|it| it.is_ascii_digit() || it == '.');
    is_plain.then(|| number.parse::<f64>().ok().map(|number| number * factor)).flatten()
}

/// A number without a fraction, in the range of a request rate.
fn whole(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    fits.then_some(number as u64)
}

/// A queue depth, possibly fractional.
///
/// # Errors
/// What to write instead.
pub fn depth(text: &str) -> Result<f64, String> {
    let depth = text.parse::<f64>().ok().filter(|depth| (1.0..=65_536.0).contains(depth));
    depth.ok_or_else(|| "use a number of requests from 1 to 65536, for example 16".to_owned())
}
