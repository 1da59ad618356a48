//! Tests the space that files lose to whole allocation units.

use host::target::{file_sizes, rounding_loss};

#[test]
fn each_file_takes_whole_units() {
    assert_eq!(rounding_loss(&[1, 4096, 5000], 4096), 4095 + 3192);
    assert_eq!(rounding_loss(&[0, 65_536, 131_072], 65_536), 0);
    assert_eq!(rounding_loss(&[1], 65_536), 65_535);
    assert_eq!(rounding_loss(&[], 512), 0);
}

#[test]
fn files_below_a_folder_are_found_and_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, bytes) in [("a", 1_usize), ("sub/b", 5000), ("sub/c", 0)] {
        std::fs::write(folder.path().join(name), vec![0; bytes]).unwrap();
    }
    std::os::unix::fs::symlink(folder.path(), folder.path().join("sub/again")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
    let mut sizes = file_sizes(folder.path(), 100).unwrap();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 1, 5000]);
    assert_eq!(file_sizes(folder.path(), 2).unwrap().len(), 2);
    assert!(file_sizes(&folder.path().join("nothing"), 2).is_err());
}
