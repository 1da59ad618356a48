//! Open loads on a device with occasional stalls: the stalls are spread over all loads.

use crate::model::synthetic;
use record::{Arrival, Cell, Estimate, MedianVisit, OpKind, Pattern, Workload};

/// Mean and median over visits.
fn of_visits(visits: &[f64]) -> (f64, f64) {
    (visits.iter().sum::<f64>() / visits.len() as f64, stats::median(visits.to_vec()))
}

/// A load with half writes, from the read and write latencies of its visits.
fn load(at: u64, reads: &[f64], writes: &[f64]) -> Cell {
    let both: Vec<f64> = reads.iter().zip(writes).map(|(a, b)| (a + b) / 2.0).collect();
    let ((all, middle), (read, middle_read), (write, middle_write)) =
        (of_visits(&both), of_visits(reads), of_visits(writes));
    let workload = Workload {
        read_percent: 50,
        arrival: Arrival::Poisson,
        rate_iops: Some(100 + at),
        ..synthetic::workload(OpKind::Read, Pattern::Random, 4096, 256)
    };
    Cell {
        latency_ns: Estimate::symmetric(all, 0.1 * all, u32::try_from(reads.len()).unwrap()),
        read_latency_ns: Some(read),
        write_latency_ns: Some(write),
        median_visit: Some(MedianVisit {
            latency_ns: middle,
            read_latency_ns: Some(middle_read),
            write_latency_ns: Some(middle_write),
        }),
        ..synthetic::cell(workload, 100.0, all)
    }
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn stalls_that_hit_some_loads_are_shared_by_all() {
    // Every fourth load met a stall: its mean is 1.8 times that of the others, by chance.
    let loads: Vec<Cell> = (0..40)
        .map(|at| {
            let stalled = if at % 4 == 0 { 5.0 } else { 1.0 };
            let times = [1.0, 1.0, stalled, 1.0, 1.0];
            load(at, &times.map(|time| time * 1e6), &times.map(|time| time * 3e6))
        })
        .collect();
    let found = model::open_loads(&loads);
    assert_eq!(found.len(), 40);
    // A quarter of the loads, 0.8 above; one load is left out at each end.
    found.iter().for_each(|load| close(load.latency_ns, 2e6 * (1.0 + 0.8 * 9.0 / 38.0)));
}

#[test]
fn writes_that_wait_for_garbage_do_not_slow_reads() {
    let loads: Vec<Cell> = (0..12).map(|at| load(at, &[1e5; 3], &[1e5, 1e5, 4e5])).collect();
    // Reads of 100 us and writes of 200.
    model::open_loads(&loads).iter().for_each(|load| close(load.latency_ns, 1.5e5));
}

#[test]
fn few_loads_and_few_visits_are_taken_as_they_were_measured() {
    let loads = |count| -> Vec<Cell> {
        (0..count).map(|at| load(at, &[1e6, 1e6, 2e6], &[3e6, 3e6, 4e6])).collect()
    };
    for load in model::open_loads(&loads(7)) {
        close(load.latency_ns, load.cell.latency_ns.value);
    }
    let mut many = loads(20);
    many[0].median_visit = None;
    let found = model::open_loads(&many);
    close(found[0].latency_ns, many[0].latency_ns.value);
    close(found[1].latency_ns, 2e6 + 1e6 / 3.0);
}
