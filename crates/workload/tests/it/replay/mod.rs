//! Reads recordings of other tools through the crate's public interface, from texts as those tools write
//! them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod summaries;

use record::{Nanos, OpKind, RecordedRequest, Replay};
use workload::replay::{read, time_unit, times_taken, write_iolog};

/// Time in µs, read or write, offset, bytes, device.
type Short = (u64, char, u64, u32, u16);

fn short(replay: &Replay) -> Vec<Short> {
    let one = |it: &RecordedRequest| {
        let op = if it.op == OpKind::Read { 'r' } else { 'w' };
        (it.at.0 / 1_000, op, it.offset, it.bytes, it.device)
    };
    replay.recorded.0.iter().map(one).collect()
}

#[track_caller]
fn wrong(text: &str, words: &str) {
    let error = read(text, None).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_log_of_fio_has_its_requests_at_their_times_from_the_first_on() {
    let text = "fio version 3 iolog\n36 /d/x add\n181 /d/x open\n186 /d/x read 249856 4096\n\
                464 /d/x write 3104768 8192\n470 /d/x sync 0 0\n500 /d/x trim 0 4096\n\
                10168 /d/x read 3534848 4096\n160565 /d/x close\n";
    let replay = read(text, None).unwrap();
    let expected = [
        (0, 'r', 249_856, 4_096, 0),
        (278, 'w', 3_104_768, 8_192, 0),
        (9_982, 'r', 3_534_848, 4_096, 0),
    ];
    assert_eq!(short(&replay), expected);
    assert_eq!((replay.requests, replay.bytes.0), (3, 16_384));
    assert_eq!((replay.flushes_left_out, replay.discards_left_out), (1, 1));
    let (flush, discard) = (replay.flushes.0[0], replay.discards.0[0]);
    assert_eq!((flush.at, flush.offset, flush.bytes), (Nanos(284_000), 0, 0));
    assert_eq!((discard.at, discard.offset, discard.bytes), (Nanos(314_000), 0, 4_096));
    assert_eq!((replay.devices, replay.end()), (1, 3_538_944));
    assert_eq!(replay.span_ns, Nanos(9_982_000));
}

#[test]
fn a_log_without_times_has_its_waits_and_two_files_are_two_devices() {
    let text = "fio version 2 iolog\n/a add\n/b add\n/c add\n/a open\n/b open\n/b read 0 512\n\
                /a wait 1500\n/a write 512 1024\n/a wait 500\n/b read 512 512\n";
    let replay = read(text, None).unwrap();
    let expected = [(0, 'r', 0, 512, 1), (1_500, 'w', 512, 1_024, 0), (2_000, 'r', 512, 512, 1)];
    assert_eq!(short(&replay), expected);
    // The third file was never used.
    assert_eq!(replay.devices, 2);
}

#[test]
fn of_what_blkparse_prints_the_queue_events_are_the_requests() {
    let text = "\
  8,0    3        1     0.000000000   697  Q   R 2048 + 8 [fio]
  8,0    3        2     0.000001829   697  G   R 2048 + 8 [fio]
  8,0    3        5     0.000007012   697  D   R 2048 + 8 [fio]
  8,0    1        6     0.000300000     0  C   R 2048 + 8 [0]
  8,0    3        7     0.001000500   697  Q  WS 4096 + 16 [kjournald]
  8,0    3        8     0.001100000   697  Q FWFS 5000 + 8 [kjournald]
  8,0    3        9     0.001200000   697  Q   D 6000 + 800 [fstrim]
  8,0    3       10     0.001300000   697  Q   N [smartd]
  8,0    3       11     0.001400000   697  Q  FN [kjournald]
CPU3 (sda):
 Reads Queued:           1,        4KiB  Writes Queued:           2,       12KiB
";
    let replay = read(text, None).unwrap();
    let expected = [
        (0, 'r', 1 << 20, 4_096, 0),
        (1_000, 'w', 1 << 21, 8_192, 0),
        (1_100, 'w', 2_560_000, 4_096, 0),
    ];
    assert_eq!(short(&replay), expected);
    assert_eq!((replay.flushes_left_out, replay.discards_left_out), (2, 1));
    let flushes: Vec<u64> = replay.flushes.0.iter().map(|it| it.at.0).collect();
    assert_eq!(flushes, [1_100_000, 1_400_000]);
    assert_eq!((replay.discards.0[0].offset, replay.discards.0[0].bytes), (3_072_000, 409_600));
    // Without them, the issue events are used.
    let issued: String = text
        .lines()
        .filter(|line| !line.contains(" Q "))
        .fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(short(&read(&issued, None).unwrap()), [(0, 'r', 1 << 20, 4_096, 0)]);
}

#[test]
fn a_trace_of_disksim_is_in_milliseconds_and_blocks_and_sorted() {
    let text = "0.5 0 100 8 1\n2.25 1 16 16 0\n1.75 0 108 8 0x1\n";
    let expected =
        [(0, 'r', 51_200, 4_096, 0), (1_250, 'r', 55_296, 4_096, 0), (1_750, 'w', 8_192, 8_192, 1)];
    assert_eq!(short(&read(text, None).unwrap()), expected);
}

#[test]
fn a_discard_of_any_length_comes_in_pieces_that_are_requests() {
    let long = 3_u64 << 30;
    let head = "fio version 3 iolog\n0 /x add\n0 /x open\n";
    let text = format!("{head}500 /x trim 4096 {long}\n900 /x read 0 4096\n");
    let replay = read(&text, None).unwrap();
    let pieces: Vec<(u64, u32)> =
        replay.discards.0.iter().map(|it| (it.offset, it.bytes)).collect();
    let piece = 1_u64 << 30;
    let expected: Vec<(u64, u32)> = (0..3).map(|at| (4_096 + at * piece, 1 << 30)).collect();
    assert_eq!(pieces, expected);
    // The discard came first, so the times are relative to it.
    assert_eq!((replay.discards.0[0].at, replay.recorded.0[0].at), (Nanos(0), Nanos(400_000)));
    assert_eq!((replay.end(), replay.reach()), (4_096, 4_096 + long));
    wrong(&format!("{head}900 /x read 0 {long}\n"), "a request cannot have 3221225472 bytes");
}

#[test]
fn what_is_written_is_read_again_and_has_the_same_digest() {
    let request =
        |at, offset, op| RecordedRequest { at: Nanos(at), offset, bytes: 4_096, op, device: 0 };
    let all = vec![request(0, 0, OpKind::Read), request(7_000, 8_192, OpKind::Write)];
    let flush = RecordedRequest { bytes: 0, ..request(2_000, 0, OpKind::Write) };
    let discard = request(4_000, 4_096, OpKind::Write);
    let whole = Replay::of(all.clone()).with(vec![flush], vec![discard], (0, 0));
    let text = write_iolog(&whole, &["/dev/sdb".to_owned()]);
    let again = read(&text, None).unwrap();
    assert_eq!(*again.recorded.0, all);
    assert_eq!((&*again.flushes.0, &*again.discards.0), (&vec![flush], &vec![discard]));
    assert_eq!(again.digest, Replay::of(all.clone()).digest);
    let other = vec![all[0], request(8_000, 8_192, OpKind::Write)];
    assert_ne!(again.digest, Replay::of(other).digest);
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_column() {
    wrong("", "is not the start of a known recording");
    wrong("hello world\n", "\"hello world\" is not the start of a known recording");
    wrong("fio version 4 iolog\n", "line 1, column 1: \"fio version 4 iolog\"");
    let log = |line: &str| format!("fio version 3 iolog\n0 /x add\n{line}\n");
    wrong(&log("5 /x read 0"), "line 3, column 12: the length is missing");
    wrong(&log("5 /x read 0 zero"), "line 3, column 13: the length is \"zero\"");
    wrong(&log("5 /x read 0 0"), "line 3, column 13: a request cannot have 0 bytes");
    wrong(
        &log("5 /y read 0 512"),
        "line 3, column 3: the file \"/y\" was not added by an earlier line",
    );
    wrong(&log("5 /x read 0 512 more"), "line 3, column 17: unexpected \"more\" after the length");
    wrong(&log("5.0000000001x /x read 0 512"), "not a time");
    wrong(
        "8,0 3 1 0.0 697 Q R 2048 + 8 [a]\ngarbage in it\n",
        "line 2, column 1: \"garbage\" is not a device",
    );
    wrong("0.0 0 36028797018963967 8 1\n", "line 1, column 7: the block is larger than any device");
    wrong(&log("5 /x rewind"), "line 3, column 6: \"rewind\" is not an action");
    wrong(&log("x /x read 0 512"), "line 3, column 1: the time is \"x\"");
    wrong(&log("5 /x close"), "no reads and no writes");
    wrong(&log("5 /x read 18446744073709551615 512"), "line 3, column 32");
    wrong("8,0 3 1 0.0 697 Q R 2048 8 [fio]\n", "line 1, column 26: a plus is missing");
    wrong("8,0 3 1 0.0 697 Q R 2048\n", "a plus is missing");
    wrong(
        "8,0 3 1 0.0 697 I R 2048 + 8 [fio]\n",
        "the recording contains no reads and no writes (events Q, D or C)",
    );
    wrong("0.5 0 100 8 1\n0.7 0 100 8\n", "line 2, column 12: the field of flags is missing");
    wrong("0.5 0 100 0 1\n", "line 1, column 11: a request cannot have this number of blocks");
}

/// A trace in DiskSim's columns with equal gaps.
fn spaced(gap: u64) -> String {
    (0..50).map(|at| format!("{} 0 8 8 1\n", 1_000 + at * gap)).collect()
}

#[test]
fn the_unit_of_whole_numbers_follows_from_their_gaps_and_can_be_named() {
    let span = |text: &str, unit| read(text, unit).unwrap().span_ns.0;
    // 7,000 requests per second. With milliseconds it would be one request in two minutes.
    assert_eq!(span(&spaced(140_000), None), 49 * 140_000);
    assert_eq!(span(&spaced(1_500), None), 49 * 1_500_000);
    assert_eq!(span(&spaced(100), None), 49 * 100_000_000);
    // DiskSim itself writes milliseconds with a fraction.
    assert_eq!(span("0.5 0 8 8 1\n900000.5 0 8 8 1\n", None), 900_000_000_000);
    assert_eq!(time_unit("us"), Some(1_000));
    assert_eq!(span(&spaced(140_000), time_unit("us")), 49 * 140_000_000);
    let said = |text: &str, unit| times_taken(text, unit).unwrap().unwrap_or_default();
    assert!(said(&spaced(140_000), None).starts_with("times are read in ns, chosen from the gaps"));
    assert!(
        said(&spaced(140_000), time_unit("s")).starts_with("times are read in s, as you specified")
    );
    assert_eq!(said("fio version 3 iolog\n", None), "");
}

#[test]
fn published_block_traces_are_read_with_their_own_units() {
    let of = |text: &str| short(&read(text, None).unwrap());
    let msr = "128166372003061629,hm,0,Read,383496192,32768,413\n\
               128166372003071629,hm,1,Write,4096,512,1265\n";
    assert_eq!(of(msr), [(0, 'r', 383_496_192, 32_768, 0), (1_000, 'w', 4_096, 512, 1)]);
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                  1456214400.000100,0.0005,R,1,8192,4096\n1456214400.250100,0.0007,W,1,0,512\n";
    assert_eq!(of(systor), [(0, 'r', 8_192, 4_096, 0), (250_000, 'w', 0, 512, 0)]);
    let spc = "0,20941264,8192,W,0.551706\n0,20939840,8192,r,0.554041\n";
    assert_eq!(
        of(spc),
        [(0, 'w', 10_721_927_168, 8_192, 0), (2_335, 'r', 10_721_198_080, 8_192, 0)]
    );
    let alibaba = "419,W,8792731648,16384,1577808144360767\n725,R,0,4096,1577808144360867\n";
    assert_eq!(of(alibaba), [(0, 'w', 8_792_731_648, 16_384, 0), (100, 'r', 0, 4_096, 1)]);
    wrong(&format!("{msr}128166372003081629,hm,1,Zero,4096,512,1\n"), "line 3, column 25");
    wrong(&format!("{msr}128166372003081629,hm,1,Read,4096,0,1\n"), "line 3, column 35");
    wrong("a,b,c,d,e\n1,2,3,4,5\n", "is not the start of a known recording");
}
