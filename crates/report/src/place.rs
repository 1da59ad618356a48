//! What is said of the place of a file: where it lies, what that gives, and what another place would.

use crate::number;
use crate::story::{Story, told};
use crate::target;
use record::{FilePlace, Measured, PlaceRates, SurfacePlace, format_bytes, shell_word};

/// A gain below this is nothing that is measured again: what visits of a place differ by.
const NOTHING: f64 = 0.01;

/// The story of the place of a file.
#[must_use]
pub fn place(document: &FilePlace) -> Story {
    let mut story = Story::new("Place", target::summary(&document.target), false);
    story.headline = match (&document.place, &document.rates) {
        (Measured::Value(place), Measured::Value(rates)) => verdict(place, rates),
        (_, Measured::NotMeasured { not_measured }) => match &document.map {
            Some(map) if map.bands == 1 => format!("Not zoned: {not_measured}."),
            _ => format!("Unknown: {not_measured}."),
        },
        (Measured::NotMeasured { not_measured }, _) => format!("Unknown: {not_measured}."),
    };
    if let Measured::Value(place) = &document.place {
        // Beyond the map there are no shares of it.
        let mapped = (0.0..=1.0).contains(&place.mean_share);
        let share = mapped
            .then(|| format!(", {} of the way on average", number::percent(place.mean_share)));
        let text = format!(
            "{} of {} in {} from {} to {} on the device{}",
            format_bytes(place.bytes.0),
            format_bytes(document.target.size_bytes.0),
            number::counted(place.pieces as f64, "piece"),
            format_bytes(place.first_bytes.0),
            format_bytes(place.last_bytes.0),
            share.unwrap_or_default()
        );
        story.fact("location", text);
    }
    if let Measured::Value(rates) = &document.rates {
        story.fact("here", number::rate_with_interval(&rates.here_bytes_per_s));
        let fastest = format!(
            "{} from offset {} upwards",
            number::rate_with_interval(&rates.fastest_bytes_per_s),
            format_bytes(rates.fastest_offset_bytes.0)
        );
        story.fact("fastest", fastest);
        if rates.gain.value > 0.0 {
            let random = format!(
                "a 4 KiB read would be {} faster, which is little compared with the milliseconds \
                 of seek and rotation",
                number::time(rates.random_read_saves_ns)
            );
            story.fact("random", random);
        }
    }
    for caution in &document.cautions {
        story.fact("caution", caution.clone());
    }
    if let Some(map) = &document.map {
        let time = map.time.as_deref().map(|time| format!(" of {time}")).unwrap_or_default();
        let chosen = if map.chosen { ", named by --map" } else { "" };
        let text = format!("{} of {}{time}{chosen}", map.id, map.path);
        story.condition("map", text);
    }
    story.written_by(&document.halfpower_version);
    let path = shell_word(&document.target.path);
    let map = document.map.as_ref().filter(|map| map.chosen);
    let map = map.map(|map| format!(" --map {}", map.id)).unwrap_or_default();
    story.commands.push(format!("halfpower zones --file {path}{map}"));
    story
}

fn verdict(place: &SurfacePlace, rates: &PlaceRates) -> String {
    let at = number::percent(place.mean_share);
    let here = number::rate(rates.here_bytes_per_s.value);
    let gain = &rates.gain;
    if gain.value <= NOTHING || gain.low <= 0.0 {
        return format!(
            "The file is {at} of the way across the surface, where sequential reads reach {here}: \
             no other position is measurably faster."
        );
    }
    format!(
        "The file is {at} of the way across the surface, where sequential reads reach {here}; the \
         fastest zone reaches {}: moving the file there would gain {} for sequential reads, and \
         almost nothing for random ones.",
        number::rate(rates.fastest_bytes_per_s.value),
        told(&Measured::Value(*gain), |gain| number::with_range(gain, |share| format!(
            "{:+.0} %",
            share * 100.0
        )))
    )
}
