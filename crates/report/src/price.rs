//! What is said of `halfpower cost`: accesses per second and per unit of money, and disks that fill
//! something.

use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Story};
use record::{PriceDocument, Sizing, format_bytes};

/// The story of cost and performance.
#[must_use]
pub fn price(document: &PriceDocument) -> Story {
    let money = &document.currency;
    let price = document.price.map(|price| format!(", {} {money}", number::digits(price)));
    let subject = format!("{}{}", document.target, price.unwrap_or_default());
    let mut story = Story::new("Cost", subject, document.simulated).saved("", &document.findings);
    story.fact("sequential", number::rate_with_interval(&document.sequential_bytes_per_s));
    if let Some(bytes) = document.bytes_per_price {
        let capacity = format_bytes(document.capacity_bytes.0);
        let megabytes = number::digits(bytes / 1e6);
        story.fact("capacity", format!("{megabytes} MB per {money}, for {capacity}"));
    }
    accesses(&mut story, document);
    fills(&mut story, document);
    story.condition("profile", &document.profile_id);
    story.written_by(&document.halfpower_version);
    story
}

fn accesses(story: &mut Story, document: &PriceDocument) {
    let remark = format!(
        "KAPS are random reads of {} per second, MAPS reads of a megabyte: positioning and \
         transfer one after the other, or where requests overlap the transfer alone",
        format_bytes(document.access_bytes.0)
    );
    let money = &document.currency;
    let digits = |value: Option<f64>| Cell::or_empty(value, number::digits);
    story.section("Accesses", &remark).table(&document.rows, |t| {
        t.left("", |row| format!("QD {}", row.depth));
        t.right("KAPS", |row| Cell::toned(number::count(row.kaps.value), Tone::Strong));
        t.interval(|row| row.kaps);
        t.right("MAPS", |row| Cell::toned(number::digits(row.maps), Tone::Strong));
        t.right(format!("KAPS/{money}"), |row| digits(row.kaps_per_price));
        t.right(format!("MAPS/{money}"), |row| digits(row.maps_per_price));
        t.right(format!("{money}/KAPS"), |row| digits(row.price_per_kaps));
        t.right(format!("{money}/MAPS"), |row| digits(row.price_per_maps));
    });
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
        let (sequential, random) = (words(&fill.sequential), words(&fill.random));
        let rate = number::rate(fill.bytes_per_s);
        section.row(&fill.name, format!("{rate}: {sequential} in sequence; {random} at random"));
    }
}
