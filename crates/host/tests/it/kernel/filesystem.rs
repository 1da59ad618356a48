//! Tests the facts about the file system of a file.

use host::kernel::Roots;
use host::kernel::filesystem::locate_filesystem;
use std::fs::{self, File};
use testkit::Fake;

#[test]
fn compression_is_read_from_the_mount_options() {
    let fake = Fake::new();
    let path = fake.path("file");
    let file = File::create(&path).unwrap();
    for (kind, options, expected) in [
        ("btrfs", "rw,compress=zstd:3", true),
        ("btrfs", "rw,compress-force=lzo", true),
        ("btrfs", "rw,compress=no", false),
        ("btrfs", "rw,space_cache=v2", false),
        ("f2fs", "compress_algorithm=lz4,compress_extension=*", true),
        ("f2fs", "compress_algorithm=lz4,compress_extension=txt", false),
        ("squashfs", "ro", true),
        ("ext4", "rw,compress=zstd", false),
    ] {
        fake.proc("self/mountinfo", &format!("1 0 0:1 / / {options} - {kind} none {options}\n"));
        let (facts, ..) = locate_filesystem(&Roots::below(fake.root()), &path, &file).unwrap();
        assert_eq!(facts.compresses, expected, "{kind} {options}");
    }
}

#[test]
fn a_file_is_described_by_the_mount_that_its_path_is_on() {
    let fake = Fake::new();
    let path = fake.path("file");
    let file = File::create(&path).unwrap();
    let point = fs::canonicalize(path.parent().unwrap()).unwrap();
    fake.proc(
        "self/mountinfo",
        &format!(
            "1 0 4000:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 0:77 / {} rw,noatime - ramfs none rw,mode=700\n",
            point.display()
        ),
    );
    let (facts, ..) = locate_filesystem(&Roots::below(fake.root()), &path, &file).unwrap();
    assert_eq!((facts.kind.as_str(), facts.source.as_str()), ("ramfs", "none"));
    assert_eq!(facts.options, "rw,noatime,mode=700");
    assert!(facts.in_memory && !facts.compresses);
    assert!(facts.size_bytes > facts.free_bytes && facts.block_bytes.0 > 0);
}

#[test]
fn a_path_without_any_mount_is_an_error_that_names_the_file() {
    let fake = Fake::new();
    let file = File::open(Roots::below(fake.root()).proc.as_path()).unwrap();
    let error =
        locate_filesystem(&Roots::below(fake.root()), &Roots::below(fake.root()).proc, &file)
            .unwrap_err();
    assert!(error.to_string().contains("mountinfo"), "{error}");
}
