//! Parses values as fio does, which sometimes differs from other programs.

/// fio's two meanings of a kilo. `kb_base` selects one for `k`.
const BINARY: u64 = 1024;
const DECIMAL: u64 = 1000;

/// Parses bytes, or another number with a suffix. `k` and `Ki` mean the same in fio: 1024, or 1000 with
/// `kb_base=1000`. fio's manual says otherwise (fio 3.33, `bs=4Ki` reads 4,096 bytes).
pub(crate) fn size(text: &str, kb_base: u64) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a size; use whole bytes, or a number with k, m, g or t");
    let lower = text.trim().to_ascii_lowercase();
    let hex = lower.strip_prefix("0x");
    let digits = |letter: char| {
        if hex.is_some() { letter.is_ascii_hexdigit() } else { letter.is_ascii_digit() }
    };
    let body = hex.unwrap_or(&lower);
    let end = body.find(|letter| !digits(letter)).unwrap_or(body.len());
    let (number, suffix) = body.split_at(end);
    let radix = if hex.is_some() { 16 } else { 10 };
    let base = if kb_base == DECIMAL { DECIMAL } else { BINARY };
    if text.contains(['+', '*', '/', '(']) && !text.contains("//") {
        return Err(format!(
            "{text:?} is not a size; fio computes only values with $mb_memory, $ncpus or $pagesize; \
             write the number out"
        ));
    }
    if let Some((whole, fraction)) = lower.split_once('.') {
        let close = without_fraction(whole, fraction, base).unwrap_or_default();
        return Err(format!("{text:?} is not a size; fio does not support fractions{close}"));
    }
    let number = u64::from_str_radix(number, radix).map_err(|_| wrong())?;
    let letters = suffix.strip_suffix('b').unwrap_or(suffix);
    let letters = letters.strip_suffix('i').filter(|rest| !rest.is_empty()).unwrap_or(letters);
    let power = match letters {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(wrong()),
    };
    base.checked_pow(power).and_then(|factor| number.checked_mul(factor)).ok_or_else(wrong)
}

/// The same size in the next smaller unit, as the end of a message: 1536m for 1.5g.
fn without_fraction(whole: &str, fraction: &str, base: u64) -> Option<String> {
    let end = fraction.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, unit) = fraction.split_at(end);
    let (_, smaller) = [("k", ""), ("m", "k"), ("g", "m"), ("t", "g")]
        .into_iter()
        .find(|(name, _)| unit.strip_suffix('b').unwrap_or(unit).trim_end_matches('i') == *name)?;
    let scale = 10_u64.checked_pow(digits.len().try_into().ok()?)?;
    let parts = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let parts = parts.checked_add(digits.parse().ok()?)?.checked_mul(base)?;
    Some(format!("; use {}{smaller}", parts / scale))
}

/// A length in bytes or as a percentage of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Bytes(u64),
    Percent(u64),
}

impl Length {
    /// The length in bytes, for a file of this length if it is known.
    pub(crate) fn of(self, whole: Option<u64>) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Percent(percent) => Some((u128::from(whole?) * u128::from(percent) / 100) as u64),
        }
    }
}

/// Parses bytes, or a percentage from 0 to 100. As in fio, `100%%` is 100 %.
pub(crate) fn length(text: &str, kb_base: u64) -> Result<Length, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => match number(percent.trim_end_matches('%'))? {
            percent @ 0..=100 => Ok(Length::Percent(percent)),
            _ => Err(format!("{text:?} is more than 100 %")),
        },
        None => size(text, kb_base).map(Length::Bytes),
    }
}

/// Splits values for reads, writes and trims at commas. One value applies to all. With two, the second also
/// applies to trims. A missing value is `None`.
pub(crate) fn by_direction(text: &str) -> Result<[Option<&str>; 3], String> {
    let parts: Vec<Option<&str>> =
        text.split(',').map(|part| Some(part.trim()).filter(|part| !part.is_empty())).collect();
    match parts[..] {
        [all] => Ok([all; 3]),
        [reads, others] => Ok([reads, others, others]),
        [reads, writes, trims] => Ok([reads, writes, trims]),
        _ => Err("use at most three values: for reads, writes and trims".to_owned()),
    }
}

