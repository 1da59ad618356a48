//! Reads `sadf -p`: one figure per line, preceded by machine, interval, time, device and name.

use crate::moment::{SECOND_NS, Stamp};
use crate::number::Reading;
use crate::runs::{Hosts, Report, Run};
use crate::sadf_json::{self, includes_discards};
use crate::sysstat::{Columns, Field};
use crate::{ImportError, Options, Text};
use record::Observation;

/// Figures that only disks have under these names.
const OF_DISKS: [&str; 2] = ["await", "areq-sz"];

struct Line<'a> {
    host: &'a str,
    interval: &'a str,
    time: &'a str,
    device: &'a str,
    name: &'a str,
    value: &'a str,
}

/// Machine, interval, time, device, name and value, with tabs between them.
fn parts(line: &str) -> Option<Line<'_>> {
    let mut parts = line.trim_end_matches(['\r', '\n']).split('\t');
    let mut next = || parts.next().map(str::trim);
    let line = Line {
        host: next()?,
        interval: next()?,
        time: next()?,
        device: next()?,
        name: next()?,
        value: next()?,
    };
    (parts.next().is_none() && Reading::parse(line.interval).is_some()).then_some(line)
}

/// Whether a line belongs to a disk.
pub(crate) fn is_line(line: &str) -> bool {
    parts(line).is_some_and(|it| it.name == "tps" && it.device != "-")
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut hosts = Hosts::default();
    for text in texts {
        let mut rows =
            Rows { hosts: &mut hosts, at: Vec::new(), names: Vec::new(), fields: Vec::new() };
        for line in text.split_inclusive('\n') {
            let parted = parts(line).filter(|_| line.ends_with('\n'));
            match parted {
                Some(line) => rows.take(&line),
                None if line.contains("LINUX-RESTART") => rows.restart(line),
                None => rows.hosts.faults += u64::from(!line.trim().is_empty()),
            }
        }
        rows.end_row();
    }
    sadf_json::observations("sadf -p", hosts, options)
}

/// The row under construction.
struct Rows<'h, 'a> {
    hosts: &'h mut Hosts,
    /// Machine, interval, time and device of the row.
    at: Vec<&'a str>,
    names: Vec<&'a str>,
    fields: Vec<Option<Field>>,
}

impl<'a> Rows<'_, 'a> {
    fn take(&mut self, line: &Line<'a>) {
        let at = [line.host, line.interval, line.time, line.device];
        if self.at != at || self.names.contains(&line.name) {
            self.end_row();
            self.at = at.to_vec();
        }
        self.names.push(line.name);
        self.fields.push(Field::parse(line.value));
    }

    fn restart(&mut self, line: &str) {
        self.end_row();
        let host = line.split('\t').next().map(str::trim);
        let runs = &mut self.hosts.named(host).runs;
        if runs.is_empty() {
            runs.push(Run::default());
        }
        runs.last_mut().into_iter().for_each(|run| run.restarts += 1);
    }

    fn end_row(&mut self) {
        let names = std::mem::take(&mut self.names);
        let fields = std::mem::take(&mut self.fields);
        let at = std::mem::take(&mut self.at);
        let [host, interval, time, device] = at.as_slice() else { return };
        let of_disk = names.contains(&"tps") && names.iter().any(|name| OF_DISKS.contains(name));
        if !of_disk {
            return;
        }
        let length = Reading::parse(interval).map(|it| (it.value * SECOND_NS as f64) as i128);
        let stamp = Stamp::parse(time);
        let runs = &mut self.hosts.named(Some(host)).runs;
        if runs.is_empty() {
            runs.push(Run::default());
        }
        let Some(run) = runs.last_mut() else { return };
        if run.reports.last().is_none_or(|report| report.stamp != stamp) {
            let length = length.filter(|length| *length > 0);
            run.reports.push(Report { stamp, length, ..Report::default() });
        }
        let (interval, discarded) = Columns::new(names).interval(device, |index| fields[index]);
        run.add(interval, includes_discards(discarded));
    }
}
