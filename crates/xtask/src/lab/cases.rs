//! The cases of the lab: what is staged in a guest, and what the result must be.
//!
//! A CPU of an emulated guest takes half a millisecond or more to wake up. Devices faster than a few
//! milliseconds are therefore measured at queue depth 1, as in the profile.
//!
//! A script (`scripts/`) runs in the guest's shell, with the functions of `init.sh`. Each answer that it
//! prints has a name. Of a diagnosis, the verdict on one device is judged; of a run, how it ended.

use crate::judge::{CAPPED, Expect, FINE, RAISE, SILENT, SLOW};

/// A disk of the guest.
pub(crate) struct Disk {
    /// Its device as a qemu argument: virtio (vda, vdb, …), a disk of a SCSI controller, an NVMe drive.
    pub(super) device: &'static str,
    /// Its backend as a qemu argument: caching by the host, and limits.
    pub(super) drive: &'static str,
}

/// A case.
pub(crate) struct Case {
    pub(super) name: &'static str,
    /// Kernel modules with their parameters, loaded in this order. The script itself loads a module that is
    /// prefixed by `-`.
    pub(super) modules: &'static [&'static str],
    /// Programs in addition to those of every guest, as paths in Debian's packages.
    pub(super) programs: &'static [&'static str],
    pub(super) drives: &'static [Disk],
    /// Initial latencies of the disks, if the host serves them (`disk` of `init.sh`).
    pub(super) served: Option<&'static str>,
    /// qemu arguments before the disks: controllers.
    pub(super) machine: &'static [&'static str],
    pub(super) script: &'static str,
    /// Engines of `run` that are tested with the fault. The script runs `$engines`, and each answer has the
    /// engine's name and contains one of the words in `says`.
    pub(super) engines: &'static [&'static str],
    pub(super) says: &'static [&'static str],
    /// A guest on the same network that serves this one while it runs.
    pub(super) server: Option<&'static Case>,
    /// Expected diagnoses: the name of the answer, the device, and what must be found.
    pub(super) expects: &'static [(&'static str, &'static str, Expect)],
    /// A quick case that does not depend on timing, for a test that the lab works.
    pub(super) smoke: bool,
}

const RESTORE: &[&str] = &["restore"];
/// A device that has shrunk to size 0 transfers less than requested, which is not a read error.
const FAILED: &[&str] = &["io_errors", "short_transfers", "Input/output error", "no request"];
const SILENT_DEVICE: &[&str] = &["device_silent", "io_errors"];
const CORRUPT: &[&str] = &["data_corrupt"];

pub(super) const fn found(
    verdicts: &'static [&'static str],
    advice: &'static [&'static str],
) -> Expect {
    Expect { verdicts, undecided: &[], causes: &[], harmless: &[], advice }
}

pub(super) const fn caused(expect: Expect, causes: &'static [&'static str]) -> Expect {
    Expect { causes, ..expect }
}

/// A disk that is as usual at first, and slow later.
const fn slows(device: &'static str) -> [(&'static str, &'static str, Expect); 2] {
    [("same", device, found(FINE, SILENT)), ("slower", device, found(SLOW, RESTORE))]
}

const fn virtio(drive: &'static str) -> Disk {
    Disk { device: "virtio-blk-pci", drive }
}

/// On the host: data that the guest flushes may be lost when the host fails.
const UNSAFE: &str = "cache=unsafe";

/// Engines that can be tested with a fault. Mapped pages that were read once would hide an intermittent
/// fault.
const ENGINES: &[&str] = &["io_uring", "libaio", "sync", "threads", "mmap"];
const UNMAPPED: &[&str] = &["io_uring", "libaio", "sync", "threads"];

/// Defaults of a case.
pub(super) const NOTHING: Case = Case {
    name: "",
    modules: &[],
    programs: &[],
    drives: &[],
    served: None,
    machine: &[],
    script: "",
    engines: &[],
    says: &[],
    server: None,
    expects: &[],
    smoke: false,
};

/// A file server that exports a disk by NFS.
pub(super) const NFS_SERVER: Case = Case {
    name: "nfs-server",
    modules: &[
        "crc32c_generic",
        DISK_OF_SERVER,
        "sd_mod",
        "ext4",
        "nfsd",
        "virtio_net",
        "virtio_pci",
    ],
    programs: &["usr/sbin/rpc.mountd", "usr/sbin/exportfs", "usr/sbin/rpc.nfsd"],
    script: include_str!("scripts/nfs-server.sh"),
    ..NOTHING
};

/// A file server that exports a disk by SMB.
const SMB_SERVER: Case = Case {
    name: "smb-server",
    modules: &["crc32c_generic", DISK_OF_SERVER, "sd_mod", "ext4", "virtio_net", "virtio_pci"],
    programs: &["usr/sbin/smbd"],
    script: include_str!("scripts/smb-server.sh"),
    ..NOTHING
};

