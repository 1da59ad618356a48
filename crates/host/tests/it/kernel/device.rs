//! Tests of the walk from device numbers to disks, on fake machines.

use host::kernel::Roots;
use host::kernel::device::{device_of, device_of_mount};
use host::kernel::mounts::read_mounts;
use record::Bytes;
use testkit::Fake;

const NVME: &str = "pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1";

/// An NVMe drive with a partition, on a link below its maximum.
fn nvme() -> Fake {
    let fake = Fake::new();
    fake.block(NVME, "259:0", 1_000_000);
    fake.block(&format!("{NVME}/nvme0n1p2"), "259:2", 500_000);
    let disk = format!("devices/{NVME}");
    let controller = "devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";
    let card = "devices/pci0000:00/0000:00:1d.0/0000:3d:00.0";
    fake.sys(&format!("{disk}/nvme0n1p2/partition"), "2\n");
    fake.sys(&format!("{disk}/nvme0n1p2/start"), "2048\n");
    fake.sys_link(&format!("{disk}/device"), controller);
    fake.sys_link(&format!("{card}/driver"), "bus/pci/drivers/nvme");
    for (name, text) in [
        ("model", "ACME Fast 1000                          \n"),
        ("serial", "  S123  \n"),
        ("firmware_rev", "1.0\n"),
        ("transport", "pcie\n"),
    ] {
        fake.sys(&format!("{controller}/{name}"), text);
    }
    for (name, text) in [
        ("current_link_speed", "8.0 GT/s PCIe\n"),
        ("current_link_width", "4\n"),
        ("max_link_speed", "16.0 GT/s PCIe\n"),
        ("max_link_width", "4\n"),
        ("vendor", "0x144d\n"),
    ] {
        fake.sys(&format!("{card}/{name}"), text);
    }
    for (name, text) in [
        ("rotational", "0\n"),
        ("scheduler", "[none] mq-deadline kyber \n"),
        ("write_cache", "write back\n"),
        ("logical_block_size", "512\n"),
        ("physical_block_size", "4096\n"),
        ("nomerges", "0\n"),
        ("nr_requests", "1023\n"),
        ("max_sectors_kb", "128\n"),
        ("read_ahead_kb", "128\n"),
        ("iostats", "1\n"),
    ] {
        fake.sys(&format!("{disk}/queue/{name}"), text);
    }
    fake
}

/// A SCSI disk on a SATA port or a virtual adapter: `host` is the path above the target.
fn scsi_disk(fake: &Fake, host: &str, name: &str, numbers: &str) -> String {
    let lun = format!("{host}/host0/target0:0:0/0:0:0:0");
    let disk = format!("{lun}/block/{name}");
    fake.block(&disk, numbers, 4_000);
    fake.sys_link(&format!("devices/{disk}/device"), &format!("devices/{lun}"));
    fake.sys_link(&format!("devices/{lun}/driver"), "bus/scsi/drivers/sd");
    fake.sys(&format!("devices/{disk}/queue/rotational"), "1\n");
    format!("devices/{disk}")
}

#[test]
fn a_partition_of_an_nvme_drive_leads_to_the_drive_with_all_its_facts() {
    let fake = nvme();
    let facts = device_of(&Roots::below(fake.root()), (259, 2)).unwrap();
    assert_eq!((facts.name.as_str(), facts.disk.as_str()), ("nvme0n1p2", "nvme0n1"));
    assert_eq!(facts.major_minor, "259:0");
    assert!(facts.leaves.is_empty());
    assert_eq!(facts.size_bytes, Bytes(512_000_000));
    assert_eq!(facts.model.as_deref(), Some("ACME Fast 1000"));
    assert_eq!(facts.serial.as_deref(), Some("S123"));
    assert_eq!(facts.firmware.as_deref(), Some("1.0"));
    assert_eq!(facts.vendor, None);
    assert_eq!(facts.driver.as_deref(), Some("nvme"));
    assert_eq!(facts.link.as_deref(), Some("nvme pcie 8.0 GT/s x4"));
    assert_eq!((facts.rotational, facts.rotational_trusted), (Some(false), true));
    assert!(!facts.virtual_disk);
    assert_eq!(facts.scheduler.as_deref(), Some("none"));
    assert_eq!(facts.write_cache.as_deref(), Some("write back"));
    assert_eq!((facts.logical_block_bytes, facts.physical_block_bytes), (Some(512), Some(4096)));
    assert_eq!((facts.nr_requests, facts.max_request_bytes), (Some(1023), Some(131_072)));
    assert_eq!((facts.read_ahead_bytes, facts.iostats), (Some(131_072), Some(true)));
    assert_eq!(facts.layers.len(), 2, "{:?}", facts.layers);
    assert!(facts.layers[0].contains("starts at 1 MiB"), "{:?}", facts.layers);
    assert!(facts.layers[1].contains("8.0 GT/s x4") && facts.layers[1].contains("16.0"));
}

