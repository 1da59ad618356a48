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
        script: "profile /dev/nvme0n1
load /dev/nvme0n1 --rw randread --bs 4k --iodepth 4
watch_it cool /dev/nvme0n1
hot=$(ls -d /sys/class/nvme/nvme0/hwmon*/temp1_max | head -n 1)
echo 48000 > $hot
load /dev/nvme0n1 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it warm /dev/nvme0n1
disk read=12000 write=12000
load /dev/nvme0n1 --rw randread --bs 4k --iodepth 4
watch_it hot /dev/nvme0n1",
        expects: &[
            ("cool", "nvme0n1", none(&["heat"])),
            ("warm", "nvme0n1", none(&["heat"])),
            ("hot", "nvme0n1", cause(SLOW, &["heat", "nvme_health"])),
        ],
        ..NOTHING
    },
    Case {
        name: "cause-ncq-off",
        script: "profile /dev/sda
echo 1 > /sys/block/sda/device/queue_depth
load /dev/sda --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it alone /dev/sda
load /dev/sda --rw randread --bs 4k --iodepth 16
watch_it deep /dev/sda",
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
        script: "load /dev/sda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it small /dev/sda
load /dev/sda --rw read --bs 1m --iodepth 8
watch_it full /dev/sda",
        expects: &pair(["small", "full"], "sda", HARMED, &["sata_link"]),
        ..NOTHING
    },
    Case {
        name: "cause-slc-full",
        script: "mkdir /mnt
mke2fs -q /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
(sleep 18; disk write=14000) &
load /mnt --size 64m --direct --rw write --bs 64k --iodepth 4
watch_it falls /dev/sda
disk write=2000
load /mnt --size 64m --direct --rw write --bs 64k --iodepth 4
watch_it steady /dev/sda",
        expects: &[
            ("falls", "sda", cause(HARMED, &["flash_cache_full"])),
            ("steady", "sda", none(&["flash_cache_full"])),
        ],
        ..SATA_DISK
    },
    Case {
        name: "cause-flushes",
        script: "mkdir /mnt
mke2fs -q -j /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
disk flush=30000
load /mnt --size 64m --direct --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it rest /dev/sda
load /mnt --size 64m --direct --rw randwrite --bs 4k --iodepth 1 --fsync 1
watch_it sync /dev/sda",
        expects: &pair(["rest", "sync"], "sda", ANY, &["volatile_cache", "many_flushes", "journal"]),
        ..SATA_DISK
    },
    Case {
        name: "cause-write-through",
        modules: &["crc32c_generic", "virtio_scsi", "virtio_pci", "sd_mod", "ext4"],
        drives: &[Disk { device: "scsi-hd", drive: DIRECT }],
        served: Some("read=2000 write=2000 flush=80000"),
        script: "mkdir /mnt
mke2fs -q /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
for disk in /sys/class/scsi_disk/*; do echo 'write through' > $disk/cache_type; done
load /mnt --size 64m --direct --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it reads /dev/sda
load /mnt --size 64m --direct --rw randwrite --bs 4k --iodepth 1
watch_it writes /dev/sda",
        expects: &pair(["reads", "writes"], "sda", HARMED, &["cache_mode"]),
        ..NOTHING
    },
    Case {
        name: "cause-usb2",
        modules: &["ehci_pci", "usb-storage", "sd_mod"],
        drives: &[Disk { device: "usb-storage,bus=usb.0", drive: "cache=unsafe,throttling.bps-total=30000000" }],
        machine: USB2,
        script: "load /dev/sda --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it small /dev/sda
load /dev/sda --rw read --bs 1m --iodepth 4
watch_it full /dev/sda",
        expects: &pair(["small", "full"], "sda", HARMED, &["usb_bridge"]),
        ..NOTHING
    },
    Case {
        name: "cause-usb-no-uas",
        modules: &["xhci_pci", "usb-storage", "sd_mod"],
        drives: &[Disk { device: "usb-storage,bus=usb.0", drive: DIRECT }],
        machine: USB3,
        served: QUICK,
        script: "load /dev/sda --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it alone /dev/sda
load /dev/sda --rw randread --bs 4k --iodepth 16
watch_it deep /dev/sda",
        expects: &pair(["alone", "deep"], "sda", HARMED, &["usb_bridge"]),
        ..NOTHING
    },
    Case {
        name: "cause-crypt",
        modules: &["virtio_blk", "virtio_pci", "dm-crypt", "xts", "ecb"],
        programs: &["sbin/cryptsetup"],
        drives: &[Disk { device: "virtio-blk-pci", drive: "cache=unsafe" }],
        script: "head -c 64 /dev/urandom > /tmp/key
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /tmp/key /dev/vda secret 2> /tmp/why || tell failed 1 /tmp/why
dmsetup mknodes
load /dev/mapper/secret --rw randread --bs 4k --rate-iops 5 --arrival poisson
watch_it rest /dev/mapper/secret
load /dev/mapper/secret --rw read --bs 256k --iodepth 8
watch_it full /dev/mapper/secret",
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
        script: "head -c 64 /dev/urandom > /tmp/key
dmsetup create first --table '0 1048576 linear /dev/vda 0'
dmsetup create second --table '0 1048576 delay /dev/vda 1048576 30'
dmsetup mknodes
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /tmp/key /dev/mapper/first secret 2> /tmp/why || tell failed 1 /tmp/why
dmsetup mknodes
load /dev/mapper/second --rw randread --bs 4k --iodepth 1
watch_it beside /dev/mapper/second",
        expects: &[("beside", "vda", Expect { harmless: &["dm_crypt"], ..cause(ANY, &["volume_holds"]) })],
        ..NOTHING
    },
    Case {
        name: "cause-misaligned",
        modules: &["scsi_debug dev_size_mb=300 ndelay=2000000 max_queue=32 physblk_exp=3", "sd_mod"],
        script: "profile /dev/sda
# A table of one partition, from sector 63.
printf '\\000\\001\\001\\000\\203\\376\\377\\377\\077\\000\\000\\000\\040\\241\\007\\000' | dd of=/dev/sda bs=1 seek=446 2> /dev/null
printf '\\125\\252' | dd of=/dev/sda bs=1 seek=510 2> /dev/null
blockdev --rereadpt /dev/sda
sleep 2
load /dev/sda1 --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it reads /dev/sda
slow_scsi 9000000
load /dev/sda1 --rw randwrite --bs 4k --rate-iops 40 --arrival poisson --destroy-data-on 2000-part1
watch_it writes /dev/sda",
        expects: &pair(["reads", "writes"], "sda", HARMED, &["alignment"]),
        ..NOTHING
    },
    Case {
        name: "cause-shingled",
        modules: &["scsi_debug dev_size_mb=512 ndelay=2000000 max_queue=32 zbc=aware zone_size_mb=16", "sd_mod"],
        script: "profile /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it reads /dev/sda
slow_scsi 20000000
load /dev/sda --rw randwrite --bs 4k --rate-iops 30 --arrival poisson --destroy-data-on 2000
watch_it writes /dev/sda",
        expects: &pair(["reads", "writes"], "sda", HARMED, &["shingled"]),
        ..NOTHING
    },
    Case {
        name: "cause-timeouts",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: "profile /dev/sda
load /dev/sda --rw randread --bs 4k --iodepth 4
watch_it same /dev/sda
echo 2 > /sys/block/sda/device/timeout
echo 300 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
echo 4 > /sys/bus/pseudo/drivers/scsi_debug/opts
load /dev/sda --rw randread --bs 4k --iodepth 4
watch_it loses /dev/sda
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/opts
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/every_nth",
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
        script: "load /dev/vda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it below /dev/vda
load /dev/vda --rw randread --bs 4k --iodepth 16
sleep 40
watch_it spent /dev/vda",
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
        script: "network
mkdir -p /mnt
mounted nfs4 10.0.0.1:/ vers=4.2,addr=10.0.0.1,clientaddr=$address
dd if=/dev/urandom of=/mnt/data bs=1M count=16 2> /dev/null
load /mnt/data --rw randread --bs 4k --rate-iops 10 --arrival poisson
watch_it rest /mnt
load /mnt --size 16m --rw randwrite --bs 4k --iodepth 1 --fsync 1
watch_it sync /mnt",
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
