//! The cases of the lab: what is staged in a guest, and what has to come of it.
//!
//! A script is for the shell of the guest, with the functions of `init.sh`. Each answer that it tells has a
//! name; of a diagnosis the verdict on one device is asked for, of a run how it ended.

/// What a diagnosis has to find: one of these verdicts on the device of this name, and one of these causes,
/// where there are some.
pub(super) struct Expect {
    pub(super) device: &'static str,
    pub(super) verdicts: &'static [&'static str],
    pub(super) causes: &'static [&'static str],
}

/// A case.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Modules of the kernel with their parameters, loaded in this order; with `-` in front one that the
    /// script loads itself.
    pub(super) modules: &'static [&'static str],
    /// Disks of the guest (virtio: vda, vdb, …), each with what qemu is to do to it.
    pub(super) drives: &'static [&'static str],
    pub(super) script: &'static str,
    /// Engines of `run` that are put to the fault: the script runs `$engines`, and each answers by its name
    /// that it failed.
    pub(super) engines: &'static [&'static str],
    /// By the name of the answer.
    pub(super) expects: &'static [(&'static str, Expect)],
    /// One that is quick, for a look whether the lab works.
    pub(super) smoke: bool,
}

const FINE: &[&str] = &["healthy", "not_the_disk"];
const SLOW: &[&str] = &["slow", "slow_and_overloaded"];
const OVERLOADED: &[&str] = &["overloaded", "slow_and_overloaded"];
const CAPPED: &[&str] = &["capped"];
/// A device whose size has become nothing transfers less than asked for, which is no error of a read.
pub(super) const FAILED: &[&str] =
    &["io_errors", "short_transfers", "Input/output error", "no request"];