/// Parses a time into nanoseconds; `unit_ns` is the unit of a plain number.
pub(crate) fn time(text: &str, unit_ns: u64) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a time; use a number with us, ms, s, m, h or d");
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(lower.len());
    let (number, suffix) = lower.split_at(end);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let factor = match suffix {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => SECOND_NS,
        "m" | "min" => 60 * SECOND_NS,
        "h" => 3_600 * SECOND_NS,
        "d" => 86_400 * SECOND_NS,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(wrong)
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const MICROSECOND_NS: u64 = 1_000;

/// Formats bytes for `halfpower run`, in the largest unit without a fraction.
pub(crate) fn size_word(bytes: u64) -> String {
    let units = [("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    let whole = |(_, unit): &&(&str, u64)| bytes >= *unit && bytes.is_multiple_of(*unit);
    match units.iter().find(whole) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Parses a switch. Without a value, it is on. With `any`, every number except 0 is on, for options that fio
/// also accepts without a value.
pub(crate) fn switch(text: Option<&str>, any: bool) -> Result<bool, String> {
    match text.map(str::trim) {
        None | Some("" | "1" | "true" | "yes" | "on") => Ok(true),
        Some("0" | "false" | "no" | "off") => Ok(false),
        Some(number) if any && number.parse::<i64>().is_ok() => Ok(true),
        Some(other) => Err(format!("{other:?} is neither 0 nor 1; use one of them")),
    }
}

/// The closest known name to a misspelt one, as the end of a message; empty if none is close.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    // The name may be a file without line ends. The cost of the distance is the product of both lengths.
    let alike = known.filter(|known| known.len().abs_diff(name.len()) <= 2);
    let known = alike.map(|known| (strsim::damerau_levenshtein(name, known), known));
    let close = known.min().filter(|(errors, _)| *errors <= 2 && 2 * errors < name.len());
    close.map(|(_, known)| format!("; did you mean {known}?")).unwrap_or_default()
}

pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_k_and_a_ki_are_1024_unless_the_base_is_1000() {
        let of = |text| size(text, 1024).unwrap();
        assert_eq!([of("4k"), of("4K"), of("4kb"), of("4KiB")], [4_096; 4]);
        assert_eq!([of("0x1000"), of("512"), of("2g"), of("1t")], [4_096, 512, 2 << 30, 1 << 40]);
        assert_eq!([size("4k", 1000), size("4Ki", 1000)], [Ok(4_000), Ok(4_000)]);
        for wrong in ["", "k", "4q", "4kk", "1.5g", "-1", "99999999p", "20%", "4i"] {
            assert!(size(wrong, 1024).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fraction_is_refused_with_the_whole_number_of_a_smaller_unit() {
        let of = |text| size(text, 1024).unwrap_err();
        assert_eq!(of("1.5g"), "\"1.5g\" is not a size; fio does not support fractions; use 1536m");
        assert!(of("0.5KiB").ends_with("; use 512") && of("1.5").ends_with("support fractions"));
        assert!(size("1.5g", 1000).unwrap_err().ends_with("; use 1500m"));
        assert!(of("2*4k").ends_with("write the number out"));
    }

    #[test]
    fn a_length_in_percents_needs_a_file_of_known_length() {
        let of = |text, whole| length(text, 1024).unwrap().of(whole);
        assert_eq!([of("50%", Some(10_000)), of("50%", None)], [Some(5_000), None]);
        assert_eq!(of("8k", None), Some(8_192));
        assert_eq!(length("100%%", 1024), Ok(Length::Percent(100)));
        assert!(length("101%", 1024).is_err());
    }

    #[test]
    fn one_value_is_for_all_directions_and_the_second_of_two_for_trims_too() {
        assert_eq!(by_direction("1"), Ok([Some("1"); 3]));
        assert_eq!(by_direction("1,2"), Ok([Some("1"), Some("2"), Some("2")]));
        assert_eq!(by_direction(",2,3"), Ok([None, Some("2"), Some("3")]));
        assert!(by_direction("1,2,3,4").is_err());
    }

    #[test]
    fn times_have_the_unit_of_their_option_unless_they_name_one() {
        assert_eq!(
            [time("30", SECOND_NS), time("30", MICROSECOND_NS)],
            [Ok(30 * SECOND_NS), Ok(30_000)]
        );
        assert_eq!(
            [time("5m", SECOND_NS), time("20ms", SECOND_NS)],
            [Ok(300 * SECOND_NS), Ok(20_000_000)]
        );
        assert!(time("5 m", SECOND_NS).is_err() && time("", SECOND_NS).is_err());
    }
}
