//! Engines on a system that has run out of a resource: the error names the resource and a remedy.

use crate::common::{BLOCK, engines, patterned_file, setup};
use engine::{EngineVisitor, OpenEngine, visit_engine};
use record::EngineName;
use std::fs::File;
use testkit::{is_child, passes_in_child};

struct Open<'a>(&'a File, u32);

impl EngineVisitor for Open<'_> {
    type Output = Result<(), String>;
    fn visit<E: OpenEngine>(self) -> Self::Output {
        let setup = engine::Setup { max_bytes: BLOCK, ..setup(self.0, self.1, false) };
        E::open(&setup).map(drop).map_err(|error| error.to_string())
    }
}

#[test]
fn without_a_descriptor_left_engines_open_or_name_the_limit() {
    const TEST: &str = "linux::limits::without_a_descriptor_left_engines_open_or_name_the_limit";
    if !is_child() {
        passes_in_child(TEST, &["prlimit", "--nofile=64:64"]);
        return;
    }
    let file = patterned_file();
    let held: Vec<File> = (0..64).map_while(|_| File::open("/dev/null").ok()).collect();
    assert!(held.len() < 64);
    for info in engines() {
        let outcome = visit_engine(info.name, Open(&file, 4)).unwrap();
        let refused = outcome.is_err();
        assert!(
            outcome.map_or_else(|text| text.contains("ulimit -n"), |()| true),
            "{:?}",
            info.name
        );
        assert!(refused || info.name != EngineName::IoUring, "a ring is a descriptor");
    }
}

#[test]
fn without_memory_for_it_no_engine_opens_and_each_says_what_to_do() {
    const TEST: &str =
        "linux::limits::without_memory_for_it_no_engine_opens_and_each_says_what_to_do";
    if !is_child() {
        passes_in_child(TEST, &["prlimit", "--as=1000000000:1000000000"]);
        return;
    }
    let file = patterned_file();
    for info in engines() {
        let outcome = visit_engine(info.name, Open(&file, 500_000)).unwrap();
        assert!(outcome.is_err_and(|text| text.contains("--iodepth")), "{:?}", info.name);
    }
}

#[test]
fn more_requests_than_the_system_has_events_for_are_refused_with_the_limit() {
    let file = patterned_file();
    let limit = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap();
    let limit: u32 = limit.trim().parse().unwrap();
    if limit > 1_000_000 {
        let name = "more_requests_than_the_system_has_events_for";
        return testkit::skip(name, "fs.aio-max-nr is too large to exceed");
    }
    let outcome = visit_engine(EngineName::Libaio, Open(&file, limit + 1)).unwrap();
    assert!(outcome.is_err_and(|text| text.contains("fs.aio-max-nr")));
}
