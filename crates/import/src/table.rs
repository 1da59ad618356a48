//! Splits lines into fields at a separator, with or without quotes.

/// The fields of a line; `None` if its last quote is missing, which the csv crate would accept.
pub(crate) fn fields(line: &str, mark: char) -> Option<Vec<String>> {
    if line.bytes().filter(|byte| *byte == b'"').count() % 2 == 1 {
        return None;
    }
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(u8::try_from(mark).ok()?)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(line.len().max(1))
        .from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_within_quotes_are_text() {
        assert_eq!(fields("a,\"b,\"\"c\"\"\",", ',').unwrap(), ["a", "b,\"c\"", ""]);
        assert_eq!(fields("\"a", ','), None);
    }
}
