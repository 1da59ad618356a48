//! Tests where paths printed by the kernel are found.

use host::kernel::Roots;
use std::path::Path;

#[test]
fn printed_paths_are_found_under_the_given_roots() {
    let roots = Roots { proc: "/f/p".into(), sys: "/f/s".into(), dev: "/f/d".into() };
    assert_eq!(roots.locate(Path::new("/sys/fs/cgroup")), Path::new("/f/s/fs/cgroup"));
    assert_eq!(roots.locate(Path::new("/dev")), Path::new("/f/d"));
    assert_eq!(roots.locate(Path::new("/devices")), Path::new("/devices"));
}
