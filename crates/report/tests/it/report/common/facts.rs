//! Provides facts about what is below the sample targets.

use super::{GIB, KIB};
use record::{
    Bytes, CgroupLimit, DeviceFacts, Environment, Extents, FilesystemFacts, LimitedIo, Target,
    TargetKind,
};

pub fn virtual_disk() -> DeviceFacts {
    DeviceFacts {
        name: "vda1".into(),
        disk: "vda".into(),
        leaves: vec!["vda".into()],
        major_minor: "254:0".into(),
        size_bytes: Bytes(64 * GIB),
        rotational: Some(true),
        virtual_disk: true,
        driver: Some("virtio_blk".into()),
        link: Some("virtio".into()),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        nomerges: Some(0),
        nr_requests: Some(256),
        max_request_bytes: Some(1280 * KIB),
        max_segments: Some(128),
        read_ahead_bytes: Some(128 * KIB),
        iostats: Some(true),
        ..DeviceFacts::default()
    }
}

pub fn rotating_disk() -> DeviceFacts {
    DeviceFacts {
        name: "dm-0".into(),
        disk: "sdb".into(),
        leaves: vec!["sdb".into(), "sdc".into()],
        model: Some("ST4000NM0033-9ZM".into()),
        vendor: Some("ATA".into()),
        serial: Some("Z1Z0ABCD".into()),
        firmware: Some("SN03".into()),
        size_bytes: Bytes(4_000_787_030_016),
        rotational: Some(true),
        rotational_trusted: true,
        virtual_disk: false,
        driver: Some("sd".into()),
        link: Some("sata 6.0 Gbps".into()),
        scheduler: Some("mq-deadline".into()),
        layers: vec!["dm-0 is a linear volume of device mapper (LVM)".into()],
        ..virtual_disk()
    }
}

pub fn target(device: Option<DeviceFacts>) -> Target {
    let filesystem = FilesystemFacts {
        kind: "ext4".into(),
        mount_point: "/data".into(),
        options: "rw,relatime".into(),
        source: "/dev/vda1".into(),
        size_bytes: Bytes(63 * GIB),
        free_bytes: Bytes(41 * GIB + GIB / 4),
        block_bytes: Bytes(4096),
        in_memory: false,
        compresses: false,
        direct_alignment_bytes: Some(512),
    };
    let extents = Extents {
        count: 17,
        first_physical_bytes: Bytes(3 * GIB),
        last_physical_bytes: Bytes(6 * GIB),
        hole_bytes: Bytes(0),
        unwritten_bytes: Bytes(0),
        compressed_bytes: Bytes(0),
        map_hash: "0".repeat(32),
    };
    Target {
        path: "/data/db".into(),
        kind: TargetKind::Directory,
        size_bytes: Bytes(2 * GIB),
        device,
        filesystem: Some(filesystem),
        extents: Some(extents),
        file_hash: None,
        test_file: None,
    }
}

pub fn simulated_target() -> Target {
    Target {
        path: "sim:mm1".into(),
        kind: TargetKind::Simulated,
        size_bytes: Bytes(GIB),
        device: None,
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    }
}

pub fn environment() -> Environment {
    Environment {
        kernel: "6.8.0-31-generic".into(),
        cpu: "Intel(R) Xeon(R) Platinum 8488C".into(),
        cpus: 2,
        memory_bytes: Bytes(8 * GIB),
        governor: None,
        virtualization: Some("kvm".into()),
        clocksource: Some("kvm-clock".into()),
        cgroup_limits: Vec::new(),
    }
}

pub fn limited() -> CgroupLimit {
    CgroupLimit {
        group: "/system.slice/db.service".into(),
        limited: LimitedIo::Riops,
        major_minor: "254:0".into(),
        limit_per_s: 20_000,
    }
}
