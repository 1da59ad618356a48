//! Lists the users of a device by unit, container or program, in the same way on all pages.

use crate::story::{Cell, Columns, Story, Tone, number};
use record::{IoGroup, Observation, OpKind, io_groups};

/// Largest number of listed groups; the document has more.
pub(crate) const GROUPS_MAX: usize = 6;

/// A group, and its share of all requests.
pub(crate) struct Row {
    device: String,
    group: IoGroup,
    share: f64,
}

/// The rows of a device, the busiest first.
pub(crate) fn rows(device: &str, groups: Vec<IoGroup>) -> Vec<Row> {
    let all: f64 = groups.iter().map(IoGroup::requests_per_s).sum();
    let row = |(index, group): (usize, IoGroup)| Row {
        device: if index == 0 { device.to_owned() } else { String::new() },
        share: group.requests_per_s() / all.max(1e-9),
        group,
    };
    groups.into_iter().take(GROUPS_MAX).enumerate().map(row).collect()
}

/// The columns of a table of groups.
pub(crate) fn columns(t: &mut Columns<'_, Row>) {
    let some = |value: f64| Cell::or_none((value > 0.0).then_some(value), number::count);
    t.left("", |row| Cell::toned(&row.device, Tone::Strong));
    t.left("who", |row| row.group.label()).flexible();
    t.right("reads/s", move |row| some(row.group.per_s(OpKind::Read))).gap(1);
    t.right("writes/s", move |row| some(row.group.per_s(OpKind::Write))).gap(1);
    t.right("fsyncs/s", move |row| some(row.group.syncs_per_s())).gap(1);
    t.right("bytes/s", |row| {
        let bytes: f64 = OpKind::ALL.map(|op| row.group.op_bytes_per_s(op)).iter().sum();
        Cell::or_none((bytes > 0.0).then_some(bytes), number::rate)
    })
    .expendable(1);
    t.right("of all", |row| number::percent(row.share)).gap(1);
}

/// Adds the table of an observation, unless no process was counted.
pub(crate) fn issuers(story: &mut Story, observation: &Observation) {
    let mut found: Vec<Row> = Vec::new();
    for device in &observation.devices {
        let own = observation.intervals.iter().filter(|one| one.device == device.name);
        let own: Vec<_> = own.filter_map(|one| Some((one, one.processes.as_ref()?))).collect();
        let seconds = own.iter().map(|(one, _)| one.duration_ns as f64 / 1e9).sum();
        found.extend(rows(&device.name, io_groups(own.iter().flat_map(|(_, it)| *it), seconds)));
    }
    if !found.is_empty() {
        table(story.section("Who uses the disks", ""), found);
    }
}

/// Adds the table, with a note on what it leaves out.
pub(crate) fn table(section: &mut crate::story::Section, rows: Vec<Row>) {
    section.table(rows, columns);
    section.note(
        "of all: share of all requests; fsyncs: fsyncs or flushes, whichever are more; (kernel): \
         writes on behalf of programs, such as journals and write-back",
    );
}
