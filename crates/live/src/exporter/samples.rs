//! Writes the samples of a metric: its labels, in order, and a value.

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder};
use prometheus_client::metrics::exemplar::Exemplar;
use std::fmt;

/// Prefix of all names.
pub(crate) const PREFIX: &str = "halfpower";

/// How the value of a metric can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Can increase and decrease.
    Gauge,
    /// Only increases, until the exporter restarts.
    Counter,
}

/// The unit at the end of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    Seconds,
    Bytes,
    Ratio,
}

/// Writes the samples of one metric.
pub(crate) struct Samples<'a, 'l> {
    encoder: MetricEncoder<'a>,
    kind: Kind,
    labels: &'l [&'static str],
}

impl<'a, 'l> Samples<'a, 'l> {
    pub(crate) fn new(encoder: MetricEncoder<'a>, kind: Kind, labels: &'l [&'static str]) -> Self {
        Self { encoder, kind, labels }
    }

    /// Writes a sample with these label values, unless the value is not finite.
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

    /// Like `add`, if the value is known.
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
