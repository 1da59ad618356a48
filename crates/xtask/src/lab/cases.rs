//! The cases of the lab: what is staged in a guest, and what the result must be.
//!
//! A CPU of an emulated guest takes half a millisecond or more to wake up. Devices faster than a few
//! milliseconds are therefore measured at queue depth 1, as in the profile.
//!
//! A script runs in the guest's shell, with the functions of `init.sh`. Each answer that it prints has a
//! name. Of a diagnosis, the verdict on one device is judged; of a run, how it ended.

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
    script: "network
mkdir -p /export /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
export_disk
mount -t nfsd nfsd /proc/fs/nfsd
printf 'nfs 2049/tcp\\nnfs 2049/udp\\n' > /etc/services
echo '/export *(rw,sync,no_root_squash,insecure,no_subtree_check,fsid=0)' > /etc/exports
: > /var/lib/nfs/etab
: > /var/lib/nfs/rmtab
exportfs -r
rpc.nfsd -N 3 -V 4 -G 10 -L 10 8
rpc.mountd -N 2 -N 3
serve",
    ..NOTHING
};

/// A file server that exports a disk by SMB.
const SMB_SERVER: Case = Case {
    name: "smb-server",
    modules: &["crc32c_generic", DISK_OF_SERVER, "sd_mod", "ext4", "virtio_net", "virtio_pci"],
    programs: &["usr/sbin/smbd"],
    script: "network
export_disk
mkdir -p /etc/samba /var/lib/samba/private /var/cache/samba /var/log/samba /run/samba
printf 'root:x:0:0::/:/bin/sh\\nnobody:x:65534:65534::/:/bin/sh\\n' > /etc/passwd
printf 'root:x:0:\\nnogroup:x:65534:\\n' > /etc/group
cat > /etc/samba/smb.conf <<END
[global]
server role = standalone server
map to guest = bad user
guest account = root
disable spoolss = yes
load printers = no
[export]
path = /export
read only = no
guest ok = yes
force user = root
END
smbd -D -s /etc/samba/smb.conf
serve",
    ..NOTHING
};

const DISK_OF_SERVER: &str = "scsi_debug dev_size_mb=300 ndelay=1000 max_queue=32";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "delay",
        modules: &["scsi_debug dev_size_mb=128 ndelay=4000000 max_queue=32", "sd_mod", "dm-delay"],
        script: "delayed slow /dev/sda 4
