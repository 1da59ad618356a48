//! Tests flash drives under the worker: unwritten areas, the limiting component, a falling rate, and writes
//! through all caches.

use crate::common::{has, simulated};
use record::{Bytes, CacheMode, FindingCode, Nanos, Pattern, SizeShare, Trial};
use workload::Spec;

const SECOND: u64 = 1_000_000_000;

/// Random 4 KiB requests at queue depth 32 for two seconds, with this percentage of reads.
fn run(device: &str, read_percent: u8, change: impl FnOnce(&mut Spec)) -> Trial {
    simulated(device, |spec| {
        spec.asked.read_percent = read_percent;
        spec.asked.iodepth = 32;
        spec.asked.runtime_ns = Nanos(2 * SECOND);
        change(spec);
    })
}

fn busy_share(trial: &Trial, name: &str) -> f64 {
    let parts = &trial.result.components;
    parts.iter().find(|part| part.name == name).map(|part| part.busy_share).unwrap()
}

#[test]
fn reading_what_was_never_written_measures_the_controller_and_not_the_flash() {
    let fresh = run("nvme-ssd,preconditioned=fresh", 100, |_| ());
    let written = run("nvme-ssd", 100, |_| ());
    assert!(fresh.iops() > 1.8 * written.iops(), "{} {}", fresh.iops(), written.iops());
    assert_eq!(busy_share(&fresh, "flash dies"), 0.0);
    assert!(busy_share(&fresh, "controller") > 0.99);
    assert!(busy_share(&written, "flash dies") > 0.3);
}

#[test]
fn the_part_that_binds_is_the_one_that_is_busy() {
    let in_order = |spec: &mut Spec| {
        spec.asked.pattern = Pattern::Sequential;
        spec.asked.bs = vec![SizeShare { bytes: Bytes(128 << 10), percent: 100 }];
    };
    assert!(busy_share(&run("sata-ssd", 100, in_order), "link") > 0.99);
    assert!(busy_share(&run("sata-ssd", 100, |_| ()), "controller") > 0.99);
    let worn = run("sata-ssd,size=1g,preconditioned=random", 0, |_| ());
    assert!(busy_share(&worn, "flash dies") > 0.95);
    assert!(busy_share(&worn, "link") < 0.2);
}

#[test]
fn a_drive_whose_spare_blocks_run_out_in_the_run_is_not_steady_and_one_long_overwritten_is() {
    // Spare blocks for 70 MiB at 90,000 units per second: a fifth of a second.
    let lasting = |ms: u64| move |spec: &mut Spec| spec.asked.runtime_ns = Nanos(ms * 1_000_000);
    let falls = run("sata-ssd,size=1g", 0, lasting(350));
    assert!(has(&falls, FindingCode::NotSteady), "{:?}", falls.result.series.ios);
    for ms in [350, 10_000] {
        let worn = run("sata-ssd,size=1g,preconditioned=random", 0, lasting(ms));
        assert!(!has(&worn, FindingCode::NotSteady), "{:?}", worn.findings);
    }
}

#[test]
fn a_write_through_all_caches_takes_a_program_unless_the_buffer_survives_a_loss_of_power() {
    let mean_us = |device: &str, cache: CacheMode| {
        let trial = run(device, 0, |spec| {
            spec.asked.cache = cache;
            spec.asked.iodepth = 1;
        });
        trial.result.write.unwrap().latency_ns.unwrap().mean / 1e3
    };
    let buffered_us = mean_us("nvme-ssd", CacheMode::Device);
    let forced_us = mean_us("nvme-ssd", CacheMode::None);
    let safe_us = mean_us("nvme-ssd,plp=on", CacheMode::None);
    assert!(buffered_us < 20.0 && forced_us > 658.0, "{buffered_us} {forced_us}");
    assert_eq!(safe_us, buffered_us);
}
