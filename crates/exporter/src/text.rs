//! Writes the text of a scrape from the rows of the last sample.
//!
//! The encoder is that of prometheus-client, which knows both formats that Prometheus asks for and
//! escapes labels. Each scrape has a registry of its own over one snapshot, so that a device that is
//! gone has no series.

use crate::METRICS;
use crate::metrics::{Kind, Unit};
use live::Judge;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{self, DescriptorEncoder, EncodeLabel, EncodeLabelSet};
use prometheus_client::encoding::{LabelSetEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit as UnitName};
use record::{Context, Finding};
use report::WatchRow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// What every name begins with.
pub(crate) const PREFIX: &str = "halfpower";
/// Bytes of a series, about: a buffer that grows is copied.
const SERIES_BYTES: usize = 90;
const SERIES_PER_DEVICE: usize = 36;

/// What a scrape is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Plain,
}

impl Format {
    /// The one that an `Accept` header asks for: OpenMetrics where it is named.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Plain
        }
    }

    /// The `Content-Type` of an answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => encoding::prometheus_text::CONTENT_TYPE,
        }
    }
}

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

/// The metrics of a snapshot alone, as a scrape shows them; of the exporter itself nothing.
///
/// # Errors
/// None that is known: the encoder writes into memory.
pub fn text(snapshot: Arc<Snapshot>, format: Format) -> Result<String, fmt::Error> {
    rendered(Reading { snapshot: Some(snapshot), own: OwnFigures::default() }, format)
}

pub(crate) fn rendered(reading: Reading, format: Format) -> Result<String, fmt::Error> {
    let devices = reading.rows().count();
    let mut text = String::with_capacity((devices + 8) * SERIES_PER_DEVICE * SERIES_BYTES);
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(reading));
    match format {
        Format::OpenMetrics => encoding::text::encode(&mut text, &registry)?,
        Format::Plain => encoding::prometheus_text::encode(&mut text, &registry)?,
    }
    Ok(text)
}

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let ratio = UnitName::Other("ratio".to_owned());
        for metric in METRICS {
            let unit = match metric.unit {
                Unit::None => None,
                Unit::Seconds => Some(&UnitName::Seconds),
                Unit::Bytes => Some(&UnitName::Bytes),
                Unit::Ratio => Some(&ratio),
            };
            let kind = match metric.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
            };
            let encoder = encoder.encode_descriptor(metric.base, metric.help, unit, kind)?;
            let mut out = Samples { encoder, kind: metric.kind, labels: metric.labels };
            (metric.write)(self, &mut out)?;
        }
        Ok(())
    }
}

/// Where the samples of one metric go.
pub(crate) struct Samples<'a, 'l> {
    encoder: MetricEncoder<'a>,
    kind: Kind,
    labels: &'l [&'static str],
}

impl Samples<'_, '_> {
    /// A sample with these values of the metric's labels; none where the value is no number.
    pub(crate) fn add(&mut self, values: &[&str], value: f64) -> fmt::Result {
        if !value.is_finite() {
            return Ok(());
        }
        debug_assert_eq!(self.labels.len(), values.len());
        let labels = Labels { names: self.labels, values };
        let write = |encoder: &mut MetricEncoder<'_>| match self.kind {
            Kind::Gauge => encoder.encode_gauge(&value),
            Kind::Counter => {
                encoder.encode_counter(&value, None::<&Exemplar<[(&str, &str); 0], f64>>)
            }
        };
        if values.is_empty() {
            return write(&mut self.encoder);
        }
        write(&mut self.encoder.encode_family(&labels)?)
    }

    /// The same where the value is known.
    pub(crate) fn known(&mut self, values: &[&str], value: Option<f64>) -> fmt::Result {
        value.map_or(Ok(()), |value| self.add(values, value))
    }
}

struct Labels<'a> {
    names: &'a [&'static str],
    values: &'a [&'a str],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let mut pairs = self.names.iter().copied().zip(self.values.iter().copied());
        pairs.try_for_each(|label| label.encode(encoder.encode_label()))
    }
}
