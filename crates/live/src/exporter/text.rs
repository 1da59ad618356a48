//! Writes the text of a scrape from the rows of the last sample.
//!
//! The encoder of prometheus-client supports both formats that Prometheus requests, and escapes labels. Each
//! scrape has its own registry over one snapshot, so a removed device has no series.

use crate::exporter::metrics::METRICS;
use crate::exporter::samples::{Kind, PREFIX, Samples, Unit};
use crate::exporter::snapshot::{OwnFigures, Reading, Snapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{self, DescriptorEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as UnitName};
use std::fmt;
use std::sync::Arc;

/// Approximate size of a series in bytes; avoids copying a growing buffer.
const SERIES_BYTES: usize = 90;
const SERIES_PER_DEVICE: usize = 36;

/// Format of a scrape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Plain,
}

impl Format {
    /// The format for an `Accept` header: OpenMetrics if the header names it.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        let is_open = accept.contains("application/openmetrics-text");
        if is_open { Self::OpenMetrics } else { Self::Plain }
    }

    /// The `Content-Type` of a response.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => encoding::prometheus_text::CONTENT_TYPE,
        }
    }
}

/// The metrics of a snapshot as a scrape shows them, without those of the exporter itself.
///
/// # Errors
/// None known: the encoder writes into memory.
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
            let mut out = Samples::new(encoder, metric.kind, metric.labels);
            metric.write(self, &mut out)?;
        }
        Ok(())
    }
}
