//! Tests what a soaker reads on a machine made of files.

use host::kernel::read::{field, text};
use host::kernel::{Roots, Soaker};
use std::path::Path;
use testkit::Fake;

/// The first processor of this machine that this process may use.
fn own_processor() -> u32 {
    let status = text(Path::new("/proc/self/status")).unwrap();
    let list = field(&status, "Cpus_allowed_list").unwrap();
    list.split([',', '-']).next().unwrap().parse().unwrap()
}

/// A machine on which this process may use one processor.
fn machine(own: u32) -> Fake {
    let fake = Fake::new();
    fake.proc("self/status", &format!("Cpus_allowed_list:\t{own}\n"));
    fake
}

#[test]
fn each_cause_of_doubt_is_named_and_a_plain_machine_has_none() {
    let own = own_processor();
    let fake = machine(own);
    fake.sys("devices/system/cpu/online", &format!("{own}\n"));
    let soaker = Soaker::start(&Roots::below(fake.root())).unwrap();
    assert_eq!(soaker.doubts(), Vec::<String>::new());
    fake.sys("devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    fake.sys("devices/system/cpu/intel_pstate/no_turbo", "1\n");
    fake.sys("devices/system/cpu/smt/active", "0\n");
    assert_eq!(soaker.doubts(), Vec::<String>::new());
    let other = own + 1;
    fake.sys("devices/system/cpu/online", &format!("{own}-{other}\n"));
    fake.sys("devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n");
    fake.sys("devices/system/cpu/intel_pstate/no_turbo", "0\n");
    fake.sys("devices/system/cpu/smt/active", "1\n");
    fake.sys("devices/system/cpu/isolated", "1\n");
    fake.proc("self/cgroup", "0::/a\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    fake.sys("fs/cgroup/a/cpu.max", "50000 100000\n");
    let all = soaker.doubts().join("; ");
    let unseen = format!("not counted ({other})");
    for part in ["schedutil", "boost", "SMT", unseen.as_str(), "isolated", "0.50 CPUs"] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn the_kernel_s_account_is_read_as_shares_of_all_time() {
    let fake = machine(own_processor());
    fake.proc("stat", "cpu  10 20 30 1000 100 4 6 50 7 0\n");
    let soaker = Soaker::start(&Roots::below(fake.root())).unwrap();
    let before = soaker.reading();
    fake.proc("stat", "cpu  30 20 60 1020 110 9 11 60 7 0\n");
    let kernel = soaker.reading().since(&before).kernel().unwrap();
    assert_eq!((kernel.idle, kernel.interrupts, kernel.steal), (0.3, 0.1, 0.1));
    fake.proc("stat", "cpu  1 2 3\n");
    assert_eq!(soaker.reading().since(&before).kernel(), None);
}
