//! The data of a scrape: the last sample with its verdicts, and the exporter's own figures.

use crate::Judge;
use record::{Context, Finding};
use report::WatchRow;
use std::collections::HashSet;
use std::sync::Arc;

/// The state after a sample.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The devices in the kernel's order, each name once.
    pub(crate) rows: Vec<WatchRow>,
    /// Ids of their profiles, in the same order.
    pub(crate) profile_ids: Vec<Option<String>>,
    pub(crate) context: Context,
    pub(crate) findings: Vec<Finding>,
    pub(crate) hidden: usize,
}

impl Snapshot {
    /// The judge's current state.
    #[must_use]
    pub fn of(judge: &Judge) -> Self {
        let mut rows = judge.rows(0);
        // A device that is mounted twice under one name would give two samples of one series. Prometheus
        // would then reject the whole scrape.
        let mut names = HashSet::new();
        rows.retain(|row| names.insert(row.device.name.clone()));
        let id = |row: &WatchRow| judge.profile(&row.device.name).map(|profile| profile.id.clone());
        let profile_ids = rows.iter().map(id).collect();
        let Some(sample) = judge.last() else { return Self::default() };
        let (context, findings) = (sample.context.clone(), sample.findings.clone());
        Self { rows, profile_ids, context, findings, hidden: sample.hidden }
    }
}

/// The exporter's own figures.
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

/// All data of a scrape.
#[derive(Debug)]
pub(crate) struct Reading {
    /// `None` before the first sample, and when the last one is stale.
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
