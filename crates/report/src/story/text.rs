//! Joins names, clauses and reasons to the texts of a story.

use record::Measured;

/// The text for a measured value, or the reason why it is missing.
pub(crate) fn told<T>(part: &Measured<T>, text: impl FnOnce(&T) -> String) -> String {
    or_why(part, "not measured", text)
}

/// The same with other words before the reason.
pub(crate) fn or_why<T>(part: &Measured<T>, not: &str, text: impl FnOnce(&T) -> String) -> String {
    part.known().map_or_else(|reason| format!("{not}: {reason}"), text)
}

/// A name and a colon before a text. Empty for an empty name, and without a second colon after a
/// Windows drive letter.
pub(crate) fn prefix(name: &str) -> String {
    match name {
        "" => String::new(),
        _ if name.ends_with(':') => format!("{name} "),
        _ => format!("{name}: "),
    }
}

/// Words in brackets after a text; empty without words.
pub(crate) fn bracketed(words: impl IntoIterator<Item = String>, between: &str) -> String {
    let words: Vec<String> = words.into_iter().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(between)) }
}

/// The first `most` names, and the number of the others.
pub(crate) fn named(names: &[String], most: usize) -> String {
    let mut text = names[..names.len().min(most)].join(", ");
    let more = names.len().saturating_sub(most);
    text.extend((more > 0).then(|| format!(", {more} more")));
    text
}

pub(crate) fn joined<T>(
    all: impl IntoIterator<Item = T>,
    between: &str,
    words: impl FnMut(T) -> String,
) -> String {
    all.into_iter().map(words).collect::<Vec<String>>().join(between)
}

/// Joins clauses to a sentence, or returns `otherwise` if there are none.
pub(crate) fn sentence(clauses: impl IntoIterator<Item = String>, otherwise: &str) -> String {
    match joined(clauses, "; ", |clause| clause) {
        nothing if nothing.is_empty() => otherwise.to_owned(),
        text => format!("{}.", capital(&text)),
    }
}

/// A text with a capital first letter.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_name_has_one_colon_behind_it() {
        assert_eq!([prefix(""), prefix("sda"), prefix("1 D:")], ["", "sda: ", "1 D: "]);
    }
}
