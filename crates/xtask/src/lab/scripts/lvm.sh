mkdir -p /etc/lvm /run/lvm
printf 'activation { udev_sync = 0\n udev_rules = 0 }\ndevices { use_devicesfile = 0 }\n' > /etc/lvm/lvm.conf
lvm vgcreate data /dev/sda /dev/sdb
lvm lvcreate -y -Wn -Zn -i 2 -I 64k -L 128m -n base data
lvm vgmknodes
profile /dev/data/base
load /dev/data/base --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/data/base
slow_scsi 9000000
load /dev/data/base --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it slower /dev/data/base
