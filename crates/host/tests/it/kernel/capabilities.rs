//! Tests the list of what a machine can measure.

use host::kernel::{KernelError, Roots, Soaker, SoakerError, capabilities, disk_of};
use record::{Capability, DeviceFacts};
use testkit::Fake;

fn capability(fake: &Fake, name: &str, disk: Option<&DeviceFacts>) -> Capability {
    let all = capabilities(&Roots::below(fake.root()), disk);
    all.into_iter().find(|capability| capability.name == name).unwrap()
}

#[test]
fn the_clock_is_good_only_with_an_invariant_counter_in_use() {
    let fake = Fake::new();
    let current = "devices/system/clocksource/clocksource0/current_clocksource";
    for (flags, source, good) in [
        ("fpu constant_tsc nonstop_tsc", "tsc\n", true),
        ("fpu constant_tsc", "tsc\n", false),
        ("fpu constant_tsc nonstop_tsc", "hpet\n", false),
    ] {
        fake.proc("cpuinfo", &format!("flags\t\t: {flags}\n"));
        fake.sys(current, source);
        assert_eq!(capability(&fake, "invariant clock", None).available, good, "{flags} {source}");
    }
}

#[test]
fn a_limit_in_force_is_named() {
    let fake = Fake::new();
    let disk = DeviceFacts { major_minor: "8:0".to_owned(), ..DeviceFacts::default() };
    let limits = || capability(&fake, "control group limits", Some(&disk));
    assert!(!limits().available);
    fake.proc("self/cgroup", "0::/g\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    assert!(limits().detail.contains("no limit"));
    fake.sys("fs/cgroup/g/io.max", "8:0 riops=50\n");
    assert!(limits().detail.contains("/g riops 50/s"));
}

#[test]
fn counters_that_are_switched_off_are_not_available() {
    let fake = Fake::new();
    fake.proc("diskstats", "8 0 sda 1 0 8 0 5 0 4 0 0 9 0\n");
    let available =
        |disk: Option<&DeviceFacts>| capability(&fake, "device counters", disk).available;
    let disk = |iostats| DeviceFacts {
        disk: "sda".to_owned(),
        iostats: Some(iostats),
        ..DeviceFacts::default()
    };
    assert!(available(Some(&disk(true))));
    assert!(!available(Some(&disk(false))));
    assert!(!available(None));
}

#[test]
fn this_machine_gets_each_entry_once_and_a_remedy_exactly_where_something_is_missing() {
    let directory = tempfile::TempDir::new().unwrap();
    let roots = Roots::default();
    let list = capabilities(&roots, disk_of(&roots, directory.path()).as_ref());
    let names: std::collections::BTreeSet<&str> =
        list.iter().map(|capability| capability.name.as_str()).collect();
    assert_eq!(names.len(), list.len());
    assert_eq!(list.len(), 15);
    for capability in &list {
        assert_eq!(capability.available, capability.remedy.is_empty(), "{capability:?}");
        assert!(!capability.detail.is_empty(), "{capability:?}");
    }
}

#[test]
fn a_machine_that_names_no_processor_is_an_error_that_says_so() {
    let fake = Fake::new();
    let outcome = Soaker::start(&Roots::below(fake.root()));
    assert!(matches!(outcome, Err(SoakerError::NoProcessor)));
}

#[test]
fn a_message_names_the_path_escaped_the_cause_and_a_remedy() {
    let path = std::path::Path::new("/a\x1b[31m");
    let text = KernelError::system("open", path, rustix::io::Errno::NOENT).to_string();
    assert!(text.contains("\\u{1b}") && !text.contains('\x1b'), "{text}");
    assert!(text.ends_with("No such file or directory; check the path"), "{text}");
}
