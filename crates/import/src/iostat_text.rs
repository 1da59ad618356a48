//! Reads the text tables of iostat, versions 9 to 12.
//!
//! A report is one table, or with `-h` several tables with different columns of the same disks. So a report
//! ends where a time, processors or a column appear again, or, if only lines of disks were kept (`grep`), a
//! disk does. Columns are found by their names, in any order. The disk is in front, behind (`-h` of version
//! 12) or on a line of its own (`-h` of version 11). Rejected: positions by version, because files have
//! headers but no versions.

use crate::iostat::{self, may_include_discards};
use crate::moment::Stamp;
use crate::number::Reading;
use crate::printed::{command_line, first_line, interval_of, is_cut_mark, stamp_line, unquoted};
use crate::runs::{Hosts, Report, Run};
use crate::sysstat::{self, Columns, Field};
use crate::{ImportError, Options, Text};
use record::{Context, Interval, Observation};
use std::collections::BTreeSet;

/// Names of the column of disks.
const DEVICE: [&str; 2] = ["Device", "Device:"];
/// Other columns, of which a header of disks has at least one.
const FIGURES: [&str; 5] = ["tps", "r/s", "w/s", "d/s", "f/s"];

/// Whether a line is the header of a table of disks.
pub(crate) fn is_header(line: &str) -> bool {
    let line = unquoted(line);
    let mut words = line.split_whitespace();
    let ends = [words.next(), words.next_back()];
    let of_disks = ends.iter().flatten().any(|word| DEVICE.contains(word));
    of_disks && line.split_whitespace().any(|word| FIGURES.contains(&word))
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut hosts = Hosts::default();
    for text in texts {
        let mut reader = Reader::new(&mut hosts);
        for line in text.split_inclusive('\n') {
            reader.take(line);
        }
        reader.end_run();
    }
    iostat::observations("iostat", hosts, options)
}

struct Table {
    columns: Columns,
    /// Index of the disk's name.
    device: usize,
    /// Number of characters before the header.
    indent: usize,
}

/// Number of blanks and marks of quotation before the text of a line.
fn indent(raw: &str) -> usize {
    raw.len() - raw.trim_start_matches(['>', '|', '#', ' ', '\t']).len()
}

struct Reader<'h> {
    hosts: &'h mut Hosts,
    host: Option<String>,
    run: Run,
    table: Option<Table>,
    /// Columns of the report so far.
    columns: BTreeSet<String>,
    /// Disks of the table so far.
    devices: BTreeSet<String>,
    /// Names of the processors' shares; their numbers are on the next line.
    processors: Option<Vec<String>>,
    /// A disk's name on a line of its own.
    name: Option<String>,
    /// Whether the report is still empty.
    fresh: bool,
    /// Whether lines are cut out before the next report.
    after_cut: bool,
}

impl<'h> Reader<'h> {
    fn new(hosts: &'h mut Hosts) -> Self {
        Self {
            hosts,
            host: None,
            run: Run::default(),
            table: None,
            columns: BTreeSet::new(),
            devices: BTreeSet::new(),
            processors: None,
            name: None,
            fresh: false,
            after_cut: false,
        }
    }

    fn take(&mut self, raw: &str) {
        let line = unquoted(raw);
        if line.is_empty() {
            return;
        }
        if let Some(names) = self.processors.take()
            && self.take_processors(&names, line)
        {
            return;
        }
        if let Some(first) = first_line(line) {
            self.end_run();
            self.host = first.host.map(str::to_owned);
            self.run.date = first.date.map(str::to_owned);
            let known = self.hosts.named(self.host.as_deref());
            known.release = known.release.take().or_else(|| Some(first.release.to_owned()));
        } else if let Some(words) = command_line(line, "iostat") {
            self.end_run();
            self.run.interval = interval_of(&words);
            let flags =
                words.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
            self.run.without_boot = flags.into_iter().any(|word| word.contains('y'));
        } else if let Some(names) = line.strip_prefix("avg-cpu:") {
            if !self.fresh {
                self.begin(None);
            }
            let names = names.split_whitespace().map(|name| name.trim_matches('%').to_owned());
            self.processors = Some(names.collect());
            self.table = None;
        } else if is_cut_mark(line) {
            self.after_cut = true;
        } else if is_header(line) {
            self.take_header(line, indent(raw));
        } else if let Some(stamp) = stamp_line(line, self.run.date.as_deref()) {
            self.begin(Some(stamp));
        } else {
            self.take_row(line, raw);
        }
    }

