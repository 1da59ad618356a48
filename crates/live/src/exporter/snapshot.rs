//! Keeps what a scrape shows: the last sample as judged, and what the exporter says of itself.

use crate::Judge;
use record::{Context, Finding};
use report::WatchRow;
use std::collections::HashSet;
use std::sync::Arc;

/// What is known after a sample.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The devices in the order of the kernel, each name once.
    pub(crate) rows: Vec<WatchRow>,
    /// Ids of their profiles, in the same order.
    pub(crate) profile_ids: Vec<Option<String>>,
    pub(crate) context: Context,
    pub(crate) findings: Vec<Finding>,
    pub(crate) hidden: usize,
}

impl Snapshot {
    /// What a judge knows now.
    #[must_use]
    pub fn of(judge: &Judge) -> Self {
        let mut rows = judge.rows(0);
        // What is mounted twice by one name would be two samples of one series, which Prometheus
        // refuses with all others of the scrape.
        let mut names = HashSet::new();
        rows.retain(|row| names.insert(row.device.name.clone()));
        let id = |row: &WatchRow| judge.profile(&row.device.name).map(|profile| profile.id.clone());
        let profile_ids = rows.iter().map(id).collect();
        let Some(sample) = judge.last() else { return Self::default() };
        let (context, findings) = (sample.context.clone(), sample.findings.clone());
        Self { rows, profile_ids, context, findings, hidden: sample.hidden }
    }
}

/// What the exporter says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnFigures {
    pub(crate) version: String,
    pub(crate) interval_s: f64,
    pub(crate) last_sample_unix_s: Option<f64>,
    pub(crate) samples: u64,
    pub(crate) missed: u64,
    pub(crate) scrapes: u64,
    pub(crate) refused: u64,
    pub(crate) cpu_s: f64,
}

/// All that a scrape shows.
#[derive(Debug)]
pub(crate) struct Reading {
    /// `None` before the first sample, and where the last one is too old to be believed.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    pub(crate) own: OwnFigures,
}

impl Reading {
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_deref()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &WatchRow> {
        self.snapshot.iter().flat_map(|snapshot| &snapshot.rows)
    }
}
