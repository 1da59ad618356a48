//! Several files combined into one, on every engine.

use crate::common::{BLOCK, drive, engines};
use crate::platform::{NOT_WRITABLE, allow_files, read_only, scratch_file};
use engine::{
    AsRawFile, EngineError, EngineVisitor, OpenEngine, Setup, StripeLayout, StripePlace,
    visit_engine, write_all,
};
use record::{EngineName, OpKind};
use std::fs::File;
use workload::Request;

/// Number of chunk rows in each file.
const ROWS: u64 = 8;

/// Content of byte `offset` of the striped area.
fn pattern(offset: u64) -> u8 {
    (offset / 512 * 31 + offset % 251) as u8
}

/// Files whose stripe contains the pattern.
fn files(count: u64, chunk: u64) -> Vec<File> {
    let file = |index| {
        let file = scratch_file();
        for row in 0..ROWS {
            let start = (row * count + index) * chunk;
            let bytes: Vec<u8> = (start..start + chunk).map(pattern).collect();
            write_all(&file, &bytes, row * chunk).unwrap();
        }
        file
    };
    (0..count).map(file).collect()
}

struct OnStripe<'a> {
    files: &'a [File],
    chunk: u32,
    max_bytes: u32,
    requests: &'a [Request],
    writes: bool,
    each: &'a mut dyn FnMut(Request, i32, &[u8]),
}

impl EngineVisitor for OnStripe<'_> {
    /// The features; `None` if the engine supports fewer transfers than the pieces of all requests.
    type Output = Option<Vec<String>>;
    fn striped(&self) -> bool {
        true
    }
    fn visit<E: OpenEngine>(self) -> Self::Output {
        let files = self.files.iter().map(AsRawFile::as_raw_file).collect();
        let setup = Setup {
            stripe_bytes: Some(self.chunk),
            writes: self.writes,
            data_seed: 3,
            ..Setup::reading(files, 5, self.max_bytes)
        };
        let mut engine = match E::open(&setup) {
            Err(EngineError::TooDeep { asked, available, .. }) if asked > available => return None,
            opened => opened.unwrap(),
        };
        drive(&mut engine, 5, self.requests, |request, completion, data| {
            (self.each)(request, completion.outcome, data);
        });
        Some(engine.features())
    }
}

/// Requests of many lengths and offsets, some across several chunks.
fn requests(area: u64, max_bytes: u64, op: OpKind) -> Vec<Request> {
    (0..200)
        .map(|index: u64| {
            let bytes = 1 + index * 7_919 % max_bytes;
            Request { offset: index * 104_729 % (area - bytes), bytes: bytes as u32, op }
        })
        .collect()
}

#[test]
fn every_engine_reads_a_stripe_as_one_area_in_chunks_of_any_length() {
    for (count, chunk) in [(1, 4_096), (2, 512), (3, 4_096), (4, 12_288), (7, 1_000)] {
        let files = files(count, chunk);
        let reads = requests(count * chunk * ROWS, 20_000.min(chunk * count), OpKind::Read);
        for info in engines() {
            let mut seen = 0;
            let mut each = |request: Request, outcome, data: &[u8]| {
                assert_eq!(outcome, request.bytes as i32, "{:?}", info.name);
                let end = request.offset + u64::from(request.bytes);
                assert!(data.iter().copied().eq((request.offset..end).map(pattern)));
                seen += 1;
            };
            let run = OnStripe {
                files: &files,
                chunk: chunk as u32,
                max_bytes: 20_000,
                requests: &reads,
                writes: false,
                each: &mut each,
            };
            let Some(features) = visit_engine(info.name, run).unwrap() else {
                assert!(info.name == EngineName::Events && chunk < 4_096, "{:?}", info.name);
                continue;
            };
            assert_eq!(seen, 200, "{:?}", info.name);
            assert!(features.iter().any(|line| line.starts_with("striped over")), "{features:?}");
        }
    }
}

