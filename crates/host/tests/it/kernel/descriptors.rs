//! Tests the limit of open files.

use host::kernel::allow_descriptors;
use rustix::process::{Resource, getrlimit};

#[test]
fn more_files_than_the_hard_limit_are_refused_with_limit_and_need() {
    let Some(hard) = getrlimit(Resource::Nofile).maximum else {
        return testkit::skip("more_files_than_the_hard_limit", "open files have no hard limit");
    };
    let error = allow_descriptors(hard + 1).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&hard.to_string()), "{text}");
    assert!(text.contains(&(hard + 1).to_string()) && text.contains("ulimit -n"), "{text}");
    // Already allowed, so nothing changes.
    allow_descriptors(1).unwrap();
}