#[test]
fn a_container_that_hides_the_list_by_number_still_knows_its_disk() {
    let fake = nvme();
    let roots = Roots::below(fake.root());
    let whole = device_of(&roots, (259, 2)).unwrap();
    std::fs::remove_dir_all(fake.path("sys/dev/block")).unwrap();
    assert_eq!(device_of(&roots, (259, 2)), Some(whole));
    assert_eq!(device_of(&roots, (259, 77)), None);
}

#[test]
fn a_partition_off_the_physical_blocks_is_told() {
    let fake = nvme();
    fake.sys(&format!("devices/{NVME}/nvme0n1p2/start"), "63\n");
    let facts = device_of(&Roots::below(fake.root()), (259, 2)).unwrap();
    assert!(facts.layers[0].contains("not aligned"), "{:?}", facts.layers);
}

#[test]
fn an_nvme_disk_of_a_cloud_is_virtual_although_its_driver_is_not() {
    let fake = nvme();
    let controller = "devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";
    fake.sys(&format!("{controller}/model"), "Amazon Elastic Block Store\n");
    let facts = device_of(&Roots::below(fake.root()), (259, 0)).unwrap();
    assert!(facts.virtual_disk && !facts.rotational_trusted);
}

#[test]
fn an_nvme_subsystem_with_paths_is_described_by_its_first_controller() {
    let fake = nvme();
    let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
    fake.block("virtual/nvme-subsystem/nvme-subsys0/nvme9n1", "259:9", 8);
    fake.sys_link(&format!("{subsystem}/nvme9n1/device"), subsystem);
    fake.sys(&format!("{subsystem}/nvme9n1/queue/rotational"), "0\n");
    fake.sys_link(
        &format!("{subsystem}/nvme0"),
        "devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0",
    );
    let facts = device_of(&Roots::below(fake.root()), (259, 9)).unwrap();
    assert_eq!(facts.link.as_deref(), Some("nvme pcie 8.0 GT/s x4"));
    assert!(facts.rotational_trusted);
}

#[test]
fn a_volume_on_two_disks_lists_both_and_takes_its_settings_from_the_first() {
    let fake = Fake::new();
    let first = scsi_disk(&fake, "pci0000:00/0000:00:17.0/ata1", "sda", "8:0");
    scsi_disk(&fake, "pci0000:00/0000:00:17.0/ata2", "sdb", "8:16");
    fake.sys_link("devices/pci0000:00/0000:00:17.0/driver", "bus/pci/drivers/ahci");
    fake.sys("devices/pci0000:00/0000:00:17.0/ata1/link1/ata_link/link1/sata_spd", "6.0 Gbps\n");
    fake.sys(&format!("{first}/device/vpd_pg80"), "\0\u{1}\0\u{4}  W42  ");
    fake.sys(&format!("{first}/device/rev"), "A1\n");
    fake.block(&format!("{}/sda1", first.strip_prefix("devices/").unwrap()), "8:1", 2_000);
    fake.sys(&format!("{first}/sda1/partition"), "1");
    fake.sys(&format!("{first}/sda1/start"), "2048");
    fake.block("virtual/block/dm-0", "253:0", 6_000);
    let volume = "devices/virtual/block/dm-0";
    fake.sys(&format!("{volume}/dm/name"), "vg-data\n");
    fake.sys(&format!("{volume}/dm/uuid"), "LVM-abc\n");
    fake.sys_link(&format!("{volume}/slaves/sda1"), &format!("{first}/sda1"));
    fake.sys_link(
        &format!("{volume}/slaves/sdb"),
        "devices/pci0000:00/0000:00:17.0/ata2/host0/target0:0:0/0:0:0:0/block/sdb",
    );
    let facts = device_of(&Roots::below(fake.root()), (253, 0)).unwrap();
    assert_eq!((facts.name.as_str(), facts.disk.as_str()), ("dm-0", "sda"));
    assert_eq!(facts.leaves, ["sda", "sdb"]);
    assert_eq!(facts.major_minor, "8:0");
    assert_eq!(facts.driver.as_deref(), Some("ahci"));
    assert_eq!(facts.link.as_deref(), Some("sata 6.0 Gbps"));
    assert_eq!(facts.serial.as_deref(), Some("W42"));
    assert_eq!(facts.firmware.as_deref(), Some("A1"));
    assert_eq!((facts.rotational, facts.rotational_trusted), (Some(true), true));
    assert_eq!(facts.layers[0], "dm-0 is the logical volume vg-data on sda1, sdb");
    assert!(facts.layers[1].starts_with("sda1 is a partition of sda"), "{:?}", facts.layers);
}

