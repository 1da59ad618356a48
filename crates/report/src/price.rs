//! What is said of `halfpower cost`: accesses per second and per unit of money, and disks that fill
//! something.

use crate::number;
use crate::story::{Cell, Column, Story, Table, Tone};
use record::{PriceDocument, PriceRow, Sizing, format_bytes};

/// The story of cost and performance.
#[must_use]
pub fn price(document: &PriceDocument) -> Story {
    let price = document.price.map_or(String::new(), |price| {
        format!(", {} {}", number::digits(price), document.currency)
    });
    let mut story = Story {
        kind: "Cost".to_owned(),
        subject: format!("{}{price}", document.target),
        simulated: document.simulated,
        findings: document.findings.clone(),
        ..Story::default()
    };
    story.fact("sequential", number::with_interval(&document.sequential_bytes_per_s, number::rate));
    if let Some(bytes) = document.bytes_per_price {
        let text = format!(
            "{} MB per {}, for {}",
            number::digits(bytes / 1e6),
            document.currency,
            format_bytes(document.capacity_bytes.0)
        );
        story.fact("capacity", text);
    }
    accesses(&mut story, document);
    fills(&mut story, document);
    story.condition("profile", &document.profile_id);
    story.condition("version", format!("halfpower {}", document.halfpower_version));
    story
}

fn accesses(story: &mut Story, document: &PriceDocument) {
    let remark = format!(
        "KAPS are random reads of {} per second, MAPS reads of a megabyte: positioning and \
         transfer one after the other, or where requests overlap the transfer alone",
        format_bytes(document.access_bytes.0)
    );
    let mut columns =
        vec![Column::left(""), Column::right("KAPS"), Column::interval(), Column::right("MAPS")];
    let money = &document.currency;
    if document.price.is_some() {
        columns.extend([
            Column::right(format!("KAPS/{money}")),
            Column::right(format!("MAPS/{money}")),
            Column::right(format!("{money}/KAPS")),
            Column::right(format!("{money}/MAPS")),
        ]);
    }
    let mut table = Table::new(columns);
    document.rows.iter().for_each(|row| table.row(cells(row)));
    story.section("Accesses", &remark).table(table);
}

fn cells(row: &PriceRow) -> Vec<Cell> {
    let mut cells = vec![
        format!("QD {}", row.depth).into(),
        Cell::toned(number::count(row.kaps.value), Tone::Strong),
        Cell::interval(&row.kaps),
        Cell::toned(number::digits(row.maps), Tone::Strong),
    ];
    let by_price = [row.kaps_per_price, row.maps_per_price, row.price_per_kaps, row.price_per_maps];
    cells.extend(by_price.into_iter().flatten().map(|value| Cell::from(number::digits(value))));
    cells
}

fn fills(story: &mut Story, document: &PriceDocument) {
    if document.fills.is_empty() {
        return;
    }
    let remark = "by sequential reads, and by random reads at QD 1";
    let section = story.section("How many such disks", remark);
    let words = |sizing: &Sizing| match sizing.carried {
        0 => format!("one asks for {}", number::percent(1.0 / sizing.quotient)),
        carried if carried == sizing.saturating => format!("{carried} fill it"),
        carried => format!("{carried} at full speed, {} fill it", sizing.saturating),
    };
    for fill in &document.fills {
        let text = format!(
            "{}: {} in sequence; {} at random",
            number::rate(fill.bytes_per_s),
            words(&fill.sequential),
            words(&fill.random)
        );
        section.row(&fill.name, text);
    }
}
