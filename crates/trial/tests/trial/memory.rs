//! Tests the rate of memory on machines made of files.

use host::kernel::Roots;
use std::sync::atomic::AtomicBool;
use testkit::Fake;
use trial::memory::measure;

#[test]
fn a_stopped_measurement_has_no_rate() {
    assert_eq!(measure(&Roots::below(Fake::new().root()), &AtomicBool::new(true)), None);
}

#[test]
fn the_rate_of_memory_says_whether_it_includes_caches() {
    let with = |caches: &[(&str, &str)]| {
        let fake = Fake::new();
        // A small buffer.
        fake.proc("meminfo", "MemTotal:  8 kB\nMemAvailable:     1024 kB\n");
        for (path, size) in caches {
            fake.sys(&format!("devices/system/cpu/cpu0/cache/{path}/size"), size);
        }
        let rate = measure(&Roots::below(fake.root()), &AtomicBool::new(false)).unwrap();
        assert!(rate.bytes_per_s.value > 0.0, "{rate:?}");
        rate.method
    };
    assert!(with(&[("index0", "48K\n"), ("index3", "2M\n")]).contains("larger than the caches"));
    let large = with(&[("index3", "105M\n"), ("index0", "48K\n")]);
    assert!(large.contains("10 MiB of data, including hits of a CPU cache of 105 MiB"), "{large}");
    assert!(with(&[]).contains("does not report the size of CPU caches"));
}