#[test]
fn two_partitions_of_one_disk_below_an_array_are_one_leaf() {
    let fake = Fake::new();
    let disk = scsi_disk(&fake, "pci0000:00/0000:00:17.0/ata1", "sda", "8:0");
    fake.block("virtual/block/md0", "9:0", 6_000);
    fake.sys("devices/virtual/block/md0/md/level", "raid0\n");
    fake.sys("devices/virtual/block/md0/md/chunk_size", "524288\n");
    for (part, numbers) in [("sda1", "8:1"), ("sda2", "8:2")] {
        fake.block(&format!("{}/{part}", disk.strip_prefix("devices/").unwrap()), numbers, 10);
        fake.sys(&format!("{disk}/{part}/partition"), "1");
        fake.sys_link(
            &format!("devices/virtual/block/md0/slaves/{part}"),
            &format!("{disk}/{part}"),
        );
    }
    let facts = device_of(&Roots::below(fake.root()), (9, 0)).unwrap();
    assert_eq!(facts.leaves, ["sda"]);
    assert_eq!(facts.layers[0], "md0 is a raid0 array with chunks of 512 KiB on sda1, sda2");
}

#[test]
fn virtual_and_bridged_disks_do_not_vouch_for_their_rotational_flag() {
    let fake = Fake::new();
    scsi_disk(&fake, "pci0000:00/0000:00:05.0/virtio2", "sda", "8:0");
    fake.sys_link(
        "devices/pci0000:00/0000:00:05.0/virtio2/driver",
        "bus/virtio/drivers/virtio_scsi",
    );
    scsi_disk(&fake, "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0", "sdb", "8:16");
    fake.sys("devices/pci0000:00/0000:00:14.0/usb2/2-1/bDeviceClass", "00\n");
    fake.sys("devices/pci0000:00/0000:00:14.0/usb2/2-1/speed", "5000\n");
    fake.sys_link("devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/driver", "bus/usb/drivers/uas");
    scsi_disk(&fake, "pci0000:00/0000:00:06.0", "sdc", "8:32");
    fake.sys_link("devices/pci0000:00/0000:00:06.0/driver", "bus/pci/drivers/megaraid_sas");
    let facts = |minor| device_of(&Roots::below(fake.root()), (8, minor)).unwrap();
    let (virtio, usb, raid) = (facts(0), facts(16), facts(32));
    assert_eq!(virtio.driver.as_deref(), Some("virtio_scsi"));
    assert_eq!(virtio.link.as_deref(), Some("virtio scsi"));
    assert!(virtio.virtual_disk && !virtio.rotational_trusted);
    assert_eq!(usb.link.as_deref(), Some("usb 5000 Mb/s"));
    assert!(!usb.virtual_disk && !usb.rotational_trusted);
    assert_eq!(raid.driver.as_deref(), Some("megaraid_sas"));
    assert!(!raid.virtual_disk && !raid.rotational_trusted);
}

#[test]
fn a_loop_device_keeps_its_own_counters_and_names_what_its_file_is_on() {
    let fake = nvme();
    fake.proc(
        "self/mountinfo",
        "20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n21 20 0:9 / /tmp rw - tmpfs t rw\n",
    );
    fake.block("virtual/block/loop0", "7:0", 100);
    fake.sys("devices/virtual/block/loop0/loop/backing_file", "/images/a.img\n");
    fake.sys("devices/virtual/block/loop0/loop/dio", "0\n");
    let facts = device_of(&Roots::below(fake.root()), (7, 0)).unwrap();
    assert_eq!((facts.name.as_str(), facts.disk.as_str()), ("loop0", "loop0"));
    assert!(facts.leaves.is_empty());
    assert_eq!(facts.link.as_deref(), Some("loop"));
    assert!(facts.virtual_disk);
    assert_eq!(
        facts.layers,
        ["loop0 is a loop device on \"/images/a.img\" (ext4 on /dev/nvme0n1p2), through the page \
          cache, which can serve reads without the disk"]
    );
}

