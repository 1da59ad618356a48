//! A drive of extracted parameters beside the real one.

use crate::number;
use crate::story::Story;
use record::{DriveTruth, format_bytes, quantity};

/// The story of a drive that was held against its requests.
#[must_use]
pub fn drive(truth: &DriveTruth) -> Story {
    let size = format_bytes(truth.size_bytes);
    let requests = number::counted(truth.requests as f64, "request");
    let mut story = Story::new("Drive", format!("{} of {size}", truth.drive), true);
    let demerit = number::percent(truth.demerit);
    story.headline = format!(
        "The simulated drive is {demerit} off the real one (demerit, by the distribution of {requests})."
    );
    story.fact("demerit", demerit);
    story.fact("distance", format!("{} (root of the mean square)", number::time(truth.rms_ns)));
    let section = story.section(
        "Service times",
        "the requests of the trace, one at a time, as they were issued to the real drive",
    );
    section.table(&truth.rows, |t| {
        t.left("", |row| row.of.clone());
        t.left("", |row| quantity(&row.quantity).title);
        t.right("measured", |row| number::time(row.measured));
        t.right("simulated", |row| number::time(row.simulated));
        t.right("difference", |row| {
            let share = row.simulated / row.measured - 1.0;
            format!("{:+.1} %", share * 100.0)
        });
    });
    story.condition("trace", &truth.requests_of);
    story.written_by(&truth.halfpower_version);
    story
}