    fn begin(&mut self, stamp: Option<Stamp>) {
        let after_cut = std::mem::take(&mut self.after_cut);
        self.run.reports.push(Report { stamp, after_cut, ..Report::default() });
        (self.fresh, self.table) = (true, None);
        self.columns.clear();
        self.devices.clear();
    }

    /// Ends the run. Data of the command line before its first report is kept.
    fn end_run(&mut self) {
        self.after_cut = false;
        if self.run.reports.is_empty() {
            self.fresh = false;
            return;
        }
        let run = std::mem::take(&mut self.run);
        self.hosts.named(self.host.take().as_deref()).runs.push(run);
        (self.fresh, self.table) = (false, None);
        self.columns.clear();
        self.devices.clear();
    }

    fn take_processors(&mut self, names: &[String], line: &str) -> bool {
        let numbers: Option<Vec<Reading>> =
            line.split_whitespace().map(|word| Some(Field::parse(word)?.reading)).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == names.len()) else {
            return false;
        };
        let of = |key: &str| names.iter().position(|name| name == key).map(|place| numbers[place]);
        let context = Context {
            steal_share: sysstat::share(of("steal")),
            idle_share: sysstat::idle_share(of),
            ..Context::default()
        };
        if let Some(report) = self.run.reports.last_mut() {
            report.context = context;
        }
        self.fresh = false;
        true
    }

    fn take_header(&mut self, line: &str, indent: usize) {
        let names: Vec<&str> = line.split_whitespace().collect();
        let is_device = |name: &&&str| DEVICE.contains(*name);
        let device = if names.first().filter(is_device).is_some() { 0 } else { names.len() - 1 };
        let figures = || names.iter().filter(|name| !is_device(name));
        let again = figures().any(|name| self.columns.contains(*name));
        if self.run.reports.is_empty() || again {
            self.begin(None);
        }
        self.columns.extend(figures().map(|name| (*name).to_owned()));
        self.devices.clear();
        self.table = Some(Table { columns: Columns::new(names), device, indent });
    }

    fn take_row(&mut self, line: &str, raw: &str) {
        let Some(table) = &self.table else { return };
        let whole = raw.ends_with('\n');
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let width = table.columns.names().len();
        let alone = self.name.take();
        if words.len() + 1 == width
            && let Some(name) = &alone
        {
            words.insert(table.device, name);
        }
        if words.len() != width {
            let is_name = words.len() == 1 && Field::parse(words[0]).is_none();
            self.name = is_name.then(|| words[0].to_owned());
            let numbers = words.iter().filter(|word| Field::parse(word).is_some()).count();
            self.hosts.faults += u64::from(numbers > 1);
            return;
        }
        let fields: Vec<Option<Field>> = words.iter().map(|word| Field::parse(word)).collect();
        let numbers = fields.iter().flatten().count();
        if numbers + 1 < width || (!whole && is_cut(&words)) {
            self.hosts.faults += u64::from(numbers > 1);
            return;
        }
        let name = words[table.device];
        // The sum of a group has one blank before its name.
        if table.device == 0 && alone.is_none() && indent(raw) == table.indent + 1 {
            self.run.sums.insert(name.to_owned());
        }
        if self.devices.contains(name) {
            // Only lines of disks were kept, so the header also applies to the next report.
            let table = self.table.take();
            self.begin(None);
            self.table = table;
        }
        self.devices.insert(name.to_owned());
        let Some(table) = &self.table else { return };
        self.fresh = false;
        let length = table.columns.length_s(|index| fields[index]);
        if let (Some(length), Some(report)) = (length, self.run.reports.last_mut()) {
            let known = report.by_amounts.filter(|known| known.step <= length.step);
            report.by_amounts = known.or(Some(length));
        }
        let (interval, discarded) = table.columns.interval(name, |index| fields[index]);
        let known = self.run.last_disks().find(|it| it.device == name);
        match known {
            Some(known) => merge(known, &interval),
            None => {
                let together = interval.all.per_s.is_some();
                self.run.add(interval, together && may_include_discards(discarded));
            }
        }
    }
}

/// Whether a line without a line end has lost digits: its last number has other decimals than the one
/// before.
fn is_cut(words: &[&str]) -> bool {
    let decimals = |word: &&str| word.rsplit_once(['.', ',']).map_or(0, |(_, digits)| digits.len());
    let last: Vec<usize> = words.iter().rev().take(2).map(decimals).collect();
    last.first() != last.get(1)
}

/// Adds the figures of another table of the same report.
fn merge(into: &mut Interval, from: &Interval) {
    into.figures_mut().zip(from.figures()).for_each(|(into, from)| *into = into.or(from));
}
