//! The page of the documentation that explains every reported quantity, from their one table.

use record::QUANTITIES;

/// `docs/quantities.md`: identifier, title, unit and meaning of each quantity.
#[must_use]
pub fn quantities_markdown() -> String {
    let mut text = String::from(
        "# Reported quantities\n\n\
         Every number that halfpower prints or stores, as the program itself defines it. This page is\n\
         generated from that table.\n\n\
         A terminal shows times, sizes and rates in the unit that fits, with three significant digits:\n\
         MB is 10^6 bytes, MiB is 2^20 bytes. `±` is the half-width of a 95 % confidence interval.\n\n\
         | identifier | in tables | stored as | meaning |\n|---|---|---|---|\n",
    );
    let cell = |text: &str| text.replace('|', "\\|");
    for quantity in QUANTITIES {
        let (title, help) = (cell(quantity.title), cell(quantity.help));
        let (stored, ..) = quantity.unit.stored();
        text.push_str(&format!("| `{}` | {title} | {stored} | {help} |\n", quantity.id));
    }
    text
}
