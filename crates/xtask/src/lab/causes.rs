//! Causes that need hardware which only a guest has: links, bridges, drive health, drive caches, encryption.
//!
//! The script sets the latencies of disks served by the host, so the harm of a cause starts at a known time.
//! A fact without harm is recorded, too: the diagnosis must not name it as a cause.

use super::cases::{Case, Disk, NFS_SERVER, NOTHING, caused, found};
use crate::judge::{ANY, Expect, FINE, HARMED, SLOW};

const fn cause(verdicts: &'static [&'static str], causes: &'static [&'static str]) -> Expect {
    caused(found(verdicts, &[]), causes)
}

const fn none(causes: &'static [&'static str]) -> Expect {
    Expect { harmless: causes, ..found(FINE, &[]) }
}

/// The same fact first without harm and then with harm.
const fn pair(
    [harmless, harmful]: [&'static str; 2],
    device: &'static str,
    verdicts: &'static [&'static str],
    causes: &'static [&'static str],
) -> [(&'static str, &'static str, Expect); 2] {
    [(harmless, device, none(causes)), (harmful, device, cause(verdicts, causes))]
}

/// A drive that reports itself as flash.
const SSD: &str = "ide-hd,bus=sata.0,model=LABDRIVE-SSD,rotation_rate=1";
const SATA: &[&str] = &["-device", "ich9-ahci,id=sata"];
const SATA_MODULES: &[&str] = &["crc32c_generic", "ahci", "sd_mod", "ext4"];
const QUICK: Option<&str> = Some("read=2000 write=2000 flush=500");
const DIRECT: &str = "cache=none,aio=threads";
const USB2: &[&str] = &["-device", "usb-ehci,id=usb"];
const USB3: &[&str] = &["-device", "qemu-xhci,id=usb"];

