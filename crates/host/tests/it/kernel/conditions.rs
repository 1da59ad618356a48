//! Tests the conditions of a measurement, on machines made of files.

use host::kernel::{Roots, environment, environment_findings};
use record::LimitedIo;
use record::{Bytes, CgroupLimit, Environment};
use testkit::Fake;

fn machine() -> Fake {
    let fake = Fake::new();
    fake.proc("sys/kernel/osrelease", "6.8.0-test\n");
    fake.proc("cpuinfo", "processor\t: 0\nmodel name\t: ACME 3000\nflags\t\t: fpu tsc\n");
    fake.proc("self/status", "Name:\tx\nCpus_allowed_list:\t0-2,5\n");
    fake.proc("meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
    let clocks = "devices/system/clocksource/clocksource0";
    fake.sys(&format!("{clocks}/current_clocksource"), "tsc\n");
    fake.sys(&format!("{clocks}/available_clocksource"), "tsc hpet\n");
    fake
}

#[test]
fn the_conditions_are_read_from_the_given_trees() {
    let fake = machine();
    fake.sys("devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    fake.sys("devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    fake.sys("devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
    let read = environment(&Roots::below(fake.root()), None);
    assert_eq!(read.kernel, "6.8.0-test");
    assert_eq!(read.cpu, "ACME 3000");
    assert_eq!(read.cpus, 4);
    assert_eq!(read.memory_bytes, Bytes(2 << 20));
    assert_eq!(read.governor.as_deref(), Some("performance, powersave"));
    assert_eq!(read.virtualization, None);
    assert_eq!(read.clocksource.as_deref(), Some("tsc"));
}

#[test]
fn a_hypervisor_is_named_by_firmware_then_clock_then_not_at_all() {
    let fake = machine();
    let name = || environment(&Roots::below(fake.root()), None).virtualization;
    fake.proc("cpuinfo", "flags : fpu hypervisor tsc\n");
    assert_eq!(name().as_deref(), Some("unknown hypervisor"));
    fake.sys("devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock\n");
    assert_eq!(name().as_deref(), Some("KVM"));
    fake.sys("class/dmi/id/sys_vendor", "VMware, Inc.\n");
    assert_eq!(name().as_deref(), Some("VMware"));
    fake.sys("hypervisor/type", "xen\n");
    assert_eq!(name().as_deref(), Some("xen"));
}

#[test]
fn an_arm_machine_has_its_core_by_number_and_its_hypervisor_by_the_firmware_alone() {
    let fake = machine();
    let read = || environment(&Roots::below(fake.root()), None);
    fake.proc("cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
    let known = read();
    assert_eq!((known.cpu.as_str(), known.virtualization), ("Arm Neoverse-N1", None));
    fake.proc("cpuinfo", "CPU implementer\t: 0x48\nCPU part\t: 0xd01\n");
    assert_eq!(read().cpu, "aarch64, implementer 0x48, part 0xd01");
    for (vendor, product, virtualization) in [
        ("QEMU", "KVM Virtual Machine", Some("KVM or QEMU")),
        ("Amazon EC2", "m7g.large", Some("Amazon EC2")),
        ("Amazon EC2", "m7g.metal", None),
        ("Microsoft Corporation", "Virtual Machine", Some("Hyper-V")),
        ("Microsoft Corporation", "Surface Pro X", None),
        ("ACME", "Board", None),
    ] {
        fake.sys("class/dmi/id/sys_vendor", &format!("{vendor}\n"));
        fake.sys("class/dmi/id/product_name", &format!("{product}\n"));
        assert_eq!(read().virtualization.as_deref(), virtualization, "{vendor} {product}");
    }
}

#[test]
fn a_machine_that_tells_nothing_gives_empty_facts_and_no_governor() {
    let read = environment(&Roots::below(Fake::new().root()), None);
    assert_eq!(read, Environment::default());
}

#[test]
fn a_limit_of_a_control_group_is_a_finding_in_its_own_unit() {
    let limit = |limited| CgroupLimit {
        group: "/g".to_owned(),
        limited,
        major_minor: "8:0".to_owned(),
        limit_per_s: 2_000_000,
    };
    let environment = Environment {
        cgroup_limits: vec![limit(LimitedIo::Rbps), limit(LimitedIo::Wiops)],
        ..Environment::default()
    };
    let findings = environment_findings(&environment);
    assert!(findings[0].claim.contains("reads") && findings[0].claim.contains("2.00 MB/s"));
    assert!(findings[1].claim.contains("writes") && findings[1].claim.contains("2.00M IOPS"));
    assert_eq!(environment_findings(&Environment::default()), []);
}

#[test]
fn processor_lists_are_counted_and_nonsense_is_left_out() {
    let fake = Fake::new();
    for (list, cpus) in [("0-3,8", 5), ("(null)", 0), ("", 0)] {
        fake.proc("self/status", &format!("Cpus_allowed_list:\t{list}\n"));
        assert_eq!(environment(&Roots::below(fake.root()), None).cpus, cpus, "{list:?}");
    }
}
