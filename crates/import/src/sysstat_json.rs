//! Reads the JSON structure that iostat and sadf share: machines, starts, reports, disks.

use crate::Text;
use crate::json::{self, Json, Part};
use crate::number::Reading;
use crate::runs::{Host, Hosts, Report, Run};
use crate::sysstat::{Columns, Field};
use record::{Figure, Interval};

/// The differences between the tools.
pub(crate) struct Frame {
    /// The key that identifies a report outside its enclosing list.
    pub(crate) is_report: &'static str,
    /// The key of a disk's name.
    pub(crate) name: &'static str,
    /// Reads time, length and context of a report.
    pub(crate) report: fn(&Json<'_>) -> Report,
    /// Whether means over all requests include other requests than reads and writes, given the rate of
    /// discarded data.
    pub(crate) mixed: fn(Option<f64>) -> bool,
}

/// The machines in these texts.
pub(crate) fn hosts(texts: &[Text<'_>], frame: &Frame) -> Hosts {
    let mut hosts = Hosts::default();
    for text in texts {
        let mut reader =
            Reader { frame, columns: Columns::default(), pending: Run::default(), faults: 0 };
        // A report after a fault belongs to the previous machine in its file.
        let mut current: Option<Option<String>> = None;
        let faults = json::each(text, "timestamp", "statistics", &mut |part| match part {
            Part::Element(report) => reader.take(&report),
            Part::Value(value) => {
                if let Some(sysstat) = value.get("sysstat") {
                    for host in sysstat.get("hosts").map_or(&[][..], Json::elements) {
                        let name = host.get("nodename").and_then(Json::text);
                        take_host(host, hosts.named(name), &mut reader.pending);
                        current = Some(name.map(str::to_owned));
                    }
                } else if value.get(frame.is_report).is_some() {
                    reader.take(&value);
                    let name = current.get_or_insert(None).as_deref();
                    let runs = &mut hosts.named(name).runs;
                    if runs.is_empty() {
                        runs.push(Run::default());
                    }
                    if let Some(run) = runs.last_mut() {
                        run.append(std::mem::take(&mut reader.pending));
                    }
                }
            }
        });
        hosts.faults += faults + reader.faults;
    }
    with_dropped_zeros(&mut hosts);
    hosts
}

/// Gives each figure its finest resolution in the document. A program that copies JSON may drop trailing zeros
/// (0.50 becomes 0.5), so the last digit of a single number does not show what the tool printed.
fn with_dropped_zeros(hosts: &mut Hosts) {
    let mut steps = [f64::INFINITY; Interval::FIGURES.len()];
    let each = |hosts: &mut Hosts, change: &mut dyn FnMut(usize, &mut Figure)| {
        let runs = hosts.hosts.iter_mut().flat_map(|host| &mut host.runs);
        for interval in runs.flat_map(|run| &mut run.intervals) {
            let figures = interval.figures_mut().enumerate();
            figures.for_each(|(at, figure)| figure.iter_mut().for_each(|it| change(at, it)));
        }
    };
    each(hosts, &mut |at, figure| steps[at] = steps[at].min(figure.resolution));
    each(hosts, &mut |at, figure| figure.resolution = steps[at]);
}

struct Reader<'f> {
    frame: &'f Frame,
    /// Columns of the last disk: all disks of a file have the same.
    columns: Columns,
    pending: Run,
    faults: u64,
}

impl Reader<'_> {
    fn take(&mut self, report: &Json<'_>) {
        self.pending.reports.push((self.frame.report)(report));
        let disks = report.get("disk").map_or(&[][..], Json::elements);
        for disk in disks.iter().filter(|disk| disk.is_whole()) {
            let Some(name) = disk.get(self.frame.name).and_then(Json::text) else {
                self.faults += 1;
                continue;
            };
            let Json::Object(members, _) = disk else { continue };
            let names = || members.iter().map(|(key, _)| &**key);
            if !names().eq(self.columns.names().iter().map(String::as_str)) {
                self.columns = Columns::new(names());
            }
            let field = |index: usize| {
                let Json::Number(text) = &members.get(index)?.1 else { return None };
                Some(Field { reading: Reading::parse(text)?, unit: None })
            };
            let (interval, discarded) = self.columns.interval(name, field);
            self.pending.add(interval, (self.frame.mixed)(discarded));
        }
    }
}

/// Adds a start of the tool with its reports.
fn take_host(host: &Json<'_>, known: &mut Host, pending: &mut Run) {
    let word = |key: &str| host.get(key).and_then(Json::text).map(str::to_owned);
    known.release = known.release.take().or_else(|| word("release"));
    let (elements, without_boot) = match host.get("statistics") {
        Some(Json::Taken { elements, blank_line }) => (*elements, *blank_line),
        _ => (0, false),
    };
    let restarts = host.get("restarts").map_or(0, |list| list.elements().len() as u64);
    let run = pending.split(elements);
    known.runs.push(Run { date: word("date"), without_boot, restarts, ..run });
}
