//! Provides rows of `watch`, and draws them as a screen.

use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::{Frame, Terminal};
use record::{
    Calibrated, Confidence, Context, DeviceFacts, Estimate, Figure, Interval, ObservedDevice,
    OpInterval, UtilizationLaw, Verdict,
};
use report::{PastMoment, WatchData, WatchRow, WatchVerdict, WatchView, watch_screen};
use std::sync::Arc;

pub const SMALL: (u16, u16) = (80, 24);
pub const LARGE: (u16, u16) = (200, 60);

fn figure(value: f64) -> Option<Figure> {
    Some(Figure::measured(value, 0.0))
}

fn op(per_s: f64, bytes: f64, latency_ns: f64) -> OpInterval {
    OpInterval {
        per_s: figure(per_s),
        bytes_per_s: figure(per_s * bytes),
        request_bytes: figure(bytes).filter(|_| per_s > 0.0),
        merged_per_s: figure(per_s / 100.0),
        latency_ns: Some(Figure::derived(latency_ns, 1e6 / per_s)).filter(|_| per_s > 0.0),
    }
}

/// A device that reads and writes.
pub fn busy(name: &str, reads: f64, writes: f64, latency_ns: f64) -> WatchRow {
    let rate = reads + writes;
    let concurrency = rate * latency_ns / 1e9;
    let utilization = concurrency.min(1.0);
    let interval = Interval {
        device: name.to_owned(),
        begin_ns: 1_700_000_000_000_000_000,
        duration_ns: 1_000_000_000,
        read: op(reads, 4096.0, latency_ns),
        write: op(writes, 16384.0, latency_ns),
        all: op(rate, (reads * 4096.0 + writes * 16384.0) / rate.max(1e-9), latency_ns),
        discards_per_s: figure(0.0),
        flushes_per_s: figure(writes / 50.0),
        busy_share: figure(utilization),
        concurrency: figure(concurrency),
        in_flight: figure(concurrency.round()),
        ..Interval::default()
    };
    let service_ns = utilization / rate.max(1e-9) * 1e9;
    let past = |at: usize| {
        let wave = 1.0 + (at % 13) as f64 / 12.0;
        PastMoment {
            per_s: Some(rate * wave / 2.0),
            latency_ns: (rate > 0.0 && at % 7 != 3).then_some(latency_ns * wave / 2.0),
            expected_ns: None,
        }
    };
    WatchRow {
        device: Arc::new(ObservedDevice { name: name.to_owned(), ..ObservedDevice::default() }),
        interval: Some(interval),
        utilization_law: (rate > 0.0).then(|| UtilizationLaw {
            utilization,
            service_ns,
            queue_ns: (latency_ns - service_ns).max(0.0),
        }),
        profile_command: format!("halfpower check /dev/{name}"),
        past: (0..150).map(past).collect(),
        ..WatchRow::default()
    }
}

/// The same device with a profile and a verdict.
pub fn judged(mut row: WatchRow, verdict: Verdict, claim: &str) -> WatchRow {
    let interval = row.interval.clone().unwrap();
    let latency_ns = interval.all.latency_ns.unwrap().value;
    let facts = DeviceFacts {
        name: row.device.name.clone(),
        disk: row.device.name.clone(),
        major_minor: "254:0".to_owned(),
        model: Some("ACME SSD 3000".to_owned()),
        scheduler: Some("none".to_owned()),
        nr_requests: Some(256),
        size_bytes: record::Bytes(256 << 30),
        ..DeviceFacts::default()
    };
    let device = ObservedDevice { facts: Some(facts), ..row.device.as_ref().clone() };
    row.device = Arc::new(device);
    row.calibrated = Some(Calibrated {
        unloaded_ns: 26_000.0,
        expected_ns: Estimate::symmetric(latency_ns * 0.9, latency_ns * 0.05, 12),
        expected_at_rate_ns: None,
        queue_ns: latency_ns - 26_000.0,
        latency_ratio: 1.1,
        saturation: 0.43,
        max_iops: 198_000.0,
        sequential_share: 0.0,
        sequential_traced: false,
    });
    row.past.iter_mut().for_each(|moment| moment.expected_ns = Some(latency_ns * 0.8));
    row.profile = Some("0198f2aa of 2026-11-20".to_owned());
    row.verdict = Some(WatchVerdict {
        verdict,
        confidence: Confidence::Likely,
        claim: claim.to_owned(),
        alternatives: vec!["Requests may have stopped to be sequential.".to_owned()],
        advice: vec!["Use 4 requests outstanding instead of 16.".to_owned()],
        observed_ns: 30_000_000_000,
        probabilities: Vec::new(),
    });
    row
}

pub fn data(rows: Vec<WatchRow>) -> WatchData {
    WatchData {
        host: "db7".to_owned(),
        time: "14:03:22 UTC".to_owned(),
        interval: "1.00 s".to_owned(),
        rows,
        hidden: 9,
        context: Context {
            io_some_share: Some(0.123),
            io_full_share: Some(0.02),
            idle_share: Some(0.8),
            steal_share: Some(0.0),
            memory_available_bytes: Some(3 << 30),
            dirty_bytes: Some(30 << 20),
            writeback_bytes: Some(0),
            ..Context::default()
        },
        ..WatchData::default()
    }
}

/// One fast disk with a profile.
pub fn known() -> WatchData {
    let claim = "Requests take 1.4 times what the profile expects at 3.4 in progress: 41.2 µs \
                 against 29.0 µs ±5 %.";
    let row = judged(busy("vda", 82_000.0, 3_000.0, 41_200.0), Verdict::Slow, claim);
    let mut data = data(vec![row]);
    data.profile = Some(super::fast_profile());
    data
}

/// A machine with this many disks, most of them idle, without profiles.
pub fn many(count: usize) -> WatchData {
    let rows = (0..count).map(|index| match index % 50 {
        7 => busy(&format!("sd{index}"), 120.0 + index as f64, 40.0, 9e6),
        _ => busy(&format!("sd{index}"), 0.0, 0.0, 0.0),
    });
    data(rows.collect())
}

pub fn drawn(
    data: &WatchData,
    view: &WatchView,
    (columns, rows): (u16, u16),
    color: bool,
) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let draw = |frame: &mut Frame<'_>| {
        watch_screen(data, view, color, frame.area(), frame.buffer_mut());
    };
    terminal.draw(draw).unwrap().buffer.clone()
}

/// The screen as text, without trailing spaces.
pub fn screen(data: &WatchData, view: &WatchView, size: (u16, u16)) -> String {
    let buffer = drawn(data, view, size, false);
    let lines = buffer.content.chunks(size.0.into()).map(|line| {
        let line: String = line.iter().map(Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

pub fn plain() -> WatchView {
    WatchView::default()
}
