//! Lines of fields with a mark between them, with quotes or without.

/// The fields of a line. A quote within quotes is written twice; one that is not closed makes the
/// line damaged, which is `None`.
pub(crate) fn fields(line: &str, mark: char) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut letters = line.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                field.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            _ if letter == mark && !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

/// The mark between the fields of a header whose first field is quoted.
pub(crate) fn mark_after_quotes(header: &str) -> char {
    let behind = header.trim_start().strip_prefix('"').and_then(|rest| {
        let (_, behind) = rest.split_once('"')?;
        behind.chars().next()
    });
    behind.filter(|mark| [',', ';', '\t'].contains(mark)).unwrap_or(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_within_quotes_are_text() {
        assert_eq!(fields("a,\"b,\"\"c\"\"\",", ',').unwrap(), ["a", "b,\"c\"", ""]);
        assert_eq!(fields("\"a", ','), None);
        assert_eq!(mark_after_quotes("\"x,y\";\"z\""), ';');
        assert_eq!(mark_after_quotes("x"), ',');
    }
}
