//! Parses numbers as tools print them: the value and its resolution.
//!
//! A tool that prints two decimals cannot distinguish 12.001 from 12.004, and conclusions from its figures
//! must take that into account. So a number is stored with the step of its last digit.

use record::Figure;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) value: f64,
    /// The weight of its last digit.
    pub(crate) step: f64,
}

/// Maximum length of a number: the longest double has some 770 digits.
const MOST_LETTERS: usize = 1_000;

impl Reading {
    /// Parses `12.50`, `12,50`, `1.25e+01`; `None` if it is not a finite number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > MOST_LETTERS || !text.is_ascii() {
            return None;
        }
        let digits = |byte: &u8| byte.is_ascii_digit();
        let known = |byte: u8| byte.is_ascii_digit() || b"+-.,eE".contains(&byte);
        if !text.bytes().all(known) || !text.as_bytes().iter().any(digits) {
            return None;
        }
        // One decimal comma. Several would separate thousands, which no tool here prints.
        let text = match text.contains(',') {
            true => Cow::Owned(text.replacen(',', ".", 1)),
            false => Cow::Borrowed(text),
        };
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (&*text, 0),
        };
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        // A double has no information beyond 17 digits.
        let place = exponent.saturating_sub(i32::try_from(decimals).ok()?).clamp(-18, 18);
        // A power with a negative exponent differs between systems in its last bit.
        let tens = 10f64.powi(place.abs());
        Some(Self { value, step: if place < 0 { 1.0 / tens } else { tens } })
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, step: self.step * factor }
    }
}

impl From<Reading> for Figure {
    fn from(reading: Reading) -> Self {
        Self::measured(reading.value, reading.step)
    }
}

#[cfg(test)]
mod tests {
    use super::Reading;

    #[test]
    fn the_last_digit_gives_the_step() {
        let of = |text: &str| Reading::parse(text).map(|reading| (reading.value, reading.step));
        assert_eq!(of("6.90"), Some((6.9, 0.01)));
        assert_eq!(of(" 0,000412 "), Some((0.000_412, 1e-6)));
        assert_eq!(of("12"), Some((12.0, 1.0)));
        assert_eq!(of("1.25e+03"), Some((1250.0, 10.0)));
        assert_eq!(of("-1"), Some((-1.0, 1.0)));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in
            ["", " ", "nan", "-nan", "inf", "1e999", "0x10", "1.2.3", "1,2,3", "e", "-", "１"]
        {
            assert_eq!(Reading::parse(text), None, "{text}");
        }
    }
}
