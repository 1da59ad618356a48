//! Tests what the kernel reports about the processor's caches and memory.

use host::kernel::Roots;
use record::{Bytes, ProcessorCache};
use testkit::Fake;
use trial::memory::{available_memory, caches, device_read_bytes, huge_pages};

#[test]
fn data_caches_are_listed_nearest_first_and_instruction_caches_are_not() {
    let fake = Fake::new();
    for (path, content) in [
        ("index0/level", "1\n"),
        ("index0/type", "Data\n"),
        ("index0/size", "48K\n"),
        ("index0/shared_cpu_list", "0,4\n"),
        ("index1/level", "1\n"),
        ("index1/type", "Instruction\n"),
        ("index1/size", "32K\n"),
        ("index3/level", "3\n"),
        ("index3/type", "Unified\n"),
        ("index3/size", "105M\n"),
        ("index3/shared_cpu_list", "0-7\n"),
    ] {
        fake.sys(&format!("devices/system/cpu/cpu0/cache/{path}"), content);
    }
    let expected = [(1, 48 << 10, 2), (3, 105 << 20, 8)]
        .map(|(level, bytes, shared_by)| ProcessorCache { level, bytes: Bytes(bytes), shared_by });
    assert_eq!(caches(&Roots::below(fake.root())), expected);
}

#[test]
fn a_machine_that_tells_nothing_has_no_caches_and_no_figures() {
    let fake = Fake::new();
    let roots = Roots::below(fake.root());
    assert!(caches(&roots).is_empty());
    assert_eq!(huge_pages(&roots), None);
    assert_eq!(available_memory(&roots), None);
    assert_eq!(device_read_bytes(&roots), None);
}

#[test]
fn the_kernels_words_are_read_as_it_prints_them() {
    let fake = Fake::new();
    fake.sys("kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    fake.proc("meminfo", "MemTotal:  8 kB\nMemAvailable:     1024 kB\n");
    fake.proc("self/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 1\n");
    let roots = Roots::below(fake.root());
    assert_eq!(huge_pages(&roots).as_deref(), Some("madvise"));
    assert_eq!(available_memory(&roots), Some(Bytes(1 << 20)));
    assert_eq!(device_read_bytes(&roots), Some(4096));
}
