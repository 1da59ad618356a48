//! Engines with direct I/O.

use crate::common::{BLOCK, engines, fill, setup};
use crate::conformance::{ReadAll, random_reads};
use engine::{EngineVisitor, OpenEngine, visit_engine};
use record::CacheMode;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use testkit::requires;

struct Refused<'a>(&'a File);

impl EngineVisitor for Refused<'_> {
    type Output = Option<String>;
    fn visit<E: OpenEngine>(self) -> Option<String> {
        E::open(&setup(self.0, 1, false)).err().map(|error| error.to_string())
    }
}

#[test]
fn every_engine_reads_past_the_page_cache_or_its_table_line_says_that_it_cannot() {
    requires!(Disk);
    let folder = testkit::disk_folder().unwrap();
    let path = folder.path().join("data");
    let buffered = File::create_new(&path).unwrap();
    fill(&buffered).unwrap();
    buffered.sync_all().unwrap();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path).unwrap();
    let (requests, expected) = random_reads(&File::open(&path).unwrap());
    for info in engines() {
        if info.caches.contains(&CacheMode::Device) {
            let read = visit_engine(info.name, ReadAll(&file, 8, &requests)).unwrap();
            assert_eq!(read, (500 * u64::from(BLOCK), expected), "{:?}", info.name);
        } else {
            let refusal = visit_engine(info.name, Refused(&file)).unwrap();
            assert!(refusal.is_some_and(|text| text.contains("--cache all")), "{:?}", info.name);
        }
    }
}
