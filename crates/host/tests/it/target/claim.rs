//! Tests the report of a run that destroyed data.

use host::target::destruction;
use record::{Bytes, DeviceFacts, FindingCode, Severity, Target, TargetKind};

#[test]
fn what_was_destroyed_is_told_of_block_devices_only() {
    let target = |kind| Target {
        path: "/dev/sdb".to_owned(),
        kind,
        size_bytes: Bytes(1 << 30),
        device: Some(DeviceFacts {
            name: "sdb".to_owned(),
            serial: Some("S1".to_owned()),
            ..DeviceFacts::default()
        }),
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    };
    let found = destruction(&target(TargetKind::BlockDevice), Bytes(4096), Bytes(1 << 20)).unwrap();
    assert_eq!((found.code, found.severity), (FindingCode::DataDestroyed, Severity::Info));
    for words in ["/dev/sdb (sdb, serial number S1)", "1 MiB, beginning at byte 4096"] {
        assert!(found.claim.contains(words), "{}", found.claim);
    }
    assert_eq!(destruction(&target(TargetKind::File), Bytes(0), Bytes(1)), None);
}