profile /dev/dm-0
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it same /dev/dm-0
slower slow /dev/sda 60
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it slower /dev/dm-0",
        expects: &[
            ("same", "sda", found(FINE, SILENT)),
            ("slower", "sda", caused(found(FINE, &[]), &["volume_holds"])),
        ],
        ..NOTHING
    },
    Case {
        name: "scsi-slower",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: "profile /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/sda
slow_scsi 9000000
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it slower /dev/sda",
        expects: &slows("sda"),
        ..NOTHING
    },
    Case {
        name: "io-max",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        script: "profile /dev/sda
group tenant
echo \"$(cat /sys/block/sda/dev) riops=60\" > /sys/fs/cgroup/tenant/io.max
load_in tenant /dev/sda --rw randread --bs 4k --iodepth 8
watch_it held /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it below /dev/sda",
        expects: &[
            ("held", "sda", found(CAPPED, RAISE)),
            ("below", "sda", found(FINE, SILENT)),
        ],
        ..NOTHING
    },
    Case {
        name: "io-cost",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=8", "sd_mod"],
        script: "profile /dev/sda
disk=$(cat /sys/block/sda/dev)
echo \"$disk enable=1 ctrl=user rpct=90 rlat=20000 wpct=90 wlat=20000 min=50.00 max=100.00\" > /sys/fs/cgroup/io.cost.qos
echo \"$disk ctrl=user model=linear rbps=40000000 rseqiops=2000 rrandiops=1500 wbps=40000000 wseqiops=2000 wrandiops=1500\" > /sys/fs/cgroup/io.cost.model
group heavy
group light
echo 1000 > /sys/fs/cgroup/heavy/io.weight
echo 10 > /sys/fs/cgroup/light/io.weight
load_in heavy /dev/sda --rw randread --bs 4k --iodepth 16
load_in light /dev/sda --rw randread --bs 4k --iodepth 4
watch_it shared /dev/sda",
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
        script: "dmsetup create meta --table '0 16384 linear /dev/sda 0'
dmsetup create data --table '0 409600 linear /dev/sda 16384'
dmsetup mknodes
dmsetup create pool --table '0 409600 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'
dmsetup mknodes
dmsetup message /dev/mapper/pool 0 'create_thin 0'
dmsetup create thin --table '0 262144 thin /dev/mapper/pool 0'
dmsetup mknodes
dd if=/dev/zero of=/dev/mapper/thin bs=1M count=128 2> /dev/null
profile /dev/mapper/thin
load /dev/mapper/thin --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/mapper/thin
slow_scsi 9000000
load /dev/mapper/thin --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it slower /dev/mapper/thin",
        expects: &slows("sda"),
        ..NOTHING
    },
    Case {
        name: "raid0-throttled-leg",
        modules: &["virtio_blk", "virtio_pci", "raid0", "md-mod"],
        drives: &[virtio(UNSAFE), virtio("cache=unsafe,throttling.iops-total=60")],
        script: "mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/vda /dev/vdb
load /dev/md0 --rw randread --bs 4k --iodepth 4
watch_it slower /dev/md0",
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
        script: "profile /dev/sda
mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 /dev/sda /dev/sdb
mdadm /dev/md0 --fail /dev/sdb
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it degraded /dev/md0",
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
        script: "profile /dev/sda
mdadm --create /dev/md0 --run --assume-clean --level=5 --raid-devices=3 /dev/sda /dev/sdb /dev/sdc
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it same /dev/md0
echo 500 > /proc/sys/dev/raid/speed_limit_min
echo 3000 > /proc/sys/dev/raid/speed_limit_max
mdadm /dev/md0 --fail /dev/sdc
for try in 1 2 3 4 5 6 7 8 9; do mdadm /dev/md0 --remove /dev/sdc && break; sleep 1; done
mdadm /dev/md0 --add /dev/sdd
for try in 1 2 3 4 5 6 7 8 9; do grep -q recover /sys/block/md0/md/sync_action && break; sleep 1; done
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it rebuilding /dev/md0",
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
        script: "client_of nfs4 10.0.0.1:/ vers=4.2,addr=10.0.0.1,clientaddr=$address",
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
        script: "client_of cifs //10.0.0.1/export ip=10.0.0.1,username=lab,password=,vers=3.1.1,cache=none",
        expects: &slows("//10.0.0.1/export"),
        ..NOTHING
    },
    Case {
        name: "lvm",
        modules: &["scsi_debug dev_size_mb=96 ndelay=2000000 per_host_store=1 add_host=2 max_queue=32", "sd_mod", "dm-mod"],
        programs: &["sbin/lvm"],
        script: "mkdir -p /etc/lvm /run/lvm
printf 'activation { udev_sync = 0\\n udev_rules = 0 }\\ndevices { use_devicesfile = 0 }\\n' > /etc/lvm/lvm.conf
lvm vgcreate data /dev/sda /dev/sdb
lvm lvcreate -y -Wn -Zn -i 2 -I 64k -L 128m -n base data
lvm vgmknodes
profile /dev/data/base
load /dev/data/base --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/data/base
slow_scsi 9000000
load /dev/data/base --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it slower /dev/data/base",
        expects: &slows("sda and sdb"),
        ..NOTHING
    },
    Case {
        name: "fails-during-a-run",
        modules: &["brd rd_nr=1 rd_size=786432", "dm-mod"],
        script: "for engine in $engines; do
    dmsetup create failing --table \"0 1572864 linear /dev/ram0 0\"
    dmsetup mknodes
    (sleep 2; dmsetup reload failing --table \"0 1572864 error\"; dmsetup resume failing) &
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 6s
    wait
    dmsetup remove failing
done",
        engines: ENGINES,
        says: FAILED,
        smoke: true,
        ..NOTHING
    },
    Case {
        name: "pulled-during-a-run",
        modules: &["-scsi_debug", "sd_mod"],
        script: "for engine in $engines; do
    modprobe scsi_debug dev_size_mb=256 ndelay=1000000
    sleep 2
    disk=$(ls /sys/block | grep ^sd)
    (sleep 4; echo 1 > /sys/block/$disk/device/delete) &
    run_it $engine /dev/$disk --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 10s
    wait
    modprobe -r scsi_debug
done",
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
        script: "for engine in $engines; do
    run_it $engine /dev/sda --rw read --bs 64k --iodepth 4 --ioengine $engine --runtime 20s
done",
        engines: ENGINES,
        says: FAILED,
        ..NOTHING
    },
    Case {
        name: "flaky",
        modules: &["brd rd_nr=1 rd_size=131072", "dm-flakey"],
        script: "for engine in $engines; do
    dmsetup create flaky --table \"0 262144 flakey /dev/ram0 0 3 2\"
    dmsetup mknodes
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 8s
    dmsetup remove flaky
done",
        engines: UNMAPPED,
        says: FAILED,
        ..NOTHING
    },
    Case {
        name: "does-not-answer",
        modules: &["sd_mod", "-scsi_debug"],
        script: "for engine in $engines; do
    modprobe scsi_debug dev_size_mb=64 ndelay=1000000
    sleep 2
    disk=$(ls /sys/block | grep ^sd)
    echo 5 > /sys/block/$disk/device/timeout
    (sleep 4; echo 1 > /sys/bus/pseudo/drivers/scsi_debug/every_nth; echo 4 > /sys/bus/pseudo/drivers/scsi_debug/opts) &
    run_it $engine /dev/$disk --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 8s --io-timeout 6s
    wait
    echo 0 > /sys/bus/pseudo/drivers/scsi_debug/opts
    echo 0 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
    sleep 5
    modprobe -r scsi_debug
done",
        engines: UNMAPPED,
        says: SILENT_DEVICE,
        ..NOTHING
    },
    Case {
        name: "power-cut",
        modules: &["brd rd_nr=2 rd_size=65536", "dm-snapshot"],
        // From the middle of the run, the drive acknowledges writes that it holds only in a cache.
        script: "for engine in $engines; do
    dd if=/dev/zero of=/dev/ram0 bs=1M count=64 conv=fsync 2> /dev/null
    dmsetup create lies --table '0 131072 linear /dev/ram0 0'
    dmsetup mknodes
    (sleep 3; dmsetup reload lies --table '0 131072 snapshot /dev/ram0 /dev/ram1 N 16'; dmsetup suspend lies; dmsetup resume lies) &
    run_it before-$engine /dev/dm-0 --rw write --bs 4k --iodepth 4 --ioengine $engine --passes 1 --runtime 60s --think-time 1500us --verify --seed 7 --destroy-data-on lies
    wait
    dmsetup remove lies
    dmsetup create lies --table '0 131072 linear /dev/ram0 0'
    dmsetup mknodes
    run_it $engine /dev/dm-0 --rw read --bs 64k --ioengine $engine --passes 1 --runtime 60s --verify --seed 7
    dmsetup remove lies
done",
        engines: UNMAPPED,
        says: CORRUPT,
        ..NOTHING
    },
];
