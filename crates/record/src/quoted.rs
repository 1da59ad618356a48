//! How a path stands in a sentence: in quotation marks, with control characters escaped, as the user types it.

use std::path::{Path, is_separator};

/// A path for a message. A backslash is doubled where it is a letter of a name, because it could be taken for
/// the beginning of an escape there, and not where it separates folders.
#[must_use]
pub fn quoted(path: impl AsRef<Path>) -> String {
    written(&format!("{:?}", path.as_ref()), is_separator('\\'))
}

/// The same of a path as `Debug` writes it.
fn written(debug: &str, backslash_separates: bool) -> String {
    // Every escape has one letter behind its backslash, which is a backslash in that of a backslash alone.
    if backslash_separates { debug.replace(r"\\", r"\") } else { debug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_is_doubled_in_a_name_only_and_control_characters_never_come_through() {
        let debug = |text: &str| format!("{:?}", Path::new(text));
        for (text, of_names, of_folders) in [
            (r"C:\new\table.db", r#""C:\\new\\table.db""#, r#""C:\new\table.db""#),
            ("a\nb", r#""a\nb""#, r#""a\nb""#),
            ("quote\"\\\\\u{1b}x", r#""quote\"\\\\\u{1b}x""#, r#""quote\"\\\u{1b}x""#),
            ("/mnt/data", r#""/mnt/data""#, r#""/mnt/data""#),
        ] {
            assert_eq!(written(&debug(text), false), of_names);
            assert_eq!(written(&debug(text), true), of_folders);
        }
    }
}
