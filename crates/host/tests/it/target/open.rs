//! Tests opening targets, on temporary files of this machine.

use host::kernel::Roots;
use host::kernel::device::numbers;
use host::target::{
    Access, TargetError, TargetHandle, direct_alignment, extents, open_target, reopen,
};
use record::{Bytes, CacheMode, DeviceFacts, FindingCode, TargetKind};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use testkit::Fake;

const BLOCK: Bytes = Bytes(4096);
/// The kernel's flag; that of rustix includes O_SYNC.
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);

fn open(path: &Path, access: &Access) -> Result<TargetHandle, TargetError> {
    open_target(&Roots::default(), path, access, None, BLOCK)
}

fn writing(overwrite: bool, destroy: &[&str]) -> Access {
    let destroy = destroy.iter().map(|&name| name.to_owned()).collect();
    Access::ReadWrite { overwrite, destroy, keep: Vec::new() }
}

fn file_of(directory: &TempDir, bytes: usize) -> PathBuf {
    let path = directory.path().join("file");
    fs::write(&path, vec![7u8; bytes]).unwrap();
    path
}

#[test]
fn a_missing_path_is_no_result_and_says_so() {
    let error = open(Path::new("/nonexistent/x"), &Access::ReadOnly).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("/nonexistent/x"), "{error}");
}

#[test]
fn an_existing_file_is_written_only_at_the_users_word() {
    let directory = TempDir::new().unwrap();
    let path = file_of(&directory, 8192);
    let error = open(&path, &writing(false, &[])).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("--overwrite"), "{error}");
    let handle = open(&path, &writing(true, &[])).unwrap();
    assert!(handle.writable);
    let file = reopen(&handle, CacheMode::All, true).unwrap();
    assert_eq!(rustix::io::pwrite(&file, b"x", 0), Ok(1));
}

#[test]
fn the_word_for_devices_is_none_for_files_and_the_answer_says_which_is() {
    let directory = TempDir::new().unwrap();
    let path = file_of(&directory, 8192);
    let error = open(&path, &writing(false, &["loop3"])).unwrap_err().to_string();
    assert!(error.contains("--destroy-data-on applies only to block devices"), "{error}");
    assert!(error.contains("add --overwrite"), "{error}");
}

#[test]
fn extents_are_judged_for_the_area_that_is_used() {
    let directory = TempDir::new().unwrap();
    let path = file_of(&directory, 1 << 20);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.sync_all().unwrap();
    file.set_len(2 << 20).unwrap();
    let mut handle = open(&path, &Access::ReadOnly).unwrap();
    if handle.facts.extents.is_none() {
        return testkit::skip("extents", "the file system of temporary files has no map");
    }
    let found = |handle: &TargetHandle| {
        handle.findings.iter().any(|finding| finding.code == FindingCode::UnwrittenExtents)
    };
    assert!(found(&handle), "the whole file has a hole");
    handle.look_at_area(Bytes(0), Bytes(1 << 20)).unwrap();
    assert!(!found(&handle), "{:?}", handle.findings);
    handle.look_at_area(Bytes(512 << 10), Bytes(1 << 20)).unwrap();
    assert!(found(&handle));
    assert_eq!(handle.facts.extents.unwrap().hole_bytes, Bytes(512 << 10));
}

#[test]
fn a_file_opened_for_reading_gives_no_descriptor_for_writing() {
    let directory = TempDir::new().unwrap();
    let handle = open(&file_of(&directory, 8192), &Access::ReadOnly).unwrap();
    assert_eq!(reopen(&handle, CacheMode::All, true).unwrap_err().exit_code(), 3);
    let file = reopen(&handle, CacheMode::All, false).unwrap();
    assert_eq!(rustix::io::pwrite(&file, b"x", 0), Err(Errno::BADF));
    assert_eq!(handle.facts.kind, TargetKind::File);
    assert_eq!(handle.facts.size_bytes, Bytes(8192));
}

#[test]
fn a_target_shorter_than_a_request_or_than_asked_is_a_usage_error() {
    let directory = TempDir::new().unwrap();
    let path = file_of(&directory, 4095);
    let error = open(&path, &Access::ReadOnly).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("4095") && error.to_string().contains("4096"), "{error}");
    let path = file_of(&directory, 8192);
    let asked = Some(Bytes(8193));
    let roots = Roots::default();
    assert!(open_target(&roots, &path, &Access::ReadOnly, asked, BLOCK).is_err());
    let asked = Some(Bytes(8192));
    assert!(open_target(&roots, &path, &Access::ReadOnly, asked, BLOCK).is_ok());
    let path = file_of(&directory, 0);
    assert!(open_target(&roots, &path, &Access::ReadOnly, None, Bytes(0)).is_err());
}

