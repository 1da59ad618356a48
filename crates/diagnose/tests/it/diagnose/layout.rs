//! Tests file layouts: compressed files and fragmented files.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, has_cause, has_doubt, longest, reads, seen,
};
use plan::scenarios::ScenarioLoad;
use record::{
    Bytes, CauseCode, DeviceDiagnosis, Doubt, FileLayout, NoteCode, ObservedPath, Strategy, Traced,
    TracedOp, Verdict,
};

const MIB: u64 = 1 << 20;

fn found(load: ScenarioLoad, layout: FileLayout) -> DeviceDiagnosis {
    found_traced(load, layout, None)
}

/// The same with the tracer's share of sequential requests.
fn found_traced(
    load: ScenarioLoad,
    layout: FileLayout,
    sequential: Option<f64>,
) -> DeviceDiagnosis {
    let mut observation = seen(EIGHT, vec![load], false);
    if sequential.is_some() {
        for interval in &mut observation.intervals {
            let read = TracedOp { sequential_share: sequential, ..TracedOp::default() };
            interval.traced = Some(Box::new(Traced { read, ..Traced::default() }));
        }
    }
    let device = observation.devices[0].name.clone();
    observation.paths.push(ObservedPath {
        path: "/srv/db".to_owned(),
        filesystem: None,
        layout: Some(layout),
        volumes: Vec::new(),
        devices: vec![device],
    });
    diagnosed(&observation, Some(&EIGHT_PROFILE))
}

fn of(bytes: u64, extents: u64, compressed: u64) -> FileLayout {
    let (bytes, compressed_bytes) = (Bytes(bytes), Bytes(compressed));
    FileLayout { files: 1, bytes, extents, compressed_bytes, ..FileLayout::default() }
}

fn advises(device: &DeviceDiagnosis, strategy: Strategy) -> bool {
    device.advice.iter().any(|remedy| remedy.strategy == strategy)
}

fn noted(device: &DeviceDiagnosis) -> bool {
    device.notes.iter().any(|note| note.code == NoteCode::ScatteredFiles)
}

#[test]
fn compressed_files_are_a_cause_beside_the_disk_and_an_alternative_of_what_is_found_in_it() {
    let compressed = of(64 * MIB, 512, 60 * MIB);
    let busy = found(closed(0, 60, 64), compressed);
    assert_eq!(longest(&busy).verdict, Verdict::Overloaded);
    assert!(has_cause(longest(&busy), CauseCode::CompressedFiles), "{:#?}", longest(&busy));
    assert!(has_doubt(longest(&busy), Doubt::CompressedFiles));
    assert!(advises(&busy, Strategy::Uncompressed), "{:#?}", busy.advice);
    let quiet = found(reads(0, 60, 300), compressed);
    assert_eq!(longest(&quiet).verdict, Verdict::NotTheDisk);
    assert!(has_cause(longest(&quiet), CauseCode::CompressedFiles));
    for plain in [of(64 * MIB, 1, 0), of(64 * MIB, 512, 20 * MIB)] {
        let busy = found(closed(0, 60, 64), plain);
        assert!(!has_cause(longest(&busy), CauseCode::CompressedFiles));
        assert!(!has_doubt(longest(&busy), Doubt::CompressedFiles));
        assert!(!advises(&busy, Strategy::Uncompressed));
    }
}

#[test]
fn pieces_as_small_as_the_requests_are_a_cause_and_larger_ones_are_none() {
    // Requests have 4 KiB, and none crosses the end of a piece.
    for (extents, is_cause) in [(64 * 256, true), (64 * 16, false), (2, false), (64 * 1024, false)]
    {
        let busy = found_traced(closed(0, 60, 64), of(64 * MIB, extents, 0), Some(0.4));
        assert_eq!(has_cause(longest(&busy), CauseCode::ScatteredFiles), is_cause, "{extents}");
        assert_eq!(advises(&busy, Strategy::Defragmentation), is_cause, "{extents}");
        assert!(!noted(&busy));
    }
}

#[test]
fn pieces_are_no_cause_without_requests_in_order_and_a_note_where_those_are_unknown() {
    for (sequential, is_noted) in [(Some(0.031), false), (None, true)] {
        let layout = of(64 * MIB, 64 * 256, 0);
        let busy = found_traced(closed(0, 60, 64), layout, sequential);
        assert!(!has_cause(longest(&busy), CauseCode::ScatteredFiles), "{sequential:?}");
        assert!(!advises(&busy, Strategy::Defragmentation), "{sequential:?}");
        assert_eq!(noted(&busy), is_noted, "{sequential:?}");
    }
}
