//! Lines of job files: fio and halfpower agree which of them can run.

use crate::program::halfpower_in;
use std::process::Command;
use testkit::skip;

/// Lines of a job. fio itself is asked whether it accepts them.
const LINES: [&str; 40] = [
    "rw=randrw\nrwmixread=70",
    "rw=randread\nbs=4k,8k",
    "bssplit=4k/60:64k/40\nrw=randread",
    "size=10%",
    "io_size=2m",
    "offset=64k",
    "loops=3",
    "runtime=5\ntime_based",
    "runtime=1m\ntime_based=1\nramp_time=2s",
    "numjobs=4\ngroup_reporting",
    "ioengine=libaio\niodepth=16\ndirect=1",
    "ioengine=io_uring\nhipri=1\ndirect=1",
    "ioengine=nonesuch",
    "fsync=1\nrw=write",
    "fdatasync=2\nrw=write",
    "sync_file_range=write,wait_after:4\nrw=write",
    "rate_iops=500\nrate_process=poisson",
    "thinktime=5ms",
    "random_distribution=zipf:1.2\nrw=randread",
    "randseed=42",
    "zero_buffers",
    "buffer_compress_percentage=50",
    "norandommap\nrandrepeat=0",
    "refill_buffers\nend_fsync=1",
    "startdelay=1\nprio=4\nprioclass=2",
    "iomem=malloc",
    "iodepth_batch=4\niodepth_batch_complete=4",
    "disable_lat=1\ngtod_reduce=1",
    "lat_percentiles=1\npercentile_list=50:99",
    "sync=dsync",
    "invalidate=0",
    "rw=rannd",
    "bs=4q",
    "iodepth=many",
    "no_such_option=1",
    "rwmixread=70x",
    "direct=maybe",
    "prio=9",
    "fsync=often",
    "verify=crc32c\nrw=write",
];
/// Lines that fio accepts and this program rejects by name.
const REFUSED_HERE: [&str; 2] = ["ioengine=nonesuch", "bs=4q"];

#[test]
fn what_fio_does_not_understand_is_refused_and_what_it_does_is_run_or_refused_by_name() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(
            "what_fio_does_not_understand_is_refused_and_what_it_does_is_run_or_refused_by_name",
            "needs fio",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
    let mut otherwise = Vec::new();
    for lines in LINES {
        let usual = if lines.contains("size=") { "" } else { "size=1m\n" };
        std::fs::write(
            folder.path().join("one.fio"),
            format!("[job]\nfilename=data\n{usual}{lines}\n"),
        )
        .unwrap();
        let parsed = Command::new("fio")
            .args(["--parse-only", "one.fio"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        // Nothing runs, because this is not a database.
        let words = "run one.fio --db /dev/null";
        let ours = halfpower_in(folder.path(), words);
        let refused = ours.stderr.contains("one.fio:") || ours.code == Some(3);
        let expected = !parsed.status.success() || REFUSED_HERE.contains(&lines);
        let writes = ours.code == Some(3);
        if refused != expected && !writes {
            otherwise.push((lines, parsed.status.success(), ours.stderr));
        }
    }
    assert!(otherwise.is_empty(), "lines, whether fio understands them, and ours: {otherwise:#?}");
}
