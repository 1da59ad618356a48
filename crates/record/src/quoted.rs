//! Formats a path for a message: in quotation marks, with control characters escaped, as the user types it.

use std::path::{Path, is_separator};

/// A path for a message. A backslash in a file name is doubled, because it could look like the start of an
/// escape. A backslash that separates folders is not.
#[must_use]
pub fn quoted(path: impl AsRef<Path>) -> String {
    written(&format!("{:?}", path.as_ref()), is_separator('\\'))
}

/// The same for a path in `Debug` format.
fn written(debug: &str, backslash_separates: bool) -> String {
    // In every escape, one character follows the backslash. For a backslash itself, that is another
    // backslash.
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
