//! The page of the documentation that explains every reported quantity, from their one table.

use record::{QUANTITIES, Unit};

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
    for quantity in QUANTITIES {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            quantity.id,
            cell(quantity.title),
            stored_as(quantity.unit),
            cell(quantity.help)
        ));
    }
    text
}

/// Text that may stand in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn stored_as(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanos => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes per second",
        Unit::PerSecond => "requests per second",
        Unit::Count => "count",
        Unit::Share => "share, 0 to 1",
        Unit::Ratio => "ratio",
        Unit::Micros => "microseconds",
        Unit::Millis => "milliseconds",
    }
}
