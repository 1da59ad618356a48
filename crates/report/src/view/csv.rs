//! The plots of stories as CSV: a row per value.

use crate::chart::CSV_HEADER;
use crate::story::Story;

/// The head line of [`csv`].
#[must_use]
pub fn csv_header() -> &'static str {
    CSV_HEADER.trim_end()
}

/// Every value of every plot, with a head line.
#[must_use]
pub fn csv(stories: &[Story]) -> String {
    let mut csv = CSV_HEADER.to_owned();
    for story in stories {
        let document = format!("{} {}", story.kind, story.id);
        for chart in &story.charts {
            csv.push_str(&chart.csv(document.trim()));
        }
    }
    csv
}
