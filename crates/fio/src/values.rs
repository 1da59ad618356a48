//! Values as fio reads them, which is not always as other programs do.

/// fio's two meanings of a kilo; which one a plain `k` has, `kb_base` says.
const BINARY: u64 = 1024;
const DECIMAL: u64 = 1000;

/// Bytes. With fio's default base of 1024 a `k` is 1024 and a `Ki` 1000: the other way round than the
/// standards say, and than what people mean who write it.
pub(crate) fn size(text: &str, kb_base: u64) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no size here; use whole bytes, or a number with k, m, g or t");
    let lower = text.trim().to_ascii_lowercase();
    let hex = lower.strip_prefix("0x");
    let digits = |letter: char| {
        if hex.is_some() { letter.is_ascii_hexdigit() } else { letter.is_ascii_digit() }
    };
    let body = hex.unwrap_or(&lower);
    let end = body.find(|letter| !digits(letter)).unwrap_or(body.len());
    let (number, suffix) = body.split_at(end);
    let radix = if hex.is_some() { 16 } else { 10 };
    let number = u64::from_str_radix(number, radix).map_err(|_| wrong())?;
    let letters = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letters, base) = match letters.strip_suffix('i') {
        Some(letters) => (letters, BINARY + DECIMAL - kb_base),
        None => (letters, kb_base),
    };
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

/// Whether a size is written with `Ki` and the like.
pub(crate) fn has_binary_prefix(text: &str) -> bool {
    let lower = text.trim().to_ascii_lowercase();
    let letters = lower.strip_suffix('b').unwrap_or(&lower);
    letters.ends_with('i')
}

/// Nanoseconds; `unit_ns` is what a plain number counts.
pub(crate) fn time(text: &str, unit_ns: u64) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time here; use a number with us, ms, s, m, h or d");
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

/// Bytes as `halfpower run` reads them, in the largest unit that has no fraction.
pub(crate) fn size_word(bytes: u64) -> String {
    let units = [("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    let whole = |(_, unit): &&(&str, u64)| bytes >= *unit && bytes.is_multiple_of(*unit);
    match units.iter().find(whole) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// A time likewise.
pub(crate) fn time_word(ns: u64) -> String {
    let units = [("s", SECOND_NS), ("ms", 1_000_000), ("us", MICROSECOND_NS)];
    match units.iter().find(|(_, unit)| ns.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

/// A switch; one without a value is on.
pub(crate) fn switch(text: Option<&str>) -> Result<bool, String> {
    match text.map(str::trim) {
        None | Some("1" | "true" | "yes") => Ok(true),
        Some("0" | "false" | "no") => Ok(false),
        Some(other) => Err(format!("{other:?} is no switch; use 0 or 1")),
    }
}

/// A whole number.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_k_is_1024_and_ki_1000_unless_the_base_says_otherwise() {
        let of = |text| size(text, 1024).unwrap();
        assert_eq!([of("4k"), of("4K"), of("4kb"), of("4KiB")], [4_096, 4_096, 4_096, 4_000]);
        assert_eq!([of("0x1000"), of("512"), of("2g"), of("1t")], [4_096, 512, 2 << 30, 1 << 40]);
        assert_eq!([size("4k", 1000), size("4Ki", 1000)], [Ok(4_000), Ok(4_096)]);
        for wrong in ["", "k", "4q", "4kk", "1.5g", "-1", "99999999p", "20%"] {
            assert!(size(wrong, 1024).is_err(), "{wrong}");
        }
        assert!(has_binary_prefix("4KiB") && has_binary_prefix("4mi") && !has_binary_prefix("4k"));
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
