//! What might destroy something is refused: exit code 3, and nothing was touched.

use crate::program::{halfpower, halfpower_in, names};
use testkit::{LoopDevice, Tmpfs, requires};

#[test]
fn writing_to_an_existing_file_without_the_users_word_is_refused_and_leaves_it_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("precious");
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    for rw in ["write", "randwrite", "rw", "randrw"] {
        halfpower(&format!("run {} --rw {rw} --no-save", file.display()))
            .refuses(3, &["precious", "content would be lost", "--overwrite"]);
    }
    assert_eq!(std::fs::read(&file).unwrap(), vec![7; 1 << 20]);
    assert_eq!(names(folder.path()), ["precious"]);
}

#[test]
fn writing_to_a_block_device_is_refused_whatever_the_flags_and_leaves_it_as_it_is() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 << 20).unwrap();
    std::fs::write(device.backing_file(), vec![7; 8 << 20]).unwrap();
    for flags in ["--rw randwrite", "--rw write --overwrite", "--rw rw --rwmixread 99"] {
        halfpower(&format!("run {} {flags} --no-save", device.path().display()))
            .refuses(3, &["/dev/loop", "block device", "name a directory"]);
    }
    assert_eq!(std::fs::read(device.backing_file()).unwrap(), vec![7; 8 << 20]);
}

#[test]
fn writing_to_the_file_below_a_loop_device_is_refused() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 << 20).unwrap();
    let file = device.backing_file();
    halfpower(&format!("run {} --rw write --overwrite --no-save", file.display()))
        .refuses(3, &["disk", "in use as the loop device", "losetup -d"]);
}

#[test]
fn a_test_file_that_would_crowd_out_others_is_refused_and_none_is_left() {
    requires!(Mount);
    let disk = Tmpfs::new(64 << 20).unwrap();
    let message = ["32 MiB", "must stay free", "free some space"];
    for verb in ["run", "check"] {
        halfpower_in(disk.path(), &format!("{verb} . --size 32m --no-save")).refuses(3, &message);
        assert_eq!(names(disk.path()), [""; 0]);
    }
}
