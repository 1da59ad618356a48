//! The handles that engines open for themselves, and the limits of their system calls.

use super::scratch_file_with;
use crate::common::{BLOCK, LENGTH, engines, fill, patterned_file, setup};
use crate::conformance::{ReadAll, random_reads};
use engine::{AsRawFile, EngineVisitor, OpenEngine, OwnedFile, visit_engine};
use record::EngineName;
use std::fs::File;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED, FILE_FLAG_WRITE_THROUGH,
};

#[test]
fn every_engine_reads_past_the_cache_and_through_a_handle_of_either_kind() {
    for flags in [FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH, FILE_FLAG_OVERLAPPED] {
        let file = scratch_file_with(flags);
        fill_aligned(&file);
        let (requests, expected) = random_reads(&patterned_file());
        for info in engines() {
            let read = visit_engine(info.name, ReadAll(&file, 8, &requests)).unwrap();
            assert_eq!(read, (500 * u64::from(BLOCK), expected), "{:?}", info.name);
        }
    }
}

/// Like [`fill`], from memory that is aligned for direct I/O.
fn fill_aligned(file: &File) {
    let pattern = patterned_file();
    fill(&pattern).unwrap();
    let bytes = crate::common::content(&pattern);
    let mut memory = vec![0u8; bytes.len() + BLOCK as usize];
    let start = memory.as_ptr().align_offset(BLOCK as usize);
    memory[start..start + bytes.len()].copy_from_slice(&bytes);
    engine::write_all(file, &memory[start..start + bytes.len()], 0).unwrap();
}

struct Open<'a>(&'a File, u32);

impl EngineVisitor for Open<'_> {
    type Output = Result<(), String>;
    fn visit<E: OpenEngine>(self) -> Self::Output {
        E::open(&setup(self.0, self.1, false)).map(drop).map_err(|error| error.to_string())
    }
}

#[test]
fn one_wait_takes_64_events_and_more_are_refused_with_what_to_do() {
    let file = patterned_file();
    visit_engine(EngineName::Events, Open(&file, 64)).unwrap().unwrap();
    let refusal = visit_engine(EngineName::Events, Open(&file, 65)).unwrap().unwrap_err();
    assert!(refusal.contains("at most 64") && refusal.contains("--numjobs"), "{refusal}");
    visit_engine(EngineName::Iocp, Open(&file, 65)).unwrap().unwrap();
}

#[test]
fn what_is_written_beside_the_engines_is_read_back_through_an_owned_file() {
    let file = OwnedFile::from(patterned_file());
    let again = file.try_clone().unwrap();
    engine::write_all(&file, &[7; 100], LENGTH - 50).unwrap();
    let mut bytes = [0; 200];
    assert_eq!(engine::read_up_to_end(&again, &mut bytes, LENGTH - 50).unwrap(), 100);
    assert!(bytes[..100].iter().all(|&byte| byte == 7));
    assert!(engine::read_all(&file, &mut bytes, LENGTH).is_err());
    assert_eq!(again.as_raw_file(), again.as_raw_file());
}
