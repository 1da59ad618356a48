//! Interprets a printed value as the claim that it makes.
//!
//! A printed number claims no more than its digits: "7.2" is anything that rounds to it, and a round "480"
//! has two digits, not three. "About" changes nothing. "Up to 20" is the size of the largest effect, not a
//! bound that zero effect would meet. Ranges, bounds and lists are claims of their own kind. Everything
//! else is text, which cannot be compared with a number. If the words of a row do state a number, the row
//! gives it in its own column.

/// A printed claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Quote {
    /// One value, or several that are printed together.
    Values(Vec<Printed>),
    /// At least this.
    MoreThan(Printed),
    /// At most this.
    AtMost(Printed),
    /// From the first to the second.
    Between(Printed, Printed),
    /// Words.
    Text,
}

/// A number as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The number.
    pub value: f64,
    /// Half a unit of the last significant digit.
    pub half_unit: f64,
}

/// Words that do not change the meaning of the number.
const ROUND: [&str; 10] = [
    "about",
    "nearly",
    "almost",
    "approximately",
    "roughly",
    "slightly over",
    "just under",
    "just over",
    "up to",
    "~",
];
/// Words and signs of a lower bound.
const MORE_THAN: [&str; 5] = [">=", ">", "more than", "at least", "over"];
/// Words and signs of an upper bound.
const AT_MOST: [&str; 5] = ["<=", "<", "less than", "at most", "under"];

impl Quote {
    /// Parses a printed value.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::read(text.trim()).unwrap_or(Self::Text)
    }

    fn read(text: &str) -> Option<Self> {
        if let Some(rest) = after_any(text, &ROUND) {
            return Self::read(rest);
        }
        if let Some(rest) = after_any(text, &MORE_THAN) {
            return Some(Self::MoreThan(Printed::parse(rest)?));
        }
        if let Some(rest) = after_any(text, &AT_MOST) {
            return Some(Self::AtMost(Printed::parse(rest)?));
        }
        for separator in [";", " / ", " and ", " to "] {
            if text.contains(separator) {
                let values = text.split(separator).map(Printed::parse).collect::<Option<_>>()?;
                return Some(Self::Values(values));
            }
        }
        if let Some((low, high)) = text.split_once('-')
            && !low.is_empty()
        {
            return Some(Self::Between(Printed::parse(low)?, Printed::parse(high)?));
        }
        Some(Self::Values(vec![Printed::parse(text)?]))
    }

    /// The numbers of the claim, in order.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Values(values) => values.iter().map(|printed| printed.value).collect(),
            Self::MoreThan(bound) | Self::AtMost(bound) => vec![bound.value],
            Self::Between(low, high) => vec![low.value, high.value],
            Self::Text => Vec::new(),
        }
    }

    /// The same claim with every number multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let scale = |printed: &Printed| Printed { value: printed.value * factor, ..*printed };
        match self {
            Self::Values(values) => Self::Values(values.iter().map(scale).collect()),
            Self::MoreThan(bound) => Self::MoreThan(scale(bound)),
            Self::AtMost(bound) => Self::AtMost(scale(bound)),
            Self::Between(low, high) => Self::Between(scale(low), scale(high)),
            Self::Text => Self::Text,
        }
    }
}

impl Printed {
    /// Parses one number: digits, perhaps with a decimal point, or a fraction such as 7/8.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = after_any(text, &ROUND).unwrap_or(text);
        if let Some((over, under)) = text.split_once('/') {
            let (over, under) = (Self::parse(over)?, Self::parse(under)?);
            return Some(Self { value: over.value / under.value, half_unit: 0.0 });
        }
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let plain = !unsigned.is_empty()
            && unsigned.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        let value = text.parse().ok().filter(|_| plain)?;
        let half_unit = match unsigned.split_once('.') {
            Some((_, decimals)) => 0.5 / power_of_ten(decimals.len()),
            None => {
                let zeros = unsigned.len() - unsigned.trim_end_matches('0').len();
                0.5 * power_of_ten(zeros.min(unsigned.len() - 1))
            }
        };
        Some(Self { value, half_unit })
    }
}

fn power_of_ten(exponent: usize) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * 10.0)
}

/// The text after the first of `words` that it begins with.
fn after_any<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word)).map(str::trim_start)
}