const DISK_OF_SERVER: &str = "scsi_debug dev_size_mb=300 ndelay=1000 max_queue=32";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "delay",
        modules: &["scsi_debug dev_size_mb=128 ndelay=4000000 max_queue=32", "sd_mod", "dm-delay"],
        script: include_str!("scripts/delay.sh"),
        expects: &[
            ("same", "sda", found(FINE, SILENT)),
            ("slower", "sda", caused(found(FINE, &[]), &["volume_holds"])),
        ],
        ..NOTHING
    },
    Case {
        name: "scsi-slower",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: include_str!("scripts/scsi-slower.sh"),
        expects: &slows("sda"),
        ..NOTHING
    },
    Case {
        name: "io-max",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: include_str!("scripts/io-max.sh"),
        expects: &[
            ("held", "sda", found(CAPPED, RAISE)),
            ("below", "sda", found(FINE, SILENT)),
        ],
        ..NOTHING
    },
    Case {
        name: "io-cost",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=8", "sd_mod"],
        script: include_str!("scripts/io-cost.sh"),
        expects: &[(
            "shared",
            "sda",
            found(
                &["capped", "overloaded", "slow_and_overloaded"],
                &["raise_cap", "shallower_queue", "move_neighbour", "scheduler"],
            ),
        )],
        ..NOTHING
    },
    Case {
        name: "thin-pool",
        modules: &["crc32c_generic", "scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod", "dm-thin-pool"],
        script: include_str!("scripts/thin-pool.sh"),
        expects: &slows("sda"),
        ..NOTHING
    },
    Case {
        name: "raid0-throttled-leg",
        modules: &["virtio_blk", "virtio_pci", "raid0", "md-mod"],
        drives: &[virtio(UNSAFE), virtio("cache=unsafe,throttling.iops-total=60")],
        script: include_str!("scripts/raid0-throttled-leg.sh"),
        expects: &[(
            "slower",
            "vdb",
            caused(found(&["slow", "slow_and_overloaded", "capped"], &[]), &["slowest_member"]),
        )],
        ..NOTHING
    },
    Case {
        name: "raid1-degraded",
        modules: &[
            "scsi_debug dev_size_mb=64 ndelay=2000000 per_host_store=1 add_host=2 max_queue=32",
            "sd_mod",
            "raid1",
            "md-mod",
        ],
        script: include_str!("scripts/raid1-degraded.sh"),
        expects: &[("degraded", "sda", caused(found(FINE, RESTORE), &["array_degraded"]))],
        ..NOTHING
    },
    Case {
        name: "raid5-rebuild",
        modules: &[
            "crc32c_generic",
            "scsi_debug dev_size_mb=96 ndelay=2000000 per_host_store=1 add_host=4 max_queue=32",
            "sd_mod",
            "raid456",
            "md-mod",
        ],
        script: include_str!("scripts/raid5-rebuild.sh"),
        expects: &[
            ("same", "sda", found(FINE, SILENT)),
            (
                "rebuilding",
                "sda",
                caused(
                    found(&["overloaded", "slow_and_overloaded", "healthy", "not_the_disk"], &[]),
                    &["array_rebuilds"],
                ),
            ),
        ],
        ..NOTHING
    },
    Case {
        name: "nfs",
        server: Some(&NFS_SERVER),
        modules: &["nfsv4", "sch_netem", "virtio_net", "virtio_pci"],
        programs: &["sbin/tc"],
        script: include_str!("scripts/nfs.sh"),
        expects: &slows("10.0.0.1:/"),
        ..NOTHING
    },
    Case {
        name: "cifs",
        server: Some(&SMB_SERVER),
        modules: &[
            "cmac", "ccm", "gcm", "ctr", "ghash-generic", "sha512_generic", "nls_utf8", "cifs", "sch_netem", "virtio_net",
            "virtio_pci",
        ],
        programs: &["sbin/tc"],
        script: include_str!("scripts/cifs.sh"),
        expects: &slows("//10.0.0.1/export"),
        ..NOTHING
    },
    Case {
        name: "lvm",
        modules: &["scsi_debug dev_size_mb=96 ndelay=2000000 per_host_store=1 add_host=2 max_queue=32", "sd_mod", "dm-mod"],
        programs: &["sbin/lvm"],
        script: include_str!("scripts/lvm.sh"),
        expects: &slows("sda and sdb"),
        ..NOTHING
    },
    Case {
        name: "fails-during-a-run",
        modules: &["brd rd_nr=1 rd_size=786432", "dm-mod"],
        script: include_str!("scripts/fails-during-a-run.sh"),
        engines: ENGINES,
        says: FAILED,
        smoke: true,
        ..NOTHING
    },
    Case {
        name: "pulled-during-a-run",
        modules: &["-scsi_debug", "sd_mod"],
        script: include_str!("scripts/pulled-during-a-run.sh"),
        engines: ENGINES,
        says: FAILED,
        ..NOTHING
    },
    Case {
        name: "bad-sectors",
        modules: &[
            "sd_mod",
            "scsi_debug dev_size_mb=64 ndelay=50000 opts=2 medium_error_start=20000 medium_error_count=8",
        ],
        script: include_str!("scripts/bad-sectors.sh"),
        engines: ENGINES,
        says: FAILED,
        ..NOTHING
    },
    Case {
        name: "flaky",
        modules: &["brd rd_nr=1 rd_size=131072", "dm-flakey"],
        script: include_str!("scripts/flaky.sh"),
        engines: UNMAPPED,
        says: FAILED,
        ..NOTHING
    },
    Case {
        name: "does-not-answer",
        modules: &["sd_mod", "-scsi_debug"],
        script: include_str!("scripts/does-not-answer.sh"),
        engines: UNMAPPED,
        says: SILENT_DEVICE,
        ..NOTHING
    },
    Case {
        name: "power-cut",
        modules: &["brd rd_nr=2 rd_size=65536", "dm-snapshot"],
        // From the middle of the run, the drive acknowledges writes that it holds only in a cache.
        script: include_str!("scripts/power-cut.sh"),
        engines: UNMAPPED,
        says: CORRUPT,
        ..NOTHING
    },
];
