//! Tests the processors that a run may use, and their clock.

use engine::{Probe, Processors};
use host::kernel::{RealProbe, Roots};
use testkit::Fake;

fn machine(cpus: &str) -> Fake {
    let fake = Fake::new();
    fake.proc("self/status", &format!("Cpus_allowed_list:\t{cpus}\n"));
    fake.sys("devices/system/cpu/online", &format!("{cpus}\n"));
    fake
}

fn processors(fake: &Fake) -> Processors {
    RealProbe::new(Roots::below(fake.root()), &[]).facts().processors
}

#[test]
fn a_quota_counts_as_that_many_processors() {
    let fake = machine("0-3");
    assert_eq!(processors(&fake).usable, 4.0);
    fake.proc("self/cgroup", "0::/a/b\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    fake.sys("fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_eq!(processors(&fake).usable, 4.0);
    fake.sys("fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_eq!(processors(&fake).usable, 1.5);
    fake.sys("fs/cgroup/a/b/cpu.max", "50000 100000\n");
    assert_eq!(processors(&fake).usable, 0.5);
}

#[test]
fn version_1_quotas_count_too_and_minus_one_is_none() {
    let fake = machine("0-3");
    fake.proc("self/cgroup", "3:cpu,cpuacct:/g\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup/cpu rw - cgroup c rw,cpu,cpuacct\n");
    fake.sys("fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
    fake.sys("fs/cgroup/cpu/g/cpu.cfs_quota_us", "-1\n");
    assert_eq!(processors(&fake).usable, 4.0);
    fake.sys("fs/cgroup/cpu/g/cpu.cfs_quota_us", "200000\n");
    assert_eq!(processors(&fake).usable, 2.0);
}

#[test]
fn the_clock_in_use_comes_before_the_nominal_one_and_says_where_from() {
    let fake = machine("0-1");
    assert_eq!(processors(&fake).clock, None);
    fake.proc("cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2400.125\n");
    let nominal = processors(&fake).clock.unwrap();
    assert_eq!((nominal.hz, nominal.source.as_str()), (2_400_125_000.0, "cpuinfo"));
    fake.sys("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000\n");
    fake.sys("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3100000\n");
    let in_use = processors(&fake).clock.unwrap();
    assert_eq!((in_use.hz, in_use.source.as_str()), (3.1e9, "cpufreq"));
}
