//! The order of requests in a file and over several files, and where it ends.

use super::{refused, run, sections, words};
use workload::fio::{FileKind, run_of};

#[test]
fn files_of_different_lengths_need_a_size_that_they_divide_equally() {
    let uneven = refused("filename=old:short\nrw=read");
    assert!(uneven.contains("different lengths") && uneven.contains("size=128k"), "{uneven}");
    assert!(refused("filename=old:short\nrw=randread\nsize=50%").contains("different lengths"));
    assert!(words("filename=old:short\nrw=read\nsize=128k").contains("--size 64k --from-start"));
    assert!(words("filename=old:short\nrw=read\nfilesize=32k").contains("--size 32k"));
}

#[test]
fn files_are_chosen_as_in_fio_or_the_job_is_refused() {
    let of = |lines: &str| format!("filename=old:new\nsize=1m\n{lines}");
    let chosen = |lines: &str| run(&of(lines)).notes.join("\n").contains("its file at random");
    assert!(chosen("rw=randread") && !chosen("rw=read"));
    assert!(!chosen("rw=randread\nfile_service_type=random"));
    for lines in [
        "rw=read\nfile_service_type=sequential",
        "rw=read\nfile_service_type=roundrobin:4",
        "rw=randread\nfile_service_type=zipf:1.2",
        "rw=randread\nfile_service_type=sequential",
    ] {
        assert!(refused(&of(lines)).contains("file_service_type"), "{lines}");
    }
    assert!(refused(&of("rw=read:4k")).contains("only one file"));
}

/// The bytes were counted in logs of fio 3.33 (`write_iolog`) of jobs on files of these lengths.
#[test]
fn a_job_with_gaps_transfers_the_bytes_that_fio_transfers() {
    let requests = |blocks: u64, lines: &str| {
        let file = |_: &str| FileKind::File { bytes: Some(blocks << 12) };
        let section = &sections(&format!("[a]\nfilename=f\n{lines}\n")).unwrap()[0];
        let words = run_of(section, &file).unwrap().words;
        let at = words.iter().position(|word| word == "--io-size").unwrap();
        let bytes = &words[at + 1];
        let kib = bytes.strip_suffix('k').map(|kib| kib.parse::<u64>().unwrap());
        kib.unwrap_or_else(|| panic!("{bytes}")) / 4
    };
    let by_length = |lines: &str| [14, 15, 16, 17].map(|blocks| requests(blocks, lines));
    assert_eq!(by_length("rw=read:8k"), [14, 15, 6, 17]);
    assert_eq!(by_length("rw=read:4k"), [14, 8, 16, 9]);
    assert_eq!(by_length("rw=read:8k\nsize=40k"), [4; 4]);
    assert_eq!(by_length("rw=read:8k\nio_size=40k"), [10; 4]);
    assert_eq!(by_length("rw=read:8k\noffset=8k"), [4, 5, 5, 5]);
    assert_eq!(by_length("rw=read:8k\nloops=2"), [28, 30, 12, 34]);
    assert_eq!(by_length("rw=read:8k\nnumber_ios=12"), [12, 12, 6, 12]);
    assert_eq!(by_length("rw=write:8k"), [14, 15, 6, 17]);
    assert!(refused("filename=short\nrw=rw:8k").contains("the direction that reaches the end"));
}

#[test]
fn sequences_of_a_fixed_length_at_random_positions_are_refused() {
    let of = |lines: &str| refused(&format!("filename=old\n{lines}"));
    assert!(of("rw=randread:4").contains("exactly 4 requests for each random position"));
    assert!(of("rw=randread:4").contains("percentage_random=25"));
    assert!(of("rw=randwrite:8\nrw_sequencer=identical").contains("exactly 8"));
    assert!(words("filename=old\nrw=randread:1").contains("--without-replacement"));
}

#[test]
fn sequential_jobs_begin_where_fio_begins_them() {
    let of = |lines: &str| words(&format!("filename=old\nbs=64k\nsize=8m\n{lines}"));
    assert!(of("rw=write").contains("--size 8m --from-start"));
    assert!(!of("rw=randwrite").contains("--from-start"));
    // All jobs on one file start at its beginning, unless specified otherwise.
    assert!(of("rw=read\nnumjobs=4").contains("--offset-increment 0 --from-start"));
    assert!(of("rw=read\nnumjobs=4\noffset_increment=16m").contains("--offset-increment 16m"));
    assert!(of("rw=read:64k").contains("--pattern strided --stride 128k"));
    // A request at the end that does not fit ends the job.
    assert!(of("rw=read:96k\nsize=8m").contains("--io-size 3264k"), "{}", of("rw=read:96k"));
    assert!(of("rw=read:-128k").contains("--pattern strided --stride 64k --backwards"));
    assert!(refused("filename=old\nrw=read:-8k\noffset=8k").contains("only without an offset"));
    assert!(refused("filename=old\nrw=read:-4k").contains("steps back of at least that size"));
}

#[test]
fn requests_beyond_one_pass_and_a_part_of_a_block_are_not_made() {
    let at = |lines: &str| words(&format!("filename=short\n{lines}"));
    assert!(at("rw=read\nnumber_ios=40").contains("--io-size 64k"));
    assert!(at("rw=read\nnumber_ios=4").contains("--io-size 16k"));
    assert!(words("filename=short:short\nrw=read\nnumber_ios=40").contains("--io-size 128k"));
    assert!(at("rw=randread\nsize=10000").contains("--io-size 8k"));
}

#[test]
fn options_that_name_other_data_are_refused() {
    assert!(refused("filename=old\nrw=write\nfile_append=1").contains("behind the end"));
    assert!(words("filename=/data/gone\nsize=1m\nrw=write\nfile_append=1").contains("--size 1m"));
    assert!(refused("opendir=/data\nsize=1m\nrw=read").contains("name the files with filename"));
}

#[test]
fn many_files_become_one_file_of_their_total_size() {
    // fio 3.33 reads 100 x 32 KiB, or the size if that is smaller.
    let at = |lines: &str| words(&format!("directory=/data\nnrfiles=100\nfilesize=32k\n{lines}"));
    assert!(at("size=16m").contains("--size 3200k") && at("size=16m").contains("--io-size 3200k"));
    assert!(at("size=1m").contains("--io-size 1m"));
}
