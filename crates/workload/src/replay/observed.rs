//! The load of an observation, summed up as recorded requests are, as far as counters tell.
//!
//! Counters have rates, mean sizes and latencies. Where requests go, how they follow each other within a
//! second and what each of them takes is in no counter, and is named as what the twin lacks.

use crate::replay::twin::{self, RANDOM, SEQUENTIAL};
use record::{
    Bytes, Locality, Mix, Nanos, Offered, OpKind, REQUESTS_SCHEMA, RequestsSide, RequestsSummary,
    mix_word,
};

/// The longest that a twin runs: what was observed for hours is one load all the same.
const RUN_MAX: Nanos = Nanos(30_000_000_000);

/// The load of one stretch of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// The device, as the page names it.
    pub source: &'a str,
    /// Id of the observation.
    pub observation_id: &'a str,
    /// The requests.
    pub mix: &'a Mix,
    /// How much is asked for.
    pub offered: Offered,
    /// Requests per second that were counted.
    pub iops: f64,
    /// How long that was.
    pub span: Nanos,
    /// Whether the share of sequential requests was traced; else it is the one that explains the latency.
    pub sequential_traced: bool,
}

/// What it comes to, and the load that does the same.
#[must_use]
pub fn of_counters(counted: &Counted<'_>, version: &str) -> RequestsSummary {
    let requests = counted.iops * counted.span.as_secs_f64();
    let mut summary = RequestsSummary {
        schema: REQUESTS_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        source: counted.source.to_owned(),
        digest: counted.observation_id.to_owned(),
        requests: requests as u64,
        span_ns: counted.span,
        devices: 1,
        flushes: 0,
        discards: 0,
        lost: None,
        reach: Bytes(0),
        read: side(counted, OpKind::Read),
        write: side(counted, OpKind::Write),
        cache: Vec::new(),
        twin: None,
        twin_lacks: Vec::new(),
        side_by_side: None,
    };
    let run = RequestsSummary { span_ns: counted.span.min(RUN_MAX), ..summary.clone() };
    (summary.twin, summary.twin_lacks) = match counted.offered {
        Offered::Depth(depth) => (Some(closed(counted, depth, run.span_ns)), Vec::new()),
        Offered::PoissonPerS(_) | Offered::ConstantPerS(_) => twin::twin(&run),
    };
    summary.twin_lacks.extend(lacks(counted));
    summary
}

fn lacks(counted: &Counted<'_>) -> Vec<String> {
    let sizes = counted.mix.sizes().len() <= 2;
    let order = counted.mix.share(|class| class.locality == Locality::Sequential) > RANDOM;
    let hits = counted.mix.share(|class| class.locality == Locality::Hit);
    let all = [
        sizes.then(|| "sizes other than the mean".to_owned()),
        Some("the positions of the requests".to_owned()),
        counted.offered.is_open().then(|| "bursts".to_owned()),
        (order && !counted.sequential_traced).then(|| {
            "the order of the requests (the twin uses an order that explains the latency)"
                .to_owned()
        }),
        (hits > RANDOM).then(|| format!("re-reads ({:.0} % of the requests)", hits * 100.0)),
    ];
    all.into_iter().flatten().collect()
}

fn side(counted: &Counted<'_>, op: OpKind) -> Option<RequestsSide> {
    let share = counted.mix.share(|class| class.op == op);
    let of_op = counted.mix.of(op).filter(|_| share > 0.0)?;
    let per_s = counted.iops * share;
    let requests = per_s * counted.span.as_secs_f64();
    let even = matches!(counted.offered, Offered::ConstantPerS(_));
    Some(RequestsSide {
        requests: requests as u64,
        bytes: Bytes((requests * of_op.mean_bytes()) as u64),
        per_s,
        sizes: of_op.size_shares(),
        sequential_share: of_op.share(|class| class.locality == Locality::Sequential),
        dispersion: if even { 0.0 } else { 1.0 },
        // Not counted: as independent users have it.
        dispersion_over_ns: Nanos(0),
        begin: Bytes(0),
        end: Bytes(0),
        touched: Bytes(0),
        zipf_theta: None,
    })
}

/// The words of a load that keeps a number of requests in flight.
fn closed(counted: &Counted<'_>, depth: f64, span: Nanos) -> Vec<String> {
    let mix = counted.mix;
    let (reads, sequential) =
        (mix.reads(), mix.share(|class| class.locality == Locality::Sequential));
    let order = if sequential >= SEQUENTIAL { "" } else { "rand" };
    let reads = (reads * 100.0).round();
    let kind = match reads {
        100.0.. => "read",
        ..1.0 => "write",
        _ => "rw",
    };
    let mut words: Vec<String> = Vec::new();
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    flag("rw", format!("{order}{kind}"));
    if kind == "rw" {
        flag("rwmixread", format!("{reads}"));
    }
    flag("bs", mix_word(&mix.size_shares()));
    if !order.is_empty() && sequential > RANDOM {
        flag("seq-share", format!("{:.0}%", sequential * 100.0));
    }
    flag("iodepth", format!("{:.0}", depth.round().max(1.0)));
    flag("runtime", format!("{}ms", (span.0 / 1_000_000).max(100)));
    words
}