#[test]
fn pipes_sockets_and_character_devices_are_no_targets() {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
    for (path, kind) in
        [(socket, "socket"), (pipe, "pipe"), (PathBuf::from("/dev/null"), "character device")]
    {
        let error = open(&path, &Access::ReadOnly).unwrap_err();
        assert!(error.to_string().contains(kind), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn a_directory_gives_a_file_without_a_name_in_it() {
    let directory = TempDir::new().unwrap();
    let handle = open(directory.path(), &Access::ReadOnly).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(handle.facts.kind, TargetKind::Directory);
    assert!(handle.writable && handle.facts.filesystem.is_some());
    let file = reopen(&handle, CacheMode::All, true).unwrap();
    assert_eq!(rustix::io::pwrite(&file, b"abc", 0), Ok(3));
    let mut back = [0u8; 3];
    assert_eq!(rustix::io::pread(&handle.file, &mut back, 0), Ok(3));
    assert_eq!(&back, b"abc", "both descriptors are of one file");
}

#[test]
fn a_descriptor_carries_the_flags_of_its_cache_mode() {
    let directory = TempDir::new().unwrap();
    let handle = open(directory.path(), &Access::ReadOnly).unwrap();
    for cache in [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None] {
        let file = match reopen(&handle, cache, true) {
            Err(TargetError::DirectRefused { filesystem, .. }) => {
                let test = format!("O_DIRECT in mode {}", cache.name());
                testkit::skip(&test, &format!("{filesystem} refuses it"));
                continue;
            }
            outcome => outcome.unwrap(),
        };
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert_eq!(flags.contains(OFlags::DIRECT), cache.direct(), "{}", cache.name());
        assert_eq!(flags.contains(DSYNC), cache.synchronous(), "{}", cache.name());
    }
}

#[test]
fn alignment_is_a_power_of_two_and_falls_back_to_the_devices_block() {
    let directory = TempDir::new().unwrap();
    let file = fs::File::create(directory.path().join("f")).unwrap();
    assert!(direct_alignment(&file, None).is_power_of_two());
    // A pipe has no alignment of its own.
    let (reader, _writer) = std::io::pipe().unwrap();
    let device = DeviceFacts { logical_block_bytes: Some(4096), ..DeviceFacts::default() };
    assert_eq!(direct_alignment(&reader, Some(&device)), 4096);
    assert_eq!(direct_alignment(&reader, None), 512);
}

/// Findings on a directory of a machine made of files.
fn found_on(fake: &Fake, directory: &TempDir) -> Vec<FindingCode> {
    let roots = Roots::below(fake.root());
    let handle = open_target(&roots, directory.path(), &Access::ReadOnly, None, BLOCK).unwrap();
    handle.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_file_system_in_memory_or_with_compression_is_a_finding() {
    let (fake, directory) = (Fake::new(), TempDir::new().unwrap());
    let codes = |kind: &str, options: &str| {
        fake.proc("self/mountinfo", &format!("1 0 0:1 / / {options} - {kind} none {options}\n"));
        found_on(&fake, &directory)
    };
    assert_eq!(codes("ext4", "rw"), []);
    assert_eq!(codes("tmpfs", "rw"), [FindingCode::NoDevice]);
    assert_eq!(codes("btrfs", "rw,compress=zstd"), [FindingCode::CompressedFilesystem]);
}

#[test]
fn a_rotational_flag_is_a_finding_only_where_it_cannot_be_believed() {
    let directory = TempDir::new().unwrap();
    let (major, minor) = numbers(rustix::fs::stat(directory.path()).unwrap().st_dev);
    let codes = |name: &str, flag: Option<&str>| {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "1 0 0:1 / / rw - ext4 none rw\n");
        fake.block(&format!("pci/block/{name}"), &format!("{major}:{minor}"), 1000);
        if let Some(flag) = flag {
            fake.sys(&format!("devices/pci/block/{name}/queue/rotational"), flag);
        }
        found_on(&fake, &directory)
    };
    // A virtio disk reports whatever its host chooses.
    assert_eq!(codes("vda", Some("1")), [FindingCode::RotationalUntrusted]);
    assert_eq!(codes("sda", Some("1")), []);
    assert_eq!(codes("vda", None), []);
}

#[test]
fn a_file_below_a_loop_device_and_a_swap_file_are_in_use() {
    let fake = Fake::new();
    let path = fake.path("image");
    fs::write(&path, [7; 4096]).unwrap();
    let path = fs::canonicalize(&path).unwrap();
    let roots = Roots::below(fake.root());
    fake.proc("self/mountinfo", "20 1 0:30 / / rw - ext4 /dev/sda rw\n");
    let refusal = || {
        let opened = open_target(&roots, &path, &writing(true, &[]), None, BLOCK);
        opened.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refusal(), "");
    fake.block("virtual/loop3", "7:3", 8);
    fake.sys("devices/virtual/loop3/loop/backing_file", &format!("{}\n", path.display()));
    assert!(refusal().contains(": it is in use as the loop device loop3;"), "{}", refusal());
    fs::remove_dir_all(roots.sys.join("devices/virtual/loop3/loop")).unwrap();
    // Swap is recognized by the file, even if the kernel printed another of its names.
    let other = fake.path("other name");
    fs::hard_link(&path, &other).unwrap();
    let printed = other.display().to_string().replace(' ', "\\040");
    fake.proc("swaps", &format!("Filename Type Size Used Priority\n{printed} file 1 0 -2\n"));
    assert!(refusal().contains(": it is in use as swap;"), "{}", refusal());
}

#[test]
fn a_kernel_file_has_no_map() {
    let file = fs::File::open("/proc/self/status").unwrap();
    assert_eq!(extents(&file, Bytes(0), Bytes(4096)).unwrap(), None);
}
