mkdir /mnt
mke2fs -q /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
disk flush=80000
for disk in /sys/class/scsi_disk/*; do echo 'write through' > $disk/cache_type; done
load /mnt --size 64m --direct --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it reads /dev/sda
load /mnt --size 64m --direct --rw randwrite --bs 4k --iodepth 1
watch_it writes /dev/sda