const fn found(device: &'static str, verdicts: &'static [&'static str]) -> Expect {
    Expect { device, verdicts, causes: &[] }
}

/// Those that can be put to a fault; mapped pages that were read once hide one that comes and goes.
const ENGINES: &[&str] = &["io_uring", "libaio", "sync", "threads", "mmap"];
const UNMAPPED: &[&str] = &["io_uring", "libaio", "sync", "threads"];

/// All of them.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "delay",
        modules: &["scsi_debug dev_size_mb=128 ndelay=500000 max_queue=32", "sd_mod", "dm-delay"],
        drives: &[],
        script: "sleep 2
delayed slow /dev/sda 4
profile /dev/dm-0
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it same /dev/dm-0
slower slow /dev/sda 16
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it slower /dev/dm-0",
        engines: &[],
        expects: &[
            ("same", found("sda", FINE)),
            ("slower", Expect { device: "sda", verdicts: FINE, causes: &["volume_holds"] }),
        ],
        smoke: true,
    },
    Case {
        name: "depth",
        modules: &["brd", "dm-delay", "null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=2000000 hw_queue_depth=16 submit_queues=1 queue_mode=2 memory_backed=1"],
        drives: &[],
        script: "profile /dev/nullb0
load /dev/nullb0 --rw randread --bs 4k --iodepth 128
watch_it deep /dev/nullb0
load /dev/nullb0 --rw randread --bs 4k --iodepth 1
watch_it alone /dev/nullb0",
        engines: &[],
        expects: &[("deep", found("nullb0", OVERLOADED)), ("alone", found("nullb0", FINE))],
        smoke: false,
    },
    Case {
        name: "scsi-slower",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        drives: &[],
        script: "sleep 2
profile /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/sda
echo 9000000 > /sys/bus/pseudo/drivers/scsi_debug/ndelay
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it slower /dev/sda",
        engines: &[],
        expects: &[("same", found("sda", FINE)), ("slower", found("sda", SLOW))],
        smoke: false,
    },
    Case {
        name: "io-max",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=32", "sd_mod"],
        drives: &[],
        script: "sleep 2
profile /dev/sda
echo +io > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/tenant
echo \"$(cat /sys/block/sda/dev) riops=60\" > /sys/fs/cgroup/tenant/io.max
(echo 0 > /sys/fs/cgroup/tenant/cgroup.procs; exec halfpower run /dev/sda --rw randread --bs 4k --iodepth 8 --runtime 120s --no-save > /dev/null 2>&1) &
loads=$!
watch_it held /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it below /dev/sda",
        engines: &[],
        expects: &[("held", found("sda", CAPPED)), ("below", found("sda", FINE))],
        smoke: false,
    },
    Case {
        name: "raid0-throttled-leg",
        modules: &["virtio_blk", "virtio_pci", "raid0", "md-mod"],
        drives: &["", "throttling.iops-total=60"],
        script: "sleep 2
mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/vda /dev/vdb
load /dev/md0 --rw randread --bs 4k --iodepth 4
watch_it slower /dev/md0",
        engines: &[],
        expects: &[(
            "slower",
            Expect {
                device: "vdb",
                verdicts: &["slow", "slow_and_overloaded", "capped"],
                causes: &["slowest_member"],
            },
        )],
        smoke: false,
    },
    Case {
        name: "raid1-degraded",
        modules: &["scsi_debug dev_size_mb=128 ndelay=2000000 num_tgts=2 max_queue=32", "sd_mod", "raid1", "md-mod"],
        drives: &[],
        script: "sleep 2
mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 /dev/sda /dev/sdb
profile /dev/md0
mdadm /dev/md0 --fail /dev/sdb
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it degraded /dev/md0",
        engines: &[],
        expects: &[("degraded", found("sda", &["healthy", "not_the_disk", "not_enough_evidence"]))],
        smoke: false,
    },
    Case {
        name: "raid1-rebuild",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 num_tgts=2 max_queue=1", "sd_mod", "raid1", "md-mod"],
        drives: &[],
        script: "sleep 2
profile /dev/sda
echo 20000 > /proc/sys/dev/raid/speed_limit_min
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 /dev/sda /dev/sdb
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it rebuilding /dev/md0",
        engines: &[],
        expects: &[("rebuilding", found("sda", &["overloaded", "slow_and_overloaded", "slow"]))],
        smoke: false,
    },
    Case {
        name: "bfq-idle-class",
        modules: &["scsi_debug dev_size_mb=256 ndelay=2000000 max_queue=1", "sd_mod", "bfq"],
        drives: &[],
        script: "sleep 2
profile /dev/sda
echo bfq > /sys/block/sda/queue/scheduler
load /dev/sda --rw randread --bs 4k --iodepth 4
ionice -c 3 halfpower run /dev/sda --rw randread --bs 4k --iodepth 1 --runtime 120s --no-save > /dev/null 2>&1 &
loads=\"$loads $!\"
watch_it held /dev/sda",
        engines: &[],
        expects: &[("held", found("sda", &["overloaded", "capped", "slow_and_overloaded"]))],
        smoke: false,
    },
    Case {
        name: "fails-during-a-run",
        modules: &["brd rd_nr=1 rd_size=786432", "dm-mod"],
        drives: &[],
        script: "for engine in $engines; do
    dmsetup create failing --table \"0 1572864 linear /dev/ram0 0\"
    dmsetup mknodes
    (sleep 2; dmsetup reload failing --table \"0 1572864 error\"; dmsetup resume failing) &
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 10s
    wait
    dmsetup remove failing
done",
        engines: ENGINES,
        expects: &[],
        smoke: false,
    },
    Case {
        name: "pulled-during-a-run",
        modules: &["-scsi_debug", "sd_mod"],
        drives: &[],
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
        expects: &[],
        smoke: false,
    },
    Case {
        name: "bad-sectors",
        modules: &[
            "sd_mod",
            "scsi_debug dev_size_mb=64 ndelay=50000 opts=2 medium_error_start=20000 medium_error_count=8",
        ],
        drives: &[],
        script: "for engine in $engines; do
    run_it $engine /dev/sda --rw read --bs 64k --iodepth 4 --ioengine $engine --runtime 20s
done",
        engines: ENGINES,
        expects: &[],
        smoke: false,
    },
    Case {
        name: "flaky",
        modules: &["brd rd_nr=1 rd_size=131072", "dm-flakey"],
        drives: &[],
        script: "for engine in $engines; do
    dmsetup create flaky --table \"0 262144 flakey /dev/ram0 0 3 2\"
    dmsetup mknodes
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 8s
    dmsetup remove flaky
done",
        engines: UNMAPPED,
        expects: &[],
        smoke: false,
    },
];
