//! A drive of extracted parameters beside the real one.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use crate::story::{Story, joined};
use record::{DriveRank, DriveRow, DriveTruth, Unit, format_bytes, quantity};

/// The story of a drive that was held against its requests.
#[must_use]
pub fn drive(truth: &DriveTruth) -> Story {
    let size = format_bytes(truth.size_bytes);
    let requests = number::counted(truth.requests as f64, "request");
    let mut story = Story::new("Drive", format!("{} of {size}", truth.drive), true);
    let demerit = number::percent(truth.demerit);
    story.headline = format!(
        "The service times of the simulated drive differ from those of the real one by {demerit}, \
         over {requests}."
    );
    story.fact("demerit", demerit);
    story.fact("distance", format!("{} (root mean square)", number::time(truth.rms_ns)));
    story.takeaway("mean", directions(truth));
    story.charts.extend([distributions(truth), distances(truth)].into_iter().flatten());
    let section = story
        .section("Service times", "the requests of the trace at QD 1, as issued to the real drive");
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

/// `4.1 % quicker`
fn beside(simulated: f64, measured: f64) -> String {
    let off = simulated / measured - 1.0;
    let share = number::percent(off.abs());
    format!("{share} {}", if off < 0.0 { "quicker" } else { "slower" })
}

/// How far the means are off, of all requests and of each direction.
fn directions(truth: &DriveTruth) -> String {
    let means = truth.rows.iter().filter(|row| row.quantity == "latency_mean_ns");
    joined(means, ", ", |row| format!("{} {}", row.of, beside(row.simulated, row.measured)))
}

/// Both distributions over each other.
fn distributions(truth: &DriveTruth) -> Option<Chart> {
    let is_median = |row: &&DriveRow| row.of == "all" && row.quantity == "latency_p50_ns";
    let median = truth.rows.iter().find(is_median)?;
    let of = |name: &str, time: fn(&DriveRank) -> f64| {
        let points = truth.ranks.iter().map(|rank| Point::bare(time(rank), rank.share));
        Series::new(name, Form::Trace, points.collect())
    };
    let series =
        vec![of("real drive", |rank| rank.measured_ns), of("simulated", |rank| rank.simulated_ns)];
    Chart {
        title: "Service times of both drives".to_owned(),
        finding: format!(
            "At the median the simulated drive is {}.",
            beside(median.simulated, median.measured)
        ),
        errors: "Each request was measured once, so there are no intervals; the demerit is the \
             horizontal distance between the curves."
            .to_owned(),
        x: Axis::from_zero("service time", Some(Unit::Nanos), crate::chart::xs(&series)),
        y: Axis::from_zero("of the requests took less", Some(Unit::Share), [1.0]),
        series,
        rules: vec![Rule::level(0.5, "median")],
    }
    .unless_empty()
}

/// Where the distance comes from.
fn distances(truth: &DriveTruth) -> Option<Chart> {
    let distance = |rank: &DriveRank| rank.simulated_ns - rank.measured_ns;
    // A single slowest request is no part of a distribution.
    let inner = truth.ranks.iter().filter(|rank| (0.01..=0.99).contains(&rank.share));
    let farthest = inner.max_by(|a, b| distance(a).abs().total_cmp(&distance(b).abs()))?;
    let points = truth.ranks.iter().map(|rank| Point::bare(rank.share, distance(rank)));
    let series = vec![Series::new("simulated minus real", Form::Trace, points.collect())];
    let finding = format!(
        "Apart from the slowest and fastest 1 %, the drives differ most where {} of the requests \
         took less: {} on the real drive, {} on the simulated one.",
        number::percent(farthest.share),
        number::time(farthest.measured_ns),
        number::time(farthest.simulated_ns),
    );
    Chart {
        title: "Distance at equal rank".to_owned(),
        finding,
        errors:
            "Above zero the simulated drive is slower. The demerit is the root mean square of this \
             distance."
                .to_owned(),
        x: Axis::from_zero("of the requests took less", Some(Unit::Share), [1.0]),
        y: Axis::over(
            "simulated minus real",
            Some(Unit::Nanos),
            crate::chart::ys(&series).chain([0.0]),
        ),
        series,
        rules: vec![Rule::level(0.0, "no difference")],
    }
    .unless_empty()
}