const SATA_DISK: Case = Case {
    modules: SATA_MODULES,
    drives: &[Disk { device: SSD, drive: DIRECT }],
    machine: SATA,
    served: QUICK,
    ..NOTHING
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cause-heat",
        modules: &["nvme"],
        drives: &[Disk { device: "nvme", drive: DIRECT }],
        served: QUICK,
        // qemu's drive reports 50 degrees Celsius, and accepts any limit.
        script: include_str!("scripts/cause-heat.sh"),
        expects: &[
            ("cool", "nvme0n1", none(&["heat"])),
            ("warm", "nvme0n1", none(&["heat"])),
            ("hot", "nvme0n1", cause(SLOW, &["heat", "nvme_health"])),
        ],
        ..NOTHING
    },
    Case {
        name: "cause-ncq-off",
        script: include_str!("scripts/cause-ncq-off.sh"),
        expects: &[
            ("alone", "sda", none(&["sata_link", "kernel_settings"])),
            ("deep", "sda", cause(HARMED, &["sata_link", "tags_in_use"])),
        ],
        ..SATA_DISK
    },
    Case {
        name: "cause-sata-1.5",
        modules: SATA_MODULES,
        drives: &[Disk { device: SSD, drive: "cache=unsafe,throttling.bps-total=125000000" }],
        machine: SATA,
        script: include_str!("scripts/cause-sata-1.5.sh"),
        expects: &pair(["small", "full"], "sda", HARMED, &["sata_link"]),
        ..NOTHING
    },
    Case {
        name: "cause-slc-full",
        script: include_str!("scripts/cause-slc-full.sh"),
        expects: &[
            ("falls", "sda", cause(HARMED, &["flash_cache_full"])),
            ("steady", "sda", none(&["flash_cache_full"])),
        ],
        ..SATA_DISK
    },
    Case {
        name: "cause-flushes",
        script: include_str!("scripts/cause-flushes.sh"),
        expects: &pair(["rest", "sync"], "sda", ANY, &["volatile_cache", "many_flushes", "journal"]),
        ..SATA_DISK
    },
    Case {
        name: "cause-write-through",
        modules: &["crc32c_generic", "virtio_scsi", "virtio_pci", "sd_mod", "ext4"],
        drives: &[Disk { device: "scsi-hd", drive: DIRECT }],
        served: QUICK,
        // Without its cache, the drive flushes after each write: the flush stands for the time that the medium
        // takes.
        script: include_str!("scripts/cause-write-through.sh"),
        expects: &pair(["reads", "writes"], "sda", HARMED, &["cache_mode"]),
        ..NOTHING
    },
    Case {
        name: "cause-usb2",
        modules: &["ehci_pci", "usb-storage", "sd_mod"],
        drives: &[Disk { device: "usb-storage,bus=usb.0", drive: "cache=unsafe,throttling.bps-total=30000000" }],
        machine: USB2,
        script: include_str!("scripts/cause-usb2.sh"),
        expects: &pair(["small", "full"], "sda", HARMED, &["usb_bridge"]),
        ..NOTHING
    },
    Case {
        name: "cause-usb-no-uas",
        modules: &["xhci_pci", "usb-storage", "sd_mod"],
        drives: &[Disk { device: "usb-storage,bus=usb.0", drive: DIRECT }],
        machine: USB3,
        served: QUICK,
        script: include_str!("scripts/cause-usb-no-uas.sh"),
        expects: &pair(["alone", "deep"], "sda", HARMED, &["usb_bridge"]),
        ..NOTHING
    },
    Case {
        name: "cause-crypt",
        modules: &["virtio_blk", "virtio_pci", "dm-crypt", "xts", "ecb"],
        programs: &["sbin/cryptsetup"],
        drives: &[Disk { device: "virtio-blk-pci", drive: "cache=unsafe" }],
        script: include_str!("scripts/cause-crypt.sh"),
        expects: &[
            ("full", "vda", cause(ANY, &["dm_crypt", "processors_busy"])),
        ],
        ..NOTHING
    },
    Case {
        name: "cause-crypt-beside",
        modules: &["virtio_blk", "virtio_pci", "dm-crypt", "dm-delay", "xts", "ecb"],
        programs: &["sbin/cryptsetup"],
        drives: &[Disk { device: "virtio-blk-pci", drive: "cache=unsafe" }],
        // Two volumes on the disk: an encrypted one that is idle, and one with requests.
        script: include_str!("scripts/cause-crypt-beside.sh"),
        expects: &[("beside", "vda", Expect { harmless: &["dm_crypt"], ..cause(ANY, &["volume_holds"]) })],
        ..NOTHING
    },
    Case {
        name: "cause-misaligned",
        modules: &["scsi_debug dev_size_mb=300 ndelay=2000000 max_queue=32 physblk_exp=3", "sd_mod"],
        script: include_str!("scripts/cause-misaligned.sh"),
        expects: &pair(["reads", "writes"], "sda", HARMED, &["alignment"]),
        ..NOTHING
    },
    Case {
        name: "cause-shingled",
        modules: &["scsi_debug dev_size_mb=512 ndelay=2000000 max_queue=32 zbc=aware zone_size_mb=16", "sd_mod"],
        script: include_str!("scripts/cause-shingled.sh"),
        expects: &pair(["reads", "writes"], "sda", HARMED, &["shingled"]),
        ..NOTHING
    },
    Case {
        name: "cause-timeouts",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: include_str!("scripts/cause-timeouts.sh"),
        expects: &pair(["same", "loses"], "sda", ANY, &["drive_errors", "kernel_log"]),
        ..NOTHING
    },
    Case {
        name: "cause-burst-credit",
        modules: &["virtio_blk", "virtio_pci"],
        drives: &[Disk {
            device: "virtio-blk-pci",
            drive: "cache=unsafe,throttling.iops-total=150,throttling.iops-total-max=600,throttling.iops-total-max-length=30",
        }],
        script: include_str!("scripts/cause-burst-credit.sh"),
        expects: &[
            ("below", "vda", none(&["pinned_rate"])),
            ("spent", "vda", cause(HARMED, &["pinned_rate", "provider_limit"])),
        ],
        ..NOTHING
    },
    Case {
        name: "cause-nfs-commit",
        server: Some(&COMMIT_SERVER),
        modules: &["nfsv4", "virtio_net", "virtio_pci"],
        script: include_str!("scripts/cause-nfs-commit.sh"),
        expects: &pair(["rest", "sync"], "10.0.0.1:/", ANY, &["nfs_commits", "many_flushes"]),
        ..NOTHING
    },
];

/// A server whose disk flushes slowly.
const COMMIT_SERVER: Case = Case {
    name: "nfs-commit-server",
    modules: &[
        "crc32c_generic",
        "virtio_scsi",
        "virtio_pci",
        "sd_mod",
        "ext4",
        "nfsd",
        "virtio_net",
    ],
    drives: &[Disk { device: "scsi-hd", drive: DIRECT }],
    served: Some("read=1000 write=1000 flush=40000"),
    ..NFS_SERVER
};