#[test]
fn a_mount_with_an_anonymous_number_is_found_by_its_source() {
    let fake = nvme();
    let mount = |source: &str| {
        fake.proc("self/mountinfo", &format!("20 1 0:30 / / rw - btrfs {source} rw\n"));
        read_mounts(&Roots::below(fake.root())).remove(0)
    };
    let found =
        device_of_mount(&Roots::below(fake.root()), (0, 31), Some(&mount("/dev/nvme0n1p2")));
    assert_eq!(found.map(|facts| facts.name).as_deref(), Some("nvme0n1p2"));
    assert_eq!(
        device_of_mount(&Roots::below(fake.root()), (0, 31), Some(&mount("server:/export"))),
        None
    );
}

#[test]
fn a_btrfs_on_two_devices_has_both_as_its_leaves_and_the_source_of_its_mount_as_its_name() {
    let fake = nvme();
    fake.block("x/sda", "8:0", 4_000);
    fake.sys_link("fs/btrfs/12-34/devices/sda", "devices/x/sda");
    fake.sys_link("fs/btrfs/12-34/devices/nvme0n1p2", &format!("devices/{NVME}/nvme0n1p2"));
    fake.proc("self/mountinfo", "20 1 0:30 / / rw - btrfs /dev/sda rw\n");
    let roots = Roots::below(fake.root());
    let mount = read_mounts(&roots).remove(0);
    let facts = device_of_mount(&roots, (0, 31), Some(&mount)).unwrap();
    assert_eq!((facts.name.as_str(), facts.disk.as_str()), ("sda", "sda"));
    assert_eq!(facts.leaves, ["sda", "nvme0n1"]);
    assert_eq!(facts.layers[0], "a btrfs file system on nvme0n1p2, sda");
}

#[test]
fn a_driver_that_counts_on_its_own_has_counters_although_the_flag_of_the_queue_is_off() {
    let keeps = |flag: &str, mq: bool, stat: &str| {
        let fake = Fake::new();
        fake.block("virtual/block/zram0", "253:0", 100);
        fake.sys("devices/virtual/block/zram0/queue/iostats", flag);
        fake.sys("devices/virtual/block/zram0/stat", stat);
        if mq {
            fake.sys("devices/virtual/block/zram0/mq/0/cpu_list", "0");
        }
        device_of(&Roots::below(fake.root()), (253, 0)).unwrap().iostats
    };
    let (none, some) = ("  0  0  0  0\n", "  12  0  96  0\n");
    assert_eq!(keeps("0\n", false, some), Some(true), "zram");
    assert_eq!(keeps("0\n", false, none), Some(false), "nothing was ever counted");
    assert_eq!(keeps("0\n", true, some), Some(false), "counted until it was switched off");
    assert_eq!(keeps("1\n", true, none), Some(true));
}

#[test]
fn unknown_numbers_are_no_device() {
    assert_eq!(device_of(&Roots::below(Fake::new().root()), (8, 0)), None);
}

#[test]
fn a_scheduler_list_gives_the_one_in_brackets() {
    let fake = Fake::new();
    fake.block("x/sda", "8:0", 4_000);
    for (list, chosen) in [("none [mq-deadline] kyber\n", "mq-deadline"), ("none\n", "none")] {
        fake.sys("devices/x/sda/queue/scheduler", list);
        let facts = device_of(&Roots::below(fake.root()), (8, 0)).unwrap();
        assert_eq!(facts.scheduler.as_deref(), Some(chosen));
    }
}

#[test]
fn kernel_names_tell_the_driver_where_sysfs_has_none() {
    for (name, driver) in [
        ("loop12", Some("loop")),
        ("ram0", Some("brd")),
        ("vdb", Some("virtio_blk")),
        ("xvda", Some("vbd")),
        ("sda", None),
        ("rambler", None),
    ] {
        let fake = Fake::new();
        fake.block(&format!("x/{name}"), "8:0", 100);
        let facts = device_of(&Roots::below(fake.root()), (8, 0)).unwrap();
        assert_eq!(facts.driver.as_deref(), driver, "{name}");
    }
}
