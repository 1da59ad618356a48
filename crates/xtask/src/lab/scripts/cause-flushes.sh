mkdir /mnt
mke2fs -q -j /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
disk flush=30000
load /mnt --size 64m --direct --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it rest /dev/sda
load /mnt --size 64m --direct --rw randwrite --bs 4k --iodepth 1 --fsync 1
watch_it sync /dev/sda