#[test]
fn every_engine_writes_a_stripe_where_it_is_read() {
    const AREA: u64 = 3 * 4_096 * ROWS;
    for info in engines() {
        let files = files(3, 4_096);
        let write = [Request { offset: 4_000, bytes: 10_000, op: OpKind::Write }];
        let run = |requests: &[Request], each: &mut dyn FnMut(Request, i32, &[u8])| {
            let (chunk, max_bytes, writes) = (4_096, AREA as u32, true);
            let run = OnStripe { files: &files, chunk, max_bytes, requests, writes, each };
            visit_engine(info.name, run).unwrap();
        };
        run(&write, &mut |_, outcome, _| assert_eq!(outcome, 10_000, "{:?}", info.name));
        let all = [Request { offset: 0, bytes: AREA as u32, op: OpKind::Read }];
        run(&all, &mut |_, outcome, data| {
            assert_eq!(outcome, AREA as i32);
            let changed =
                |(offset, &byte): (usize, &u8)| (byte != pattern(offset as u64)).then_some(offset);
            let changed: Vec<usize> = data.iter().enumerate().filter_map(changed).collect();
            assert!(changed.first().is_some_and(|&at| (4_000..4_100).contains(&at)));
            assert!(changed.last().is_some_and(|&at| (13_900..14_000).contains(&at)));
            assert!(changed.len() > 9_500, "nearly every byte is new: {}", changed.len());
        });
    }
}

#[test]
fn a_striped_request_ends_with_its_first_error_or_the_bytes_up_to_the_first_gap() {
    for info in engines() {
        let mut files = files(3, 4_096);
        // The second file ends within its first chunk.
        files[1].set_len(100).unwrap();
        let whole = Request { offset: 0, bytes: 3 * 4_096, op: OpKind::Read };
        let mut outcomes = Vec::new();
        let mut run = |files: &[File], requests: &[Request], writes| {
            let each = &mut |_: Request, outcome, _: &[u8]| outcomes.push(outcome);
            let (chunk, max_bytes) = (4_096, 3 * BLOCK);
            let run = OnStripe { files, chunk, max_bytes, requests, writes, each };
            visit_engine(info.name, run).unwrap();
        };
        run(&files, &[whole], false);
        files[1].set_len(ROWS * 4_096).unwrap();
        files[1] = read_only(&files[1]);
        run(&files, &[Request { op: OpKind::Write, ..whole }], true);
        assert_eq!(outcomes, [4_096 + 100, NOT_WRITABLE], "{:?}", info.name);
    }
}

#[test]
fn a_stripe_goes_over_more_files_than_a_program_usually_has_open() {
    const FILES: u64 = 1_500;
    allow_files(FILES + 200);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, [7; 4_096]).unwrap();
    let files: Vec<File> = (0..FILES).map(|_| File::open(&path).unwrap()).collect();
    let reads: Vec<Request> = (0..FILES)
        .map(|index| Request { offset: index * 4_096, bytes: BLOCK, op: OpKind::Read })
        .collect();
    for info in engines().filter(|info| info.name != EngineName::Threads) {
        let mut seen = 0;
        let run = OnStripe {
            files: &files,
            chunk: 4_096,
            max_bytes: BLOCK,
            requests: &reads,
            writes: false,
            each: &mut |_, outcome, data| {
                assert!(outcome == BLOCK as i32 && data.iter().all(|&byte| byte == 7));
                seen += 1;
            },
        };
        visit_engine(info.name, run).unwrap();
        assert_eq!(seen, FILES, "{:?}", info.name);
    }
}

#[test]
fn every_byte_has_one_place_and_chunks_go_round() {
    for (chunk, files) in [(512, 1), (512, 2), (4096, 3), (96 << 10, 7), (65_536, 1_000)] {
        let layout = StripeLayout::new(chunk, files);
        let chunk = u64::from(chunk);
        for offset in [0, 1, chunk - 1, chunk, chunk * files as u64, 123_456_789_012, 1 << 52] {
            let (number, within) = (offset / chunk, offset % chunk);
            let expected = StripePlace {
                file: (number % files as u64) as u32,
                offset: number / files as u64 * chunk + within,
                left: (chunk - within) as u32,
            };
            assert_eq!(layout.place(offset), expected, "{layout:?} {offset}");
        }
    }
}
