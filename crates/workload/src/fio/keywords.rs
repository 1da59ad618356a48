//! Replaces fio's keywords, such as `$ncpus`, and computes the arithmetic next to them.

use std::iter::Peekable;
use std::str::Chars;

const KEYWORDS: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];
/// Maximum nesting of parentheses.
const NESTED_MAX: usize = 32;

/// Replaces the keywords in a value. `known` returns the value of a keyword. As in fio, only a value with a
/// keyword is computed, in whole numbers.
pub(crate) fn computed(
    value: &str,
    known: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut text = value.to_owned();
    for keyword in KEYWORDS.into_iter().filter(|keyword| value.contains(*keyword)) {
        let number = known(keyword).ok_or_else(|| {
            format!("the value of {keyword} on this machine is unknown; write the number out")
        })?;
        text = text.replace(keyword, &number);
    }
    let arithmetic = |letter: char| letter.is_ascii_digit() || "+-*/() ".contains(letter);
    let plain = !text.contains(['+', '-', '*', '/']) || !text.chars().all(arithmetic);
    if text == value || plain {
        return Ok(text);
    }
    let letters = text.replace(' ', "");
    let mut left = letters.chars().peekable();
    let found = sum(&mut left, NESTED_MAX).filter(|_| left.next().is_none());
    let found = found.and_then(|number| u64::try_from(number).ok());
    found.map(|number| number.to_string()).ok_or_else(|| {
        format!("{value:?} ({text}) cannot be computed as a whole number; write the number out")
    })
}

fn sum(left: &mut Peekable<Chars<'_>>, nested: usize) -> Option<i128> {
    let mut value = product(left, nested)?;
    while let Some(sign) = left.next_if(|letter| "+-".contains(*letter)) {
        let next = product(left, nested)?;
        value = if sign == '+' { value.checked_add(next) } else { value.checked_sub(next) }?;
    }
    Some(value)
}

fn product(left: &mut Peekable<Chars<'_>>, nested: usize) -> Option<i128> {
    let mut value = factor(left, nested)?;
    while let Some(sign) = left.next_if(|letter| "*/".contains(*letter)) {
        let next = factor(left, nested)?;
        value = if sign == '*' { value.checked_mul(next) } else { value.checked_div(next) }?;
    }
    Some(value)
}

fn factor(left: &mut Peekable<Chars<'_>>, nested: usize) -> Option<i128> {
    if left.next_if_eq(&'(').is_some() {
        let value = sum(left, nested.checked_sub(1)?)?;
        return left.next_if_eq(&')').map(|_| value);
    }
    let mut digits = String::new();
    while let Some(digit) = left.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    digits.parse().ok()
}
