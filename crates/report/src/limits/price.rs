//! What `halfpower cost` prints: accesses per second and per unit of money, and disks that fill
//! something.

use super::{VALUES, rate};
use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, number};
use record::{PriceDocument, PriceRow, Sizing, format_bytes, format_rate};

/// Price and performance, answer first.
#[must_use]
pub fn price_text(document: &PriceDocument, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new("Cost: ", Tone::Strong)];
    if document.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    let price = document.price.map_or(String::new(), |price| {
        format!(", {} {}", number::digits(price), document.currency)
    });
    page.flowing(lead, 2, &format!("{}{price}", document.target), Tone::Plain);
    accesses(&mut page, document);
    fills(&mut page, document);
    page.blank();
    let lead = vec![Span::new("From: ", Tone::Strong)];
    let text = format!("profile {}, halfpower {}", document.profile_id, document.halfpower_version);
    page.hanging(lead, &text, Tone::Plain);
    page.finish()
}

fn accesses(page: &mut Page, document: &PriceDocument) {
    let remark = format!(
        "KAPS are random reads of {} per second, MAPS reads of a megabyte: positioning and \
         transfer one after the other, or where requests overlap the transfer alone",
        format_bytes(document.access_bytes.0)
    );
    page.heading("Accesses", &remark);
    let mut columns = vec![Column::left(2), Column::right(2), Column::left(1), Column::right(2)];
    columns.extend([Column::right(2); 4]);
    let mut table = Table::new(columns);
    let money = &document.currency;
    let titles = match document.price {
        Some(_) => [
            format!("KAPS/{money}"),
            format!("MAPS/{money}"),
            format!("{money}/KAPS"),
            format!("{money}/MAPS"),
        ],
        None => [const { String::new() }; 4],
    };
    let titles: Vec<&str> =
        ["", "KAPS", "", "MAPS"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    table.titles(&titles);
    for row in &document.rows {
        table.row(entries(row));
    }
    table.print(page);
    page.labelled("sequential", VALUES, &rate(&document.sequential_bytes_per_s));
    if let Some(bytes) = document.bytes_per_price {
        let text = format!(
            "{} MB per {money}, for {}",
            number::digits(bytes / 1e6),
            format_bytes(document.capacity_bytes.0)
        );
        page.labelled("capacity", VALUES, &text);
    }
}

fn entries(row: &PriceRow) -> Vec<Entry> {
    let depth = match row.depth {
        1 => "one at a time".to_owned(),
        many => format!("depth {many}"),
    };
    let number_of =
        |value: Option<f64>| value.map_or(Entry::Empty, |value| Entry::text(number::digits(value)));
    let mut entries = vec![
        Entry::text(depth),
        Entry::toned(number::count(row.kaps.value), Tone::Strong),
        Entry::text(number::interval(number::relative(&row.kaps))),
        Entry::toned(number::digits(row.maps), Tone::Strong),
    ];
    entries.extend(
        [row.kaps_per_price, row.maps_per_price, row.price_per_kaps, row.price_per_maps]
            .map(number_of),
    );
    entries
}

fn fills(page: &mut Page, document: &PriceDocument) {
    if document.fills.is_empty() {
        return;
    }
    page.heading("How many such disks", "by sequential reads, and by random reads one at a time");
    let words = |sizing: &Sizing| match sizing.carried {
        0 => format!("one asks for {}", number::percent_text(1.0 / sizing.quotient)),
        carried if carried == sizing.saturating => format!("{carried} fill it"),
        carried => format!("{carried} at full speed, {} fill it", sizing.saturating),
    };
    for fill in &document.fills {
        let lead = vec![Span::plain("  "), Span::new(&fill.name, Tone::Strong)];
        let text = format!(
            ", {}: {} in sequence; {} at random",
            format_rate(fill.bytes_per_s),
            words(&fill.sequential),
            words(&fill.random)
        );
        page.flowing(lead, 4, &text, Tone::Plain);
    }
}
