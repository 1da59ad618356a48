//! Gives each variant of an enum its word and lists the variants, from one table.
//!
//! Rejected: a list beside a `match`, in which a new variant can be forgotten.

/// Implements `ALL`, every variant in the order of the table, and `name`, the word of a variant.
#[macro_export]
macro_rules! words {
    ($kind:ident: $($variant:ident = $word:literal),+ $(,)?) => {
        impl $kind {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Its word in flags, in documents and on pages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}
