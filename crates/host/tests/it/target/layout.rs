//! Tests the placement of the largest files below a path.

use host::target::layout;
use record::Bytes;
use std::fs::File;
use std::path::Path;
use testkit::{disk_folder, requires, skip};

#[test]
fn the_largest_files_in_and_below_a_directory_are_looked_at() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    std::fs::write(folder.path().join("small"), vec![1; 4096]).unwrap();
    assert_eq!(layout(folder.path()), None, "a file of 4 KiB is none of the large ones");
    let written = below.join("written");
    std::fs::write(&written, vec![7; 4 << 20]).unwrap();
    File::open(&written).unwrap().sync_all().unwrap();
    File::create(folder.path().join("holes")).unwrap().set_len(8 << 20).unwrap();
    let Some(found) = layout(folder.path()) else {
        return skip("the_largest_files", "the file system tells no extents");
    };
    assert_eq!((found.files, found.bytes), (2, Bytes(12 << 20)));
    assert_eq!(found.absent_bytes, Bytes(8 << 20), "{found:?}");
    assert!(found.extents > 0 && found.extent_bytes().unwrap() > 4096.0, "{found:?}");
    let one = layout(&written).unwrap();
    assert_eq!((one.files, one.bytes, one.absent_bytes), (1, Bytes(4 << 20), Bytes(0)));
}

#[test]
fn what_is_not_there_and_what_is_no_file_has_no_layout() {
    for path in ["/nonexistent/folder", "/dev/null"] {
        assert_eq!(layout(Path::new(path)), None, "{path}");
    }
}
