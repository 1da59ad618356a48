//! Rust source with comments and literals blanked out, so that rules on names see names only.
//!
//! Length and lines stay as they were. It knows just enough of the language to find where
//! comments, strings and character literals end; a full parser would be a large dependency for
//! the sake of a lint.

/// The source with every comment, string and character literal replaced by blanks.
pub(super) fn blanked(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < letters.len() {
        let end = literal_end(&letters, at);
        if end == at {
            out.push(letters[at]);
            at += 1;
            continue;
        }
        out.extend(letters[at..end].iter().map(|&letter| if letter == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Where the comment or literal that begins at `at` ends; `at` where none begins.
fn literal_end(letters: &[char], at: usize) -> usize {
    let starts =
        |text: &str| text.chars().enumerate().all(|(i, c)| letters.get(at + i) == Some(&c));
    let in_word = at > 0 && (letters[at - 1].is_alphanumeric() || letters[at - 1] == '_');
    if starts("//") {
        find(letters, at, |i| letters[i] == '\n')
    } else if starts("/*") {
        block_comment_end(letters, at)
    } else if letters[at] == '"' {
        quoted_end(letters, at + 1, '"')
    } else if !in_word && (starts("r\"") || starts("r#") || starts("br\"") || starts("br#")) {
        raw_string_end(letters, at)
    } else if letters[at] == '\'' {
        character_end(letters, at)
    } else {
        at
    }
}

/// The first position from `from` at which the condition holds, or the end.
fn find(letters: &[char], from: usize, condition: impl Fn(usize) -> bool) -> usize {
    (from..letters.len()).find(|&i| condition(i)).unwrap_or(letters.len())
}

/// Behind a block comment; they nest.
fn block_comment_end(letters: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i + 1 < letters.len() {
        match (letters[i], letters[i + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                i += 1;
                continue;
            }
        }
        i += 2;
        if depth == 0 {
            return i;
        }
    }
    letters.len()
}

/// Behind the closing quote, given the position behind the opening one.
fn quoted_end(letters: &[char], mut i: usize, quote: char) -> usize {
    while i < letters.len() {
        match letters[i] {
            '\\' => i += 2,
            letter if letter == quote => return i + 1,
            _ => i += 1,
        }
    }
    letters.len()
}

/// Behind a raw string; `at` where it is a raw identifier (`r#type`).
fn raw_string_end(letters: &[char], at: usize) -> usize {
    let hashes_from = find(letters, at, |i| letters[i] == '#' || letters[i] == '"');
    let quote = find(letters, hashes_from, |i| letters[i] != '#');
    if letters.get(quote) != Some(&'"') {
        return at;
    }
    let hashes = quote - hashes_from;
    let closes = |i: usize| {
        letters[i] == '"' && (1..=hashes).all(|offset| letters.get(i + offset) == Some(&'#'))
    };
    (find(letters, quote + 1, closes) + hashes + 1).min(letters.len())
}

/// Behind a character literal; `at` where it is a lifetime.
fn character_end(letters: &[char], at: usize) -> usize {
    match (letters.get(at + 1), letters.get(at + 2)) {
        (Some('\\'), _) => quoted_end(letters, at + 1, '\''),
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// The identifiers of blanked source, with their lines from 1.
pub(super) fn identifiers(blanked: &str) -> impl Iterator<Item = (usize, &str)> {
    blanked.lines().enumerate().flat_map(|(index, line)| {
        line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| word.starts_with(|first: char| first.is_alphabetic() || first == '_'))
            .map(move |word| (index + 1, word))
    })
}

/// The words of an identifier in lower case: `bucketIndex`, `BucketIndex` and `BUCKET_INDEX` are
/// all "bucket", "index".
pub(super) fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '_';
    for letter in identifier.chars() {
        let begins = letter.is_uppercase() && previous.is_lowercase();
        if letter == '_' || begins {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<String> {
        identifiers(&blanked(source)).map(|(line, name)| format!("{line}{name}")).collect()
    }

    #[test]
    fn only_code_is_left() {
        let source = "let a = \"b \\\" c\"; // d\n/* e /* f */ g */ let h = 'i'; let j: &'k str = \
                      r#\"l \" m\"#;\nlet n = '\\''; let o = b\"p\"; let q = r\"s\\\"; let r#t = 'u';";
        let expected = [
            "1let", "1a", "2let", "2h", "2let", "2j", "2k", "2str", "3let", "3n", "3let", "3o",
            "3b", "3let", "3q", "3let", "3r", "3t",
        ];
        assert_eq!(names(source), expected);
        assert_eq!(blanked(source).lines().count(), source.lines().count());
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        assert_eq!(names("a \"b c"), ["1a"]);
        assert_eq!(names("a /* b c"), ["1a"]);
        assert_eq!(names("a r##\"b\"# c"), ["1a"]);
    }

    #[test]
    fn identifiers_fall_into_words_however_they_are_written() {
        for name in ["bucket_index", "BucketIndex", "BUCKET_INDEX", "_bucketIndex"] {
            assert_eq!(words(name), ["bucket", "index"], "{name}");
        }
    }
}
